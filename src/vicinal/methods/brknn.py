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

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.checks import check_flag, check_option
from vicinal._core.csr import with_values
from vicinal.decision import Decision, NeverEmpty, Threshold, TopS
from vicinal.explanation.breakdown import Breakdown, weighted_breakdowns
from vicinal.graph import NeighborGraph, cardinality_of, votes, votes_by_k
from vicinal.methods._formulas import label_values, neighbor_places
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.registry import EVERY_K, Method
from vicinal.methods.training import KeptLabels, Scoring, Training
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class BRkNNScoring(KeptLabels):
    """The training labels; there is nothing else to learn."""

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
        places = neighbor_places(graph, self.k)
        return equal_votes(places, label_values(self.Y, places, labels))


def equal_votes(places: Int, has_label: Float) -> list[Breakdown]:
    """Return breakdowns of :math:`C_x(l) / |N(x)|`: every neighbour has one vote."""
    together = weighted_breakdowns("neighbor", places, np.ones(len(places)), has_label)
    votes_of = has_label.sum(axis=0)
    return [
        replace(one, facts={"votes": int(count), "neighbors": len(places)})
        for one, count in zip(together, votes_of, strict=True)
    ]


def confidence(counts: Csr, graph: NeighborGraph) -> Scores:
    """Return votes as shares of the neighbours found; a query without neighbours scores 0."""
    found: Int32 = graph.found
    shares = with_values(counts, counts.data / np.repeat(found, np.diff(counts.indptr)))
    return Scores.sparse(shares, neighbor_cardinality=cardinality_of(counts, graph))


@dataclass(eq=False, repr=False)
class BRkNN(IncrementalEstimator):
    """Binary relevance kNN: predict the labels that at least half of the neighbours have.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, k.
    variant : {"base", "a", "b"}
        Which labels are predicted. ``"base"``: those that at least half of the neighbours have,
        possibly none; ``"a"``: the same, but the label with the highest confidence if there are
        none; ``"b"``: the s best labels, where s is the average number of labels of the neighbours,
        rounded.
    strict_majority : bool
        Require more than half of the neighbours instead of at least half. The paper's text says at
        least half, but its tables agree with more than half.
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None for the variant's own rule.
    never_empty : bool or None
        Whether every row gets at least one label; None for the variant's own rule.

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
    algorithms", SETN 2008. The formulas are in :mod:`vicinal.methods.brknn`.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [10.0]]
    >>> Y = [["low", "even"], ["low"], ["low", "even"], ["even"]]
    >>> model = BRkNN(n_neighbors=3).fit(X, Y)
    >>> model.predict_names([[0.5], [9.0]])
    [['even', 'low'], ['even', 'low']]
    >>> model.rank([[0.5]], top=1)
    (array([[1]], dtype=int32), array([[1.]]))
    """

    method = Method(
        name="brknn",
        grid={"variant": ("base", "a", "b"), "n_neighbors": EVERY_K},
        decides_by=("variant", "strict_majority"),
        scoring=(BRkNNScoring,),
    )

    n_neighbors: int = 10
    variant: str = "base"
    strict_majority: bool = False

    def _fit_scoring(self, training: Training) -> BRkNNScoring:
        """Keep the labels."""
        return BRkNNScoring.fit(training, self.n_neighbors)

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Keep the current labels."""
        return BRkNNScoring(scoring.k, changed.Y)

    def _own_decision(self) -> Decision:
        """Return the variant's rule."""
        variant = check_option("variant", self.variant, ("base", "a", "b"))
        strict = check_flag("strict_majority", self.strict_majority)
        if variant == "b":
            return TopS()
        half = Threshold(0.5, inclusive=not strict)
        return NeverEmpty(half, when_all_zero="first") if variant == "a" else half
