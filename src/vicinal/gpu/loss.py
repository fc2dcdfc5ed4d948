r"""The objective of ML-ARP on a device; see :mod:`vicinal.reduction._objective`.

.. math:: \Theta(P) = \sum_i \mathrm{HL}\left(y_i, h_P(x_i)\right)
    = \sum_l \sum_j \left[ r_l(j) < \tfrac12 \right] c_l[j]
    + \left[ r_l(j) \ge \tfrac12 \right] c'_l[j]
"""

from copy import copy
from functools import cached_property
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vicinal._base.posterior import likelihood, posterior, prior
from vicinal.gpu.dense import DenseSearch, Graph, as_arrays, on_device
from vicinal.gpu.device import pick_device
from vicinal.gpu.votes import Labels, tally

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
    k : int
    smoothing : float
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
        self.labels = Labels.of(indptr, indices, n_labels, self.device)
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


def wrong_cells(with_label: Int, without_label: Int, smoothing: float, k: int) -> int:
    """Count the cells that ML-kNN gets wrong, from its tables of shape (n_labels, width).

    Examples
    --------
    A vote for the label predicts it, which is wrong in one of four cases:

    >>> wrong_cells(np.array([[0, 2]]), np.array([[1, 1]]), 0.0, k=1)
    1
    """
    n_with = with_label.sum(axis=1, keepdims=True)
    n_without = without_label.sum(axis=1, keepdims=True)
    chances = prior(n_with, n_with + n_without, smoothing)
    r = posterior(
        chances,
        likelihood(with_label, n_with, smoothing, n_outcomes=k + 1),
        likelihood(without_label, n_without, smoothing, n_outcomes=k + 1),
    )
    return int(with_label[r < 0.5].sum() + without_label[r >= 0.5].sum())
