import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import TextVectorizer

TRAIN = [
    "The GNU C library: headers, and the C library's docs (v2)",
    "Python bindings for the library",
    "",
    "naïve Bayes in Python; python-sklearn_extra",
]
LATER = ["a python library in Python", "nothing known", "C c C"]


def words(document, pattern="[a-z0-9]+"):
    return re.findall(pattern, document.lower())


def by_counting(train, rows, pattern="[a-z0-9]+"):
    """Vocabulary and counts, word by word."""
    vocabulary = sorted({word for document in train for word in words(document, pattern)})
    counts = [Counter(words(document, pattern)) for document in rows]
    return vocabulary, np.array([[count[word] for word in vocabulary] for count in counts])


@pytest.mark.parametrize(("tokens", "pattern"), [("ascii", "[a-z0-9]+"), ("unicode", r"[^\W_]+")])
@pytest.mark.parametrize("weighting", ["binary", "counts"])
def test_is_counting(tokens, pattern, weighting):
    vectorizer = TextVectorizer(tokens=tokens, weighting=weighting)
    fitted = vectorizer.fit_transform(TRAIN)
    vocabulary, counts = by_counting(TRAIN, TRAIN, pattern)
    assert [*vectorizer.get_feature_names_out()] == vocabulary
    assert ("naïve" in vocabulary) == (tokens == "unicode")
    for got, rows in [(fitted, TRAIN), (vectorizer.transform(LATER), LATER)]:
        _, counts = by_counting(TRAIN, rows, pattern)
        wanted = np.sign(counts) if weighting == "binary" else counts
        assert isinstance(got, sparse.csr_array)
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got.toarray(), wanted)


def test_rows_are_sorted_in_fact_and_not_only_by_their_flag():
    rows = TextVectorizer().fit_transform(["z y x a", "b z a"])
    for row in range(2):
        ids = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        assert (np.diff(ids) > 0).all()


def test_tfidf_is_the_formula():
    vectorizer = TextVectorizer(weighting="tfidf", tokens="ascii").fit(TRAIN)
    _, seen = by_counting(TRAIN, TRAIN)
    _, counts = by_counting(TRAIN, LATER)
    idf = [1 + math.log((1 + len(TRAIN)) / (1 + sum(c > 0 for c in column))) for column in seen.T]
    np.testing.assert_allclose(vectorizer.idf_, idf, rtol=1e-15)
    weights = counts * np.array(idf)
    lengths = [math.hypot(*row) or 1.0 for row in weights]
    np.testing.assert_allclose(
        vectorizer.transform(LATER).toarray(), weights / np.array(lengths)[:, None], rtol=1e-14
    )


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"ngram_range": (1, 2)},
        {"ngram_range": (2, 3), "stop_words": ["the", "in"]},
        {"stop_words": "english"},
        {"min_df": 2},
        {"min_df": 0.5, "max_df": 0.9},
        {"max_df": 1},
    ],
)
def test_is_scikit_learns(setting):
    for weighting, theirs in [
        ("binary", CountVectorizer(binary=True, token_pattern="[a-z0-9]+", **setting)),
        ("counts", CountVectorizer(token_pattern="[a-z0-9]+", **setting)),
        ("tfidf", TfidfVectorizer(token_pattern="[a-z0-9]+", **setting)),
    ]:
        ours = TextVectorizer(weighting=weighting, tokens="ascii", **setting)
        np.testing.assert_allclose(
            ours.fit_transform(TRAIN).toarray(), theirs.fit_transform(TRAIN).toarray(), rtol=1e-14
        )
        np.testing.assert_allclose(
            ours.transform(LATER).toarray(), theirs.transform(LATER).toarray(), rtol=1e-14
        )
        assert [*ours.get_feature_names_out()] == [*theirs.get_feature_names_out()]


@pytest.mark.parametrize(
    ("weighting", "kept"),
    [("binary", ["b", "c", "d"]), ("counts", ["a", "b", "c"]), ("tfidf", ["a", "b", "c"])],
)
def test_max_features_keeps_the_most_frequent_and_at_a_tie_the_first(weighting, kept):
    # Documents with the word: a 1, b 2, c 2, d 2, e 1. Occurrences: a 9, b 2, c 2, d 2, e 1.
    documents = ["d c b a a a a a a a a a", "e d c b"]
    vectorizer = TextVectorizer(weighting=weighting, max_features=3).fit(documents)
    assert [*vectorizer.get_feature_names_out()] == kept


def test_among_many_equally_frequent_words_the_first_are_kept():
    tied = [f"w{number:03}" for number in range(300)]
    vectorizer = TextVectorizer(max_features=150).fit([" ".join(reversed(tied)), "zz", "zz"])
    assert [*vectorizer.get_feature_names_out()] == [*tied[:149], "zz"]


def test_max_features_beyond_the_vocabulary_keeps_all():
    assert len(TextVectorizer(max_features=99).fit(["a b"]).vocabulary_) == 2


def test_idf_is_of_the_words_kept():
    vectorizer = TextVectorizer(weighting="tfidf", max_features=1).fit(["a b b", "b", "c"])
    np.testing.assert_allclose(vectorizer.idf_, [1 + math.log(4 / 3)])


@pytest.mark.parametrize(
    "kind",
    [tuple, np.array, pd.Series, pl.Series, iter, lambda rows: np.array(rows, dtype=object)],
)
def test_any_collection_of_strings(kind):
    expected = TextVectorizer().fit_transform(TRAIN).toarray()
    np.testing.assert_array_equal(TextVectorizer().fit_transform(kind(TRAIN)).toarray(), expected)


@pytest.mark.parametrize(
    ("bad", "got"),
    [
        ("one string", "str"),
        (b"bytes", "bytes"),
        (3, "int"),
        ({"a": 1}, "dict"),
        (np.array([["a"], ["b"]]), "shape"),
        (pd.DataFrame({"text": ["a"]}), "shape"),
        (pl.DataFrame({"text": ["a"]}), "shape"),
        (["a", None], "NoneType in row 1"),
        (pd.Series(["a", np.nan], dtype=object), "float in row 1"),
        ([b"a"], "bytes in row 0"),
        ([1.0], "float in row 0"),
    ],
)
def test_what_is_no_collection_of_strings_is_refused(bad, got):
    with pytest.raises(InvalidArgumentError, match=rf"^X: expected .*strings, got {got}"):
        TextVectorizer().fit(bad)
    with pytest.raises(InvalidArgumentError, match=rf"^X: expected .*strings, got {got}"):
        TextVectorizer().fit(["a"]).transform(bad)


@pytest.mark.parametrize(
    ("documents", "setting"),
    [
        ([], {}),
        (["", "!?"], {}),
        (["the"], {"stop_words": "english"}),
        (["a b", "c d"], {"min_df": 2}),
        (["a b", "c d"], {"min_df": 2, "max_df": 1}),
    ],
)
def test_no_word_left_is_an_error(documents, setting):
    with pytest.raises(InvalidArgumentError, match=r"^X: expected documents with words"):
        TextVectorizer(**setting).fit(documents)


def test_no_document_to_transform_is_no_row():
    assert TextVectorizer().fit(["a b"]).transform([]).shape == (0, 2)


@pytest.mark.parametrize(
    "setting",
    [
        {"weighting": "bm25"},
        {"tokens": "words"},
        {"min_df": 0},
        {"min_df": True},
        {"max_df": 1.5},
        {"max_features": 0},
        {"ngram_range": (2, 1)},
        {"ngram_range": 2},
        {"ngram_range": (0, 1)},
        {"stop_words": "french"},
        {"stop_words": [1]},
    ],
)
def test_parameters_are_checked(setting):
    (name,) = setting
    with pytest.raises(InvalidArgumentError, match=f"^{name}: "):
        TextVectorizer(**setting).fit(TRAIN)


def test_tf_idf_cannot_be_asked_for_after_a_fit_without_it():
    with pytest.raises(InvalidArgumentError, match=r"^weighting: "):
        TextVectorizer().fit(TRAIN).set_params(weighting="tfidf").transform(LATER)


@pytest.mark.parametrize("method", ["transform", "get_feature_names_out", "get_state"])
def test_before_the_fit(method):
    with pytest.raises(NotFittedError):
        getattr(TextVectorizer(), method)(*[LATER] * (method == "transform"))


@pytest.mark.parametrize("weighting", ["binary", "counts", "tfidf"])
def test_sublinear_counts_grow_as_their_logarithm(weighting):
    vectorizer = TextVectorizer(weighting=weighting, sublinear=True)
    rows = vectorizer.fit(TRAIN).transform(LATER).toarray()
    _, counts = by_counting(TRAIN, LATER, r"[^\W_]+")
    present = counts > 0
    damped = np.where(present, 1 + np.log(np.maximum(counts, 1)), 0)
    if weighting == "binary":
        np.testing.assert_array_equal(rows, present)
    elif weighting == "counts":
        assert damped.max() > 1
        np.testing.assert_allclose(rows, damped, rtol=1e-15)
    else:
        weights = damped * vectorizer.idf_
        lengths = np.array([math.hypot(*row) or 1.0 for row in weights])
        np.testing.assert_allclose(rows, weights / lengths[:, None], rtol=1e-14)


def test_words_of_any_script_by_default():
    vectorizer = TextVectorizer().fit(["Über Größe", "слово 言葉"])
    assert [*vectorizer.get_feature_names_out()] == ["größe", "über", "слово", "言葉"]


def test_sublinear_is_a_flag():
    with pytest.raises(InvalidArgumentError, match="sublinear: expected True or False"):
        TextVectorizer(sublinear="yes").fit(TRAIN)
