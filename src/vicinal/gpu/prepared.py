r"""Rows prepared for products in low precision, with error bounds for the products.

As in :mod:`vicinal.index.products` for the CPU, Euclidean rows and queries are centred at the mean
of the rows and scored by :math:`q \cdot x - \lVert x\rVert^2 / 2`, which decreases with the
distance. For cosine both are scaled to unit length, for the dot product only the queries. All rows
are scaled by a common power of two so that the largest entry is close to 2\ :sup:`8` and float16
can represent them.

The error of a score is at most error(q) · size(x) + constant(q), where size(x) ≥ ‖x‖. With d
features, :math:`u = 2^{-24}` and M the largest size:

- products in float32, summed in any order: :math:`1.1u\,((d + 16)\lVert q\rVert + 4.4 M)`;
- products of float16 pairs (:mod:`vicinal.gpu.fused`): a number is split into two of 11 bits,
  :math:`v = h + l + r` with :math:`|r| \le 2^{-22}|v| + 2^{-25}`, and of the four products, that of
  the two low parts is omitted: :math:`3 \cdot 2^{-22}`, and :math:`2u` for the float32 they came
  from. Tensor cores multiply exactly and align what they add to the largest term with at least 23
  bits of fraction, so that each of 3d additions loses at most :math:`2^{-22}` of the sum of
  absolute values. Together :math:`1.1 \cdot 2^{-22}((3d + 16)\lVert q\rVert + 2.2 M)`, and
  :math:`2^{-24}\sqrt d\,(\lVert q\rVert + M)` for values that float16 cannot represent.

The constant covers the float64 rounding of the definition itself,
:math:`(d + 8)\,2^{-50}(\lVert q\rVert^2 + M^2)`, and numbers too small for float32.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from vicinal.distances import Distance

UNIT = 2.0**-24
LARGEST_EXPONENT = 8
"""Entries of rows are scaled below 2 to the power of this."""

FLOAT16_ROOM = 2.0**15
"""Entries of queries up to this value are safely representable in float16."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready for products.

    Parameters
    ----------
    rows : Tensor of float32, shape (n, d)
    sizes, biases : Tensor of float32, shape (n,)
        The factor of the error bound, and the term subtracted from a product.
    center : Tensor of float64, shape (d,)
    scale : float
        A power of two.
    distance : Distance
    """

    rows: Tensor
    sizes: Tensor
    biases: Tensor
    center: Tensor
    scale: float
    distance: Distance

    @cached_property
    def largest(self) -> float:
        """The largest size of a row."""
        return float(self.sizes.max())

    def queries(self, Q: Tensor) -> "Queries":
        """Return queries transformed like the rows; queries without a valid bound become zeros."""
        sizes = _sizes(Q)
        if not self.distance.is_similarity:
            usable = sizes * self.scale < 1e15
        else:
            usable = (sizes == 0) | ((sizes > 1e-140) & (sizes < 1e140))
        tame = torch.where(usable[:, None], Q, 0.0)
        euclidean = not self.distance.is_similarity
        moved = (tame - self.center) * self.scale if euclidean else _one_length(tame)
        return Queries(moved.to(torch.float32), _norms(moved), usable, self.largest)


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries ready for products with rows of at most the size `largest`.

    Parameters
    ----------
    rows : Tensor of float32, shape (n_queries, d)
    norms : Tensor of float64, shape (n_queries,)
    usable : Tensor of bool, shape (n_queries,)
    largest : float
    """

    rows: Tensor
    norms: Tensor
    usable: Tensor
    largest: float

    def float32_errors(self) -> tuple[Tensor, Tensor]:
        """Return error and constant of each query for products in float32."""
        d = self.rows.shape[1]
        errors = 1.1 * UNIT * ((d + 16) * self.norms + 4.4 * self.largest)
        return _up(errors), _up(self._constants())

    def float16_errors(self) -> tuple[Tensor, Tensor]:
        """Return error and constant of each query for products of float16 pairs."""
        d = self.rows.shape[1]
        errors = 4.4 * UNIT * ((3 * d + 16) * self.norms + 2.2 * self.largest)
        unheld = UNIT * d**0.5 * (self.norms + self.largest)
        return _up(errors), _up(self._constants() + unheld)

    def fits_float16(self) -> Tensor:
        """Return which queries float16 can represent."""
        return self.usable & (_sizes(self.rows) < FLOAT16_ROOM)

    def _constants(self) -> Tensor:
        d = self.rows.shape[1]
        return (d + 8) * 2.0**-50 * (self.norms**2 + self.largest**2) + 2.0**-100


def prepare(X: Tensor, distance: Distance) -> Prepared | None:
    """Return `X` ready for products, or None if the bounds would be useless.

    Memory: 4 bytes per cell and 8 per row; 16 per cell during preparation.
    """
    if not _in_range(X, distance):
        return None
    rows = X.to(torch.float64)
    center = torch.zeros_like(rows[0]) if distance.is_similarity else rows.mean(dim=0)
    scale = _power_of_two(float(_sizes(rows).max()))
    moved = _one_length(rows) if distance.is_normalized else (rows - center) * scale
    norms = _norms(moved)
    biases = torch.zeros_like(norms) if distance.is_similarity else norms**2 / 2
    single = moved.to(torch.float32)
    return Prepared(single, _up(norms), biases.to(torch.float32), center, scale, distance)


def _power_of_two(largest: float) -> float:
    """Return the power of two that scales `largest` below 2 to :data:`LARGEST_EXPONENT`."""
    exponent = int(torch.frexp(torch.tensor(largest, dtype=torch.float64)).exponent)
    return float(2.0 ** (LARGEST_EXPONENT - exponent))


def _in_range(X: Tensor, distance: Distance) -> bool:
    """Tell whether squares neither overflow nor underflow, so that relative errors are valid."""
    if not X.numel() or X.shape[1] > 2**16:
        return False
    sizes = _sizes(X)
    if distance.is_normalized:
        sizes = sizes[sizes > 0]
        return bool(sizes.numel() and sizes.min() > 1e-140 and sizes.max() < 1e140)
    return bool(1e-120 < float(sizes.max()) < 1e120)


def _sizes(rows: Tensor) -> Tensor:
    """Return the largest absolute value of each row."""
    if not rows.shape[1]:
        return torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    low, high = torch.aminmax(rows, dim=1)
    return torch.maximum(high, -low).to(torch.float64)


def _one_length(rows: Tensor) -> Tensor:
    """Scale rows to unit length, dividing by the largest value first to avoid overflow."""
    sizes = _sizes(rows)[:, None]
    small = rows / torch.where(sizes == 0, 1.0, sizes)
    norms = _norms(small)[:, None]
    return small / torch.where(norms == 0, 1.0, norms) * 2.0**LARGEST_EXPONENT


def _norms(rows: Tensor) -> Tensor:
    """Return the norm of each row, rounded up."""
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return lengths * (1 + 1e-9)


def _up(values: Tensor) -> Tensor:
    """Round to float32, never down."""
    single = values.to(torch.float32)
    return torch.nextafter(single, torch.full_like(single, torch.inf))


def down(values: Tensor) -> Tensor:
    """Round to float32, never up."""
    single = values.to(torch.float32)
    return torch.nextafter(single, torch.full_like(single, -torch.inf))
