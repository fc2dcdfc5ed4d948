r"""DML-kNN: the posterior of a label, given the votes for all labels together.

ML-kNN only uses the votes for label *l*. Here the evidence is joint: the same number of votes for
*l*, and, up to a tolerance :math:`\delta`, for every other label. For a query *x*,

.. math::

    v_b(l) &= \#\{i : y_i(l) = b,\; C_i(l) = C_x(l),\;
        |C_i(l') - C_x(l')| \le \delta \;\; \forall\, l' \ne l\} \\
    P(E \mid H^l_b) &= \frac{s + v_b(l)}{s\,L + \#\{i : y_i(l) = b\}} \\
    r(l) &= \frac{P(H^l_1) P(E \mid H^l_1)}{\sum_b P(H^l_b) P(E \mid H^l_b)}, \qquad
    P(H^l_1) = \frac{s + \sum_i y_i(l)}{2s + n}

over all *n* training rows, where :math:`C_i` counts the votes of row *i*'s neighbours, itself left
out. With s = 0, a 0/0 likelihood counts as 0, and where both products are 0 the posterior is the
prior.

References
----------
Z. Younes, F. Abdallah, T. Denœux, "Multi-label classification algorithm derived from k-nearest
neighbor rule with label dependencies", EUSIPCO 2008.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.checks import check_integer, check_real
from vicinal._core.state import State, read_count, read_csr
from vicinal._core.threads import thread_count
from vicinal._core.validation import csr_parts
from vicinal._native import DmlCounts
from vicinal.decision import Threshold
from vicinal.errors import ModelFormatError, warn_user
from vicinal.explanation.breakdown import Breakdown, Fact, vote_breakdowns
from vicinal.graph import NeighborGraph, neighbor_cardinality, votes
from vicinal.methods import _formulas
from vicinal.methods._formulas import label_values, neighbor_places
from vicinal.methods.fold import VoteScoring
from vicinal.methods.incremental import IncrementalEstimator
from vicinal.methods.registry import FEW_K, Method
from vicinal.methods.training import (
    EveryLabel,
    Scoring,
    Training,
    check_cells,
    read_indicator,
    read_weight,
)
from vicinal.scores import Scores

FEW_COMPARISONS = 2**17
"""Up to this many comparisons of votes, one thread is as fast as several."""
SLOW = 2 * 10**10
"""Number of comparisons for scoring as many rows as the training set, above which ``fit`` warns."""


@dataclass(frozen=True, eq=False)
class DMLkNNScoring(VoteScoring, EveryLabel):
    r"""The votes that each training row received.

    Cost: a query is compared with the rows that have votes for its rarest label of more than
    :math:`\delta` votes, or with all rows where it has none: at most the votes stored in `counts`,
    stopping at the first difference. Memory: 8 bytes per stored vote; the score of a
    label depends on all others, so scores are dense (:mod:`vicinal.methods.training`), which
    takes 16 more bytes per query and label while scoring.
    """

    k: int
    smoothing: float
    tolerance: int
    counts: Csr
    Y: Csr

    @classmethod
    def of_votes(
        cls, counts: Csr, training: Training, k: int, smoothing: float, tolerance: int
    ) -> Self:
        """Keep the votes."""
        return cls(k, smoothing, tolerance, counts, training.Y)

    @cached_property
    def positives(self) -> Int:
        """Number of training rows with each label, shape (L,)."""
        return np.bincount(self.Y.indices, minlength=self.Y.shape[1])

    @property
    def prior(self) -> Float:
        """:math:`P(H^l_1)`, shape (L,)."""
        return _formulas.prior(self.positives, self.Y.shape[0], self.smoothing)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        check_cells(graph.n_queries, self.Y.shape[1])
        near = graph.prefix(min(self.k, graph.k))
        likelihoods = self.likelihoods(*self.matching(votes(near, self.Y)))
        return Scores.dense(
            _formulas.posterior(self.prior, *likelihoods), neighbor_cardinality(near, self.Y)
        )

    def likelihoods(self, with_label: Int32, without_label: Int32) -> tuple[Float, Float]:
        """Return :math:`P(E | H^l_1)` and :math:`P(E | H^l_0)` of matching counts, (queries, L)."""
        n_rows, n_labels = self.Y.shape
        totals = (self.positives, n_rows - self.positives)
        given_with, given_without = (
            _formulas.likelihood(matching, total, self.smoothing, n_outcomes=n_labels)
            for matching, total in zip((with_label, without_label), totals, strict=True)
        )
        return given_with, given_without

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the score without a vote for the label, and what its votes add to that.

        The votes for all other labels stay as they are, so that the score is one of
        :math:`C_x(l)` alone.

        Costs one comparison with the training rows' votes per label explained. Memory: 40 bytes per
        label of the model.
        """
        near = graph.prefix(min(self.k, graph.k))
        asked, places = votes(near, self.Y), neighbor_places(graph, self.k)
        matching = self.matching(asked)
        likelihoods = self.likelihoods(*matching)
        scores = _formulas.posterior(self.prior, *likelihoods)[0]
        has_label = label_values(self.Y, places, labels)
        facts: list[dict[str, Fact]] = [
            {
                "votes": int(column.sum()),
                "neighbors": len(places),
                "prior": float(self.prior[label]),
                "matching_with": int(matching[0][0, label]),
                "matching_without": int(matching[1][0, label]),
                "likelihood_with": float(likelihoods[0][0, label]),
                "likelihood_without": float(likelihoods[1][0, label]),
            }
            for label, column in zip(labels, has_label.T, strict=True)
        ]
        values = [float(scores[label]) for label in labels]
        bases = [self._score_without_votes(asked, label) for label in labels]
        return vote_breakdowns(places, has_label, values, bases, facts)

    def _score_without_votes(self, asked: Csr, label: int) -> float:
        """Return the score of a label if it had no votes and all other labels kept theirs."""
        fewer = asked.copy()
        fewer.data[fewer.indices == label] = 0
        fewer.eliminate_zeros()
        likelihoods = self.likelihoods(*self.matching(fewer))
        return float(_formulas.posterior(self.prior, *likelihoods)[0, label])

    def matching(self, asked: Csr) -> tuple[Int32, Int32]:
        """Return :math:`v_1(l)` and :math:`v_0(l)` for queries with these votes, (queries, L)."""
        # Votes differ by less than the number of rows, so a larger tolerance tolerates no more.
        tolerance = min(self.tolerance, self.Y.shape[0])
        known = DmlCounts(*_vote_parts(self.counts), *csr_parts(self.Y), self.Y.shape[1])
        few = asked.shape[0] * self.counts.nnz <= FEW_COMPARISONS
        return known.count(*_vote_parts(asked), tolerance, 1 if few else thread_count())

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        k, Y = read_count(state, "k"), read_indicator(state, "Y")
        counts = read_csr(state, "counts", Y.shape)
        whole = counts.astype(np.int32)
        if np.any(whole.data != counts.data) or np.any((whole.data < 1) | (whole.data > k)):
            raise ModelFormatError(f"counts: expected whole numbers from 1 to {k}")
        tolerance = read_count(state, "tolerance", low=0)
        return cls(k, read_weight(state, "smoothing"), tolerance, whole, Y)


def _vote_parts(counts: Csr) -> tuple[Int, Int32, Int32]:
    """Return row pointers, label ids and votes as the compiled core takes them."""
    indptr, indices = csr_parts(counts)
    return indptr, indices, np.ascontiguousarray(counts.data[: indptr[-1]], dtype=np.int32)


@dataclass(eq=False, repr=False)
class DMLkNN(IncrementalEstimator):
    """DML-kNN: the posterior of each label, given the neighbours' votes for all labels together.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, k.
    smoothing : float
        Added to every count; 1 is Laplace smoothing, 0 is none.
    tolerance : int
        By how many votes for another label two rows may differ and still count as alike.

    Notes
    -----
    ``partial_fit`` and ``forget`` update the graph and count all votes again.

    References
    ----------
    Z. Younes, F. Abdallah, T. Denœux, "Multi-label classification algorithm derived from k-nearest
    neighbor rule with label dependencies", EUSIPCO 2008. The formulas are in
    :mod:`vicinal.methods.dmlknn`, with the cost, which grows with queries × training rows.

    Examples
    --------
    Rows 0 and 1 have the label and are each other's neighbour; rows 2 and 3 are each other's
    neighbour and do not have it.

    >>> import numpy as np
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> model = DMLkNN(n_neighbors=1).fit(X, Y)
    >>> model.predict_proba([[0.4], [10.2]])
    array([[0.75],
           [0.25]])
    """

    method = Method(
        name="dmlknn",
        grid={"tolerance": (0, 1, 2, 4, 6), "n_neighbors": FEW_K},
        cost="slow",
        rule=Threshold(0.5, inclusive=True),
        scoring=(DMLkNNScoring,),
    )

    n_neighbors: int = 10
    smoothing: float = 1.0
    tolerance: int = 2

    def _fit_scoring(self, training: Training) -> DMLkNNScoring:
        """Count the neighbours' votes."""
        return DMLkNNScoring.fit(training, self.n_neighbors, *self._settings())

    def _finish_fit(self, scoring: Scoring, training: Training) -> None:
        """Warn if scoring as many rows would take minutes."""
        n_votes = int(scoring.counts.nnz) if isinstance(scoring, DMLkNNScoring) else 0
        n_comparisons = training.n_rows * n_votes
        if n_comparisons > SLOW:
            warn_user(
                "DML-kNN compares each query with the votes of all training rows: "
                f"{training.n_rows} queries would take up to {n_comparisons:.0e} comparisons, at "
                "some seconds for each 1e9"
            )

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[DMLkNNScoring]:
        """Count the votes once for all k."""
        return DMLkNNScoring.fit_sweep(training, ks, *self._settings())

    def _settings(self) -> tuple[float, int]:
        """Return ``smoothing`` and ``tolerance``, checked."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return smoothing, check_integer("tolerance", self.tolerance, low=0)
