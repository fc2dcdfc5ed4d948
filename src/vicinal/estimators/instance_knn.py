"""Instance kNN, as a scikit-learn estimator."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_flag, check_positive
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.joint import with_joint_graph
from vicinal.estimators.method import ODD_K, ODD_K_BEYOND, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import InstanceKNNScoring, Scoring, SecondOrderScoring, Training


class InstanceKNN(IncrementalEstimator):
    """Instance kNN: the labels of the neighbours, weighted by similarity.

    Parameters
    ----------
    n_neighbors : int
    second_order : bool
        Replace each neighbour's labels by the average labels of the rows that are most similar to
        it in features and labels together. For data with about as many labels as features per row.
    power : float
        A neighbour's weight is its similarity to this power: above 1 the nearest ones count more.
        Cannot be combined with `second_order`.
    metric : {"cosine", "dot", "euclidean"}
        A neighbour's similarity; for Euclidean distances d it is 1 / (1 + d).
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None means ``"cardinality"``: one threshold, at which as many
        labels are predicted on the training rows as they have.
    never_empty : bool or None
        Whether every row gets at least one label; None for the method's own rule: it gets the best
        one, or the most frequent one if all score 0.
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
    L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for
    efficient multi-label classification", DSAA 2017. The formulas are in
    :mod:`vicinal.scoring.instance_knn` and :mod:`vicinal.scoring.second_order`.

    Examples
    --------
    The query shares its features with row 0, and one of them with row 1: the cosines are 1 and
    about 0.7071, so the label of row 0 has 1 / 1.7071 of the weight.

    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    >>> Y = np.array([[1, 0], [0, 1], [0, 1]])
    >>> model = InstanceKNN(n_neighbors=2).fit(X, Y)
    >>> model.predict_proba([[1.0, 1.0]]).round(4)
    array([[0.5858, 0.4142]])
    """

    method = Method(
        name="instance-knn",
        grid={"n_neighbors": ODD_K},
        beyond_edge={"n_neighbors": ODD_K_BEYOND},
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(InstanceKNNScoring, SecondOrderScoring),
    )

    def __init__(
        self,
        n_neighbors: int = 15,
        second_order: bool = False,
        power: float = 1.0,
        *,
        metric: str = "cosine",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.second_order = second_order
        self.power = power
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _fit_scoring(self, training: Training) -> InstanceKNNScoring | SecondOrderScoring:
        """Keep the labels; the second order replaces them by averages of similar rows."""
        power = check_positive("power", self.power)
        if power == 1:
            return fit_instance_part(training, self.n_neighbors, self.second_order, self.n_jobs)
        if check_flag("second_order", self.second_order):
            raise InvalidArgumentError("power", "1, because second_order=True", power)
        return InstanceKNNScoring.fit(training, self.n_neighbors, power)

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Keep the current labels; the second order is never revised, but fitted again."""
        if not isinstance(scoring, InstanceKNNScoring):
            raise TypeError(f"expected InstanceKNNScoring, got {type(scoring).__name__}")
        return replace(scoring, Y=revision.Y)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterable[Scoring]:
        """Fit the second order once for all k; the first order has nothing to fit."""
        if check_flag("second_order", self.second_order):
            return SecondOrderScoring.fit_sweep(training, ks)
        return super()._sweep(training, ks)


def fit_instance_part(
    training: Training, k: int, second_order: object, n_jobs: int | None
) -> InstanceKNNScoring | SecondOrderScoring:
    """Fit instance kNN of the first or second order."""
    if check_flag("second_order", second_order):
        return SecondOrderScoring.fit(with_joint_graph(training, k, n_jobs), k)
    return InstanceKNNScoring.fit(training, k)
