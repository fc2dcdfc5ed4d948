r"""The parts of a blend: views of the rows, and what each view says about labels.

A view is a way to look at rows: words as given, words weighted by labels, measurements by their
ranks, or vectors by their direction. If the features are a mapping, every entry of it gets such
views of its own columns. Each view has an index of the training rows and the sums of the rows of
each label, and from these its parts:

- **votes**: the share of similarity² among the 30 nearest rows that goes to rows with the label;
- **local ridge**: ridge regression on the 50 nearest rows (:mod:`vicinal.methods.local_ridge`);
- **centroids**: the cosine of the row and the sum of all rows with the label.

All of them answer from the rows as they are now: learning a row adds it to the index and to the
sums of its labels. Where features are few, or rows, a **global ridge** regression joins them, which
learns a row by a rank-one update.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import (
    ENTRIES_AT_ONCE,
    Csr,
    Features,
    Float,
    Int,
    Int32,
    count_columns,
    row_blocks,
)
from vicinal._core.checks import check_option
from vicinal._core.csr import full_rows, take_columns, take_rows, trust, with_values
from vicinal._core.files import read_ahead
from vicinal._core.state import State, read_array, read_part, read_plain
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr, csr_parts
from vicinal._native import BlendView, LabelCentroids
from vicinal.distances import get_distance
from vicinal.errors import InvalidArgumentError, ModelFormatError, did_you_mean
from vicinal.explanation.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph
from vicinal.index import SegmentedAlgorithm, SegmentedIndex, TrainingRows
from vicinal.index.segment_files import are_same_rows
from vicinal.methods._formulas import neighbor_weights
from vicinal.methods.blend.view_folder import opened_view, stored_view
from vicinal.methods.feature_views import FeatureViews
from vicinal.methods.local_ridge import ridge_weights
from vicinal.preprocess._base import spread
from vicinal.preprocess.label_weights import is_count, label_weights

KINDS = ("given", "weighted", "ranked", "vectors")
PARTS = ("votes", "local ridge", "centroids", "ridge")
"""What a blend may consist of; the last one is the global ridge."""
PRIOR = 5.0
"""Of the label weights; see :class:`vicinal.preprocess.LabelWeights`."""
DENSE_SHARE = 0.3
"""Rows with a larger share of non-zero values are measurements rather than words."""
SHORTEST_VECTOR, VECTOR_SHARE, LARGEST_RANGE = 32, 0.9, 100.0
"""Dense rows are vectors if they are so long, if so many of their features have values of both
signs, and if no range of values is so many times the usual one: measurements have units."""
MOST_POINTS = 256
"""Values of a measurement that its ranks are told by; between two of them in proportion."""
NEIGHBORS = 50
"""Neighbours that a view looks at."""
VOTERS = 30
"""Of these, those that vote."""
VOTES = np.array([VOTERS], dtype=np.int64), np.array([2.0])
MORE_VOTES = np.array([VOTERS, VOTERS], dtype=np.int64), np.array([2.0, 6.0])
NO_VOTES = np.empty(0, dtype=np.int64), np.empty(0)
"""Numbers of voters, and powers of their similarities."""
ALPHA, DENSE_ALPHA, MORE_ALPHAS = 1.0, 0.3, (1.0, 0.3)
"""Of local ridge."""
MANY_ASKED = 1_000
"""Rows for which large files are rather read in their order than where the rows need them."""
MANY_ROWS = 2_500
"""Rows from which on votes and local ridge speak twice: with fewer, more parts predict worse."""


@dataclass(frozen=True, eq=False)
class Look:
    """How a view looks at rows: constants of the last fit.

    `first`: weights of the features; of measurements, values of each feature, rising; or nothing.
    """

    kind: str
    metric: str
    is_count: bool
    first: Float
    has_more_parts: bool = False
    parts: tuple[str, ...] = PARTS
    source: str = ""
    columns: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """For part names."""
        kind = "as given" if self.kind in ("given", "vectors") else self.kind
        return f"{self.source} {kind}" if self.source else kind

    @property
    def is_words(self) -> bool:
        """Whether its rows are sparse."""
        return self.kind in ("given", "weighted")

    @property
    def centers(self) -> bool:
        """Whether local ridge works on labels less the mean of the neighbours."""
        return self.kind == "ranked"

    @property
    def is_readable(self) -> bool:
        """Whether its features mean something one by one."""
        return self.kind != "vectors"

    def in_columns(self, terms: Sequence[Terms]) -> tuple[Terms, ...]:
        """Return terms of its features, numbered as the columns of `X`."""
        first = self.columns[0] if self.columns else 0
        return tuple(replace(each, ids=each.ids + first) for each in terms)

    def fits(self, n_features: int) -> bool:
        """Tell whether rows of so many features can be looked at."""
        first, behind = self.columns or (0, n_features)
        return behind <= n_features and len(self.first) in (0, behind - first)

    @property
    def has_centroids(self) -> bool:
        """Whether rows are compared with the centroids of labels; measurements are not."""
        return self.kind != "ranked" and "centroids" in self.parts

    def of(self, X: Features) -> Features:
        """Return rows in this view."""
        own = take_columns(X, *self.columns) if self.columns else X
        if self.kind == "vectors":
            return full_rows(own)
        if self.kind == "ranked":
            return ranks(self.first, full_rows(own))
        if not len(self.first):
            return own
        rows = trust(as_csr(own))
        values = np.empty(len(rows.data))
        for start in range(0, len(values), ENTRIES_AT_ONCE):
            some = slice(start, start + ENTRIES_AT_ONCE)
            values[some] = self._weighted(rows.data[some], rows.indices[some])
        return with_values(rows, values)

    def _weighted(self, given: NDArray[Any], columns: Int32) -> Float:
        """Return values of some columns, weighted."""
        values: Float = given.astype(np.float64)
        if self.is_count:  # new rows may hold values below 1, which are no counts
            values = np.where(values >= 1, 1.0 + np.log(np.maximum(values, 1.0)), values)
        return values * self.first[columns]

    def unit(self, seen: Features) -> Features:
        """Return rows of this view as linear models take them: all but measurements of length 1."""
        if self.kind == "ranked":
            return seen
        return unit_rows(seen) if self.is_words else unit_vectors(full_rows(seen))

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays."""
        return {
            "kind": self.kind,
            "metric": self.metric,
            "is_count": self.is_count,
            "first": self.first,
            "has_more_parts": self.has_more_parts,
            "parts": list(self.parts),
            "source": self.source,
            "columns": list(self.columns),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        try:
            kind = check_option("kind", state.get("kind"), KINDS)
            metric = get_distance(read_plain(state, "metric", str)).name
        except ValueError as error:
            raise ModelFormatError(str(error)) from None
        shape = (None, None) if kind == "ranked" else (None,)
        first = read_array(state, "first", np.float64, shape)
        if kind == "ranked" and (not first.size or np.any(np.diff(first, axis=1) < 0)):
            raise ModelFormatError("first: expected rising values of each feature")
        columns = tuple(read_part(state, "columns", list)) if "columns" in state else ()
        if columns and not _is_span(columns):
            raise ModelFormatError(f"columns: expected two rising numbers, got {columns!r}")
        return cls(
            kind,
            metric,
            read_plain(state, "is_count", bool),
            first,
            read_plain(state, "has_more_parts", bool),
            _read_parts(state),
            read_plain(state, "source", str) if "source" in state else "",
            columns,
        )


def _is_span(columns: tuple[Any, ...]) -> bool:
    """Tell whether values from a file are a first column and one behind the last."""
    is_pair = len(columns) == 2 and all(type(each) is int for each in columns)
    return is_pair and 0 <= columns[0] < columns[1]


def _read_parts(state: Mapping[str, State]) -> tuple[str, ...]:
    """Return the parts of a stored look, checked; models of before had all of them."""
    if "parts" not in state:
        return PARTS
    try:
        return check_parts(read_part(state, "parts", list))
    except ValueError as error:
        raise ModelFormatError(str(error)) from None


def check_parts(parts: object) -> tuple[str, ...]:
    """Return the parts that a blend may have, in their order; ``"auto"`` for all."""
    if isinstance(parts, str) and parts == "auto":
        return PARTS
    if isinstance(parts, list | tuple) and parts and all(part in PARTS for part in parts):
        return tuple(part for part in PARTS if part in parts)
    expected = f"'auto' or some of {', '.join(map(repr, PARTS))}"
    given = parts if isinstance(parts, list | tuple) else [parts]
    wrong = next((part for part in given if part not in PARTS), "")
    raise InvalidArgumentError("parts", expected, parts, did_you_mean(wrong, PARTS))


def choose_looks(
    X: Features,
    Y: Csr,
    metric: str,
    views: FeatureViews | None = None,
    parts: tuple[str, ...] = PARTS,
) -> list[Look]:
    """Return the views for training rows, by what their values are."""
    if views is None:
        return [replace(look, parts=parts) for look in _looks(X, Y, metric)]
    looks = [
        replace(look, parts=parts, source=name, columns=span)
        for name, span in zip(views.names, views.spans, strict=True)
        for look in _looks(take_columns(X, *span), Y, metric)
    ]
    if not any(look.is_words for look in looks):
        return looks
    # Where words are compared with centroids, those of vectors make predictions worse.
    others = tuple(part for part in parts if part != "centroids")
    return [look if look.is_words else replace(look, parts=others) for look in looks]


def _looks(X: Features, Y: Csr, metric: str) -> list[Look]:
    """Return the views for rows of one kind of features."""
    nothing = np.empty(0)
    more = X.shape[0] >= MANY_ROWS
    if is_dense(X):
        full = np.asarray(full_rows(X), dtype=np.float64)
        least, largest = full.min(axis=0), full.max(axis=0)
        if are_vectors(least, largest):
            return [Look("vectors", metric, False, nothing, more)]
        return [Look("ranked", "euclidean", False, rank_points(full))]
    rows = as_csr(X)
    counts = is_count(rows)
    idf = nothing
    if counts:
        having = count_columns(rows.indices, rows.shape[1])
        idf = np.log((1 + rows.shape[0]) / (1 + having)) + 1.0
    looks = [Look("given", metric, counts, idf, more)]
    if rows.nnz == 0 or rows.data.min() >= 0:  # a feature with negative values is no word
        weights = label_weights(rows, Y, PRIOR)
        looks.append(Look("weighted", "cosine", counts, weights, more))
    return looks


def are_vectors(least: Float, largest: Float) -> bool:
    """Tell whether dense rows are vectors, by the least and the largest value of each feature."""
    if len(least) < SHORTEST_VECTOR or np.mean((least < 0) & (largest > 0)) < VECTOR_SHARE:
        return False
    ranges = largest - least
    return bool(ranges.max() <= LARGEST_RANGE * np.median(ranges))


def rank_points(rows: Float) -> Float:
    """Return values of each feature, rising, at equal steps among those of the rows."""
    n_rows, n_features = rows.shape
    steps = np.linspace(0, n_rows - 1, min(n_rows, MOST_POINTS)).round().astype(np.int64)
    points = np.empty((n_features, len(steps)))
    for feature, values in enumerate(rows.T):
        points[feature] = np.sort(values)[steps]
    return points


def ranks(points: Float, rows: Float) -> Float:
    """Return the place of each value among the points of its feature: 0 the lowest, 1 the highest.

    A value that equals several points has the middle of their places.
    """
    n_points, features = points.shape[1], np.arange(len(points))
    below, up_to = (np.zeros(rows.shape, dtype=np.int64) for _ in range(2))
    for halving in reversed(range(n_points.bit_length())):
        for known, passes in ((below, np.less), (up_to, np.less_equal)):
            probed = known + (1 << halving)
            at = points[features, np.minimum(probed, n_points) - 1]
            known += (1 << halving) * ((probed <= n_points) & passes(at, rows))
    low = points[features, np.maximum(below - 1, 0)] / 2  # halves, whose differences are finite
    width = points[features, np.minimum(up_to, n_points - 1)] / 2 - low
    is_between = (below == up_to) & (below > 0) & (below < n_points)
    part = (rows / 2 - low) / np.where(is_between & (width > 0), width, 1.0)
    place = np.where(is_between, below - 1 + part, (below + up_to - 1) / 2)
    ranked: Float = np.clip(place, 0, n_points - 1) / max(1, n_points - 1)
    return ranked


def is_dense(X: Features) -> bool:
    """Tell whether rows are measurements."""
    values = X if isinstance(X, np.ndarray) else X.data
    return bool(np.count_nonzero(values) > DENSE_SHARE * X.shape[0] * X.shape[1])


def unit_rows(X: Features) -> Csr:
    """Return rows of length one; rows of zeros stay."""
    rows = trust(as_csr(X))
    values = rows.data.astype(np.float64)
    if rows.shape[0] == 1:
        length = np.sqrt(values @ values)
        return with_values(rows, values / length if length > 0 else values)
    return with_values(rows, values / spread(rows, row_lengths(rows)))


def row_lengths(rows: Csr) -> Float:
    """Return the Euclidean length of each row; 1 for rows of zeros."""
    lengths = np.empty(rows.shape[0])
    for start, stop in row_blocks(rows.indptr):
        starts = rows.indptr[start : stop + 1]
        values = rows.data[starts[0] : starts[-1]].astype(np.float64)
        row_of = np.repeat(np.arange(stop - start), np.diff(starts))
        lengths[start:stop] = np.sqrt(np.bincount(row_of, values**2, minlength=stop - start))
    lengths[lengths == 0] = 1.0
    return lengths


def unit_vectors(rows: Float) -> Float:
    """Return dense rows of length one; rows of zeros stay."""
    full = np.asarray(rows, dtype=np.float64)
    length = np.sqrt(np.einsum("ij,ij->i", full, full))
    length[length == 0] = 1.0
    unit: Float = full / length[:, None]
    return unit


@dataclass(frozen=True, eq=False)
class View:
    """A look at rows, and the training rows under it.

    `lists`: of the centroids, if files of the view are larger than the system's cache may be.
    """

    look: Look
    rows: TrainingRows
    centroids: LabelCentroids | None
    lists: tuple[NDArray[Any], ...] = ()

    @classmethod
    def build(
        cls, look: Look, X: Features, Y: Csr, n_jobs: int | None = None, algorithm: object = "auto"
    ) -> "View":
        """Look at all training rows."""
        if isinstance(algorithm, SegmentedAlgorithm) and algorithm.folder and look.is_words:
            index, sums, lists = stored_view(look, trust(as_csr(X)), Y, algorithm, n_jobs)
            search = SegmentedAlgorithm(algorithm.max_memory, index)
            rows = TrainingRows(index.X, look.metric, n_jobs, algorithm=search)
            rows.open_index()
            return cls(look, rows, sums if look.has_centroids else None, lists)
        rows = TrainingRows(look.of(X), look.metric, n_jobs, algorithm=algorithm)
        return cls(look, rows, None).with_centroids(Y)

    @classmethod
    def opened(cls, look: Look, folder: Path, memory: int, n_labels: int) -> "View":
        """Return a view that another process wrote to a folder."""
        index, sums, lists = opened_view(folder, memory, n_labels)
        rows = TrainingRows(index.X, look.metric, 1, algorithm=SegmentedAlgorithm(memory, index))
        return cls(look, rows, sums if look.has_centroids else None, lists)

    def with_centroids(self, Y: Csr) -> "View":
        """Return the view with centroids, built from all rows, if it has any."""
        if not self.look.has_centroids:
            return self
        seen = self.rows.X
        if self.rows.n_empty:
            kept = np.flatnonzero(~self.rows.gone)
            seen, Y = seen[kept], Y[kept]
        rows = trust(as_csr(seen))
        centroids = LabelCentroids.build(
            *_arrays(rows),
            int(rows.shape[1]),
            row_lengths(rows),
            *csr_parts(Y),
            int(Y.shape[1]),
            thread_count(),
        )
        return replace(self, centroids=centroids)

    @property
    def is_stored(self) -> bool:
        """Whether the view is mapped from a folder, without changes since."""
        algorithm = self.rows.algorithm
        if not isinstance(algorithm, SegmentedAlgorithm) or algorithm.index is None:
            return False
        return are_same_rows(self.rows.X, self.stored_index.X) and not self.rows.n_empty

    @property
    def is_large(self) -> bool:
        """Whether files of the view are larger than the system's cache may be."""
        return bool(self.lists)

    def read_sums_ahead(self, n_rows: int) -> None:
        """Read the centroids of a large view in their order, if so many rows need most of them."""
        if n_rows >= MANY_ASKED:
            read_ahead(self.lists)

    @property
    def stored_index(self) -> SegmentedIndex:
        """The index in the folder of the view."""
        index = cast("SegmentedAlgorithm", self.rows.algorithm).index
        return cast("SegmentedIndex", index)

    @property
    def part_names(self) -> list[str]:
        """What its parts are called."""
        more, parts = self.look.has_more_parts, self.look.parts
        kinds = ["votes", *["sharper votes"] * more] * ("votes" in parts)
        kinds += ["local ridge", *["closer local ridge"] * more] * ("local ridge" in parts)
        kinds += ["centroids"] * self.look.has_centroids
        return [f"{kind}, {self.look.name}" for kind in kinds]

    def nearest(self, seen: Features) -> NeighborGraph:
        """Return the nearest training rows of rows that are in this view already."""
        return self.rows.query(seen, NEIGHBORS)

    def nearest_others(self, places: Int) -> NeighborGraph:
        """Return the nearest other rows of training rows."""
        return self.rows.query_rows(places, NEIGHBORS)

    def speak(self, near: NeighborGraph, seen: Features) -> BlendView:
        """Return what the compiled core makes cells of."""
        ridge = self.ridge(near)
        view = BlendView(
            near.distance_kind.native(),
            np.ascontiguousarray(near.ids),
            np.ascontiguousarray(near.values),
            *self.votes(),
            ridge.reshape(ridge.shape[1] * near.n_queries, near.k),
            self.look.centers,
        )
        if self.centroids is not None:
            view.use_centroids(self.centroids, *_arrays(unit_rows(seen)))
        return view

    def votes(self) -> tuple[Int, Float]:
        """Return numbers of voters, and powers of their similarities."""
        if "votes" not in self.look.parts:
            return NO_VOTES
        return MORE_VOTES if self.look.has_more_parts else VOTES

    def ridge(self, near: NeighborGraph) -> Float:
        """Return the weights of local ridge for each neighbour, shape (1, α's, n, k)."""
        if "local ridge" not in self.look.parts:
            return np.empty((1, 0, near.n_queries, near.k))
        alphas = MORE_ALPHAS if self.look.has_more_parts else (ALPHA,)
        if self.look.kind == "ranked":
            alphas = (DENSE_ALPHA,)
        if self.is_large and near.n_queries >= MANY_ASKED:
            X = self.stored_index.X
            read_ahead((X.indices, X.data))
        return ridge_weights(near, self.rows.X, [near.k], alphas)

    def terms(
        self, near: NeighborGraph, seen: Features, label: int, Y: Csr
    ) -> list[Breakdown | None]:
        """Return the terms that add up to what each part says of a label, for one row.

        None for a part whose terms cannot be told apart.
        """
        found = near.ids[0][near.ids[0] >= 0].astype(np.int64)
        has = np.array([label in labels_of(Y, place) for place in found.tolist()], dtype=np.bool_)
        shares = []
        for power in self.votes()[1].tolist():
            votes = np.zeros(len(found))
            weights = neighbor_weights(near, power)[0, : min(len(found), VOTERS)]
            votes[: len(weights)] = weights / (weights.sum() or 1.0)
            shares.append(votes)
        for ridge in self.ridge(near)[0, :, 0, : len(found)]:
            rest = (1.0 - ridge.sum()) / max(1, len(found)) if self.look.centers else 0.0
            shares.append(ridge + rest)
        parts: list[Breakdown | None] = [
            Breakdown(0.0, (Terms("neighbor", found[has], each[has]),)) for each in shares
        ]
        if self.centroids is not None:
            row = unit_rows(seen)
            columns = row.indices.astype(np.int64)
            sums = [self.centroids.sum(column, label) for column in columns.tolist()]
            norm = self.centroids.norm(label) or 1.0
            of_words = row.data * np.array(sums, dtype=np.float64) / norm
            terms = self.look.in_columns([Terms("feature", columns, of_words)])
            parts.append(Breakdown(0.0, terms) if self.look.is_readable else None)
        return parts

    def learned(self, X: Features, Y: Csr) -> "View":
        """Return the view with further rows, whose labels may be new."""
        seen = self.look.of(X)
        return replace(self, rows=self.rows.grown(seen), centroids=self._centroids(seen, Y, 1))

    def forgotten(self, places: Int, Y: Csr) -> "View":
        """Return the view without the rows at places; `Y` are the labels they had."""
        seen = take_rows(self.rows.X, places)
        return replace(self, rows=self.rows.without(places), centroids=self._centroids(seen, Y, -1))

    def _centroids(self, seen: Features, Y: Csr, sign: int) -> LabelCentroids | None:
        """Return the centroids with rows added or taken out."""
        if self.centroids is None:
            return None
        return self.centroids.changed(
            *_arrays(unit_rows(seen)), *csr_parts(Y), int(Y.shape[1]), sign
        )

    def compacted(self) -> "View":
        """Return the same view without empty places."""
        return replace(self, rows=self.rows.compacted())


def labels_of(Y: Csr, place: int) -> Int32:
    """Return the labels of the row at a place."""
    return Y.indices[Y.indptr[place] : Y.indptr[place + 1]]


def _arrays(rows: Csr) -> tuple[Any, Any, Float]:
    """Return the arrays of rows as the compiled core takes them."""
    indptr, indices = csr_parts(rows)
    return indptr, indices, np.ascontiguousarray(rows.data[: indptr[-1]], dtype=np.float64)
