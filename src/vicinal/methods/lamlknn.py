r"""LAML-kNN: ML-kNN with the statistics of the query's cluster.

The training rows are assigned to the cluster with the nearest centre; :math:`S_w` are those of
cluster *w*. For a query of cluster *w*, of whose neighbours (of all clusters) :math:`C = C_x(l)`
have label *l*:

.. math::

    P(H^l_1 \mid W_w) &= \frac{s + \sum_{i \in S_w} y_i(l)}{2s + |S_w|} \\
    P(H^l_0 \mid W_w) &= 1 - P(H^l_1 \mid W_w) \\
    P(E^l_j \mid H^l_1, W_w) &= \frac{s + c^w_l[j]}{s(k+1) + \sum_{p=0}^k c^w_l[p]} \\
    P(E^l_j \mid H^l_0, W_w) &= \frac{s + c'^w_l[j]}{s(k+1) + \sum_{p=0}^k c'^w_l[p]} \\
    r(l) &= \frac{P(H^l_1 \mid W_w) P(E^l_C \mid H^l_1, W_w)}
        {\sum_b P(H^l_b \mid W_w) P(E^l_C \mid H^l_b, W_w)}

:math:`c^w_l[j]` is the number of rows of :math:`S_w` that have label *l* and exactly *j* neighbours
with label *l*, :math:`c'^w_l[j]` that of rows without it. :math:`P(W_w) = |S_w| / n` cancels. With
s = 0, 0/0 counts as in ML-kNN. With one cluster the scores are identical to those of ML-kNN.

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
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans

from vicinal._core.arrays import Csr, Features, Float, Int, Int32, row_ids
from vicinal._core.checks import check_integer, check_real
from vicinal._core.csr import short_indices, take_rows
from vicinal._core.state import State, read_array, read_count
from vicinal._core.threads import one_library_thread, using_threads
from vicinal._core.validation import check_features
from vicinal.decision import Threshold
from vicinal.distances import EUCLIDEAN
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation.breakdown import Breakdown
from vicinal.graph import NeighborGraph, cardinality_of, votes
from vicinal.index import build_index
from vicinal.index.training_rows import VoteGroups
from vicinal.methods import _formulas
from vicinal.methods._formulas import label_values, neighbor_places
from vicinal.methods.fold import VoteScoring
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.mlknn import looked_up, vote_table_breakdowns
from vicinal.methods.registry import EVERY_K, Method
from vicinal.methods.training import (
    EveryLabel,
    Scoring,
    Training,
    check_cells,
    check_given,
    read_indicator,
    read_weight,
)
from vicinal.scores import Scores

MINI_BATCH_ROWS = 20_000
"""Number of rows above which mini-batch k-means is used."""


def find_centers(X: Features, n_clusters: int, random_state: object = None) -> Float:
    """Return the centres of k-means, at most `n_clusters`.

    There are fewer if there are fewer rows than `n_clusters`, or if a centre is nearest to no row
    (duplicate rows; mini-batches), because it would represent nothing.
    """
    n_rows = X.shape[0]
    if sparse.issparse(X) and X.nnz >= 2**31:
        expected = "fewer than 2^31 values for k-means (pass centers)"
        raise InvalidArgumentError("X", expected, f"{X.nnz} values")
    kind = KMeans if n_rows <= MINI_BATCH_ROWS else MiniBatchKMeans
    model = kind(min(n_clusters, n_rows), random_state=random_state)
    # With several threads the order of additions, and so the last bit of a centre, would vary.
    with one_library_thread():
        model.fit(short_indices(X))
    centers = np.ascontiguousarray(model.cluster_centers_, dtype=np.float64)
    return centers[np.unique(nearest_center(X, centers))]


def nearest_center(X: Features, centers: Float) -> Int32:
    """Return the number of the nearest centre of each row; the lower number wins ties."""
    same_kind = sparse.csr_array(centers) if isinstance(X, sparse.csr_array) else centers
    nearest: Int32 = build_index(same_kind, EUCLIDEAN.name).query(X, 1).ids[:, 0]
    return nearest


@dataclass(frozen=True, eq=False)
class LAMLkNNScoring(VoteScoring, EveryLabel):
    """The counts of ML-kNN, for each cluster.

    Memory: 24 bytes per cluster, label and possible count. What a label scores without a vote
    differs from cluster to cluster, so with more than one cluster scores are dense
    (:mod:`vicinal.methods.training`).
    """

    k: int
    smoothing: float
    centers: Float
    with_label: Int
    without_label: Int
    Y: Csr

    @classmethod
    def fit_sweep(
        cls, training: Training, ks: Iterable[int], smoothing: float, centers: Float
    ) -> Iterator[Self]:
        """Fit for each k of `ks` (ascending), counting votes and assigning clusters once."""
        X = check_given(training.X, training.n_rows, centers.shape[1])
        return super().fit_sweep(training, ks, smoothing, centers, nearest_center(X, centers))

    @classmethod
    def of_votes(
        cls,
        counts: Csr,
        training: Training,
        k: int,
        smoothing: float,
        centers: Float,
        cluster: Int32,
    ) -> Self:
        """Tabulate leave-one-out votes by cluster, label, count and truth."""
        tables = tallies(counts, training.Y, cluster, len(centers), k)
        return cls(k, smoothing, centers, *tables, training.Y)

    def as_fitted(self, Y: Csr, X: Features) -> Self:
        """Return the same for the same rows at other places."""
        return replace(self, Y=Y)

    @cached_property
    def prior(self) -> Float:
        """:math:`P(H^l_1 | W_w)`, shape (c, L)."""
        positives = self.with_label.sum(axis=-1)
        n_rows = positives + self.without_label.sum(axis=-1)
        return _formulas.prior(positives, n_rows, self.smoothing)

    @cached_property
    def posterior(self) -> Float:
        """:math:`r(l)` for every cluster and possible count, shape (c, L, width)."""
        return _formulas.vote_posterior(
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
        places = neighbor_places(graph, self.k)
        has_label = label_values(self.Y, places, labels)
        size = int(with_label[0].sum() + without_label[0].sum())
        return [
            replace(one, facts={**one.facts, "cluster": w, "cluster_rows": size})
            for one in vote_table_breakdowns(
                self.k, self.smoothing, tables, places, has_label, labels
            )
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
    tables = [
        _formulas.tally(take_rows(counts, rows), take_rows(Y, rows), width) for rows in members
    ]
    with_label, without_label = (np.stack(side) for side in zip(*tables, strict=True))
    return with_label, without_label


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


@dataclass(eq=False, repr=False)
class LAMLkNN(IncrementalEstimator):
    """LAML-kNN: ML-kNN with separate statistics for each cluster of rows.

    Parameters
    ----------
    n_neighbors : int
        Neighbours are searched among all rows, whatever their cluster.
    smoothing : float
        Added to every count; 1 is Laplace smoothing, 0 is none.
    n_clusters : int
        Number of k-means clusters, at most the number of rows. 1 is ML-kNN.
    centers : None or array-like, shape (c, m)
        Centres to use instead of k-means; `n_clusters` is then ignored.
    random_state : None, int or RandomState
        Random seed for k-means; an integer gives the same clusters each time.

    Notes
    -----
    With `centers` given, ``partial_fit`` and ``forget`` cost what they cost ML-kNN. Without them
    every change runs k-means again, because its centres move with the rows; the model then equals a
    refit if `random_state` is an integer.

    References
    ----------
    D. Wang, J. Wang, F. Hu, L. Li, X. Zhang, "A locally adaptive multi-label k-nearest neighbor
    algorithm", PAKDD 2018. The formulas are in :mod:`vicinal.methods.lamlknn`.

    Examples
    --------
    >>> import numpy as np
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> model = LAMLkNN(n_neighbors=1, centers=[[0.5], [10.5]]).fit(X, Y)
    >>> (model.predict_proba([[0.4], [10.2]]) * 11).round(6)
    array([[9.],
           [2.]])
    """

    method = Method(
        name="lamlknn",
        grid={"n_clusters": (1, 2, 5, 10), "n_neighbors": EVERY_K},
        cost="slow",
        rule=Threshold(0.5, inclusive=True),
        scoring=(LAMLkNNScoring,),
    )

    _learns_from_graph = True

    n_neighbors: int = 10
    smoothing: float = 1.0
    n_clusters: int = 5
    centers: object = None
    random_state: object = None

    def _fit_scoring(self, training: Training) -> LAMLkNNScoring:
        """Count the neighbours' votes within each cluster."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return LAMLkNNScoring.fit(training, self.n_neighbors, smoothing, self._centers(training))

    def _can_update(self) -> bool:
        """Tell whether the clusters stay as they are when rows change."""
        return self.centers is not None

    def _vote_groups(self, scoring: Scoring, X: Features) -> VoteGroups | None:
        """Return the clusters of rows."""
        if not isinstance(scoring, LAMLkNNScoring):
            raise TypeError(f"expected a LAMLkNNScoring, got {type(scoring).__name__}")
        with using_threads(self.n_jobs):
            return VoteGroups(len(scoring.centers), nearest_center(X, scoring.centers))

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Take over the tables, which the live graph keeps cluster by cluster."""
        if changed.graph is None or not isinstance(scoring, LAMLkNNScoring):
            raise RuntimeError("a change without the graph")
        shape = (len(scoring.centers), changed.Y.shape[1], -1)
        with_label, without_label = (table.reshape(shape) for table in changed.graph.tables())
        return replace(scoring, with_label=with_label, without_label=without_label, Y=changed.Y)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[LAMLkNNScoring]:
        """Find the clusters and count the votes once for all k."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return LAMLkNNScoring.fit_sweep(training, ks, smoothing, self._centers(training))

    def _centers(self, training: Training) -> Float:
        """Return the given centres, or those of k-means."""
        X = check_given(training.X, training.n_rows)
        if self.centers is None:
            n_clusters = check_integer("n_clusters", self.n_clusters, low=1)
            return find_centers(X, n_clusters, self.random_state)
        given = check_features(self.centers, "centers", n_features=X.shape[1])
        centers = given if isinstance(given, np.ndarray) else given.toarray()
        if len(centers) == 0:
            raise InvalidArgumentError("centers", "at least one row", f"shape {centers.shape}")
        return centers.astype(np.float64)
