"""Words as features, with a vocabulary learned from the training rows only."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from vicinal._base.arrays import Csr, Int
from vicinal._base.validation import canonical_csr, check_option
from vicinal.datasets.bag_of_words import WEIGHTINGS, Words, bag_of_words


def fitted_words(
    texts: Sequence[str],
    fitted: Int | None,
    weighting: str = "binary",
    min_rows: int = 1,
    token_pattern: str = r"(?u)\b\w\w+\b",
    source: str = "texts",
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
    source : str
        Name of the texts in error messages.

    Examples
    --------
    >>> X, words = fitted_words(["a rose is a rose", "is it"], None, "counts", 1, r"\w+")
    >>> words
    ('a', 'is', 'it', 'rose')
    >>> X.toarray()
    array([[2., 1., 0., 2.],
           [0., 1., 1., 0.]])
    """
    check_option("weighting", weighting, WEIGHTINGS)
    plain = "counts" if weighting == "tfidf" else weighting
    options = Words(plain, token_pattern=token_pattern, min_rows=min_rows)
    rows = np.arange(len(texts)) if fitted is None else fitted
    kept = [texts[row] for row in rows]
    learned, words = bag_of_words(kept, options, source)
    parts = [sparse.csr_array(learned)]
    others = np.setdiff1d(np.arange(len(texts)), rows)
    if len(others):
        left = [texts[row] for row in others]
        fixed = replace(options, vocabulary=words, min_rows=1)
        found, _ = bag_of_words(left, fixed, source)
        parts.append(sparse.csr_array(found))
    stacked = sparse.csr_array(sparse.vstack(parts, format="csr"))
    matrix = stacked[np.argsort(np.concatenate((rows, others)))]
    if weighting == "tfidf":
        matrix = TfidfTransformer().fit(parts[0]).transform(matrix)
    return canonical_csr(matrix), words
