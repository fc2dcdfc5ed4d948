r"""LAML-kNN: ML-kNN with the statistics of the query's cluster.

The training rows are assigned to the cluster with the nearest centre; :math:`S_w` are those of
cluster *w*. For a query of cluster *w*, of whose neighbours (of all clusters) :math:`C = C_x(l)`
carry label *l*:

.. math::

    P(H^l_1 \mid W_w) &= \frac{s + \sum_{i \in S_w} y_i(l)}{2s + |S_w|}, \qquad
    P(H^l_0 \mid W_w) = 1 - P(H^l_1 \mid W_w) \\
    P(E^l_j \mid H^l_1, W_w) &= \frac{s + c^w_l[j]}{s(k+1) + \sum_{p=0}^k c^w_l[p]}, \qquad
    P(E^l_j \mid H^l_0, W_w) = \frac{s + c'^w_l[j]}{s(k+1) + \sum_{p=0}^k c'^w_l[p]} \\
    r(l) &= \frac{P(H^l_1 \mid W_w) P(E^l_C \mid H^l_1, W_w)}
        {\sum_b P(H^l_b \mid W_w) P(E^l_C \mid H^l_b, W_w)}

:math:`c^w_l[j]` counts the rows of :math:`S_w` with label *l* of whose neighbours exactly *j* carry
it, :math:`c'^w_l[j]` the rows without. :math:`P(W_w) = |S_w| / n` cancels. Where that gives 0/0
(s = 0), as in ML-kNN. With one cluster the scores are bit-identical to those of ML-kNN.

References
----------
D. Wang, J. Wang, F. Hu, L. Li, X. Zhang, "A locally adaptive multi-label k-nearest neighbor
algorithm", PAKDD 2018.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Features, Float, Int, Int32, row_ids
from vicinal._base.bare_csr import take_rows
from vicinal._base.errors import ModelFormatError
from vicinal._base.state import FieldState, State, read_array, read_count
from vicinal.explain.breakdown import Breakdown
from vicinal.graph import NeighborGraph, votes
from vicinal.graph.votes import cardinality_of
from vicinal.scores import Scores
from vicinal.scoring import bayes
from vicinal.scoring.clusters import nearest_center
from vicinal.scoring.each_k import votes_at_each_k
from vicinal.scoring.every_label import EveryLabel, check_cells
from vicinal.scoring.explaining import nearest, said_by
from vicinal.scoring.features import check_given
from vicinal.scoring.mlknn import looked_up, vote_posterior, vote_table_breakdowns
from vicinal.scoring.reading import read_indicator, read_weight
from vicinal.scoring.training import Training


@dataclass(frozen=True, eq=False)
class LAMLkNNScoring(FieldState, EveryLabel):
    """The counts of ML-kNN, for each cluster.

    Parameters
    ----------
    k : int
        Number of neighbours.
    smoothing : float
        The *s* above.
    centers : ndarray of float64, shape (c, m)
        One per cluster. By the formulas, a cluster without training rows scores 1/2 for every label
        (0 if s = 0).
    with_label, without_label : ndarray of int64, shape (c, L, width)
        :math:`c^w_l[j]` and :math:`c'^w_l[j]`; width is 1 + the maximum number of votes.
    Y : csr_array of int32, shape (n, L)
        Training labels.

    Notes
    -----
    Memory: 24 bytes per cluster, label and possible count. What a label scores without a vote
    differs from cluster to cluster, so with more than one cluster scores are dense
    (:mod:`vicinal.scoring.every_label`).

    Examples
    --------
    The rows of ML-kNN's example, the first two in one cluster and the last two in another. In the
    first all rows carry the label, after a vote each: with s = 1 the prior is 3/4, the likelihood
    of a vote 3/4 with and, from no rows, 1/2 without the label: 9/16 / (9/16 + 1/8) = 9/11.

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1], [1], [0], [0]], dtype=np.int32))
    >>> ids = np.array([[1], [0], [3], [2]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.ones((4, 1)), "euclidean", n_rows=4)
    >>> X, centers = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([[0.5], [10.5]])
    >>> model = LAMLkNNScoring.fit(Training(graph, Y, X), 1, 1.0, centers)
    >>> (model.scores(graph, X).toarray() * 11).round(6).ravel()
    array([9., 9., 2., 2.])
    """

    k: int
    smoothing: float
    centers: Float
    with_label: Int
    without_label: Int
    Y: Csr

    @classmethod
    def fit(cls, training: Training, k: int, smoothing: float, centers: Float) -> Self:
        """Count the votes of the training rows' neighbours, leave-one-out."""
        near = training.graph.prefix(min(k, training.graph.k))
        cluster = _clusters(training, centers)
        tables = tallies(votes(near, training.Y), training.Y, cluster, len(centers), k)
        return cls(k, smoothing, centers, *tables, training.Y)

    @classmethod
    def fit_sweep(
        cls, training: Training, ks: Iterable[int], smoothing: float, centers: Float
    ) -> Iterator[Self]:
        """Fit for each k of `ks` (ascending), counting votes and assigning clusters once."""
        wanted, cluster = list(ks), _clusters(training, centers)
        counts_by_k = votes_at_each_k(training.graph, training.Y, wanted)
        for k, counts in zip(wanted, counts_by_k, strict=True):
            tables = tallies(counts, training.Y, cluster, len(centers), k)
            yield cls(k, smoothing, centers, *tables, training.Y)

    def settled(self, Y: Csr, X: Features) -> Self:
        """Return the same for the same rows at other places."""
        return replace(self, Y=Y)

    @cached_property
    def prior(self) -> Float:
        """:math:`P(H^l_1 | W_w)`, shape (c, L)."""
        positives = self.with_label.sum(axis=-1)
        n_rows = positives + self.without_label.sum(axis=-1)
        return bayes.prior(positives, n_rows, self.smoothing)

    @cached_property
    def posterior(self) -> Float:
        """:math:`r(l)` for every cluster and possible count, shape (c, L, width)."""
        return vote_posterior(
            self.prior, self.with_label, self.without_label, self.smoothing, self.k
        )

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`, whose features are `X`."""
        rows = check_given(X, graph.n_queries, self.centers.shape[1])
        near = graph.prefix(min(self.k, graph.k))
        counts = votes(near, self.Y)
        sizes = cardinality_of(counts, near)
        if len(self.centers) == 1:
            return looked_up(self.posterior[0], counts, sizes)
        check_cells(*counts.shape)
        cluster = nearest_center(rows, self.centers)
        scores = self.posterior[cluster, :, 0]
        query = row_ids(counts)
        scores[query, counts.indices] = self.posterior[cluster[query], counts.indices, counts.data]
        return Scores.dense(scores, sizes)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return ML-kNN's breakdown with the counts of the cluster of the one query."""
        row = check_given(X, 1, self.centers.shape[1])
        w = int(nearest_center(row, self.centers)[0])
        with_label, without_label = self.with_label[w], self.without_label[w]
        tables = (self.prior[w], with_label, without_label, self.posterior[w])
        places = nearest(graph, self.k)
        said = said_by(self.Y, places, labels)
        size = int(with_label[0].sum() + without_label[0].sum())
        return [
            replace(one, facts={**one.facts, "cluster": w, "cluster_rows": size})
            for one in vote_table_breakdowns(self.k, self.smoothing, tables, places, said, labels)
        ]

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        k, Y = read_count(state, "k"), read_indicator(state, "Y")
        centers = read_array(state, "centers", np.float64, (None, None))
        if len(centers) == 0:
            raise ModelFormatError("centers: expected at least one")
        n_rows, n_labels = Y.shape
        shape = (len(centers), n_labels, 1 + min(k, n_rows))
        with_label, without_label = (
            read_array(state, key, np.int64, shape) for key in ("with_label", "without_label")
        )
        _check_tables(with_label, without_label, Y)
        return cls(k, read_weight(state, "smoothing"), centers, with_label, without_label, Y)


def tallies(counts: Csr, Y: Csr, cluster: Int32, n_clusters: int, k: int) -> tuple[Int, Int]:
    """Return the tables of all clusters, each of shape (n_clusters, L, width)."""
    width = 1 + min(k, Y.shape[0])
    members = [np.flatnonzero(cluster == w) for w in range(n_clusters)]
    tables = [bayes.tally(take_rows(counts, rows), take_rows(Y, rows), width) for rows in members]
    with_label, without_label = (np.stack(side) for side in zip(*tables, strict=True))
    return with_label, without_label


def _clusters(training: Training, centers: Float) -> Int32:
    """Return the cluster of each training row."""
    X = check_given(training.X, training.n_rows, centers.shape[1])
    return nearest_center(X, centers)


def _check_tables(with_label: Int, without_label: Int, Y: Csr) -> None:
    """Raise unless the counts match the labels and have the same total for each label."""
    positives = np.bincount(Y.indices, minlength=Y.shape[1])
    sizes = (with_label + without_label).sum(axis=2)
    if (
        min(with_label.min(initial=0), without_label.min(initial=0)) < 0
        or np.any(with_label.sum(axis=(0, 2)) != positives)
        or np.any(sizes != sizes[:, :1])
        or np.any(sizes.sum(axis=0) != Y.shape[0])
    ):
        raise ModelFormatError("with_label, without_label: counts do not add up")
