r"""BRkNN: the share of the neighbours that have the label.

.. math:: c(l) = C_x(l) / |N(x)|, \qquad C_x(l) = \sum_{a \in N(x)} y_a(l)

The three variants differ only in the decision (``decision``): at least half the neighbours (base),
else the best label (a), or the :math:`\lfloor z + 1/2 \rfloor` best, *z* the mean number of
labels of the neighbours (b).

References
----------
E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
algorithms", SETN 2008.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vicinal._base.arrays import Csr, Features, Float, Int, Int32
from vicinal._base.checked_csr import with_values
from vicinal.explain.breakdown import Breakdown, weighted_breakdowns
from vicinal.graph import NeighborGraph, votes, votes_by_k
from vicinal.graph.votes import cardinality_of
from vicinal.scores import Scores
from vicinal.scoring.explaining import nearest, said_by
from vicinal.scoring.kept_labels import KeptLabels


@dataclass(frozen=True, eq=False)
class BRkNNScoring(KeptLabels):
    """The training labels; there is nothing else to learn.

    Examples
    --------
    Both neighbours of the query have the first label, and one has the second:

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 1], [1, 0], [0, 1]], dtype=np.int32))
    >>> ids = np.array([[0, 1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.array([[0.5, 0.5]]), "euclidean", n_rows=3)
    >>> BRkNNScoring(k=2, Y=Y).scores(graph).toarray()
    array([[1. , 0.5]])
    """

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        near = graph.prefix(min(self.k, graph.k))
        return confidence(votes(near, self.Y), near)

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries of `graph` for each k of `ks` (ascending), counting votes once."""
        wanted = list(ks)
        for k, counts in zip(wanted, votes_by_k(graph, self.Y, wanted), strict=True):
            yield confidence(counts, graph.prefix(k))

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return :math:`y_a(l) / |N(x)|` for each neighbour *a* of the one query of `graph`."""
        places = nearest(graph, self.k)
        return equal_votes(places, said_by(self.Y, places, labels))


def equal_votes(places: Int, said: Float) -> list[Breakdown]:
    """Return breakdowns of :math:`C_x(l) / |N(x)|`: every neighbour has one vote."""
    together = weighted_breakdowns("neighbor", places, np.ones(len(places)), said)
    votes_of = said.sum(axis=0)
    return [
        replace(one, facts={"votes": int(count), "neighbors": len(places)})
        for one, count in zip(together, votes_of, strict=True)
    ]


def confidence(counts: Csr, graph: NeighborGraph) -> Scores:
    """Return votes as shares of the neighbours found; a query without neighbours scores 0."""
    found: Int32 = graph.found
    shares = with_values(counts, counts.data / np.repeat(found, np.diff(counts.indptr)))
    return Scores.sparse(shares, neighbor_cardinality=cardinality_of(counts, graph))
