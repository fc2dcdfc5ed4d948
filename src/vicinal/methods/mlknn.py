r"""ML-kNN: the posterior of a label, given how many neighbours have it.

With *n* training rows, smoothing *s*, and :math:`C = C_x(l)` neighbours of *x* that have label *l*
(Eq. 6; the steps are those of the algorithm in the paper's Fig. 1):

.. math::

    P(H^l_1) &= \frac{s + \sum_i y_i(l)}{2s + n}, \qquad P(H^l_0) = 1 - P(H^l_1) \\
    P(E^l_j \mid H^l_1) &= \frac{s + c_l[j]}{s(k+1) + \sum_{p=0}^k c_l[p]} \\
    P(E^l_j \mid H^l_0) &= \frac{s + c'_l[j]}{s(k+1) + \sum_{p=0}^k c'_l[p]} \\
    r(l) &= \frac{P(H^l_1) P(E^l_C \mid H^l_1)}{\sum_b P(H^l_b) P(E^l_C \mid H^l_b)}

The lines are the prior (steps 1–2), the likelihoods (3–13) and the posterior (14–18).
:math:`c_l[j]` is the number of training rows that have label *l* and exactly *j* neighbours with
label *l*, :math:`c'_l[j]` that of rows without it. With s = 0, a 0/0 likelihood counts as 0, and
where both products are 0 the posterior is the prior.

References
----------
M.-L. Zhang, Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
Recognition 40 (2007).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, Int
from vicinal._core.checks import check_real
from vicinal._core.csr import with_values
from vicinal._core.state import State, read_array, read_count
from vicinal.decision import Threshold
from vicinal.errors import ModelFormatError
from vicinal.explanation.breakdown import Breakdown, Fact, vote_breakdowns
from vicinal.graph import NeighborGraph, cardinality_of, votes
from vicinal.methods import _formulas
from vicinal.methods._formulas import label_values, neighbor_places, tally
from vicinal.methods.fold import VoteScoring
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.registry import EVERY_K, Method
from vicinal.methods.training import Scoring, Training, read_indicator, read_weight
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class MLkNNScoring(VoteScoring):
    """The counts of ML-kNN: 24 bytes per label and possible count, besides `Y`."""

    k: int
    smoothing: float
    with_label: Int
    without_label: Int
    Y: Csr

    @classmethod
    def of_votes(cls, counts: Csr, training: Training, k: int, smoothing: float) -> Self:
        """Tabulate leave-one-out votes by label, count and truth."""
        width = 1 + min(k, training.n_rows)
        return cls(k, smoothing, *tally(counts, training.Y, width), training.Y)

    @property
    def n_rows(self) -> int:
        """Number of training rows: each was counted once for every label."""
        return int(self.with_label[:1].sum() + self.without_label[:1].sum())

    def as_fitted(self, Y: Csr, X: Features) -> Self:
        """Return the state for the same rows at other places, whose labels are `Y`."""
        return replace(self, Y=Y)

    @cached_property
    def prior(self) -> Float:
        """:math:`P(H^l_1)`, shape (L,)."""
        return _formulas.prior(self.with_label.sum(axis=1), self.n_rows, self.smoothing)

    @cached_property
    def posterior(self) -> Float:
        """:math:`r(l)` for every possible count, shape (L, width)."""
        return _formulas.vote_posterior(
            self.prior, self.with_label, self.without_label, self.smoothing, self.k
        )

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        near = graph.prefix(min(self.k, graph.k))
        counts = votes(near, self.Y)
        return looked_up(self.posterior, counts, cardinality_of(counts, near))

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return :math:`r(l)` without votes, and what the votes of the neighbours add to it."""
        tables = (self.prior, self.with_label, self.without_label, self.posterior)
        places = neighbor_places(graph, self.k)
        has_label = label_values(self.Y, places, labels)
        return vote_table_breakdowns(self.k, self.smoothing, tables, places, has_label, labels)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        k, Y = read_count(state, "k"), read_indicator(state, "Y")
        n_rows, n_labels = Y.shape
        shape = (n_labels, 1 + min(k, n_rows))
        tables = [
            read_array(state, key, np.int64, shape) for key in ("with_label", "without_label")
        ]
        positives = np.bincount(Y.indices, minlength=n_labels)
        for table, total in zip(tables, (positives, n_rows - positives), strict=True):
            if table.min(initial=0) < 0 or np.any(table.sum(axis=1) != total):
                raise ModelFormatError("with_label, without_label: counts do not add up")
        return cls(k, read_weight(state, "smoothing"), tables[0], tables[1], Y)


def looked_up(posterior: Float, counts: Csr, sizes: Float) -> Scores:
    """Return the scores of queries with these votes, stored where there are any."""
    stored = with_values(counts, posterior[counts.indices, counts.data])
    return Scores.sparse(stored, posterior[:, 0].copy(), sizes)


def vote_table_breakdowns(
    k: int,
    smoothing: float,
    tables: tuple[Float, Int, Int, Float],
    places: Int,
    has_label: Float,
    labels: Sequence[int],
) -> list[Breakdown]:
    """Return breakdowns of posteriors looked up by the number of votes."""
    prior, with_label, without_label, posterior = tables
    facts: list[dict[str, Fact]] = []
    values, bases = [], []
    for label, count in zip(labels, has_label.sum(axis=0).astype(np.int64).tolist(), strict=True):
        likelihoods = [
            float(_formulas.likelihood(table[count], table.sum(), smoothing, n_outcomes=k + 1))
            for table in (with_label[label], without_label[label])
        ]
        facts.append(
            {
                "votes": count,
                "neighbors": len(places),
                "prior": float(prior[label]),
                "likelihood_with": likelihoods[0],
                "likelihood_without": likelihoods[1],
            }
        )
        values.append(float(posterior[label, count]))
        bases.append(float(posterior[label, 0]))
    return vote_breakdowns(places, has_label, values, bases, facts)


@dataclass(eq=False, repr=False)
class MLkNN(IncrementalEstimator):
    """ML-kNN: the posterior of each label, given how many neighbours have it.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, k.
    smoothing : float
        Added to every count; 1 is Laplace smoothing, 0 is none.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
    Recognition 40 (2007). The formulas are in :mod:`vicinal.methods.mlknn`.

    Examples
    --------
    Rows 0 and 1 have the label and are each other's neighbour; rows 2 and 3 are each other's
    neighbour and do not have it. A neighbour's vote is always right: its smoothed posterior is 3/4.

    >>> import numpy as np
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> model = MLkNN(n_neighbors=1).fit(X, Y)
    >>> model.predict_proba([[0.4], [10.2]])
    array([[0.75],
           [0.25]])
    >>> model.predict([[0.4], [10.2]])
    array([[1],
           [0]])
    """

    method = Method(
        name="mlknn",
        grid={"n_neighbors": EVERY_K},
        rule=Threshold(0.5, inclusive=True),
        scoring=(MLkNNScoring,),
    )

    _learns_from_graph = True

    n_neighbors: int = 10
    smoothing: float = 1.0

    def _fit_scoring(self, training: Training) -> MLkNNScoring:
        """Count the neighbours' votes."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return MLkNNScoring.fit(training, self.n_neighbors, smoothing)

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Read the updated vote tables from the live graph."""
        if changed.graph is None or not isinstance(scoring, MLkNNScoring):
            raise RuntimeError("ML-kNN can only be revised with its live graph")
        with_label, without_label = changed.graph.tables()
        return MLkNNScoring(scoring.k, scoring.smoothing, with_label, without_label, changed.Y)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[MLkNNScoring]:
        """Count the votes once for all k."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return MLkNNScoring.fit_sweep(training, ks, smoothing)
