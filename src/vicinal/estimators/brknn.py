"""BRkNN, as a scikit-learn estimator."""

from vicinal._base.validation import check_flag, check_option
from vicinal.decision import Decision, NeverEmpty, Threshold, TopS
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import EVERY_K, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import BRkNNScoring, Scoring, Training


class BRkNN(IncrementalEstimator):
    """Binary relevance by neighbours: a label is predicted if at least half of them carry it.

    Parameters
    ----------
    n_neighbors : int
    variant : {"base", "a", "b"}
        What is predicted where few neighbours agree: ``"base"`` perhaps nothing; ``"a"`` then the
        label with the highest confidence; ``"b"`` always as many of the best labels as the
        neighbours have on average, rounded.
    strict_majority : bool
        Ask for more than half of the neighbours instead of at least half. The tables of the paper
        fit this; its text says the other.
    metric : {"euclidean", "cosine", "dot"}
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        Another way to decide; None is the variant's own.
    never_empty : bool or None
        Whether every row gets a label; None is the variant's own.
    n_jobs : int or None
        Threads; None for all.
    algorithm : str or callable
        The index that searches the training rows: ``"auto"`` (exact: inverted where X is sparse,
        else dense), another name, or a factory (:func:`vicinal.index.build_index`).
    recalibrate_at : float or {"always", "never"}
        Share of the rows after whose change ``partial_fit`` and ``forget`` fit a threshold again
        that was fitted on the training rows (:meth:`recalibrate`); scores are exact at any time.

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
    algorithms", SETN 2008. The formulas stand in :mod:`vicinal.scoring.brknn`.

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

    def __init__(
        self,
        n_neighbors: int = 10,
        variant: str = "base",
        strict_majority: bool = False,
        *,
        metric: str = "euclidean",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.variant = variant
        self.strict_majority = strict_majority
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _fit_scoring(self, training: Training) -> BRkNNScoring:
        """Keep the labels."""
        return BRkNNScoring.fit(training, self.n_neighbors)

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Keep the labels there are now."""
        return BRkNNScoring(scoring.k, revision.Y)

    def _own_decision(self) -> Decision:
        """Return the variant's rule."""
        variant = check_option("variant", self.variant, ("base", "a", "b"))
        strict = check_flag("strict_majority", self.strict_majority)
        if variant == "b":
            return TopS()
        half = Threshold(0.5, inclusive=not strict)
        return NeverEmpty(half, when_all_zero="first") if variant == "a" else half
