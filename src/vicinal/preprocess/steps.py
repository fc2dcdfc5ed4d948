"""The preprocessing steps by name, and the default steps of a data set."""

from collections.abc import Callable, Mapping
from typing import Any

from vicinal._base.validation import check_option
from vicinal.preprocess._transformer import ColumnwiseTransformer
from vicinal.preprocess.binary import Binary
from vicinal.preprocess.bm25 import BM25
from vicinal.preprocess.minmax import MinMax
from vicinal.preprocess.tfidf import TfIdf
from vicinal.preprocess.unit_rows import UnitRows

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
    chosen = [check_option(option, name, tuple(STEPS)) for name in names.split(",")]
    return [(name, STEPS[name]()) for name in chosen]
