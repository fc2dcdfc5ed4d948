r"""Second-order instance kNN: neighbours also contribute the labels of their own neighbours.

Training rows are compared by features and labels together, and each gets re-weighted labels:

.. math::

    sim_{ALL}(x_i, x_j) &= \cos([x_i, Y_i], [x_j, Y_j]) \\
    rw(x, y) &= \frac{\sum_{x' \in N_{ALL}(x)} y(x') \cdot sim_{ALL}(x, x')}
                     {\sum_{x' \in N_{ALL}(x)} sim_{ALL}(x, x')} \\
    \mathrm{conf}_{INS2}(x_q, y) &= \frac{\sum_{x \in N(x_q)} rw(x, y) \cdot sim(x_q, x)}
                                         {\sum_{x \in N(x_q)} sim(x_q, x)}

:math:`N_{ALL}(x)` contains k rows, the first of which is x itself with similarity 1. Therefore k =
1 is instance kNN.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-A4.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Features
from vicinal._base.checked_csr import with_values
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import FieldState, State, read_count, read_csr
from vicinal.explain.breakdown import Breakdown
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring.instance_knn import weighted_scores, weighted_votes
from vicinal.scoring.reading import read_indicator
from vicinal.scoring.row_sums import RowSums, neighbor_sums
from vicinal.scoring.training import Training


@dataclass(frozen=True, eq=False)
class SecondOrderScoring(FieldState):
    """The re-weighted labels of the training rows.

    Parameters
    ----------
    k : int
        Number of neighbours, in both orders.
    rw : csr_array of float64, shape (n, L)
        Memory: 12 bytes per row and label of one of its k rows.
    Y : csr_array of int32, shape (n, L)

    Examples
    --------
    Two rows with different labels and a similarity of 0.25: with k = 2, each has weight 1 for its
    own label and 0.25 for that of the other, divided by 1.25.

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [0, 1]], dtype=np.int32))
    >>> others = np.array([[1], [0]], dtype=np.int32)
    >>> joint = NeighborGraph(others, np.full((2, 1), 0.25), "cosine", n_rows=2)
    >>> SecondOrderScoring.fit(Training(joint, Y, joint=joint), k=2).rw.toarray()
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    k: int
    rw: Csr
    Y: Csr

    @classmethod
    def fit(cls, training: Training, k: int) -> Self:
        """Re-weight the labels of the training rows."""
        return next(cls.fit_sweep(training, [k]))

    @classmethod
    def fit_sweep(cls, training: Training, ks: Iterable[int]) -> Iterator[Self]:
        """Fit for each k of `ks` (ascending), adding each neighbour once."""
        if training.joint is None:
            raise InvalidArgumentError("joint", "the graph over features and labels", None)
        wanted = list(ks)
        others = [min(k - 1, training.joint.k) for k in wanted]
        # x itself comes first: its labels, with weight 1.
        own = RowSums(with_values(training.Y, np.ones(training.Y.nnz)), np.ones(training.n_rows))
        sums = neighbor_sums(training.joint, training.Y, others, start=own)
        for k, sum_of_k in zip(wanted, sums, strict=True):
            yield cls(k, sum_of_k.means(), training.Y)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        near = graph.prefix(min(self.k, graph.k))
        return next(weighted_scores(near, self.rw, self.Y, [near.k]))

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return each neighbour's :math:`rw(x, y) sim(x_q, x)` over the sum of similarities."""
        return weighted_votes(graph, self.k, self.rw, labels)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        rw = read_csr(state, "rw", Y.shape)
        if rw.nnz and (rw.data.min() < 0 or rw.data.max() > 1 + 1e-9):
            raise ModelFormatError("rw: expected shares from 0 to 1")
        return cls(read_count(state, "k"), rw.astype(np.float64, copy=False), Y)
