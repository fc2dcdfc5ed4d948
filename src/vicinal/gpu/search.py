r"""Exact search over dense rows on a device.

.. math::

    \mathrm{sim}(q, x) = \frac{\sum_j q_j x_j}{\lVert q\rVert \cdot \lVert x\rVert}, \qquad
    d(q, x)^2 = \sum_j (q_j - x_j)^2

in float64, one addition at a time in ascending feature order. Each product and each sum is a
separate operation over all pairs at once, so that nothing is fused or reordered.

On CUDA, candidates are found by fused kernels (:mod:`vicinal.gpu.kernels`), in two passes over
tiles of rows. The first uses every eighth row and writes the best score of each tile. At least k
rows other than the query itself reach the (k + 1)-th best of these scores, so no row below it is
among the k nearest. The second pass visits all rows and keeps those that may reach this threshold,
about 16 k rows; the best of them are the candidates. Products are computed from float16 pairs on
tensor cores: :math:`q \cdot x \approx q_h x_h + q_h x_l + q_l x_h`, with a bound on the error in
:mod:`vicinal.gpu.products`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vicinal._core.checks import check_integer
from vicinal.distances import EUCLIDEAN, Distance, get_distance
from vicinal.errors import InvalidArgumentError
from vicinal.gpu.products import (
    GpuRows,
    PossibleNeighbors,
    Queries,
    cells_at_once,
    down,
    pick_device,
    plain_candidates,
    prepare,
)

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
    """Rows as float16 pairs, padded to complete tiles."""

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
    """Return the padded number of features: a power of two up to 128, then a multiple of 64."""
    d = int(rows.shape[1])
    return max(16, 1 << (d - 1).bit_length()) if d <= 128 else -(-d // 64) * 64


@dataclass(frozen=True, eq=False)
class Fused:
    """The kernels for prepared rows."""

    prepared: GpuRows
    pairs: Pairs
    sample: Pairs

    @classmethod
    def over(cls, prepared: GpuRows, *, must: bool) -> Self | None:
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

    def candidates(
        self, queries: Queries, own: Tensor | None, k: int, width: int
    ) -> PossibleNeighbors:
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
        return PossibleNeighbors(*(torch.cat(list(values)) for values in zip(*parts, strict=True)))

    def _chunk(
        self, rows: Tensor, errors: Tensor, constants: Tensor, own: Tensor, k: int, width: int
    ) -> PossibleNeighbors:
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
        return PossibleNeighbors(chosen, low, outside.masked_fill(overflow, torch.inf))

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
    """Return how many rows are kept per query: about twice the number expected to pass."""
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
    return {"HELD": held, "DEPTH": features if held else 64, "QUERIES": QUERIES, "ROWS": ROWS}


def _grid(n_queries: int, n_tiles: int) -> tuple[tuple[int, int], int]:
    """Return the grid of blocks × runs of tiles, and the number of tiles per run."""
    blocks = n_queries // QUERIES
    runs = max(1, min(n_tiles, PROGRAMS // max(1, blocks)))
    each = -(-n_tiles // runs)
    return (blocks, -(-n_tiles // each)), each


@dataclass(frozen=True, eq=False)
class Definition:
    """The sort keys of rows (smaller is nearer); NaN exactly for rows that are not candidates."""

    X: Tensor
    distance: Distance

    def chosen(self, Q: Tensor, ids: Tensor) -> Tensor:
        """Return the keys of rows `ids` (−1 for none) for each query; float64, shape of `ids`."""
        at = ids.clamp(min=0)
        keys = self._keys(Q, lambda j: self.X[:, j].double()[at], self.norms[at])
        return keys.masked_fill(ids < 0, torch.nan)

    def all(self, Q: Tensor) -> Tensor:
        """Return the keys of all rows for each query; float64, shape (n_queries, n)."""
        every = self.norms.expand(len(Q), -1)
        return self._keys(Q, lambda j: self.X[None, :, j].double(), every)

    def _keys(self, Q: Tensor, column: Callable[[int], Tensor], row_norms: Tensor) -> Tensor:
        """Return the keys of rows given by column, NaN if no feature is shared."""
        keys = torch.zeros_like(row_norms)
        shares = torch.zeros(keys.shape, dtype=torch.bool, device=Q.device)
        for j in range(self.X.shape[1]):
            q, x = Q[:, j, None].double(), column(j)
            if self.distance.is_similarity:
                keys += q * x
                shares |= (q != 0) & (x != 0)
            else:
                difference = q - x
                keys += difference * difference
        if not self.distance.is_similarity:
            return keys
        if self.distance.is_normalized:
            size = _norms(Q, self.distance)[:, None] * row_norms
            keys = torch.where(size == 0, 0.0, keys / size)
        keys = keys.masked_fill(keys.isnan(), 0.0)
        return (-keys).masked_fill(~shares, torch.nan)

    @cached_property
    def norms(self) -> Tensor:
        """Norms of the rows if the distance needs them, otherwise zeros."""
        return _norms(self.X, self.distance)


def nearest(keys: Tensor, ids: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the first k of `ids` by (key, id), and their keys; NaN keys and id −1 at the end."""
    ids, place = ids.sort(dim=1)
    keys, order = keys.gather(1, place).sort(dim=1, stable=True)  # NaN comes last
    ids = ids.gather(1, order)[:, :k].masked_fill(keys[:, :k].isnan(), -1)
    return ids, keys[:, :k]


def _norms(rows: Tensor, distance: Distance) -> Tensor:
    """Return norms by the definition if the distance needs them."""
    sums = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    if distance.is_normalized:
        for j in range(rows.shape[1]):
            column = rows[:, j].double()
            sums += column * column
    return square_roots(sums)


def square_roots(values: Tensor) -> Tensor:
    """Return correctly rounded square roots; PyTorch's may be wrong in the last bit on the CPU."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.sqrt(values.numpy()))
    return values.sqrt()


Graph = tuple[NDArray[np.int32], NDArray[np.float64]]


class DenseSearch:
    """The nearest rows of a dense matrix on a device, exactly.

    Low-precision products with known error bounds (:mod:`vicinal.gpu.products`) select slightly
    more than k candidates per query, which are compared by the float64 definition
    (:mod:`vicinal.gpu.search`). If the bounds do not guarantee that the k nearest rows are
    among them, as in data with many ties, the query is repeated with more candidates and finally
    compared with every row.

    Parameters
    ----------
    X : Tensor of float32 or float64, shape (n, d)
        Finite values; the search runs on its device.
    metric : {"euclidean", "cosine", "dot"}
        With cosine and dot product, only rows that share a non-zero feature are neighbours.
    fused : bool or None
        Whether candidates are found by the Triton kernel; None to use it whenever it is available
        and faster.

    Notes
    -----
    Memory on the device: 4 bytes per cell of `X` in addition to `X` (8 with the kernel), and while
    searching 4 bytes per cell of :func:`~vicinal.gpu.products.cells_at_once`.

    Examples
    --------
    >>> ids, values = DenseSearch.of([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]]).self_graph(1)
    >>> ids.ravel(), values.ravel().round(2)
    (array([2, 2, 0], dtype=int32), array([2.  , 3.61, 2.  ]))
    """

    def __init__(
        self, X: Tensor, metric: str = EUCLIDEAN.name, *, fused: bool | None = None
    ) -> None:
        distance = get_distance(metric)
        distance.native()
        self.definition = Definition(X, distance)
        self.prepared: GpuRows | None = prepare(X, distance)
        self._wants_fused = fused

    @classmethod
    def of(
        cls,
        X: object,
        metric: str = EUCLIDEAN.name,
        device: str | torch.device | None = None,
        *,
        fused: bool | None = None,
    ) -> Self:
        """Copy rows to a device: None for CUDA if available, otherwise the CPU."""
        metric = get_distance(metric).name  # before anything is copied to the device
        return cls(on_device(X, "X", pick_device(device)), metric, fused=fused)

    @cached_property
    def fused(self) -> Fused | None:
        """The kernel for these rows, or None if it is not used."""
        if self.prepared is None or self._wants_fused is False:
            return None
        return Fused.over(self.prepared, must=self._wants_fused is True)

    def query(self, Q: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return ids (int64, −1 for none) and values (float64) of the k nearest rows."""
        return self._search(Q, None, k)

    def query_self(self, k: int) -> tuple[Tensor, Tensor]:
        """Return the k nearest other rows of each row; duplicates count as other rows."""
        rows = self.definition.X
        return self._search(rows, torch.arange(len(rows), device=rows.device), k)

    def graph(self, Q: object, k: int) -> Graph:
        """Return ids (int32) and values of the k nearest rows as arrays."""
        rows = self.definition.X
        queries = on_device(Q, "Q", rows.device)
        if queries.shape[1] != rows.shape[1]:
            raise InvalidArgumentError("Q", f"{rows.shape[1]} features", queries.shape[1])
        return as_arrays(*self.query(queries, check_integer("k", k, low=1)))

    def self_graph(self, k: int) -> Graph:
        """Return ids (int32) and values of the k nearest other rows as arrays."""
        return as_arrays(*self.query_self(check_integer("k", k, low=1)))

    def _search(self, Q: Tensor, own: Tensor | None, k: int) -> tuple[Tensor, Tensor]:
        n_rows = len(self.definition.X)
        ids = torch.full((len(Q), k), -1, dtype=torch.int64, device=Q.device)
        keys = torch.full((len(Q), k), torch.nan, dtype=torch.float64, device=Q.device)
        width = min(k, n_rows)
        if len(Q) and n_rows:
            self._answer(Q, own, ids[:, :width], keys[:, :width])
        return ids, self._values(keys)

    def _values(self, keys: Tensor) -> Tensor:
        """Turn keys into distances or similarities, padded as in a graph."""
        if not self.definition.distance.is_similarity:
            return square_roots(keys).nan_to_num(nan=torch.inf, posinf=torch.inf)
        return (-keys).nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf)

    def _answer(self, Q: Tensor, own: Tensor | None, ids: Tensor, keys: Tensor) -> None:
        """Write the results, with more and more candidates and finally with every row."""
        left = torch.arange(len(Q), device=Q.device)
        width = list_width(ids.shape[1])
        for attempt in range(2):
            if self.prepared is None or not len(left):
                break
            asked = slice(None) if len(left) == len(Q) else left
            mine = None if own is None else own[asked]
            sure, found = self._attempt(Q[asked], mine, ids.shape[1], width * 8**attempt, attempt)
            done = left[sure]
            ids[done], keys[done] = found[0][sure], found[1][sure]
            left = left[~sure]
        self._compare_with_all(Q, own, left, ids, keys)

    def _attempt(
        self, Q: Tensor, own: Tensor | None, k: int, width: int, attempt: int
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return which queries are certain, and their results."""
        if self.prepared is None:
            raise RuntimeError("rows without products")
        queries = self.prepared.queries(Q.double())
        candidates: PossibleNeighbors
        if attempt == 0 and self.fused is not None and self.fused.takes(k):
            usable = queries.fits_float16()
            candidates = self.fused.candidates(queries, own, k, width)
        else:
            usable = queries.usable
            candidates = plain_candidates(self.prepared, queries, own, width)
        keys = self._keys(Q, candidates.ids)
        sure = candidates.certain(~keys.isnan(), k) & usable
        return sure, nearest(keys, candidates.ids, k)

    def _keys(self, Q: Tensor, ids: Tensor) -> Tensor:
        """Compare queries with their candidates by the definition."""
        kernels = self._wants_fused or (self._wants_fused is None and runs_on(Q.device))
        if kernels and not self.definition.distance.is_similarity:
            return squared_distances(self.definition.X, Q, ids)
        return self.definition.chosen(Q, ids)

    def _compare_with_all(
        self, Q: Tensor, own: Tensor | None, left: Tensor, ids: Tensor, keys: Tensor
    ) -> None:
        """Write the results of the queries `left`, using only the definition."""
        every = torch.arange(len(self.definition.X), device=Q.device)
        step = max(1, cells_at_once(Q.device) // (8 * len(every)))
        for start in range(0, len(left), step):
            part = left[start : start + step]
            found = self.definition.all(Q[part])
            if own is not None:
                found.scatter_(1, own[part][:, None], torch.nan)
            ids[part], keys[part] = nearest(found, every.expand(found.shape), ids.shape[1])


def list_width(k: int) -> int:
    """Return the initial number of candidates per query."""
    return -(-(k + max(10, k // 2)) // 16) * 16


def on_device(rows: object, name: str, device: torch.device) -> Tensor:
    """Return a matrix of finite float32 or float64 on the device."""
    array = np.asarray(rows)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InvalidArgumentError(
            name, "a matrix of numbers", f"{array.dtype} of shape {array.shape}"
        )
    dtype = array.dtype if array.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidArgumentError(name, "finite values", "input with NaN or infinity")
    writable = np.require(array, dtype=dtype, requirements=["C", "W"])
    return torch.from_numpy(writable).to(device)


def as_arrays(ids: Tensor, values: Tensor) -> Graph:
    """Return the result of a search as NumPy arrays."""
    return ids.to(torch.int32).cpu().numpy(), values.cpu().numpy()
