r"""Instance kNN: the labels of the neighbours, weighted by their similarity.

.. math::

    \mathrm{conf}_{INS}(x, y) = \frac{\sum_{x' \in N(x)} y(x') \cdot sim(x, x')}
                                     {\sum_{x' \in N(x)} sim(x, x')} && \text{(2)}

*sim* is the cosine in the paper (1). Negative similarities weigh 0, and a Euclidean graph's
distances *d* weigh 1 / (1 + d), which no paper says. Where nothing weighs anything, because there
is no neighbour or none with a positive similarity, every label scores 0.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-A.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vicinal._base.arrays import Csr, Features
from vicinal.explain.breakdown import Breakdown, weighted_breakdowns
from vicinal.graph import NeighborGraph, neighbor_cardinality
from vicinal.scores import Scores
from vicinal.scoring.explaining import nearest, said_by
from vicinal.scoring.kept_labels import KeptLabels
from vicinal.scoring.row_sums import neighbor_sums, neighbor_weights


@dataclass(frozen=True, eq=False)
class InstanceKNNScoring(KeptLabels):
    """The training labels; there is nothing else to learn.

    Examples
    --------
    The nearer neighbour carries both labels, the other one the second only: the first label has
    0.6 of a weight of 0.6 + 0.2.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 1], [0, 1]], dtype=np.int32))
    >>> ids = np.array([[0, 1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.array([[0.6, 0.2]]), "cosine", n_rows=2)
    >>> InstanceKNNScoring(k=2, Y=Y).scores(graph).toarray().round(4)
    array([[0.75, 1.  ]])
    """

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        near = graph.prefix(min(self.k, graph.k))
        return next(weighted_scores(near, self.Y, self.Y, [near.k]))

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries of `graph` for each k of `ks` (rising), adding each neighbour once."""
        return weighted_scores(graph, self.Y, self.Y, ks)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return each neighbour's :math:`y(x') sim(x, x')` over the sum of the similarities."""
        return weighted_votes(graph, self.k, self.Y, labels)


def weighted_scores(graph: NeighborGraph, rows: Csr, Y: Csr, ks: Iterable[int]) -> Iterator[Scores]:
    """Yield, for each k of `ks` (rising), the weighted mean of what the neighbours' `rows` say."""
    wanted = list(ks)
    for k, sums in zip(wanted, neighbor_sums(graph, rows, wanted), strict=True):
        sizes = neighbor_cardinality(graph.prefix(k), Y)
        yield Scores.sparse(sums.means(), neighbor_cardinality=sizes)


def weighted_votes(
    graph: NeighborGraph, k: int, rows: Csr, labels: Sequence[int]
) -> list[Breakdown]:
    """Return breakdowns of the weighted mean of what the neighbours' `rows` say, for one query."""
    places = nearest(graph, k)
    weights = neighbor_weights(graph)[0, : len(places)]
    return list(weighted_breakdowns("neighbor", places, weights, said_by(rows, places, labels)))
