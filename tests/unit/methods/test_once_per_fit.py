"""What a whole fit warns of and keeps: once, although folds and blends fit a method repeatedly."""

import warnings

import numpy as np
import pytest

import vicinal
from vicinal import Blend, LabelRidge
from vicinal.decision import CardinalityThreshold, CrossValidated
from vicinal.methods.label_ridge import scoring

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


def test_a_blend_of_given_ridges_warns_once_and_names_its_parts():
    parts = [LabelRidge(alpha, metric="dot") for alpha in (0.1, 1.0)]
    (message,) = warnings_of(Blend(parts, "mix", metric="dot"), LONE)
    assert message.startswith(
        "Blend: some rows decide their own fit in 'LabelRidge 1' (40 of 60 rows)"
    )
    assert "'LabelRidge 2' (40 of 60 rows)" in message
    assert "raise their alpha" in message
    assert not warnings_of(Blend([LabelRidge(metric="dot")], "mix", metric="dot"), MEASURED)


def test_a_blend_says_nothing_of_the_kernel_widths_that_it_discards(monkeypatch):
    calm = Blend(combine="mix").fit(MEASURED, Y)
    ridges = {part.name: part.scoring for part in calm.scoring_.parts if "ridge" in part.name}
    largest = {name: ridge.leverage.max() for name, ridge in ridges.items()}
    assert sorted(largest) == ["ridge, kernel", "ridge, scaled"]
    # In exact arithmetic no ridge of an automatic blend comes near the limit.
    monkeypatch.setattr(scoring, "MOST_LEVERAGE", max(largest.values()))
    assert not warnings_of(Blend(combine="mix"), MEASURED)
    monkeypatch.setattr(scoring, "MOST_LEVERAGE", 1e-3)
    (message,) = warnings_of(Blend(combine="mix"), MEASURED)
    assert message.count("'ridge, kernel'") == message.count("'ridge, scaled'") == 1
    assert "pass parts=[…, LabelRidge(alpha=…)]" in message


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
