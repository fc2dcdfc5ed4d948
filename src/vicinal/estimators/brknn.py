"""BRkNN, as a scikit-learn estimator."""

from vicinal._base.validation import check_flag, check_option
from vicinal.decision import Decision, NeverEmpty, Threshold, TopS
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import EVERY_K, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import BRkNNScoring, Scoring, Training


class BRkNN(IncrementalEstimator):
    """Binary relevance kNN: predict the labels that at least half of the neighbours have.

    Parameters
    ----------
    n_neighbors : int
    variant : {"base", "a", "b"}
        Which labels are predicted. ``"base"``: those that at least half of the neighbours have,
        possibly none; ``"a"``: the same, but the label with the highest confidence if there are
        none; ``"b"``: the s best labels, where s is the average number of labels of the neighbours,
        rounded.
    strict_majority : bool
        Require more than half of the neighbours instead of at least half. The paper's text says at
        least half, but its tables agree with more than half.
    metric : {"euclidean", "cosine", "dot"}
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None for the variant's own rule.
    never_empty : bool or None
        Whether every row gets at least one label; None for the variant's own rule.
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
    algorithms", SETN 2008. The formulas are in :mod:`vicinal.scoring.brknn`.

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
        """Keep the current labels."""
        return BRkNNScoring(scoring.k, revision.Y)

    def _own_decision(self) -> Decision:
        """Return the variant's rule."""
        variant = check_option("variant", self.variant, ("base", "a", "b"))
        strict = check_flag("strict_majority", self.strict_majority)
        if variant == "b":
            return TopS()
        half = Threshold(0.5, inclusive=not strict)
        return NeverEmpty(half, when_all_zero="first") if variant == "a" else half
