r"""Candidates found by fused CUDA kernels, which combine products and selection.

There are two passes over tiles of rows. The first uses every eighth row and writes the best score
of each tile. At least k rows other than the query itself reach the (k + 1)-th best of these scores,
so no row below it is among the k nearest. The second pass visits all rows and keeps those that may
reach this threshold, about 16 k rows; the best of them are the candidates.

Products are computed from float16 pairs on tensor cores: :math:`q \cdot x \approx q_h x_h + q_h x_l
+ q_l x_h`, with a bound on the error in :mod:`vicinal.gpu.products`.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

import torch
from torch import Tensor

from vicinal.errors import InvalidArgumentError
from vicinal.gpu.products import Candidates, Prepared, Queries, down

try:
    from vicinal.gpu import kernels as _kernels

    KERNELS: ModuleType | None = _kernels
except ImportError:
    KERNELS = None

QUERIES, ROWS = 128, 64
"""Number of queries per block and of rows per tile."""

STRIDE = 8
"""One row in this many is used to find the threshold."""

CHUNK = 2**17
"""Number of queries processed at a time."""

LAUNCH = {"num_warps": 8, "num_stages": 3}
"""Launch parameters of a product block."""

PROGRAMS = 2**12
"""Approximate number of blocks worth launching at a time."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows as float16 pairs, padded to complete tiles.

    Parameters
    ----------
    high, low : Tensor of float16, shape (n_padded, depth)
    biases, sizes : Tensor of float32, shape (n_padded,)
    """

    high: Tensor
    low: Tensor
    biases: Tensor
    sizes: Tensor

    @classmethod
    def of(cls, rows: Tensor, biases: Tensor, sizes: Tensor, block: int) -> Self:
        """Split rows and pad them to a multiple of `block`."""
        extra = -len(rows) % block
        padded = torch.nn.functional.pad(rows, (0, depth(rows) - rows.shape[1], 0, extra))
        high = padded.to(torch.float16)
        low = (padded - high.to(torch.float32)).to(torch.float16)
        bias = torch.nn.functional.pad(biases, (0, extra), value=torch.inf)
        return cls(high, low, bias, torch.nn.functional.pad(sizes, (0, extra)))


def depth(rows: Tensor) -> int:
    """Return the padded number of features: a power of two up to 128, then a multiple of 64.

    Examples
    --------
    >>> [depth(torch.zeros(0, d)) for d in (3, 65, 200)]
    [16, 128, 256]
    """
    d = int(rows.shape[1])
    return max(16, 1 << (d - 1).bit_length()) if d <= 128 else -(-d // 64) * 64


@dataclass(frozen=True, eq=False)
class Fused:
    """The kernels for prepared rows."""

    prepared: Prepared
    pairs: Pairs
    sample: Pairs

    @classmethod
    def over(cls, prepared: Prepared, *, must: bool) -> Self | None:
        """Return the kernels if they can run and (unless `must`) are worthwhile, otherwise None."""
        if KERNELS is None:
            if must:
                raise InvalidArgumentError("fused", "None or False without Triton", True)
            return None
        rows = prepared.rows
        if not must and (len(rows) < 4096 or not runs_on(rows.device)):
            return None
        biases, sizes = prepared.biases, prepared.sizes
        sample = Pairs.of(rows[::STRIDE], biases[::STRIDE], sizes[::STRIDE], ROWS)
        return cls(prepared, Pairs.of(rows, biases, sizes, ROWS), sample)

    def takes(self, k: int) -> bool:
        """Tell whether there are enough tiles to find a threshold."""
        return len(self.sample.high) // ROWS > 2 * (k + 1) and k <= 256

    def candidates(self, queries: Queries, own: Tensor | None, k: int, width: int) -> Candidates:
        """Return `width` candidates per query, with the bounds that show whether they suffice."""
        fits = queries.fits_float16()
        errors, constants = queries.float16_errors()
        itself = (
            torch.full_like(fits, -1, dtype=torch.int32) if own is None else own.to(torch.int32)
        )
        tame = torch.where(fits[:, None], queries.rows, 0.0)
        parts = [
            self._chunk(tame[part], errors[part], constants[part], itself[part], k, width)
            for part in (slice(at, at + CHUNK) for at in range(0, len(tame), CHUNK))
        ]
        return Candidates(*(torch.cat(list(values)) for values in zip(*parts, strict=True)))

    def _chunk(
        self, rows: Tensor, errors: Tensor, constants: Tensor, own: Tensor, k: int, width: int
    ) -> Candidates:
        """Return the candidates of a chunk of queries."""
        n_queries = len(rows)
        queries = Pairs.of(rows, errors, errors, QUERIES)
        error = torch.nn.functional.pad(errors, (0, len(queries.high) - n_queries))
        best = self._best(queries, error)[:n_queries]
        kth = best.topk(k + 1, dim=1).values[:, -1].double() - 4 * constants.double()
        counts, ids, high = self._collect(queries, error, down(kth - constants), own, k)
        found, place = high[:n_queries].topk(min(width, high.shape[1]), dim=1)
        chosen = ids[:n_queries].gather(1, place).long().masked_fill(found == -torch.inf, -1)
        slack = errors.double()[:, None] * self.prepared.sizes.double()[chosen]
        low = found.double() - 2 * slack - constants.double()[:, None]
        outside = torch.maximum(kth, found[:, -1].double() + constants)
        overflow = counts[:n_queries] > high.shape[1]
        return Candidates(chosen, low, outside.masked_fill(overflow, torch.inf))

    def _best(self, queries: Pairs, errors: Tensor) -> Tensor:
        """Return the best score of each tile of the sample: shape (queries, tiles)."""
        n_tiles = len(self.sample.high) // ROWS
        n_queries = len(queries.high)
        best = torch.empty((n_tiles, n_queries), dtype=torch.float32, device=errors.device)
        grid, each = _grid(n_queries, n_tiles)
        _kernel("best_of_tiles")[grid](
            *_operands(queries, self.sample), self.sample.sizes, errors, best,
            n_queries, n_tiles, each, queries.high.shape[1], **_blocks(queries), **LAUNCH,
        )  # fmt: skip
        return best.T.contiguous()

    def _collect(
        self, queries: Pairs, errors: Tensor, thresholds: Tensor, own: Tensor, k: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the number of rows that may reach the thresholds, their ids and highest scores."""
        n_queries, room = len(queries.high), room_for(k)
        extra = n_queries - len(own)
        counts = torch.zeros(n_queries, dtype=torch.int32, device=errors.device)
        ids = torch.empty((n_queries, room), dtype=torch.int32, device=errors.device)
        high = torch.full((n_queries, room), -torch.inf, device=errors.device)
        n_tiles = len(self.pairs.high) // ROWS
        grid, each = _grid(n_queries, n_tiles)
        _kernel("collect")[grid](
            *_operands(queries, self.pairs), self.pairs.sizes, errors,
            torch.nn.functional.pad(thresholds, (0, extra), value=torch.inf),
            torch.nn.functional.pad(own, (0, extra), value=-1), counts, ids, high,
            n_tiles, each, queries.high.shape[1], ROOM=room, **_blocks(queries), **LAUNCH,
        )  # fmt: skip
        return counts, ids, high


def runs_on(device: torch.device) -> bool:
    """Tell whether kernels are used: needs Triton and a GPU with enough on-chip memory."""
    if KERNELS is None or device.type != "cuda":
        return False
    return torch.cuda.get_device_capability(device)[0] in (9, 10)


def squared_distances(X: Tensor, Q: Tensor, ids: Tensor) -> Tensor:
    """Return the squared distances of rows `ids` by the definition, NaN for id −1."""
    n_queries, width = ids.shape
    sums = torch.empty(ids.shape, dtype=torch.float64, device=ids.device)
    wide = 1 << (width - 1).bit_length()
    block = max(1, 256 // wide)
    _kernel("squared_distances")[(-(-n_queries // block),)](
        X.contiguous(), Q.contiguous(), ids.contiguous(), sums,
        n_queries, X.shape[1], width, QUERIES=block, WIDTH=wide,
        num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip
    return sums.masked_fill(ids < 0, torch.nan)


def room_for(k: int) -> int:
    """Return how many rows are kept per query: about twice the number expected to pass.

    Examples
    --------
    >>> room_for(5), room_for(30)
    (256, 512)
    """
    return max(256, 1 << (2 * STRIDE * (k + 1) - 1).bit_length())


def _kernel(name: str) -> Any:
    """Return a kernel by name; only called if Triton is available."""
    return getattr(KERNELS, name)


def _operands(queries: Pairs, rows: Pairs) -> tuple[Tensor, ...]:
    """Return the operands and biases of a product in the order the kernels expect."""
    return queries.high, queries.low, rows.high, rows.low, rows.biases


def _blocks(queries: Pairs) -> dict[str, object]:
    """Return the sizes a kernel is compiled for; up to 128 features are loaded at once."""
    features = int(queries.high.shape[1])
    held = features <= 128
    return {
        "HELD": held,
        "DEPTH": features if held else 64,
        "QUERIES": QUERIES,
        "ROWS": ROWS,
    }


def _grid(n_queries: int, n_tiles: int) -> tuple[tuple[int, int], int]:
    """Return the grid of blocks × runs of tiles, and the number of tiles per run."""
    blocks = n_queries // QUERIES
    runs = max(1, min(n_tiles, PROGRAMS // max(1, blocks)))
    each = -(-n_tiles // runs)
    return (blocks, -(-n_tiles // each)), each
