r"""LCIF: a linear combination of instance and feature neighbours.

.. math::

    \mathrm{conf}(x, y) = \lambda \, \mathrm{conf}_{INS}(x, y)
                          + (1 - \lambda) \, \mathrm{conf}_{FL}(x, y) && \text{(4)}

LCIF2 has :math:`\mathrm{conf}_{INS2}`, the second order, in place of the first. The two numbers of
neighbours are independent.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-C.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Self

from scipy import sparse

from vicinal._core.arrays import Csr, Features
from vicinal._core.checks import check_integer, check_real
from vicinal._core.csr import with_values
from vicinal._core.state import State, damage_if_refused, read_part, read_plain
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation.breakdown import Breakdown
from vicinal.graph import NeighborGraph
from vicinal.methods.feature_knn import (
    FEATURE_SWITCHES,
    ChangedFeatureKNNScoring,
    FeatureKNNScoring,
    revised_features,
    with_matching_features,
)
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.instance_knn import InstanceKNNScoring, SecondOrderScoring, fit_instance_part
from vicinal.methods.registry import ODD_K, ODD_K_BEYOND, Method
from vicinal.methods.training import Scoring, Training
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class LCIFScoring:
    """The two fitted parts and their mixing weight."""

    instance: InstanceKNNScoring | SecondOrderScoring
    feature: FeatureKNNScoring | ChangedFeatureKNNScoring
    mixing: float

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        check_real("mixing", self.mixing, 0, 1)
        if self.instance.Y.shape != self.feature.Y.shape:
            raise InvalidArgumentError(
                "feature", f"labels of shape {self.instance.Y.shape}", self.feature.Y.shape
            )

    @property
    def k(self) -> int:
        """Number of neighbours of the instance part."""
        return self.instance.k

    @property
    def Y(self) -> Csr:
        """Labels of the training rows."""
        return self.instance.Y

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.feature.n_features

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`, whose features are `X`."""
        return mix(self.instance.scores(graph, X), self.feature.scores(graph, X), self.mixing)

    @property
    def is_as_fitted(self) -> bool:
        """Whether all similarities have been computed, as after a fit."""
        return isinstance(self.feature, FeatureKNNScoring)

    def as_fitted(self, Y: Csr, X: Features) -> "LCIFScoring":
        """Return the state of a new fit on the same rows, at places without gaps."""
        instance = self.instance
        if not isinstance(instance, InstanceKNNScoring):
            expected = "instance kNN of the first order"
            raise InvalidArgumentError("instance", expected, type(instance).__name__)
        return LCIFScoring(instance.as_fitted(Y, X), self.feature.as_fitted(Y, X), self.mixing)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the parts of both methods for one query, times λ and 1 − λ."""
        near = self.instance.explain(graph, labels, X)
        like_features = self.feature.explain(graph, labels, X)
        return [
            instance.times(self.mixing).plus(feature.times(1 - self.mixing))
            for instance, feature in zip(near, like_features, strict=True)
        ]

    def get_state(self) -> dict[str, State]:
        """Return the parts, the feature part without the labels that both share."""
        feature = {key: value for key, value in self.feature.get_state().items() if key != "Y"}
        return {"instance": self.instance, "feature": feature, "mixing": self.mixing}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        instance = read_part(state, "instance", Scoring)
        if not isinstance(instance, InstanceKNNScoring | SecondOrderScoring):
            raise ModelFormatError(f"instance: unexpected {type(instance).__name__}")
        feature = FeatureKNNScoring.from_state(
            {**read_part(state, "feature", dict), "Y": instance.Y}
        )
        with damage_if_refused():
            return cls(instance, feature, read_plain(state, "mixing", float))


def mix(instance: Scores, feature: Scores, mixing: float) -> Scores:
    """Return λ · instance + (1 − λ) · feature, both sparse with absent = 0."""
    parts = [
        with_values(values, weight * values.data)
        for values, weight in ((stored(instance), mixing), (stored(feature), 1 - mixing))
        if weight > 0
    ]
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return Scores.sparse(total, neighbor_cardinality=instance.neighbor_cardinality)


def stored(scores: Scores) -> Csr:
    """Return sparse scores as a matrix, or raise if scores that are not stored are not 0."""
    values = scores.values
    if not isinstance(values, sparse.csr_array) or scores.base.any():
        got = "sparse scores with other base values" if scores.is_sparse else "dense scores"
        raise InvalidArgumentError("scores", "sparse scores whose base is 0", got)
    return values


@dataclass(eq=False, repr=False)
class LCIF(IncrementalEstimator):
    """LCIF: a linear combination of instance kNN and feature kNN.

    Parameters
    ----------
    n_neighbors_instance : int
        Number of neighbours of a row (see :class:`InstanceKNN`).
    n_neighbors_feature : int
        Number of labels that each feature keeps, or features per label (see :class:`FeatureKNN`).
    mixing : float
        Weight of instance kNN, from 0 to 1; feature kNN has 1 − `mixing`.
    second_order : bool or "literal"
        Use second-order instance kNN (LCIF2 in the paper; see :class:`InstanceKNN`).
    neighbors_of : {"feature", "label"}
        Whether each feature keeps its most similar labels, or each label its features.
    aggregate : {"mean", "max", "kept-mean", "literal"}
        See :class:`FeatureKNN`.
    metric : {"cosine", "dot", "euclidean"}
        For instance kNN.

    References
    ----------
    L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for
    efficient multi-label classification", DSAA 2017. The formulas are in
    :mod:`vicinal.methods.lcif`.

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
            **FEATURE_SWITCHES,
        },
        beyond_edge={"n_neighbors_instance": ODD_K_BEYOND, "n_neighbors_feature": ODD_K_BEYOND},
        neighbors="n_neighbors_instance",
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(LCIFScoring,),
    )

    n_neighbors_instance: int = 15
    n_neighbors_feature: int = 15
    mixing: float = 0.5
    second_order: bool | str = False
    neighbors_of: str = "feature"
    aggregate: str = "kept-mean"
    _: KW_ONLY
    metric: str = "cosine"

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

    def _can_update(self) -> bool:
        """Tell whether a small change can be revised: not in the second order, nor by label."""
        few = self.neighbors_of == "feature" and self.aggregate != "literal"
        return few and self.second_order is False

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Revise both parts."""
        if not isinstance(scoring, LCIFScoring):
            raise TypeError(f"expected LCIFScoring, got {type(scoring).__name__}")
        k, Y = self.n_neighbors_feature, changed.Y
        feature = revised_features(scoring.feature, changed, k, self.aggregate)
        return LCIFScoring(InstanceKNNScoring(scoring.k, Y), feature, scoring.mixing)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return with_matching_features(super().from_state(state))
