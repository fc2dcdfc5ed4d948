"""LAML-kNN, as a scikit-learn estimator."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from vicinal._base.arrays import Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import using_threads
from vicinal._base.validation import check_features, check_integer, check_real
from vicinal.decision import Threshold
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.live_graph import VoteGroups
from vicinal.estimators.method import EVERY_K, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import LAMLkNNScoring, Scoring, Training
from vicinal.scoring.clusters import find_centers, nearest_center
from vicinal.scoring.features import check_given


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
    metric : {"euclidean", "cosine", "dot"}
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None predicts a label whose posterior is at least 0.5.
    never_empty : bool or None
        Whether every row gets at least one label; None for the method's own rule: it may get none.
    n_jobs : int or None
        Number of threads; None for all cores.
    algorithm : str or callable
        The index for the neighbour search: ``"auto"`` (exact: inverted if X is sparse, else dense),
        another name, or a factory (:func:`vicinal.index.build_index`).
    recalibrate_at : float or {"always", "never"}
        ``partial_fit`` and ``forget`` refit a threshold that depends on the training rows once this
        share of the rows has changed (see :meth:`recalibrate`). Scores are always exact.

    Notes
    -----
    With `centers` given, ``partial_fit`` and ``forget`` cost what they cost ML-kNN. Without them
    every change runs k-means again, because its centres move with the rows; the model then equals a
    refit if `random_state` is an integer.

    References
    ----------
    D. Wang, J. Wang, F. Hu, L. Li, X. Zhang, "A locally adaptive multi-label k-nearest neighbor
    algorithm", PAKDD 2018. The formulas are in :mod:`vicinal.scoring.lamlknn`.

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

    def __init__(
        self,
        n_neighbors: int = 10,
        smoothing: float = 1.0,
        n_clusters: int = 5,
        centers: object = None,
        random_state: object = None,
        *,
        metric: str = "euclidean",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.n_clusters = n_clusters
        self.centers = centers
        self.random_state = random_state
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _fit_scoring(self, training: Training) -> LAMLkNNScoring:
        """Count the neighbours' votes within each cluster."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return LAMLkNNScoring.fit(training, self.n_neighbors, smoothing, self._centers(training))

    def _can_revise(self) -> bool:
        """Tell whether the clusters stay as they are when rows change."""
        return self.centers is not None

    def _vote_groups(self, scoring: Scoring, X: Features) -> VoteGroups | None:
        """Return the clusters of rows."""
        if not isinstance(scoring, LAMLkNNScoring):
            raise TypeError(f"expected a LAMLkNNScoring, got {type(scoring).__name__}")
        with using_threads(self.n_jobs):
            return VoteGroups(len(scoring.centers), nearest_center(X, scoring.centers))

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Take over the tables, which the live graph keeps cluster by cluster."""
        if revision.graph is None or not isinstance(scoring, LAMLkNNScoring):
            raise RuntimeError("a change without the graph")
        shape = (len(scoring.centers), revision.Y.shape[1], -1)
        with_label, without_label = (table.reshape(shape) for table in revision.graph.tables())
        return replace(scoring, with_label=with_label, without_label=without_label, Y=revision.Y)

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
