r"""Rows prepared for products in low precision, with error bounds for the products.

As in :mod:`vicinal.index.dense` for the CPU, Euclidean rows and queries are centred at the mean
of the rows and scored by :math:`q \cdot x - \lVert x\rVert^2 / 2`, which decreases with the
distance. For cosine both are scaled to unit length, for the dot product only the queries. All rows
are scaled by a common power of two so that the largest entry is close to 2\ :sup:`8` and float16
can represent them.

The error of a score is at most error(q) · size(x) + constant(q), where size(x) ≥ ‖x‖. With d
features, :math:`u = 2^{-24}` and M the largest size:

- products in float32, summed in any order: :math:`1.1u\,((d + 16)\lVert q\rVert + 4.4 M)`;
- products of float16 pairs (:mod:`vicinal.gpu.search`): a number is split into two of 11 bits,
  :math:`v = h + l + r` with :math:`|r| \le 2^{-22}|v| + 2^{-25}`, and of the four products, that of
  the two low parts is omitted: :math:`3 \cdot 2^{-22}`, and :math:`2u` for the float32 they came
  from. Tensor cores multiply exactly and align what they add to the largest term with at least 23
  bits of fraction, so that each of 3d additions loses at most :math:`2^{-22}` of the sum of
  absolute values. Together :math:`1.1 \cdot 2^{-22}((3d + 16)\lVert q\rVert + 2.2 M)`, and
  :math:`2^{-24}\sqrt d\,(\lVert q\rVert + M)` for values that float16 cannot represent.

The constant covers the float64 rounding of the definition itself,
:math:`(d + 8)\,2^{-50}(\lVert q\rVert^2 + M^2)`, and numbers too small for float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from vicinal.distances import UNIT, Distance
from vicinal.errors import InvalidArgumentError

LARGEST_EXPONENT = 8
"""Entries of rows are scaled below 2 to the power of this."""

FLOAT16_ROOM = 2.0**15
"""Entries of queries up to this value are safely representable in float16."""


@dataclass(frozen=True, eq=False)
class GpuRows:
    """Rows ready for products."""

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
        if self.distance.is_similarity:
            usable = (sizes == 0) | ((sizes > 1e-140) & (sizes < 1e140))
            moved = _one_length(torch.where(usable[:, None], Q, 0.0))
        else:
            usable = sizes * self.scale < 1e15
            moved = (torch.where(usable[:, None], Q, 0.0) - self.center) * self.scale
        return Queries(moved.to(torch.float32), _norms(moved), usable, self.largest)


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries ready for products with rows of at most the size `largest`."""

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


def prepare(X: Tensor, distance: Distance) -> GpuRows | None:
    """Return `X` ready for products, or None if the bounds would be useless.

    Memory: 4 bytes per cell and 8 per row; 16 per cell during preparation.
    """
    if not _in_range(X, distance):
        return None
    rows = X.to(torch.float64)
    center = torch.zeros_like(rows[0]) if distance.is_similarity else rows.mean(dim=0)
    scale = float(2.0 ** (LARGEST_EXPONENT - int(torch.frexp(_sizes(rows).max()).exponent)))
    moved = _one_length(rows) if distance.is_normalized else (rows - center) * scale
    norms = _norms(moved)
    biases = torch.zeros_like(norms) if distance.is_similarity else norms**2 / 2
    single = moved.to(torch.float32)
    return GpuRows(single, _up(norms), biases.to(torch.float32), center, scale, distance)


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


def cuda_available() -> bool:
    """Tell whether there is a CUDA device."""
    return bool(torch.cuda.is_available())


def device_name() -> str:
    """Return the name of the first CUDA device, or ``"none"``."""
    return torch.cuda.get_device_name(0) if cuda_available() else "none"


def pick_device(device: str | torch.device | None = None) -> torch.device:
    """Return the requested device; by default CUDA if available, otherwise the CPU.

    Examples
    --------
    >>> pick_device("cpu")
    device(type='cpu')
    """
    if device is None:
        return torch.device("cuda" if cuda_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise InvalidArgumentError("device", "a device such as 'cuda'", device) from None
    if chosen.type not in ("cpu", "cuda"):
        raise InvalidArgumentError("device", "'cpu' or 'cuda'", device)
    if chosen.type == "cuda" and not cuda_available():
        raise InvalidArgumentError("device", "an available device", device)
    return chosen


def cells_at_once(device: torch.device) -> int:
    """Return the maximum size of a chunk: 2 GiB of float32 on a GPU, 32 MiB on the CPU."""
    return 2**29 if device.type == "cuda" else 2**23


@contextmanager
def full_float32() -> Iterator[None]:
    """Multiply float32 matrices in float32: no TF32, whatever the user set elsewhere."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class PossibleNeighbors(NamedTuple):
    """Rows that may be among the nearest.

    `ids`: −1 for none.
    `low`: a lower bound on the score of each candidate.
    `outside`: an upper bound on the score of every row that is not in `ids`.
    """

    ids: Tensor
    low: Tensor
    outside: Tensor

    def certain(self, real: Tensor, k: int) -> Tensor:
        """Return for which queries the k nearest are certain; `real` marks actual candidates."""
        above = real & (self.low > self.outside[:, None])
        return (above.sum(dim=1) >= k) | self.outside.isneginf()


def plain_candidates(
    prepared: GpuRows, queries: Queries, own: Tensor | None, width: int
) -> PossibleNeighbors:
    """Return the `width` rows with the highest upper bounds on their scores.

    `own` contains the row id of each query, which is excluded, or is None. Memory: 4 bytes per cell
    of a block of products, at most :func:`~vicinal.gpu.products.cells_at_once`.
    """
    n_rows = len(prepared.rows)
    width = min(width, n_rows)
    errors, constants = queries.float32_errors()
    step = max(1, cells_at_once(prepared.rows.device) // n_rows)
    parts = [
        _best(prepared, queries.rows[part], errors[part], None if own is None else own[part], width)
        for part in (slice(start, start + step) for start in range(0, len(queries.rows), step))
    ]
    if not parts:
        nobody = torch.zeros((0, width), dtype=torch.int64, device=prepared.rows.device)
        return PossibleNeighbors(nobody, nobody.double(), nobody[:, 0].double())
    high, ids = (torch.cat(list(values)) for values in zip(*parts, strict=True))
    ids = ids.masked_fill(high == -torch.inf, -1)
    slack = errors.double()[:, None] * prepared.sizes.double()[ids] + constants.double()[:, None]
    outside = (
        high[:, -1].double() + constants
        if width < n_rows
        else torch.full_like(constants, -torch.inf, dtype=torch.float64)
    )
    return PossibleNeighbors(ids, high.double() - 2 * slack, outside)


def _best(
    prepared: GpuRows, rows: Tensor, errors: Tensor, own: Tensor | None, width: int
) -> tuple[Tensor, Tensor]:
    """Return the highest upper bounds of a block of queries, descending, and their rows."""
    with full_float32():
        high = torch.addmm(-prepared.biases, rows, prepared.rows.T)
    high.addr_(errors, prepared.sizes)
    if own is not None:
        high.scatter_(1, own[:, None], -torch.inf)
    values, ids = high.topk(width, dim=1)
    return values, ids
