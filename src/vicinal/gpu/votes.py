r"""The count tables of ML-kNN on a device: votes of neighbours, by label and true value.

Arrays have the size of all neighbours' labels together, n × k × labels per row; nothing has the
size rows × labels.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of the rows on a device.

    Parameters
    ----------
    starts, lengths : Tensor of int64, shape (n,)
        Start and number of the labels of each row.
    indices : Tensor of int64
        The concatenated labels of all rows, ascending within a row.
    n_labels : int
    """

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
        """Return row × labels + label of each label of each neighbour of each row.

        `ids` has shape (n, k), −1 for none.
        """
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


def tally(labels: Labels, truth: Tensor, ids: Tensor, width: int) -> Tensor:
    """Tabulate the votes of neighbours by true value, label and number of votes.

    Parameters
    ----------
    labels : Labels
    truth : Tensor of int64
        ``labels.cells()``, which does not change with the neighbours.
    ids : Tensor of int64, shape (n, k)
        Neighbours of the same rows.
    width : int
        1 + the maximum number of votes.

    Returns
    -------
    Tensor of int64, shape (2, n_labels, width)
        The number of rows without, and with, each label that have each number of votes for it.

    Examples
    --------
    >>> labels = Labels.of(np.array([0, 1, 2, 2]), np.array([0, 0]), 1, torch.device("cpu"))
    >>> tally(labels, labels.cells(), torch.tensor([[1], [2], [0]]), width=2).tolist()
    [[[0, 1]], [[1, 1]]]
    """
    cells, votes = _counted(labels.cells_of_neighbors(ids).sort().values)
    carries = _contains(truth, cells)
    n_labels = labels.n_labels
    place = (carries.long() * n_labels + cells % n_labels) * width + votes
    table = torch.bincount(place, minlength=2 * n_labels * width).reshape(2, n_labels, width)
    # Rows without votes are not listed; they are the remainder.
    positives = torch.bincount(labels.indices, minlength=n_labels)
    sizes = torch.stack([labels.n_rows - positives, positives])
    table[:, :, 0] = sizes - table.sum(dim=2)
    return table


def _counted(ordered: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct values of a sorted tensor and how often each occurs."""
    first = torch.ones(ordered.shape, dtype=torch.bool, device=ordered.device)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = first.nonzero()[:, 0]
    ends = torch.cat([starts[1:], starts.new_full((min(1, len(starts)),), len(ordered))])
    return ordered[starts], ends - starts


def _contains(sorted_cells: Tensor, asked: Tensor) -> Tensor:
    """Return for each of `asked` whether it is one of `sorted_cells`."""
    if not len(sorted_cells):
        return torch.zeros(asked.shape, dtype=torch.bool, device=asked.device)
    at = torch.searchsorted(sorted_cells, asked).clamp(max=len(sorted_cells) - 1)
    return sorted_cells[at].eq(asked)
