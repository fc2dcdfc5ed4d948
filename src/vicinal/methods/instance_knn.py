r"""Instance kNN: the labels of the neighbours, weighted by their similarity.

.. math::

    \mathrm{conf}_{INS}(x, y) = \frac{\sum_{x' \in N(x)} y(x') \cdot sim(x, x')}
                                     {\sum_{x' \in N(x)} sim(x, x')} && \text{(2)}

*sim* is the cosine in the paper (1). Negative similarities count as 0, and distances *d* of a
Euclidean graph as similarities 1 / (1 + d); the paper defines neither. If no neighbour has a
positive similarity, every label scores 0.

A *power* p other than 1, which is not in the paper either, weights neighbours by
:math:`sim(x, x')^p`: the larger p, the more the nearest neighbours count.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-A.

Training rows are compared by features and labels together, and each gets re-weighted labels:

.. math::

    sim_{ALL}(x_i, x_j) &= \cos([x_i, Y_i], [x_j, Y_j]) \\
    rw(x, y) &= \frac{\sum_{x' \in N_{ALL}(x)} y(x') \cdot sim_{ALL}(x, x')}
                     {\sum_{x' \in N_{ALL}(x)} sim_{ALL}(x, x')} \\
    \mathrm{conf}_{INS2}(x_q, y) &= \frac{\sum_{x \in N(x_q)} rw(x, y) \cdot sim(x_q, x)}
                                         {\sum_{x \in N(x_q)} sim(x_q, x)}

:math:`N_{ALL}(x)` contains k rows, the first of which is x itself with similarity 1. Therefore k =
1 is instance kNN.

The paper prints :math:`sim_{ALL}` with other norms, which ``second_order="literal"`` uses:

.. math::

    sim_{ALL}(x_i, x_j) = \frac{x_i \cdot x_j + Y_i \cdot Y_j}
        {\sqrt{\lVert x_i \rVert_1 + \lVert Y_i \rVert_1}
         \sqrt{\lVert x_j \rVert_1 + \lVert Y_j \rVert_1}}

Both are equal for binary rows, as in the paper's data. For other rows the similarity of x to itself
is :math:`\lVert [x, Y] \rVert_2^2 / \lVert [x, Y] \rVert_1` instead of 1.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-A4.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, row_ids
from vicinal._core.checks import check_flag, check_positive
from vicinal._core.csr import with_values
from vicinal._core.state import FieldState, State, damage_if_refused, read_count, read_csr
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.distances import COSINE, DOT
from vicinal.errors import InvalidArgumentError, ModelFormatError, warn_user
from vicinal.explanation.breakdown import Breakdown, weighted_breakdowns
from vicinal.graph import NeighborGraph, neighbor_cardinality
from vicinal.index import TrainingRows
from vicinal.methods._formulas import (
    RowSums,
    label_values,
    neighbor_places,
    neighbor_sums,
    neighbor_weights,
)
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.registry import ODD_K, ODD_K_BEYOND, Method
from vicinal.methods.training import KeptLabels, Scoring, Training, read_indicator
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class InstanceKNNScoring(KeptLabels):
    """The training labels; there is nothing else to learn."""

    power: float = 1.0

    @classmethod
    def fit(cls, training: Training, k: int, power: float = 1.0) -> Self:
        """Store the labels."""
        return cls(k, training.Y, check_positive("power", power))

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        near = graph.prefix(min(self.k, graph.k))
        return next(weighted_scores(near, self.Y, self.Y, [near.k], self.power))

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries for each k of `ks` (ascending), adding each neighbour once."""
        return weighted_scores(graph, self.Y, self.Y, ks, self.power)

    def get_state(self) -> dict[str, State]:
        """Return the fields; a power of 1 is omitted, as in models of earlier versions."""
        power: dict[str, State] = {} if self.power == 1 else {"power": self.power}
        return {"k": self.k, "Y": self.Y, **power}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        with damage_if_refused():
            power = check_positive("power", state.get("power", 1.0))
        return cls(read_count(state, "k"), read_indicator(state, "Y"), power)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return each neighbour's :math:`y(x') sim(x, x')` over the sum of the similarities."""
        return weighted_votes(graph, self.k, self.Y, labels, self.power)


def weighted_scores(
    graph: NeighborGraph, rows: Csr, Y: Csr, ks: Iterable[int], power: float = 1.0
) -> Iterator[Scores]:
    """Yield, for each k of `ks` (ascending), the weighted mean of the neighbours' `rows`."""
    wanted = list(ks)
    for k, sums in zip(wanted, neighbor_sums(graph, rows, wanted, power=power), strict=True):
        sizes = neighbor_cardinality(graph.prefix(k), Y)
        yield Scores.sparse(sums.means(), neighbor_cardinality=sizes)


def weighted_votes(
    graph: NeighborGraph, k: int, rows: Csr, labels: Sequence[int], power: float = 1.0
) -> list[Breakdown]:
    """Return breakdowns of the weighted mean of the neighbours' `rows`, for one query."""
    places = neighbor_places(graph, k)
    weights = neighbor_weights(graph, power)[0, : len(places)]
    return list(
        weighted_breakdowns("neighbor", places, weights, label_values(rows, places, labels))
    )


@dataclass(frozen=True, eq=False)
class SecondOrderScoring(FieldState):
    """The re-weighted labels of the training rows."""

    k: int
    rw: Csr
    Y: Csr

    @classmethod
    def fit(cls, training: Training, k: int, literal: bool = False) -> Self:
        """Re-weight the labels of the training rows."""
        return next(cls.fit_sweep(training, [k], literal))

    @classmethod
    def fit_sweep(
        cls, training: Training, ks: Iterable[int], literal: bool = False
    ) -> Iterator[Self]:
        """Fit for each k of `ks` (ascending), adding each neighbour once."""
        wanted = list(ks)
        if literal:
            joint, to_itself = literal_joint_graph(training, max(wanted))
        elif training.joint is None:
            raise InvalidArgumentError("joint", "the graph over features and labels", None)
        else:
            joint, to_itself = training.joint, np.ones(training.n_rows)
        others = [min(k - 1, joint.k) for k in wanted]
        # x itself comes first: its labels, with its similarity to itself.
        per_label = np.repeat(to_itself, np.diff(training.Y.indptr))
        own = RowSums(with_values(training.Y, per_label), to_itself)
        sums = neighbor_sums(joint, training.Y, others, start=own)
        for k, sum_of_k in zip(wanted, sums, strict=True):
            yield cls(k, sum_of_k.means(), training.Y)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`."""
        near = graph.prefix(min(self.k, graph.k))
        return next(weighted_scores(near, self.rw, self.Y, [near.k]))

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return each neighbour's :math:`rw(x, y) sim(x_q, x)` over the sum of similarities."""
        return weighted_votes(graph, self.k, self.rw, labels)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        rw = read_csr(state, "rw", Y.shape)
        if rw.nnz and (rw.data.min() < 0 or rw.data.max() > 1 + 1e-9):
            raise ModelFormatError("rw: expected shares from 0 to 1")
        return cls(read_count(state, "k"), rw.astype(np.float64, copy=False), Y)


LITERAL = "literal"
"""The similarity of the second order as the paper prints it."""

FAR_BELOW = 5
"""Rows have too few labels for the second order if features outnumber labels by this factor."""


def with_joint_graph(training: Training, k: int, n_jobs: int | None) -> Training:
    """Return `training` with the graph that second-order methods need for `k`.

    Each row counts as its own first neighbour, so the search returns k − 1 others. It compares rows
    by the cosine of [X, Y], whatever the metric of the first order. Warns if rows have far fewer
    labels than features, because the labels then hardly change the neighbours.

    Memory while fitting: 12 bytes per entry of X and Y, and the same again for the index.
    """
    if training.X is None:
        raise InvalidArgumentError("training.X", "the features of the training rows", None)
    both = joined(training.X, training.Y)
    n_labels, n_features = training.Y.nnz, both.nnz - training.Y.nnz
    if n_labels * FAR_BELOW < n_features:
        n_rows = max(training.n_rows, 1)
        warn_user(
            f"rows have {n_labels / n_rows:.3g} labels and {n_features / n_rows:.3g} features on "
            "average: second_order=True is intended for data where these are comparable"
        )
    return replace(training, joint=TrainingRows(both, COSINE.name, n_jobs).query_self(k - 1))


def literal_joint_graph(training: Training, k: int) -> tuple[NeighborGraph, Float]:
    """Return k − 1 neighbours of each row by the paper's literal similarity, and that to itself.

    The similarity is a dot product of rows that are divided by the root of their sum. Rows without
    any entry have no neighbours.
    """
    if training.X is None:
        raise InvalidArgumentError("training.X", "the features of the training rows", None)
    both = joined(training.X, training.Y).astype(np.float64)
    lengths = np.bincount(row_ids(both), np.abs(both.data), minlength=both.shape[0])
    scale = 1.0 / np.sqrt(np.where(lengths > 0, lengths, 1.0))
    scaled = with_values(both, both.data * np.repeat(scale, np.diff(both.indptr)))
    to_itself = np.bincount(row_ids(both), scaled.data**2, minlength=both.shape[0])
    graph = TrainingRows(scaled, DOT.name, None).query_self(k - 1)
    return graph, to_itself.astype(np.float64)  # bincount returns integers if there are no entries


def joined(X: Features, Y: Csr) -> Csr:
    """Return features and labels side by side."""
    rows = sparse.csr_array(X)
    return cast("Csr", sparse.hstack([rows, Y.astype(rows.dtype)], format="csr"))


@dataclass(eq=False, repr=False)
class InstanceKNN(IncrementalEstimator):
    """Instance kNN: the labels of the neighbours, weighted by similarity.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, k.
    second_order : bool or "literal"
        Replace each neighbour's labels by the average labels of the rows that are most similar to
        it in features and labels together: by the cosine if True, by the paper's printed formula if
        ``"literal"``. For data with about as many labels as features per row.
    power : float
        A neighbour's weight is its similarity to this power: above 1 the nearest ones count more.
        Cannot be combined with `second_order`.
    metric : {"cosine", "dot", "euclidean"}
        A neighbour's similarity; for Euclidean distances d it is 1 / (1 + d).

    References
    ----------
    L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for
    efficient multi-label classification", DSAA 2017. The formulas are in
    :mod:`vicinal.methods.instance_knn` and :mod:`vicinal.methods.instance_knn`.

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

    n_neighbors: int = 15
    second_order: bool | str = False
    power: float = 1.0
    _: KW_ONLY
    metric: str = "cosine"

    def _fit_scoring(self, training: Training) -> InstanceKNNScoring | SecondOrderScoring:
        """Keep the labels; the second order replaces them by averages of similar rows."""
        power = check_positive("power", self.power)
        if power == 1:
            return fit_instance_part(training, self.n_neighbors, self.second_order, self.n_jobs)
        if check_order(self.second_order):
            raise InvalidArgumentError("power", "1, because second_order is set", power)
        return InstanceKNNScoring.fit(training, self.n_neighbors, power)

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Keep the current labels; the second order is never revised, but fitted again."""
        if not isinstance(scoring, InstanceKNNScoring):
            raise TypeError(f"expected InstanceKNNScoring, got {type(scoring).__name__}")
        return replace(scoring, Y=changed.Y)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterable[Scoring]:
        """Fit the second order once for all k; the first order has nothing to fit."""
        if check_order(self.second_order):
            return SecondOrderScoring.fit_sweep(training, ks, self.second_order == LITERAL)
        return super()._sweep(training, ks)


def fit_instance_part(
    training: Training, k: int, second_order: object, n_jobs: int | None
) -> InstanceKNNScoring | SecondOrderScoring:
    """Fit instance kNN of the first or second order."""
    if not check_order(second_order):
        return InstanceKNNScoring.fit(training, k)
    if second_order == LITERAL:
        return SecondOrderScoring.fit(training, k, literal=True)
    return SecondOrderScoring.fit(with_joint_graph(training, k, n_jobs), k)


def check_order(second_order: object) -> bool:
    """Return whether neighbours are of the second order, or raise for an invalid value."""
    return second_order == LITERAL or check_flag("second_order", second_order)
