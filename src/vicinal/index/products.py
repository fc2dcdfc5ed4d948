r"""Rows prepared for float32 products, with error bounds for the products.

For Euclidean distance, rows and queries are centred at the mean of the rows (distances stay the
same, norms shrink) and scored by :math:`q \cdot x - \lVert x\rVert^2 / 2`, which decreases with the
distance. For cosine both are scaled to unit length, for the dot product only the queries. A power
of two common to all rows keeps float32 in range.

With :math:`u = 2^{-24}` and d features, rounding q and x to float32, the product of any order of
summation, the bias and the difference are together wrong by at most

.. math::

    1.1\,u\,\bigl((d + 6)\,\lVert q\rVert \lVert x\rVert + 2 \lVert x\rVert^2\bigr)
    + (d + 8)\,2^{-50}\,(\lVert q\rVert^2 + \lVert x\rVert^2) + 2^{-100},

the second term for the float64 rounding of the definition itself, the last for numbers too small
for float32. It is split as error(q) · size(x) + constant(q), with size(x) bounding the norm.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Bool, Float
from vicinal.distances import Distance

Single = NDArray[np.float32]

UNIT = 2.0**-24
STEP = 2048

HEADROOM = 2.0**10
"""Largest scaled size of rows added later; the initial rows are below 1."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready for products.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, d)
    sizes, biases : ndarray of float32, shape (n,)
        The factor of the error bound, and the term subtracted from a product.
    center : ndarray of float64, shape (d,)
    scale : float
        A power of two.
    distance : Distance
    """

    rows: Single
    sizes: Single
    biases: Single
    center: Float
    scale: float
    distance: Distance

    @property
    def largest(self) -> float:
        """The largest norm of a row, rounded up."""
        return float(self.sizes.max(initial=0.0))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.rows.nbytes + self.sizes.nbytes + self.biases.nbytes

    def first(self, count: int) -> "Prepared":
        """Return the first rows only, without copying them."""
        parts = self.rows[:count], self.sizes[:count], self.biases[:count]
        return Prepared(*parts, self.center, self.scale, self.distance)

    def takes(self, X: NDArray[Any]) -> bool:
        """Tell whether the bounds also hold for further rows, that is, none is too large."""
        sizes = _sizes(X)
        if self.distance.is_normalized:
            return _tame(sizes[sizes > 0])
        largest = float(sizes.max(initial=0.0))
        return largest < 1e120 and largest * self.scale <= HEADROOM

    def write(self, X: NDArray[Any], first: int) -> None:
        """Write the rows of `X` at the places from `first` on."""
        for start in range(0, len(X), STEP):
            part = X[start : start + STEP].astype(np.float64)
            unit = self.distance.is_normalized
            moved = _unit_length(part) if unit else (part - self.center) * self.scale
            norms = _norms(moved)
            place = slice(first + start, first + start + len(part))
            self.rows[place] = moved
            self.sizes[place] = _up(norms)
            self.biases[place] = 0.0 if self.distance.is_similarity else norms**2 / 2

    def queries(self, Q: Float) -> tuple[Single, Single, Single]:
        """Return queries in float32, their errors per row size and their constant errors."""
        scaled = self.distance.is_similarity
        moved = _unit_length(Q) if scaled else (Q - self.center) * self.scale
        norms = _norms(moved)
        d = Q.shape[1]
        largest = self.largest
        errors = 1.1 * UNIT * ((d + 6) * norms + 2.2 * largest)
        constants = (d + 8) * 2.0**-50 * (norms**2 + largest**2) + 2.0**-100
        return moved.astype(np.float32), _up(errors), _up(constants)


def prepare(X: NDArray[Any], distance: Distance, capacity: int | None = None) -> Prepared | None:
    """Return `X` ready for products, or None if the bounds would be useless.

    Memory: 4 bytes per cell and 8 per row, for `capacity` rows if rows are to be added.
    """
    if not _in_range(X, distance):
        return None
    n_rows, n_features = capacity or len(X), X.shape[1]
    still = distance.is_similarity
    center = np.zeros(n_features) if still else X.mean(axis=0, dtype=np.float64)
    scale = float(2.0 ** -np.frexp(_sizes(X).max())[1])
    rows = np.empty((n_rows, n_features), dtype=np.float32)
    sizes, biases = np.zeros((2, n_rows), dtype=np.float32)
    prepared = Prepared(rows, sizes, biases, center, scale, distance)
    prepared.write(X, 0)
    return prepared


def usable(Q: Float, prepared: Prepared) -> Bool:
    """Return for which queries the error bound holds."""
    sizes = _sizes(Q)
    if not prepared.distance.is_similarity:
        near: Bool = sizes * prepared.scale < 1e15
        return near
    tame: Bool = (sizes == 0) | ((sizes > 1e-140) & (sizes < 1e140))
    return tame


def _in_range(X: NDArray[Any], distance: Distance) -> bool:
    """Tell whether squares neither overflow nor underflow, so that relative errors are valid."""
    if not X.size or X.shape[1] > 2**20:
        return False
    sizes = _sizes(X)
    if distance.is_normalized:
        sizes = sizes[sizes > 0]
        return sizes.size > 0 and _tame(sizes)
    return bool(1e-120 < sizes.max() < 1e120)


def _tame(sizes: Float) -> bool:
    """Tell whether rows of these sizes can be scaled to unit length."""
    return bool(np.all((sizes > 1e-140) & (sizes < 1e140)))


def _sizes(rows: NDArray[Any]) -> Float:
    """Return the largest absolute value of each row."""
    largest = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    sizes: Float = largest.astype(np.float64)
    return sizes


def _unit_length(rows: Float) -> Float:
    """Scale rows to unit length, dividing by the largest value first to avoid overflow."""
    sizes = _sizes(rows)[:, np.newaxis]
    small: Float = rows / np.where(sizes == 0, 1.0, sizes)
    norms = _norms(small)[:, np.newaxis]
    return small / np.where(norms == 0, 1.0, norms)


def _norms(rows: Float) -> Float:
    norms: Float = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1 + 1e-9)
    return norms


def _up(values: Float) -> Single:
    """Round to float32, never down."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))
