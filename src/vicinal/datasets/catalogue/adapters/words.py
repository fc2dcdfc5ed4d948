"""Words as features: binary, counts, or tf-idf, learned from some of the rows."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from vicinal._base.arrays import Csr, Int
from vicinal._base.validation import canonical_csr, check_option

WEIGHTINGS = ("binary", "counts", "tfidf")


def bag_of_words(
    texts: Sequence[str],
    fitted: Int | None,
    weighting: str = "binary",
    min_rows: int = 1,
    token_pattern: str = r"(?u)\b\w\w+\b",
) -> tuple[Csr, tuple[str, ...]]:
    r"""Return the words of each text as features, and the words in sorted order.

    Parameters
    ----------
    texts : sequence of str
    fitted : ndarray of row ids or None
        The rows that words, and for tf-idf their weights, are learned from; None for all.
    weighting : {"binary", "counts", "tfidf"}
    min_rows : int
        Words in fewer of the fitted rows are dropped.
    token_pattern : str
        Regular expression of a word; the text is in lower case by then.

    Examples
    --------
    >>> X, words = bag_of_words(["a rose is a rose", "is it"], None, "counts", 1, r"\w+")
    >>> words
    ('a', 'is', 'it', 'rose')
    >>> X.toarray()
    array([[2., 1., 0., 2.],
           [0., 1., 1., 0.]])
    """
    check_option("weighting", weighting, WEIGHTINGS)
    vectorizer = CountVectorizer(
        token_pattern=token_pattern,
        min_df=min_rows,
        binary=weighting == "binary",
        dtype=np.float64,
    )
    rows = np.arange(len(texts)) if fitted is None else fitted
    learned = vectorizer.fit_transform([texts[row] for row in rows])
    others = np.setdiff1d(np.arange(len(texts)), rows)
    matrix = _in_order(learned, rows, vectorizer.transform([texts[row] for row in others]), others)
    if weighting == "tfidf":
        matrix = TfidfTransformer().fit(learned).transform(matrix)
    return canonical_csr(matrix), tuple(vectorizer.get_feature_names_out().tolist())


def _in_order(learned: Csr, rows: Int, rest: Csr, others: Int) -> Csr:
    """Put the rows of two matrices back where they were."""
    if not len(others):
        return learned
    stacked = sparse.csr_array(sparse.vstack([learned, rest], format="csr"))
    ordered: Csr = stacked[np.argsort(np.concatenate((rows, others)))]
    return ordered
