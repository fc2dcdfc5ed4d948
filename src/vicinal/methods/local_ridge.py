r"""Local ridge: kernel ridge regression on the neighbours of a row, at the moment of the question.

With :math:`N(x)` the k nearest training rows of *x* and κ a kernel,

.. math::

    K &= κ(N(x), N(x)), \qquad s = κ(N(x), x) \\
    w &= (K + α I)^{-1} s \\
    f(x, l) &= μ_l + \sum_{j \in N(x)} w_j \, (y_j(l) - μ_l)

The kernel of the cosine and of the dot product is that similarity. The kernel of Euclidean
distances is :math:`κ(a, b) = e^{-d(a, b)^2 / (2σ^2)}` with σ the median distance of the k
neighbours from *x*; if σ is 0, κ is 1 for equal rows and 0 for all others. μ is 0 for sparse rows
and the mean label vector of the neighbours for dense rows, unless `center` says otherwise. Labels
that no neighbour has score 0 in both cases.

Votes count two equal neighbours twice. Here they share their weight, because *K* contains the
similarities of the neighbours to each other. A weight may be negative. There is nothing to train: a
model is its rows and labels, and the leave-one-out score of a training row is the same formula with
its leave-one-out neighbours.

α is at least 1e-11 of each diagonal entry of *K*: with less, the solution for equal neighbours
would be lost in the rounding of float64.

References
----------
C. Saunders, A. Gammerman, V. Vovk, "Ridge regression learning algorithm in dual variables", ICML
1998; L. Bottou, V. Vapnik, "Local learning algorithms", Neural Computation 4, 1992.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.checks import check_flag, check_positive
from vicinal._core.csr import checked_csr, take_rows
from vicinal._core.state import State, damage_if_refused, read_count, read_value
from vicinal._core.threads import thread_count
from vicinal._core.validation import check_features, csr_parts
from vicinal._native import label_weights, local_ridge_dense, local_ridge_sparse
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph, neighbor_cardinality
from vicinal.methods._formulas import label_values, neighbor_places
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.registry import Method
from vicinal.methods.training import KeptLabels, Scoring, Training, read_indicator
from vicinal.scores import Scores

MOST_WEIGHTS = 2**25
"""Most weights that a sweep over k holds in memory: 256 MiB."""


def ridge_weights(
    graph: NeighborGraph, X: Features, ks: Sequence[int], alphas: Sequence[float]
) -> Float:
    r"""Return :math:`w = (K + αI)^{-1} s` of each query, for each number of neighbours and each α.

    The products of the neighbours' rows are computed once for all of them.
    """
    if X.shape[0] != graph.n_rows:
        raise InvalidArgumentError("X", f"{graph.n_rows} rows", X.shape[0])
    if graph.distance_kind.native_code is None:
        return _weights_by_definition(graph, X, ks, alphas)
    ids, near = np.ascontiguousarray(graph.ids), np.ascontiguousarray(graph.values)
    settings = (
        graph.distance_kind.native_code,
        np.asarray(ks, dtype=np.int64),
        np.asarray(alphas, dtype=np.float64),
        thread_count(),
    )
    if isinstance(X, sparse.csr_array):
        indptr, indices = csr_parts(X)
        values = np.ascontiguousarray(X.data[: indptr[-1]])
        weights = local_ridge_sparse(indptr, indices, values, ids, near, *settings)
    else:
        weights = local_ridge_dense(np.ascontiguousarray(X), ids, near, *settings)
    if not np.isfinite(weights).all():
        raise InvalidArgumentError("X", "values whose squares are finite numbers", "larger ones")
    return weights


def _weights_by_definition(
    graph: NeighborGraph, X: Features, ks: Sequence[int], alphas: Sequence[float]
) -> Float:
    """Return the weights for a distance that the compiled core does not know."""
    weights = np.zeros((len(ks), len(alphas), *graph.ids.shape))
    for query, found in enumerate(graph.found.tolist()):
        rows = take_rows(X, graph.ids[query, :found].astype(np.int64))
        full = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        keys = np.array([graph.distance_kind.keys(full, row) for row in full])
        for i, k in enumerate(ks):
            n = min(k, found)
            values = graph.distance_kind.values(keys[:n, :n].reshape(n, n))
            K, s = _kernels(graph, values, graph.values[query, :n])
            for j, alpha in enumerate(alphas):
                solution = np.linalg.lstsq(K + alpha * np.eye(n), s, rcond=None)[0]
                weights[i, j, query, :n] = solution
    return weights


def _kernels(graph: NeighborGraph, values: Float, near: Float) -> tuple[Float, Float]:
    """Return K and s from the similarities or distances of neighbours and query."""
    if graph.distance_kind.is_similarity:
        return values, near
    width = float(np.median(near)) if len(near) else 0.0
    if width == 0:
        return (values == 0).astype(np.float64), (near == 0).astype(np.float64)
    return np.exp(-0.5 * (values / width) ** 2), np.exp(-0.5 * (near / width) ** 2)


def label_sums(graph: NeighborGraph, weights: Float, Y: Csr) -> Csr:
    r"""Return :math:`\sum_j w_j y_j(l)` for each query and label that one of its neighbours has."""
    if Y.shape[0] != graph.n_rows:
        raise InvalidArgumentError("Y", f"{graph.n_rows} rows", Y.shape[0])
    n_labels = int(Y.shape[1])
    labels = csr_parts(Y)
    indptr, indices, values = label_weights(
        np.ascontiguousarray(graph.ids),
        np.ascontiguousarray(weights),
        *labels,
        n_labels,
        thread_count(),
    )
    shape = (graph.n_queries, n_labels)
    if indptr[-1] < 2**31 - 1:
        return checked_csr(values, indices, indptr, shape)
    sums: Csr = sparse.csr_array((values, indices, indptr), shape=shape)
    sums.has_canonical_format = True
    return sums


@dataclass(frozen=True, eq=False)
class LocalRidgeScoring(KeptLabels):
    """The training rows and their labels; there is nothing else to learn."""

    X: Features | None = None
    alpha: float = 1.0
    center: bool | None = None

    @classmethod
    def fit(
        cls, training: Training, k: int, alpha: float = 1.0, center: bool | None = None
    ) -> Self:
        """Keep the rows and the labels."""
        if training.X is None:
            raise InvalidArgumentError("X", "the features of the training rows", None)
        alpha = check_positive("alpha", alpha)
        return cls(k, training.Y, training.X, alpha, _check_center(center))

    def as_fitted(self, Y: Csr, X: Features) -> Self:
        """Return the state for the same rows at other places."""
        return replace(self, Y=Y, X=X)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`; their features are not needed."""
        near = graph.prefix(min(self.k, graph.k))
        return next(self.sweep(near, [near.k]))

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries for each k of `ks`, computing products of rows once."""
        for (scores,) in self.sweep_with([], graph, ks):
            yield scores

    def sweep_with(
        self, others: Sequence[Scoring], graph: NeighborGraph, ks: Iterable[int]
    ) -> Iterator[list[Scores]]:
        """Score the queries for each k of `ks`, with this alpha and with those of other states.

        All states have the same rows. Memory: 8 bytes per query, k, alpha and neighbour, in groups
        of at most ``MOST_WEIGHTS`` weights.
        """
        states = [self, *map(_checked, others)]
        alphas = [state.alpha for state in states]
        at_once = max(1, MOST_WEIGHTS // max(1, len(states) * graph.n_queries * graph.k))
        wanted = list(ks)
        for start in range(0, len(wanted), at_once):
            group = wanted[start : start + at_once]
            near = graph.prefix(max(group))
            weights = self._weights(near, group, alphas)
            for k, of_k in zip(group, weights, strict=True):
                yield [
                    state._scored(near.prefix(k), of_alpha[:, :k])
                    for state, of_alpha in zip(states, of_k, strict=True)
                ]

    def _weights(self, graph: NeighborGraph, ks: Sequence[int], alphas: Sequence[float]) -> Float:
        """Return the weights of each query's neighbours for each k and alpha."""
        if graph.n_queries == 0:
            return np.zeros((len(ks), len(alphas), *graph.ids.shape))
        if self.X is None:
            raise InvalidArgumentError("X", "the features of the training rows", None)
        return ridge_weights(graph, self.X, ks, alphas)

    def _scored(self, graph: NeighborGraph, weights: Float) -> Scores:
        r"""Return the scores for given weights.

        :math:`μ_l + \sum_j w_j (y_j(l) - μ_l)` with the mean μ is a sum of labels too, in which
        every weight is larger by :math:`(1 - \sum_j w_j) / |N|`.
        """
        if self._is_centered:
            lacking: Float = (1.0 - weights.sum(axis=1)) / np.maximum(graph.found, 1)
            weights = weights + lacking[:, np.newaxis] * (graph.ids >= 0)
        sizes = neighbor_cardinality(graph, self.Y)
        return Scores.sparse(label_sums(graph, weights, self.Y), neighbor_cardinality=sizes)

    @property
    def _is_centered(self) -> bool:
        """Whether μ is the mean label vector of the neighbours."""
        return isinstance(self.X, np.ndarray) if self.center is None else self.center

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return each neighbour's :math:`w_j (y_j(l) - μ_l)`; the base is :math:`μ_l`."""
        near = graph.prefix(min(self.k, graph.k))
        places = neighbor_places(near, self.k)
        weights = self._weights(near, [near.k], [self.alpha])[0, 0, 0, : len(places)]
        has = label_values(self.Y, places, labels)
        means = has.sum(axis=0) / max(1, len(places)) * self._is_centered
        return [
            Breakdown(
                float(mean),
                (Terms("neighbor", places, weights * (column - mean)),),
                facts={"alpha": self.alpha, "votes": int(column.sum())},
            )
            for column, mean in zip(has.T, means, strict=True)
        ]

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays."""
        return {"k": self.k, "Y": self.Y, "X": self.X, "alpha": self.alpha, "center": self.center}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y, X = read_indicator(state, "Y"), read_value(state, "X")
        with damage_if_refused():
            rows = None if X is None else check_features(X)
            alpha = check_positive("alpha", read_value(state, "alpha"))
            center = _check_center(read_value(state, "center"))
        if rows is not None and rows.shape[0] != Y.shape[0]:
            raise ModelFormatError(f"X: expected {Y.shape[0]} rows, got {rows.shape[0]}")
        return cls(read_count(state, "k"), Y, rows, alpha, center)


@dataclass(eq=False, repr=False)
class LocalRidge(IncrementalEstimator):
    r"""Local ridge: kernel ridge regression on the k nearest rows of each query.

    Predicts better than votes where neighbours resemble each other: equal rows share their weight
    instead of counting twice. Nothing is trained, so learning a row only adds it to the index.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, k.
    alpha : float
        Regularisation strength α, above 0. Large values turn the weights into similarities divided
        by α, small ones let few neighbours decide.
    center : bool or None
        Whether the regression is around the mean label vector μ of the neighbours; if not, μ is 0.
        None: only if `X` is dense.
    metric : {"cosine", "dot", "euclidean"}
        The kernel: the similarity itself, or for Euclidean distances a Gaussian whose width is the
        median distance of the neighbours.

    Notes
    -----
    With *N* the neighbours of a row *x*, κ the kernel, and :math:`y_j(l) = 1` if row *j* has label
    *l*, else 0,

    .. math:: w = (κ(N, N) + αI)^{-1} κ(N, x), \qquad
              f(x, l) = μ_l + \sum_{j \in N} w_j \, (y_j(l) - μ_l)

    with :math:`μ = 0` if `X` is sparse, and the mean label vector of the neighbours if it is dense
    (see `center`). Labels that no neighbour has score 0. Other scores may be below 0 or above 1. A
    prediction costs the products of the neighbours' rows with each other and k³ / 6
    multiplications, whatever the number of labels.

    References
    ----------
    L. Bottou, V. Vapnik, "Local learning algorithms", Neural Computation 4, 1992. The formulas are
    in :mod:`vicinal.methods.local_ridge`.

    Examples
    --------
    The query is equally near to all rows. Two of them are equal and share their weight:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> X = sparse.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1]])
    >>> model = LocalRidge(n_neighbors=3, alpha=0.1).fit(X, Y)
    >>> model.predict_proba(sparse.csr_array([[1.0, 1.0]])).round(4)
    array([[0.6734, 0.6428]])
    """

    method = Method(
        name="local-ridge",
        grid={"n_neighbors": (20, 50, 100), "alpha": (0.1, 0.3, 1.0, 3.0)},
        beyond_edge={"n_neighbors": (150, 200), "alpha": (10.0,)},
        sweeps="alpha",
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(LocalRidgeScoring,),
    )

    n_neighbors: int = 50
    alpha: float = 1.0
    _: KW_ONLY
    center: bool | None = None
    metric: str = "cosine"

    def _fit_scoring(self, training: Training) -> LocalRidgeScoring:
        """Keep the rows and the labels."""
        return LocalRidgeScoring.fit(training, self.n_neighbors, self.alpha, self.center)

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Keep the current rows and labels."""
        return _checked(scoring).as_fitted(changed.Y, changed.rows.X)

    def get_state(self) -> dict[str, State]:
        """Return the fitted model as plain values, arrays and parts; the rows are in it once."""
        state = super().get_state()
        return {**state, "scoring": replace(_checked(state["scoring"]), X=None)}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        model = super().from_state(state)
        version = model._fitted()
        if not isinstance(version.scoring, LocalRidgeScoring):
            got = type(version.scoring).__name__
            raise ModelFormatError(f"scoring: expected local ridge, got {got}")
        scoring = replace(version.scoring, X=version.rows.X)
        model._publish(replace(version, scoring=scoring))
        return model


def _checked(scoring: object) -> LocalRidgeScoring:
    """Return what local ridge learned, or raise."""
    if not isinstance(scoring, LocalRidgeScoring):
        raise TypeError(f"expected LocalRidgeScoring, got {type(scoring).__name__}")
    return scoring


def _check_center(center: object) -> bool | None:
    """Return ``center``, checked."""
    return None if center is None else check_flag("center", center)
