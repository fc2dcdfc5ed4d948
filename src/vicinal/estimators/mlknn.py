"""ML-kNN, as a scikit-learn estimator."""

from collections.abc import Iterator, Sequence

from vicinal._base.validation import check_real
from vicinal.decision import Threshold
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import EVERY_K, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import MLkNNScoring, Scoring, Training


class MLkNN(IncrementalEstimator):
    """ML-kNN: the posterior of each label, given how many neighbours have it.

    Parameters
    ----------
    n_neighbors : int
    smoothing : float
        Added to every count; 1 is Laplace smoothing, 0 is none.
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

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
    Recognition 40 (2007). The formulas are in :mod:`vicinal.scoring.mlknn`.

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

    def __init__(
        self,
        n_neighbors: int = 10,
        smoothing: float = 1.0,
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
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _fit_scoring(self, training: Training) -> MLkNNScoring:
        """Count the neighbours' votes."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return MLkNNScoring.fit(training, self.n_neighbors, smoothing)

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Read the updated vote tables from the live graph."""
        if revision.graph is None or not isinstance(scoring, MLkNNScoring):
            raise RuntimeError("ML-kNN can only be revised with its live graph")
        with_label, without_label = revision.graph.tables()
        return MLkNNScoring(scoring.k, scoring.smoothing, with_label, without_label, revision.Y)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[MLkNNScoring]:
        """Count the votes once for all k."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return MLkNNScoring.fit_sweep(training, ks, smoothing)
