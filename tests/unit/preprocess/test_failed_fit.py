"""A transformer that could not be fitted anew is the one it was."""

import numpy as np
import pytest

from vicinal.preprocess import BM25, Binary, MinMax, TextVectorizer, TfIdf, UnitRows

ROWS = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
WORSE = np.array([[1.0, 2.0], [np.nan, 1.0]])


@pytest.mark.parametrize("kind", [BM25, Binary, MinMax, TfIdf, UnitRows])
@pytest.mark.parametrize("call", ["fit", "fit_transform"])
@pytest.mark.parametrize("fitted", [True, False])
def test_refused_rows_change_nothing(kind, call, fitted):
    model = kind().fit(ROWS) if fitted else kind()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X: expected finite values"):
        getattr(model, call)(WORSE)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    if fitted:
        assert model.transform(ROWS).shape == ROWS.shape


def test_refused_values_change_nothing():
    model = BM25().fit(ROWS)
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(-ROWS[:, :2])
    assert model.n_features_in_ == 3


def test_refused_texts_change_nothing():
    model = TextVectorizer().fit(["a few words", "other words"])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="documents with words"):
        model.fit(["", ""])
    assert vars(model) == before
