"""Words are learned from the fitted rows alone, and stay with their rows."""

import numpy as np
import pytest

from vicinal.datasets.catalogue.corpora import fitted_words
from vicinal.errors import InvalidArgumentError

TEXTS = ["red sun", "new red new moon", "red moon", "Sun sun"]
FITTED = np.array([1, 3])


def test_words_of_other_rows_are_not_learned():
    X, words = fitted_words(["lone word", *TEXTS], FITTED + 1, "counts")
    assert words == ("moon", "new", "red", "sun")
    np.testing.assert_array_equal(
        X.toarray(), [[0, 0, 0, 0], [0, 0, 1, 1], [1, 2, 1, 0], [1, 0, 1, 0], [0, 0, 0, 2]]
    )


def test_binary_says_only_whether_a_word_is_there():
    X, _ = fitted_words(TEXTS, None)
    np.testing.assert_array_equal(
        X.toarray(), [[0, 0, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    )


def test_rare_words_are_dropped_by_fitted_rows():
    assert fitted_words(TEXTS, None, min_rows=3)[1] == ("red",)
    assert fitted_words(TEXTS, FITTED, min_rows=1)[1] == ("moon", "new", "red", "sun")
    assert fitted_words(TEXTS, np.array([0, 1]), min_rows=2)[1] == ("red",)


def test_tfidf_weights_come_from_the_fitted_rows():
    # Each word stands in one of the two fitted rows, so all weigh the same and only counts matter.
    X, words = fitted_words(TEXTS, FITTED, "tfidf")
    counts = np.array([[0, 0, 1, 1], [1, 2, 1, 0], [1, 0, 1, 0], [0, 0, 0, 2]])
    expected = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    assert words == ("moon", "new", "red", "sun")
    np.testing.assert_allclose(X.toarray(), expected, rtol=1e-12)


def test_tfidf_over_all_rows_follows_the_formula():
    X, _ = fitted_words(TEXTS, None, "tfidf")
    counts = np.array([[0, 0, 1, 1], [1, 2, 1, 0], [1, 0, 1, 0], [0, 0, 0, 2]])
    weights = counts * (np.log(5 / (1 + (counts > 0).sum(axis=0))) + 1)
    expected = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    np.testing.assert_allclose(X.toarray(), expected, rtol=1e-12)


def test_an_unknown_weighting_is_refused():
    with pytest.raises(InvalidArgumentError, match="weighting: expected one of 'binary'"):
        fitted_words(TEXTS, None, "bm25")
