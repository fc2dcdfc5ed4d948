"""LCIF, as a scikit-learn estimator."""

from collections.abc import Mapping
from typing import Self

from vicinal._base.state import State
from vicinal._base.validation import check_integer, check_real
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.estimators.feature_knn import revised_features, with_matching_features
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.instance_knn import fit_instance_part
from vicinal.estimators.method import ODD_K, ODD_K_BEYOND, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import (
    FeatureKNNScoring,
    InstanceKNNScoring,
    LCIFScoring,
    Scoring,
    Training,
)


class LCIF(IncrementalEstimator):
    """LCIF: a linear combination of instance kNN and feature kNN.

    Parameters
    ----------
    n_neighbors_instance : int
        Number of neighbours of a row (see :class:`InstanceKNN`).
    n_neighbors_feature : int
        Number of labels that each feature keeps, or features per label (see :class:`FeatureKNN`).
    mixing : float
        Weight of instance kNN, from 0 to 1; feature kNN has the rest.
    second_order : bool
        Use second-order instance kNN (LCIF2 in the paper).
    neighbors_of : {"feature", "label"}
    aggregate : {"mean", "max", "kept-mean"}
        See :class:`FeatureKNN`.
    metric : {"cosine", "dot", "euclidean"}
        For instance kNN.
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
    :mod:`vicinal.scoring.lcif`.

    Examples
    --------
    The only neighbour of the query is row 0, and its only feature is most similar to the first
    label.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> Y = np.array([[1, 1], [1, 0], [0, 1]])
    >>> model = LCIF(n_neighbors_instance=1, n_neighbors_feature=1, mixing=0.5).fit(X, Y)
    >>> model.predict_proba([[1.0, 0.0]])
    array([[1. , 0.5]])
    """

    method = Method(
        name="lcif",
        grid={
            "n_neighbors_instance": ODD_K,
            "n_neighbors_feature": ODD_K,
            "mixing": tuple(tenth / 10 for tenth in range(11)),
        },
        beyond_edge={"n_neighbors_instance": ODD_K_BEYOND, "n_neighbors_feature": ODD_K_BEYOND},
        neighbors="n_neighbors_instance",
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(LCIFScoring,),
    )

    def __init__(
        self,
        n_neighbors_instance: int = 15,
        n_neighbors_feature: int = 15,
        mixing: float = 0.5,
        second_order: bool = False,
        neighbors_of: str = "feature",
        aggregate: str = "mean",
        *,
        metric: str = "cosine",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors_instance = n_neighbors_instance
        self.n_neighbors_feature = n_neighbors_feature
        self.mixing = mixing
        self.second_order = second_order
        self.neighbors_of = neighbors_of
        self.aggregate = aggregate
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _neighbors(self) -> int:
        """Return ``n_neighbors_instance``, checked."""
        return check_integer("n_neighbors_instance", self.n_neighbors_instance, low=1)

    def _fit_scoring(self, training: Training) -> LCIFScoring:
        """Fit both parts."""
        k = check_integer("n_neighbors_feature", self.n_neighbors_feature, low=1)
        mixing = check_real("mixing", self.mixing, 0, 1)
        feature = FeatureKNNScoring.fit(training, k, self.neighbors_of, self.aggregate, self.n_jobs)
        instance = fit_instance_part(
            training, self.n_neighbors_instance, self.second_order, self.n_jobs
        )
        return LCIFScoring(instance, feature, mixing)

    def _can_revise(self) -> bool:
        """Tell whether a small change can be revised: not in the second order, nor by label."""
        return self.neighbors_of == "feature" and self.second_order is False

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Revise both parts."""
        if not isinstance(scoring, LCIFScoring):
            raise TypeError(f"expected LCIFScoring, got {type(scoring).__name__}")
        k, Y = self.n_neighbors_feature, revision.Y
        feature = revised_features(scoring.feature, revision, k, self.aggregate)
        return LCIFScoring(InstanceKNNScoring(scoring.k, Y), feature, scoring.mixing)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return with_matching_features(super().from_state(state))
