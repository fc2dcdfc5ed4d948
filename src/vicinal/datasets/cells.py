"""Numbers as text: the shortest that parses to the same float64."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal.datasets.dataset import Dataset


def number_texts(values: NDArray[Any]) -> list[str]:
    """Return each value as text that parses to the same value; whole numbers without a point.

    Examples
    --------
    >>> number_texts(np.array([0.1, 2.0, -3.0, 1e300]))
    ['0.1', '2', '-3', '1e+300']
    """
    distinct, place = np.unique(values, return_inverse=True)
    texts = [repr(value).removesuffix(".0") for value in distinct.tolist()]
    return [texts[i] for i in place.tolist()]


def sparse_rows(dataset: Dataset) -> Iterator[tuple[list[int], list[int], list[str]]]:
    """Yield, for each row, label ids, feature ids and the features' values as text.

    Only one row at a time is converted.
    """
    X, Y = dataset.X, dataset.Y
    for row in range(dataset.n_rows):
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()
        if isinstance(X, np.ndarray):
            features = np.flatnonzero(X[row]).tolist()
            values = X[row, features]
        else:
            features = X.indices[X.indptr[row] : X.indptr[row + 1]].tolist()
            values = X.data[X.indptr[row] : X.indptr[row + 1]]
        yield labels, features, number_texts(values)
