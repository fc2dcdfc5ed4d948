r"""The parts of a blend: a scoring, and the view of the rows that it scores.

.. math:: s(x, l) = \sum_f x_f \frac{\vec f \cdot \vec l}{\lVert \vec f \rVert \lVert \vec l \rVert}

Feature kNN without a k and without the weights' sum. Of a training row its own share in the
products is left out, not that in the lengths.

.. math:: s(x, l) = \sum_{l' \ne l} r(x, l') \frac{n(l, l')}{n(l') + s}

with :math:`r` the scores of another part, clipped to [0, 1], and :math:`n` counts of training rows.
Of a training row its own share in the counts is left out.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int
from vicinal._core.checks import check_option
from vicinal._core.csr import take_rows
from vicinal._core.state import (
    FieldState,
    State,
    read_array,
    read_count,
    read_csr,
    read_part,
    read_plain,
    read_value,
)
from vicinal._core.validation import as_csr, check_features
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explain.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph
from vicinal.index import Index, build_index
from vicinal.methods._formulas import best_micro_f1, label_values
from vicinal.methods.blend.plan import FEW_UNKNOWNS, Plan
from vicinal.methods.instance_knn import InstanceKNNScoring
from vicinal.methods.label_ridge import RidgeScoring, RidgeSettings
from vicinal.methods.label_ridge.solver import usual_gamma
from vicinal.methods.training import EveryLabel, Scoring, Training, check_given, read_indicator
from vicinal.preprocess.label_weights import is_count, label_weights, weighted_rows
from vicinal.scores import Scores

NEIGHBORS = (10, 20, 40)
POWERS = (1.0, 2.0, 4.0)
DISTANCE_POWERS = (1.0, 4.0, 16.0)
"""Of 1 / (1 + d), which differs less between neighbours than cosines do."""
ALPHAS = (0.3, 1.0, 3.0, 10.0)
FLOAT64_SIZE = 1000
"""Largest matrix inverted in float64: a mixture of scores needs no more than six digits of them."""
KERNEL_ALPHAS = (0.03, 0.1, 0.3, 1.0)
KERNEL_WIDTHS = (0.5, 1.0, 2.0, 4.0)
"""Times the usual gamma."""


@dataclass(frozen=True, eq=False)
class Part(FieldState):
    """A part.

    Parameters
    ----------
    name : str
        For explanations and reports.
    view : int
        Number of the view that it scores.
    scoring : Scoring
    """

    name: str
    view: int
    scoring: Scoring

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        scoring: Scoring = read_part(state, "scoring", Scoring)
        return cls(read_plain(state, "name", str), read_count(state, "view", low=0), scoring)


def best_votes(training: Training, judged: Int) -> InstanceKNNScoring:
    """Return votes with the k and the power of the best leave-one-out micro-F1 of some rows.

    Each neighbour is added once for each power.
    """
    graph, Y = training.graph.some(judged), take_rows(training.Y, judged)
    powers = POWERS if graph.distance_kind.is_similarity else DISTANCE_POWERS
    widths = sorted({min(k, graph.k) for k in NEIGHBORS})
    best, most = InstanceKNNScoring.fit(training, widths[0]), -1.0
    for power in powers:
        state = InstanceKNNScoring.fit(training, widths[-1], power)
        for k, scores in zip(widths, state.sweep(graph, widths), strict=True):
            value = best_micro_f1(scores, Y)
            if value > most:
                best, most = InstanceKNNScoring.fit(training, k, power), value
    return best


def linear_ridge(training: Training, plan: Plan, max_memory: int, judged: Int) -> RidgeScoring:
    """Return a ridge with the regularisation of the best leave-one-out micro-F1 of some rows.

    Rows are divided by their length, unless they are measurements.
    """
    alphas = ALPHAS if plan.tries_alphas else (1.0,)
    settings = RidgeSettings(alphas, max_memory=max_memory, float64_size=FLOAT64_SIZE, climbs=True)
    return RidgeScoring.fit(
        training,
        settings,
        is_unit=not plan.is_dense,
        max_features=plan.ridge_features,
        judged=judged,
    )


def kernel_ridge(training: Training, max_memory: int, order: Int, judged: Int) -> RidgeScoring:
    """Return a Gaussian ridge, with the best width of the kernel where several are affordable."""
    usual = usual_gamma(check_given(training.X, training.n_rows)[order])
    few = training.n_rows <= FEW_UNKNOWNS
    alphas, widths = (KERNEL_ALPHAS, KERNEL_WIDTHS) if few else ((0.1,), (1.0,))
    fitted = [
        RidgeScoring.fit(
            training,
            RidgeSettings(alphas, "rbf", width * usual, max_memory=max_memory),
            is_unit=False,
            judged=judged,
        )
        for width in widths
    ]
    return max(fitted, key=lambda ridge: ridge.micro_f1)


KINDS = ("given", "weighted", "scaled")
PRIOR = 5.0
"""Of the label weights; see :class:`vicinal.preprocess.LabelWeights`."""


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at rows, and the training rows in it.

    Parameters
    ----------
    kind : {"given", "weighted", "scaled"}
        Rows as they are, with counts damped to 1 + ln; rows weighted by label weights, of length
        one; features scaled to [0, 1] on the training rows.
    is_count : bool
        Whether values are counts.
    first, second : ndarray of float64, shape (m,)
        Weights and nothing; or the least value and the width of each feature.
    rows : ndarray or csr_array or None
        Training rows, where this view is searched; a given view is searched by its caller.
    """

    kind: str
    is_count: bool
    first: Float
    second: Float
    rows: Features | None = None
    _index: "LazyIndex" = field(default_factory=lambda: LazyIndex(), repr=False)

    @property
    def metric(self) -> str:
        """How rows are compared in this view."""
        return "euclidean" if self.kind == "scaled" else "cosine"

    def of(self, X: Features) -> Features:
        """Return rows in this view."""
        if self.kind == "scaled":
            full = X if isinstance(X, np.ndarray) else X.toarray()
            with np.errstate(over="ignore"):  # what overflows is clipped
                scaled: Float = np.clip((full - self.first) / self.second, -1.0, 2.0)
            return scaled
        if self.kind == "weighted":
            return weighted_rows(X, self.first, self.is_count)
        return _damped(X) if self.is_count else X

    def nearest(self, X: Features, k: int) -> NeighborGraph:
        """Return the nearest training rows of rows that are in this view already."""
        index = self._index.of(self._training_rows(), self.metric)
        return index.query(X, min(k, self._training_rows().shape[0]))

    def nearest_others(self, k: int) -> NeighborGraph:
        """Return the leave-one-out graph of the training rows."""
        index = self._index.of(self._training_rows(), self.metric)
        return index.query_self(max(1, min(k, self._training_rows().shape[0] - 1)))

    def _training_rows(self) -> Features:
        """Return the training rows, which a view that is searched has."""
        if self.rows is None:
            raise InvalidArgumentError("view", "one with training rows", self.kind)
        return self.rows

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays."""
        return {
            "kind": self.kind,
            "is_count": self.is_count,
            "first": self.first,
            "second": self.second,
            "rows": self.rows,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        rows = read_value(state, "rows")
        try:
            kind = check_option("kind", state.get("kind"), KINDS)
            rows = None if rows is None else check_features(rows, "rows")
        except InvalidArgumentError as error:
            raise ModelFormatError(str(error)) from None
        first, second = (read_array(state, key, np.float64, (None,)) for key in ("first", "second"))
        if rows is not None and len(first) != rows.shape[1]:
            raise ModelFormatError(f"first: expected {rows.shape[1]} numbers, got {len(first)}")
        return cls(kind, read_plain(state, "is_count", bool), first, second, rows)


class LazyIndex:
    """An index that is built when first needed, once; a pickled copy builds its own."""

    def __init__(self) -> None:
        self._index: Index | None = None
        self._lock = threading.Lock()

    def of(self, rows: Features, metric: str) -> Index:
        """Return the index over these rows."""
        with self._lock:
            if self._index is None:
                self._index = build_index(rows, metric)
            return self._index

    def __reduce__(self) -> tuple[type["LazyIndex"], tuple[()]]:
        """Leave out the index and the lock, which belong to this process."""
        return LazyIndex, ()


def given_view(X: Features) -> View:
    """Return the view of rows as they are."""
    nothing = np.empty(0)
    return View("given", _holds_counts(X), nothing, nothing)


def weighted_view(X: Features, Y: Csr) -> View:
    """Return the view of rows weighted by what features tell about labels."""
    stored = as_csr(X)
    weights = label_weights(stored, Y, PRIOR)
    counts = is_count(stored)
    return View("weighted", counts, weights, np.empty(0), weighted_rows(X, weights, counts))


def scaled_view(X: Features) -> View:
    """Return the view of features scaled to [0, 1]; constant features become 0."""
    full = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    least, largest = full.min(axis=0), full.max(axis=0)
    width = np.where(largest > least, largest - least, 1.0)
    view = View("scaled", False, least, width)
    return View("scaled", False, least, width, view.of(full))


def _holds_counts(X: Features) -> bool:
    """Tell whether non-zero values are counts, of which some are above 1."""
    values = X[X != 0] if isinstance(X, np.ndarray) else X.data
    return bool(values.size and values.min() >= 1 and values.max() > 1)


def _damped(X: Features) -> Features:
    """Return 1 + ln x for values above 1."""
    if isinstance(X, np.ndarray):
        damped: Float = np.where(X > 1, 1.0 + np.log(np.maximum(X, 1.0)), X)
        return damped
    rows = X.copy()
    rows.data = np.where(X.data > 1, 1.0 + np.log(np.maximum(X.data, 1.0)), X.data)
    return rows


def unchanged_view() -> View:
    """Return the view of rows exactly as they are."""
    return View("given", False, np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class FeatureSimilarityScoring(FieldState, EveryLabel):
    """The cosines of all features and labels that share a row.

    Parameters
    ----------
    similarity : csr_array of float64, shape (m, L)
    lengths : ndarray of float64, shape (m,)
        Of the feature columns; 1 for an empty one.
    Y : csr_array of int32, shape (n, L)

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [0, 1]], dtype=np.int32))
    >>> nobody = NeighborGraph(np.empty((2, 0), dtype=np.int32), np.empty((2, 0)), "dot", 2)
    >>> training = Training(nobody, Y, sparse.csr_array(np.array([[1.0, 0.0], [1.0, 1.0]])))
    >>> fitted = FeatureSimilarityScoring.fit(training)
    >>> fitted.scores(nobody, training.X).toarray().round(4)
    array([[0.7071, 0.7071],
           [0.7071, 1.7071]])
    >>> fitted.training_scores(training, slice(None)).toarray().round(4)
    array([[0.    , 0.7071],
           [0.7071, 0.    ]])
    """

    similarity: Csr
    lengths: Float
    Y: Csr

    @property
    def k(self) -> int:
        """No neighbours are used for scoring."""
        return 0

    @classmethod
    def fit(cls, training: Training) -> Self:
        """Compare every feature with every label."""
        rows = as_csr(check_given(training.X, training.n_rows)).astype(np.float64)
        squares = np.bincount(rows.indices, rows.data**2, minlength=rows.shape[1])
        lengths = np.where(squares > 0, np.sqrt(squares), 1.0)
        products = sparse.csr_array(rows.T @ training.Y.astype(np.float64))
        products.sort_indices()
        by_feature = np.repeat(1.0 / lengths, np.diff(products.indptr))
        products.data *= by_feature * _label_shares(training.Y)[products.indices]
        return cls(products, lengths, training.Y)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the rows of `X`; `graph` is not used."""
        rows = as_csr(check_given(X, graph.n_queries, self.similarity.shape[0]))
        return Scores.dense((rows @ self.similarity).toarray())

    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Score some of the training rows without their own share in the products."""
        X = as_csr(check_given(training.X, training.n_rows, self.similarity.shape[0])[rows])
        own = X.multiply(X) @ (1.0 / self.lengths)
        whole = (X @ self.similarity).toarray()
        return Scores.dense(whole - own[:, None] * (self.Y[rows] * _label_shares(self.Y)).toarray())

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the term of each feature."""
        row = as_csr(check_given(X, graph.n_queries, self.similarity.shape[0]))
        columns = row.indices.astype(np.int64)
        said = label_values(self.similarity, columns, labels)
        return [Breakdown(0.0, (Terms("feature", columns, row.data * each),)) for each in said.T]

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        similarity = read_csr(state, "similarity", (None, Y.shape[1]))
        lengths = read_array(state, "lengths", np.float64, (similarity.shape[0],))
        return cls(similarity, lengths, Y)


def _label_shares(Y: Csr) -> Float:
    """Return 1 over the length of each label's column."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    return 1.0 / np.sqrt(np.maximum(counts, 1))


SMOOTHING = 5.0


@dataclass(frozen=True, eq=False)
class CoOccurrence(FieldState):
    """How often labels share a row.

    Parameters
    ----------
    pairs : csr_array of float64, shape (L, L)
        Rows that have both labels; the diagonal is empty.
    counts : ndarray of float64, shape (L,)
        Rows that have the label.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 1], [1, 0]]))
    >>> both = CoOccurrence.fit(Y)
    >>> both.scores(np.array([[0.7, 2.0]])).round(4)
    array([[0.1667, 0.1   ]])
    """

    pairs: Csr
    counts: Float

    @classmethod
    def fit(cls, Y: Csr) -> Self:
        """Count."""
        labels = Y.astype(np.float64)
        pairs = sparse.csr_array(labels.T @ labels)
        pairs.setdiag(0)
        pairs.eliminate_zeros()
        pairs.sort_indices()
        return cls(pairs, np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64))

    def scores(self, of_part: Float) -> Float:
        """Return the scores of rows from those that a part gives them, shape (n, L)."""
        share = np.clip(of_part, 0.0, 1.0) / (self.counts + SMOOTHING)
        return np.asarray(share @ self.pairs)

    def training_scores(self, of_part: Float, Y: Csr) -> Float:
        """Return the scores of training rows that have labels `Y`, left out of the counts."""
        clipped = np.clip(of_part, 0.0, 1.0)
        own = Y.multiply(clipped).toarray()
        less = self.counts + SMOOTHING - 1.0
        changed = clipped / (self.counts + SMOOTHING)
        changed += own * (1.0 / less - 1.0 / (self.counts + SMOOTHING))
        own /= less
        theirs = Y.multiply(own.sum(axis=1, keepdims=True) - own).toarray()
        left_out: Float = np.asarray(changed @ self.pairs) - theirs
        return left_out

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        counts = read_array(state, "counts", np.float64, (None,))
        return cls(read_csr(state, "pairs", (len(counts), len(counts))), counts)
