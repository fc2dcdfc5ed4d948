r"""The definition of :mod:`vicinal.index.reference`, for chosen rows, on tensors.

.. math::

    \mathrm{sim}(q, x) = \frac{\sum_j q_j x_j}{\lVert q\rVert \cdot \lVert x\rVert}, \qquad
    d(q, x)^2 = \sum_j (q_j - x_j)^2

in float64, one addition at a time in ascending feature order. Each product and each sum is a
separate operation over all pairs at once, so that nothing is fused or reordered.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from vicinal.distances import Distance


@dataclass(frozen=True, eq=False)
class Definition:
    """The sort keys of rows (smaller is nearer); NaN exactly for rows that are not candidates.

    Parameters
    ----------
    X : Tensor of float32 or float64, shape (n, d)
    distance : Distance
        A distance that the compiled core also supports.

    Examples
    --------
    >>> from vicinal.distances import EUCLIDEAN
    >>> X = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    >>> Definition(X, EUCLIDEAN).chosen(X[:1], torch.tensor([[1, 0, -1]]))
    tensor([[25.,  0., nan]], dtype=torch.float64)
    """

    X: Tensor
    distance: Distance

    def chosen(self, Q: Tensor, ids: Tensor) -> Tensor:
        """Return the keys of rows `ids` (−1 for none) for each query; float64, shape of `ids`."""
        at = ids.clamp(min=0)
        keys = torch.zeros(ids.shape, dtype=torch.float64, device=ids.device)
        shares = torch.zeros(ids.shape, dtype=torch.bool, device=ids.device)
        for j in range(self.X.shape[1]):
            column = self.X[:, j].double()
            _add_feature(keys, shares, Q[:, j, None].double(), column[at], self.distance)
        finished = _finished(keys, shares, _norms(Q, self.distance), self.norms[at], self.distance)
        return finished.masked_fill(ids < 0, torch.nan)

    def all(self, Q: Tensor) -> Tensor:
        """Return the keys of all rows for each query; float64, shape (n_queries, n)."""
        keys = torch.zeros((len(Q), len(self.X)), dtype=torch.float64, device=Q.device)
        shares = torch.zeros(keys.shape, dtype=torch.bool, device=Q.device)
        for j in range(self.X.shape[1]):
            column = self.X[None, :, j].double()
            _add_feature(keys, shares, Q[:, j, None].double(), column, self.distance)
        return _finished(keys, shares, _norms(Q, self.distance), self.norms, self.distance)

    @cached_property
    def norms(self) -> Tensor:
        """Norms of the rows if the distance needs them, otherwise zeros."""
        return _norms(self.X, self.distance)


def nearest(keys: Tensor, ids: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the first k of `ids` by (key, id), and their keys; NaN keys and id −1 at the end.

    Examples
    --------
    >>> nearest(torch.tensor([[2.0, 1.0, torch.nan, 1.0]]), torch.tensor([[0, 5, 1, 3]]), 4)
    (tensor([[ 3,  5,  0, -1]]), tensor([[1., 1., 2., nan]]))
    """
    ids, place = ids.sort(dim=1)
    keys, order = keys.gather(1, place).sort(dim=1, stable=True)  # NaN comes last
    ids = ids.gather(1, order)[:, :k].masked_fill(keys[:, :k].isnan(), -1)
    return ids, keys[:, :k]


def _add_feature(keys: Tensor, shares: Tensor, q: Tensor, x: Tensor, distance: Distance) -> None:
    """Add one feature to the sums, in place."""
    if not distance.is_similarity:
        difference = q - x
        keys += difference * difference
        return
    keys += q * x
    shares |= (q != 0) & (x != 0)


def _finished(
    keys: Tensor, shares: Tensor, norms: Tensor, row_norms: Tensor, distance: Distance
) -> Tensor:
    """Turn sums into keys: negated similarities, NaN if no feature is shared."""
    if not distance.is_similarity:
        return keys
    similarity = keys
    if distance.is_normalized:
        size = norms[:, None] * row_norms
        similarity = torch.where(size == 0, 0.0, keys / size)
    similarity = similarity.masked_fill(similarity.isnan(), 0.0)
    return (-similarity).masked_fill(~shares, torch.nan)


def _norms(rows: Tensor, distance: Distance) -> Tensor:
    """Return norms by the definition if the distance needs them."""
    sums = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    if distance.is_normalized:
        for j in range(rows.shape[1]):
            column = rows[:, j].double()
            sums += column * column
    return square_roots(sums)


def square_roots(values: Tensor) -> Tensor:
    """Return correctly rounded square roots; PyTorch's may be wrong in the last bit on the CPU.

    Examples
    --------
    >>> square_roots(torch.tensor([0.5, 4.0], dtype=torch.float64)).tolist()
    [0.7071067811865476, 2.0]
    """
    if values.device.type == "cpu":
        return torch.from_numpy(np.sqrt(values.numpy()))
    return values.sqrt()
