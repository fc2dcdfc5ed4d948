"""LPkNN, as a scikit-learn estimator."""

from vicinal.decision import LabelSets
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import EVERY_K, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import LPkNNScoring, Scoring, Training


class LPkNN(IncrementalEstimator):
    """Label powerset kNN: predict the most frequent label set among the neighbours.

    Parameters
    ----------
    n_neighbors : int
    metric : {"euclidean", "cosine", "dot"}
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None predicts the most frequent label set.
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
    E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
    algorithms", SETN 2008. The formulas are in :mod:`vicinal.scoring.lpknn`.

    Examples
    --------
    Two of the three rows nearest to 0.9 have *low* as their only label:

    >>> X = [[0.0], [1.0], [2.0], [10.0]]
    >>> Y = [["low"], ["low", "odd"], ["low"], ["high"]]
    >>> model = LPkNN(n_neighbors=3).fit(X, Y)
    >>> model.predict_names([[0.9], [9.0]])
    [['low'], ['high']]
    """

    method = Method(
        name="lpknn", grid={"n_neighbors": EVERY_K}, rule=LabelSets(), scoring=(LPkNNScoring,)
    )

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        metric: str = "euclidean",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _fit_scoring(self, training: Training) -> LPkNNScoring:
        """Keep the labels."""
        return LPkNNScoring.fit(training, self.n_neighbors)

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Keep the current labels."""
        return LPkNNScoring(scoring.k, revision.Y)
