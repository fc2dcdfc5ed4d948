r"""The objective of ML-ARP on a device; see :mod:`vicinal.reduction.mlarp`.

.. math:: \Theta(P) = \sum_i \mathrm{HL}\left(y_i, h_P(x_i)\right)
    = \sum_l \sum_j \left[ r_l(j) < \tfrac12 \right] c_l[j]
    + \left[ r_l(j) \ge \tfrac12 \right] c'_l[j]

Arrays have the size of all neighbours' labels together, n × k × labels per row; nothing has the
size rows × labels.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vicinal._core.posterior import wrong_cells
from vicinal.errors import InvalidArgumentError
from vicinal.gpu.products import full_float32, pick_device
from vicinal.gpu.search import DenseSearch, Graph, as_arrays, on_device


@dataclass(frozen=True, eq=False)
class LabelLists:
    """The labels of the rows on a device."""

    starts: Tensor
    lengths: Tensor
    indices: Tensor
    n_labels: int

    @classmethod
    def of(
        cls,
        indptr: NDArray[np.integer],
        indices: NDArray[np.integer],
        n_labels: int,
        device: torch.device,
    ) -> Self:
        """Copy a CSR indicator with sorted rows to a device."""
        pointers = torch.from_numpy(np.array(indptr, dtype=np.int64)).to(device)
        columns = torch.from_numpy(np.array(indices, dtype=np.int64)).to(device)
        return cls(pointers[:-1], pointers.diff(), columns, n_labels)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.starts)

    def of_rows(self, rows: Tensor) -> Self:
        """Return the labels of some of the rows."""
        lengths = self.lengths[rows]
        ends = lengths.cumsum(0)
        shifts = (self.starts[rows] - (ends - lengths)).repeat_interleave(lengths)
        places = shifts + torch.arange(len(shifts), device=rows.device)
        return type(self)(ends - lengths, lengths, self.indices[places], self.n_labels)

    def cells(self) -> Tensor:
        """Return row × labels + label of each label of each row, ascending."""
        rows = torch.arange(self.n_rows, device=self.indices.device)
        return rows.repeat_interleave(self.lengths) * self.n_labels + self.indices

    def cells_of_neighbors(self, ids: Tensor) -> Tensor:
        """Return row × labels + label of each label of each neighbour of each row."""
        rows = torch.arange(len(ids), device=ids.device)[:, None].expand(ids.shape)
        near = ids.reshape(-1)
        lengths = torch.where(near < 0, 0, self.lengths[near])
        ends = lengths.cumsum(0)
        total = int(ends[-1]) if len(ends) else 0
        shift = self.starts[near] - (ends - lengths)
        both = torch.stack([shift, rows.reshape(-1)])
        shifts, owners = both.repeat_interleave(lengths, dim=1, output_size=total)
        labels = self.indices[shifts + torch.arange(total, device=ids.device)]
        cells: Tensor = owners * self.n_labels + labels
        return cells


def tally(labels: LabelLists, truth: Tensor, ids: Tensor, width: int) -> Tensor:
    """Tabulate the votes of neighbours by true value, label and number of votes."""
    ordered = labels.cells_of_neighbors(ids).sort().values
    first = torch.ones(ordered.shape, dtype=torch.bool, device=ordered.device)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = first.nonzero()[:, 0]
    ends = torch.cat([starts[1:], starts.new_full((min(1, len(starts)),), len(ordered))])
    cells, votes = ordered[starts], ends - starts
    carries = _contains(truth, cells)
    n_labels = labels.n_labels
    place = (carries.long() * n_labels + cells % n_labels) * width + votes
    table = torch.bincount(place, minlength=2 * n_labels * width).reshape(2, n_labels, width)
    # Rows without votes are not listed; they are the remainder.
    positives = torch.bincount(labels.indices, minlength=n_labels)
    sizes = torch.stack([labels.n_rows - positives, positives])
    table[:, :, 0] = sizes - table.sum(dim=2)
    return table


def _contains(sorted_cells: Tensor, asked: Tensor) -> Tensor:
    """Return for each of `asked` whether it is one of `sorted_cells`."""
    if not len(sorted_cells):
        return torch.zeros(asked.shape, dtype=torch.bool, device=asked.device)
    at = torch.searchsorted(sorted_cells, asked).clamp(max=len(sorted_cells) - 1)
    return sorted_cells[at].eq(asked)


Float = NDArray[np.float64]
Int = NDArray[np.int64]


class ProjectionLoss:
    """The leave-one-out Hamming loss of ML-kNN on projected rows.

    Rows and labels stay on the device; each evaluation sends a projection and receives counts.

    Parameters
    ----------
    X : array-like of numbers or Tensor, shape (n, m)
        Dense, or a result of :func:`sparse_rows`.
    indptr, indices : ndarray of int
        The labels of row i, ascending: ``indices[indptr[i]:indptr[i + 1]]``.
    n_labels : int
        Number of labels.
    k : int
        Number of neighbours.
    smoothing : float
        Smoothing s of ML-kNN.
    device : str or None
        None for CUDA if available, otherwise the CPU.

    Notes
    -----
    Memory on the device: 8 bytes per cell of `X`, 16 per projected cell, and the search.

    Examples
    --------
    Rows 0 and 1 have the label and are each other's neighbours, as are rows 2 and 3: no errors.

    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> loss = ProjectionLoss(X, np.array([0, 1, 2, 2, 2]), np.array([0, 0]), 1, k=1, device="cpu")
    >>> loss(np.eye(1))
    0.0
    """

    def __init__(
        self,
        X: object,
        indptr: NDArray[np.integer],
        indices: NDArray[np.integer],
        n_labels: int,
        k: int = 5,
        smoothing: float = 0.0,
        device: str | torch.device | None = None,
    ) -> None:
        self.device = pick_device(device)
        rows = X.to(self.device) if isinstance(X, Tensor) else on_device(X, "X", self.device)
        self.X = rows.double()
        self.labels = LabelLists.of(indptr, indices, n_labels, self.device)
        self.k = k
        self.smoothing = smoothing

    def __call__(self, P: Float) -> float:
        """Return the loss of the projection P, shape (m, r)."""
        ids, _ = self._neighbors(P)
        table = tally(self.labels, self._truth, ids, width=1 + min(self.k, len(self.X)))
        without_label, with_label = table.cpu().numpy()
        wrong = wrong_cells(with_label, without_label, self.smoothing, self.k)
        return wrong / (len(self.X) * self.labels.n_labels)

    def of_rows(self, rows: Int) -> Self:
        """Return the loss on some of the rows only."""
        chosen = torch.from_numpy(rows).to(self.device)
        part = copy(self)
        part.X, part.labels = self.X.index_select(0, chosen), self.labels.of_rows(chosen)
        part.__dict__.pop("_truth", None)
        return part

    def graph(self, P: Float) -> Graph:
        """Return the leave-one-out neighbours of the projected rows as arrays."""
        return as_arrays(*self._neighbors(P))

    def _neighbors(self, P: Float) -> tuple[Tensor, Tensor]:
        width = max(1, min(self.k, len(self.X) - 1))
        onto = on_device(P, "P", self.device).double()
        projected = torch.sparse.mm(self.X, onto) if self.X.is_sparse else self.X @ onto
        return DenseSearch(projected).query_self(width)

    @cached_property
    def _truth(self) -> Tensor:
        return self.labels.cells()


def sparse_rows(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    values: NDArray[np.floating],
    shape: tuple[int, int],
    device: str | torch.device | None = None,
) -> Tensor:
    """Return a CSR matrix as a sparse tensor on a device, for :class:`ProjectionLoss`.

    Examples
    --------
    >>> rows = sparse_rows(np.array([0, 1, 1]), np.array([2]), np.array([5.0]), (2, 3), "cpu")
    >>> rows.to_dense().tolist()
    [[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    """
    of_row = np.repeat(np.arange(shape[0]), np.diff(indptr))
    places = torch.from_numpy(np.stack([of_row, np.array(indices, dtype=np.int64)]))
    entries = torch.from_numpy(np.array(values, dtype=np.float64))
    matrix = torch.sparse_coo_tensor(places, entries, shape, check_invariants=True)
    return matrix.to(pick_device(device)).coalesce()


def spd_inverse(
    S: NDArray[np.floating[Any]], alpha: float, device: str | None = None
) -> NDArray[np.floating[Any]]:
    """Return (S + alpha I)⁻¹ in the number type of `S`; two such matrices are on the device."""
    M = torch.as_tensor(S).to(pick_device(device), copy=True)
    M.diagonal().add_(alpha)
    with full_float32():
        factor, failed = torch.linalg.cholesky_ex(M)
        del M
        if int(failed):
            raise InvalidArgumentError(
                "alpha", "a value that makes the rows' matrix invertible", alpha
            )
        inverted: NDArray[np.floating[Any]] = torch.cholesky_inverse(factor).cpu().numpy()
    return inverted
