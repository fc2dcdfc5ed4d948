r"""Instance kNN: the labels of the neighbours, weighted by their similarity.

.. math::

    \mathrm{conf}_{INS}(x, y) = \frac{\sum_{x' \in N(x)} y(x') \cdot sim(x, x')}
                                     {\sum_{x' \in N(x)} sim(x, x')} && \text{(2)}

*sim* is the cosine in the paper (1). Negative similarities count as 0, and distances *d* of a
Euclidean graph as similarities 1 / (1 + d); the paper defines neither. If no neighbour has a
positive similarity, every label scores 0.

A *power* p other than 1, which is not in the paper either, weights neighbours by
:math:`sim(x, x')^p`: the larger p, the more the nearest neighbours count.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-A.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from vicinal._base.arrays import Csr, Features
from vicinal._base.state import State, damage_if_refused, read_count
from vicinal._base.validation import check_positive
from vicinal.explain.breakdown import Breakdown, weighted_breakdowns
from vicinal.graph import NeighborGraph, neighbor_cardinality
from vicinal.scores import Scores
from vicinal.scoring.explaining import nearest, said_by
from vicinal.scoring.kept_labels import KeptLabels
from vicinal.scoring.reading import read_indicator
from vicinal.scoring.row_sums import neighbor_sums, neighbor_weights
from vicinal.scoring.training import Training


@dataclass(frozen=True, eq=False)
class InstanceKNNScoring(KeptLabels):
    """The training labels; there is nothing else to learn.

    Parameters
    ----------
    k : int
    Y : csr_array of int32, shape (n, L)
    power : float
        Above 0.

    Examples
    --------
    The nearer neighbour has both labels, the other one only the second: the first label gets 0.6 of
    a total weight of 0.6 + 0.2.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 1], [0, 1]], dtype=np.int32))
    >>> ids = np.array([[0, 1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.array([[0.6, 0.2]]), "cosine", n_rows=2)
    >>> InstanceKNNScoring(k=2, Y=Y).scores(graph).toarray().round(4)
    array([[0.75, 1.  ]])
    """

    power: float = 1.0

    @classmethod
    def fit(cls, training: Training, k: int, power: float = 1.0) -> Self:
        """Store the labels."""
        return cls(k, training.Y, check_positive("power", power))

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        near = graph.prefix(min(self.k, graph.k))
        return next(weighted_scores(near, self.Y, self.Y, [near.k], self.power))

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries for each k of `ks` (ascending), adding each neighbour once."""
        return weighted_scores(graph, self.Y, self.Y, ks, self.power)

    def get_state(self) -> dict[str, State]:
        """Return the fields; a power of 1 is omitted, as in models of earlier versions."""
        power: dict[str, State] = {} if self.power == 1 else {"power": self.power}
        return {"k": self.k, "Y": self.Y, **power}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        with damage_if_refused():
            power = check_positive("power", state.get("power", 1.0))
        return cls(read_count(state, "k"), read_indicator(state, "Y"), power)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return each neighbour's :math:`y(x') sim(x, x')` over the sum of the similarities."""
        return weighted_votes(graph, self.k, self.Y, labels, self.power)


def weighted_scores(
    graph: NeighborGraph, rows: Csr, Y: Csr, ks: Iterable[int], power: float = 1.0
) -> Iterator[Scores]:
    """Yield, for each k of `ks` (ascending), the weighted mean of the neighbours' `rows`."""
    wanted = list(ks)
    for k, sums in zip(wanted, neighbor_sums(graph, rows, wanted, power=power), strict=True):
        sizes = neighbor_cardinality(graph.prefix(k), Y)
        yield Scores.sparse(sums.means(), neighbor_cardinality=sizes)


def weighted_votes(
    graph: NeighborGraph, k: int, rows: Csr, labels: Sequence[int], power: float = 1.0
) -> list[Breakdown]:
    """Return breakdowns of the weighted mean of the neighbours' `rows`, for one query."""
    places = nearest(graph, k)
    weights = neighbor_weights(graph, power)[0, : len(places)]
    return list(weighted_breakdowns("neighbor", places, weights, said_by(rows, places, labels)))
