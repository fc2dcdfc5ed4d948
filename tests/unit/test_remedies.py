"""Errors that a new user meets first: one line that names the argument, and a remedy."""

import numpy as np
import pytest
from scipy import sparse

from vicinal import Blend, DMLkNN, MLkNN
from vicinal.errors import InvalidArgumentError

X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
Y = [["a"], ["b"], ["a", "b"], ["b"]]


@pytest.mark.parametrize("texts", [["one", "two"], ("one", "two"), np.array(["one", "two"])])
def test_texts_point_to_the_text_pipeline(texts):
    with pytest.raises(InvalidArgumentError) as error:
        Blend().fit(texts, Y[:2])
    assert str(error.value) == (
        "X: expected numbers, got texts (put a TextVectorizer in front: "
        "make_pipeline(TextVectorizer(), Blend()))"
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_missing_value_is_located(kind, value, word):
    holes = X.copy()
    holes[2, 1] = value
    with pytest.raises(InvalidArgumentError, match=rf"contains {word} \(row 2, column 1\)"):
        MLkNN(1).fit(kind(holes), Y)


def test_a_method_that_cannot_learn_says_what_can():
    model = DMLkNN(1).fit(X, Y)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="DMLkNN does not learn incrementally: call fit again"):
        model.partial_fit(X, Y)
    with pytest.raises(AttributeError, match="'DMLkNN' object has no attribute 'unheard'"):
        _ = model.unheard


def test_one_unknown_row_is_one_number():
    with pytest.raises(InvalidArgumentError, match=r"row ids from 0 to 3, got 99$"):
        MLkNN(1).fit(X, Y).forget([99])
