"""What is saved gives back the same transformer; what was tampered with is refused."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from vicinal.errors import ModelFormatError
from vicinal.preprocess import BM25, Binary, MinMax, TextVectorizer, TfIdf, UnitRows

COUNTS = np.array([[1.0, 0.0, 3.0], [0.0, 0.5, 0.0], [2.0, 0.0, 0.0]])
TITLES = ["red fish", "blue fish fish", "the one"]
NUMERIC = [
    MinMax(),
    MinMax(clip=True),
    Binary(),
    Binary(threshold=None),
    Binary(threshold=np.float32(0.5)),
    UnitRows(),
    TfIdf(),
    TfIdf(smooth=False, sublinear=True, norm=None),
    BM25(),
    BM25(k1=2, b=np.float64(0.1), side="both"),
    BM25(side="pipeline"),
]
TEXT = [
    TextVectorizer(),
    TextVectorizer(weighting="tfidf", ngram_range=[1, 2], min_df=0.2, max_df=2, max_features=4),
    TextVectorizer(weighting="counts", tokens="unicode", stop_words=["the"]),
    TextVectorizer(stop_words="english"),
]


def stored_and_read(state):
    """Return the state as a file would: JSON for plain values, bytes for arrays."""
    plain = {key: value for key, value in state.items() if not isinstance(value, np.ndarray)}
    arrays = {
        key: np.frombuffer(value.tobytes(), value.dtype)
        for key, value in state.items()
        if isinstance(value, np.ndarray)
    }
    return {**json.loads(json.dumps(plain)), **arrays}


@pytest.mark.parametrize("transformer", NUMERIC, ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_round_trip_to_the_bit(transformer, kind):
    rows = kind(COUNTS)
    if kind is pd.DataFrame:
        rows.columns = ["a", "b", "c"]
    transformer = transformer.fit(rows)
    again = type(transformer).from_state(stored_and_read(transformer.get_state()))
    assert again.get_params() == transformer.get_params()
    assert [*again.get_feature_names_out()] == [*transformer.get_feature_names_out()]
    assert again.n_features_in_ == 3
    assert hasattr(again, "feature_names_in_") == (kind is pd.DataFrame)
    assert bits(again.transform(rows)) == bits(transformer.transform(rows))
    assert again.get_state().keys() == transformer.get_state().keys()


@pytest.mark.parametrize("vectorizer", TEXT, ids=repr)
def test_round_trip_of_text_to_the_bit(vectorizer):
    vectorizer = vectorizer.fit(TITLES)
    again = TextVectorizer.from_state(stored_and_read(vectorizer.get_state()))
    assert again.get_state().keys() == vectorizer.get_state().keys()
    assert again.vocabulary_ == vectorizer.vocabulary_
    assert [*again.get_feature_names_out()] == [*vectorizer.get_feature_names_out()]
    assert bits(again.transform(TITLES)) == bits(vectorizer.transform(TITLES))
    refitted = again.fit_transform(TITLES)
    assert bits(refitted) == bits(vectorizer.transform(TITLES))


def bits(rows):
    """Return what a result is made of."""
    if sparse.issparse(rows):
        return rows.shape, rows.data.tobytes(), rows.indices.tobytes(), rows.indptr.tobytes()
    return rows.shape, np.asarray(rows).tobytes()


@pytest.mark.parametrize("transformer", [Binary(), UnitRows()], ids=repr)
def test_what_needs_no_fit_is_saved_without_one(transformer):
    again = type(transformer).from_state(stored_and_read(transformer.get_state()))
    np.testing.assert_array_equal(again.transform(COUNTS), transformer.transform(COUNTS))


@pytest.mark.parametrize("transformer", [MinMax(), TfIdf(), BM25()], ids=repr)
def test_what_needs_a_fit_is_not_saved_without_one(transformer):
    with pytest.raises(NotFittedError):
        transformer.get_state()
    state = type(transformer)().fit(COUNTS).get_state()
    with pytest.raises(ModelFormatError, match=r"^n_features: expected int, got None"):
        type(transformer).from_state({**state, "n_features": None})


def test_a_restored_transformer_checks_the_names_of_columns():
    frame = pd.DataFrame(COUNTS, columns=["a", "b", "c"])
    again = MinMax.from_state(MinMax().fit(frame).get_state())
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="2 features"):
        MinMax.from_state(MinMax().fit(COUNTS).get_state()).transform(COUNTS[:, :2])


@pytest.mark.parametrize("transformer", [*NUMERIC, *TEXT], ids=repr)
def test_every_value_must_be_there(transformer):
    fitted = transformer.fit(TITLES if isinstance(transformer, TextVectorizer) else COUNTS)
    state = fitted.get_state()
    needed = [key for key in state if key != "idf" or state["idf"] is not None]
    for key in needed:
        rest = {other: value for other, value in state.items() if other != key}
        with pytest.raises(ModelFormatError, match=f"^{key}: "):
            type(fitted).from_state(rest)


TAMPERED = [
    (MinMax(), "clip", [1, "no", None]),
    (MinMax(), "n_features", [0, -1, 2, 3.0, "3"]),
    (MinMax(), "feature_names", [["a", "b"], "abc", [1, 2, 3], {}]),
    (MinMax(), "minimum", [np.zeros(2), np.zeros(3, np.float32), np.zeros((3, 1)), [0, 0, 0]]),
    (MinMax(), "maximum", [np.array([1, np.nan, 1]), -np.ones(3), np.full(3, np.inf), None]),
    (Binary(), "threshold", [np.nan, "0", True, np.zeros(1), [0.0]]),
    (UnitRows(), "n_features", [0, True]),
    (TfIdf(), "smooth", [1, None]),
    (TfIdf(), "sublinear", ["no"]),
    (TfIdf(), "norm", ["l1", 2, np.zeros(2), True]),
    (TfIdf(), "idf", [np.zeros(3), -np.ones(3), np.ones(4), np.ones(3, int), None]),
    (BM25(), "k1", [-0.1, np.inf, "1", None]),
    (BM25(), "b", [1.1, np.nan]),
    (BM25(), "side", ["query", 1, None]),
    (BM25(), "idf", [np.zeros(3), np.array([1, np.inf, 1]), np.ones((1, 3))]),
    (BM25(), "average_length", [-1.0, np.inf, np.nan, "2"]),
    (TextVectorizer(), "weighting", ["bm25", None]),
    (TextVectorizer(), "weighting", ["tfidf"]),
    (TextVectorizer(), "tokens", ["(a+)+", 1]),
    (TextVectorizer(), "min_df", [0, -1.0, None, "1", np.ones(2), True]),
    (TextVectorizer(), "max_df", [2.0, [1]]),
    (TextVectorizer(), "max_features", [0, 1.5, "9", np.ones(2)]),
    (TextVectorizer(), "ngram_range", [[1], [2, 1], [0, 1], "12", None, [1, "2"]]),
    (TextVectorizer(), "stop_words", ["french", [1], 3, np.ones(2)]),
    (TextVectorizer(), "vocabulary", [[], ["a", "a"], ["a", 1], "words", None]),
    (TextVectorizer(weighting="tfidf"), "idf", [None, np.ones(2), -np.ones(5), np.zeros(5)]),
]


@pytest.mark.parametrize(
    ("transformer", "key", "value"),
    [(part, key, value) for part, key, values in TAMPERED for value in values],
)
def test_a_tampered_state_is_refused(transformer, key, value):
    fitted = transformer.fit(TITLES if isinstance(transformer, TextVectorizer) else COUNTS)
    state = copy.deepcopy(fitted.get_state())
    type(fitted).from_state(state)
    with pytest.raises(ModelFormatError):
        type(fitted).from_state({**state, key: value})
