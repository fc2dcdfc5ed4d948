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
from dataclasses import dataclass
from typing import Self

from scipy import sparse

from vicinal._base.arrays import Csr, Features
from vicinal._base.checked_csr import with_values
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State, damage_if_refused, read_part, read_plain
from vicinal._base.validation import check_real
from vicinal.explain.breakdown import Breakdown
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring.changed_feature_knn import ChangedFeatureKNNScoring
from vicinal.scoring.feature_knn import FeatureKNNScoring
from vicinal.scoring.instance_knn import InstanceKNNScoring
from vicinal.scoring.second_order import SecondOrderScoring
from vicinal.scoring.training import Scoring


@dataclass(frozen=True, eq=False)
class LCIFScoring:
    """The two fitted parts and their mixing weight.

    Parameters
    ----------
    instance : InstanceKNNScoring or SecondOrderScoring
    feature : FeatureKNNScoring or ChangedFeatureKNNScoring
    mixing : float
        The λ above: 1 for only the instance part, 0 for only the feature part.

    Examples
    --------
    The single neighbour has only the first label; the query's single feature is most similar to the
    second label, with a cosine of 1.

    >>> import numpy as np
    >>> Y = sparse.csr_array(np.array([[1, 0], [0, 1]], dtype=np.int32))
    >>> features = FeatureKNNScoring(sparse.csr_array(np.array([[0.0, 1.0]])), "mean", Y)
    >>> ids = np.array([[0]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.array([[0.5]]), "cosine", n_rows=2)
    >>> model = LCIFScoring(InstanceKNNScoring(1, Y), features, mixing=0.25)
    >>> model.scores(graph, np.array([[1.0]])).toarray()
    array([[0.25, 0.75]])
    """

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
    def is_settled(self) -> bool:
        """Whether all similarities have been computed, as after a fit."""
        return isinstance(self.feature, FeatureKNNScoring)

    def settled(self, Y: Csr, X: Features) -> "LCIFScoring":
        """Return the state of a new fit on the same rows, at places without gaps."""
        instance = self.instance
        if not isinstance(instance, InstanceKNNScoring):
            expected = "instance kNN of the first order"
            raise InvalidArgumentError("instance", expected, type(instance).__name__)
        return LCIFScoring(instance.settled(Y, X), self.feature.settled(Y, X), self.mixing)

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
    """Return λ · instance + (1 − λ) · feature, both sparse with absent = 0.

    Examples
    --------
    >>> import numpy as np
    >>> instance = Scores.sparse(sparse.csr_array(np.array([[0.8, 0.0, 0.4]])))
    >>> feature = Scores.sparse(sparse.csr_array(np.array([[0.0, 0.4, 0.8]])))
    >>> mix(instance, feature, 0.25).toarray().round(4)
    array([[0.2, 0.3, 0.7]])
    """
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
