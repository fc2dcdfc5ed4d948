"""LPkNN, as a scikit-learn estimator."""

from vicinal.decision import LabelSets
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import EVERY_K, Method
from vicinal.scoring import LPkNNScoring, Training


class LPkNN(IncrementalEstimator):
    """Label powerset by neighbours: predict the label set that most of them have.

    Parameters
    ----------
    n_neighbors : int
    metric : {"euclidean", "cosine", "dot"}
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None predicts the most frequent label set.
    never_empty : bool or None
        Whether every row gets a label; None is the method's own rule: it may get none.
    n_jobs : int or None
        Threads; None for all.
    algorithm : str or callable
        The index that searches the training rows: ``"auto"`` (exact: inverted where X is sparse,
        else dense), another name, or a factory (:func:`vicinal.index.build_index`).

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
    algorithms", SETN 2008. The formulas stand in :mod:`vicinal.scoring.lpknn`.

    Examples
    --------
    Two of the three nearest rows of 0.9 have the set of *low* alone:

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
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm

    def _fit_scoring(self, training: Training) -> LPkNNScoring:
        """Keep the labels."""
        return LPkNNScoring.fit(training, self.n_neighbors)
