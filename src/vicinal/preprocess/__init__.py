"""Preprocessing of features: scikit-learn transformers that can be saved with a model.

Input: rows as arrays, sparse arrays or data frames, or documents as strings. Output: rows, sparse
if the input was sparse. ``Binary`` and ``UnitRows`` transform each row independently; ``MinMax``,
``TfIdf``, ``BM25`` and ``TextVectorizer`` learn from the training rows, ``LabelWeights`` from rows
and their labels. ``get_state()`` returns what a transformer learned, and ``from_state(state)``
restores it.

This package imports only ``_core``; all packages above it may import it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from vicinal.errors import InvalidArgumentError, did_you_mean
from vicinal.preprocess._base import ColumnwiseTransformer
from vicinal.preprocess.label_weights import LabelWeights
from vicinal.preprocess.scaling import Binary, MinMax, UnitRows
from vicinal.preprocess.text import TextVectorizer, WordPlace
from vicinal.preprocess.tfidf import BM25, TfIdf

STEPS: Mapping[str, Callable[[], ColumnwiseTransformer]] = {
    "minmax": MinMax,
    "binary": Binary,
    "tfidf": TfIdf,
    "bm25": lambda: BM25(side="pipeline"),
    "unit": UnitRows,
}
"""The steps by their names on the command line."""


def make_steps(names: str, is_sparse: bool, option: str = "preprocess") -> list[tuple[str, Any]]:
    """Return unfitted preprocessing steps for names separated by commas.

    ``auto`` is min-max scaling for dense features, as in the papers, and no step for sparse ones;
    ``none`` is no step.

    Parameters
    ----------
    names : str
        Names of steps separated by commas, or ``auto`` or ``none``.
    is_sparse : bool
        Whether the features are sparse.
    option : str
        The argument's name in error messages.

    Examples
    --------
    >>> make_steps("auto", is_sparse=False), make_steps("auto", is_sparse=True)
    ([('minmax', MinMax())], [])
    >>> [name for name, _ in make_steps("binary,unit", is_sparse=True)]
    ['binary', 'unit']
    """
    if names == "auto":
        names = "none" if is_sparse else "minmax"
    if names == "none":
        return []
    chosen = names.split(",")
    for name in chosen:
        if name not in STEPS:
            expected = f"steps among {', '.join(STEPS)}, or none, or auto"
            raise InvalidArgumentError(option, expected, repr(name), did_you_mean(name, STEPS))
    return [(name, STEPS[name]()) for name in chosen]


__all__ = [
    "BM25",
    "STEPS",
    "Binary",
    "LabelWeights",
    "MinMax",
    "TextVectorizer",
    "TfIdf",
    "UnitRows",
    "WordPlace",
    "make_steps",
]
