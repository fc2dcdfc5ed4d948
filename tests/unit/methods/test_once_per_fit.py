"""What a whole fit warns of and keeps: once, although folds and blends fit a method repeatedly."""

import warnings

import numpy as np
import pytest

import vicinal
from vicinal import LabelRidge
from vicinal.decision import CardinalityThreshold, CrossValidated

pytestmark = pytest.mark.native

RNG = np.random.default_rng(0)
LONE = np.eye(60, 64) * 1e6
LONE[40:] = RNG.random((20, 64))
MEASURED = RNG.random((60, 4))
Y = (MEASURED[:, :3] > 0.6).astype(int)


def warnings_of(model, X):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, Y)
    return [str(each.message) for each in found]


def test_a_ridge_warns_once_whatever_its_rule_fits():
    rule = CrossValidated(CardinalityThreshold(), n_folds=3)
    (message,) = warnings_of(LabelRidge(metric="dot", threshold=rule), LONE)
    assert message.startswith("LabelRidge: 40 of 60 rows decide their own fit, because alpha=1 is")


def test_what_a_ridge_keeps_is_that_of_all_rows_and_survives_saving(tmp_path):
    rule = CrossValidated(CardinalityThreshold(), n_folds=3)
    model = LabelRidge([0.01, 100.0], keep_loo=True, threshold=rule).fit(MEASURED, Y)
    expected = LabelRidge([0.01, 100.0], keep_loo=True).fit(MEASURED, Y)
    np.testing.assert_array_equal(model.loo_scores_.toarray(), expected.loo_scores_.toarray())
    assert model.alpha_ == expected.alpha_
    model.save(tmp_path / "model")
    assert vicinal.load(tmp_path / "model").alpha_ == model.alpha_
    with pytest.raises(AttributeError, match="'alpha_' before fit"):
        _ = LabelRidge().alpha_
