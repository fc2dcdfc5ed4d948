"""A fitted blend: its parts, and the mixture that turns what they say into probabilities."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, Int, count_columns
from vicinal._core.csr import checked_csr, full_rows, no_rows, take_rows, trust
from vicinal._core.progress import blocks, may_stop, part, row_ranges
from vicinal._core.state import State, read_part, read_value
from vicinal._core.threads import in_threads, on_one_blas_thread, thread_count, using_threads
from vicinal._core.validation import csr_parts
from vicinal._native import blend_cells
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation.breakdown import Breakdown, Terms, divided
from vicinal.graph import NeighborGraph
from vicinal.index.segmented import Tasks
from vicinal.methods._formulas import cells as score_cells
from vicinal.methods.blend.global_ridge import (
    MOST_COEFFICIENTS,
    MOST_KERNEL_ROWS,
    MOST_UNKNOWNS,
    GlobalRidge,
    KeptFeatures,
    Landmarks,
)
from vicinal.methods.blend.mixture import (
    Cells,
    ConvexMix,
    Trees,
    can_learn,
    content_order,
    distinct_rows,
    fit_boosting,
)
from vicinal.methods.blend.parts import (
    BLOCK_ROWS,
    PARTS,
    CellPlan,
    Listed,
    Look,
    View,
    choose_looks,
    joined,
)
from vicinal.methods.feature_views import FeatureViews
from vicinal.methods.training import Training, check_given, read_indicator
from vicinal.scores import Scores

Mixture = Trees | ConvexMix

BELOW = 256
"""Labels below the candidates whose order is that of their centroids."""
MOST_CELLS = 400_000
MOST_ROWS = 14_000
"""Rows and cells that the mixture is learned on at most, up to ten times as many rows."""
MOST_SAMPLED = 35_000
"""Of more rows a tenth, but no more than this, and as many more cells."""
MANY_CELLS = 2**40
"""More than there will be."""
LEAST_PROBABILITY = 1e-6
"""Of a candidate. Labels below the candidates score less: by similarity, then by frequency."""
MOST_PROBABILITY = float(np.nextafter(1.0, 0.0))
LEAST_SIMILAR, MOST_FREQUENT = 2e-7, 1e-7
SCORED_ROWS = 2 * BLOCK_ROWS
"""Rows that are scored at a time: the more, the fewer times the sums of labels are read."""
ROW_MEMORY, LABEL_MEMORY = 32_000, 128
"""Bytes of a row while views on disk are read for it: neighbours, weights, cells. Bytes of each
label below its candidates."""
COMPARED_ROWS, MORE_COMPARED_ROWS = 256, 2048
"""Rows of a thread for which the sums of labels are read once, from memory or from a disk."""
LEAST_TASK = 64
"""Rows of a task below which handing it to a worker costs more than it saves."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of training rows by mixtures that were not trained on them."""

    rows: Int
    scores: Scores

    def blocks(self, n_rows: int) -> Iterator[Scores]:
        """Yield the scores of so many rows at a time."""
        for start in range(0, len(self.rows), n_rows):
            yield self.scores.rows(start, min(start + n_rows, len(self.rows)))


@dataclass(frozen=True, eq=False)
class BlendScoring:
    """Parts, and the mixture of what they say.

    Parameters
    ----------
    views : tuple of View
    ridges : tuple of GlobalRidge
    Y : csr_array of int32, shape (n, L)
        Labels by place.
    counts : ndarray of int64, shape (L,)
        Rows that have each label.
    plan : CellPlan
    mixture : Trees or ConvexMix
    held_out : HeldOut or None
        None after a change, and in a loaded model.
    taught : dict of bytes to tuple of int
        Ids of the rows that were learned after the fit, by their features. Shared by all versions
        of a model and never emptied, so that learning does not copy it: an id counts if the version
        has a row of that id with these features.
    looks : tuple of Look
        Of a loaded model, until it is bound to its rows.
    tasks : Tasks or None
        Workers that read the views from their folder.
    """

    views: tuple[View, ...]
    ridges: tuple[GlobalRidge, ...]
    Y: Csr
    counts: Int
    plan: CellPlan
    mixture: Mixture
    held_out: HeldOut | None = None
    taught: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    looks: tuple[Look, ...] = ()
    tasks: Tasks | None = None

    @property
    def k(self) -> int:
        """The views search by themselves; the graph of the estimator is not used."""
        return 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts, in the order of their columns in a cell."""
        of_views = [name for view in self.views for name in view.part_names]
        return (*of_views, *(ridge.name for ridge in self.ridges))

    @property
    def n_rows(self) -> int:
        """Training rows, without empty places."""
        return self.views[0].rows.n_rows if self.views else int(self.Y.shape[0])

    @property
    def are_stored(self) -> bool:
        """Whether all views are as they were written to a folder."""
        return all(view.is_stored for view in self.views)

    @property
    def is_large(self) -> bool:
        """Whether views are in files that the memory of the machine cannot keep."""
        return any(view.is_large for view in self.views)

    @property
    def rows_at_once(self) -> int:
        """Rows that are scored together, because views are read once for them."""
        return self._rows_at_once(BELOW)

    def _rows_at_once(self, below: int) -> int:
        """Of large views, as many rows as the memory limit allows."""
        if not self.is_large:
            return SCORED_ROWS
        limit = min(view.stored_index.max_memory for view in self.views if view.is_large)
        most = limit // (ROW_MEMORY + LABEL_MEMORY * below)
        return max(SCORED_ROWS, most // BLOCK_ROWS * BLOCK_ROWS)

    # -- scores

    @on_one_blas_thread
    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Return the probability of every candidate; `graph` is not used."""
        given = check_given(X, graph.n_queries)
        if not given.shape[0]:
            return Scores.sparse(no_rows(len(self.counts)), self._base)
        parts = blocks(given.shape[0], SCORED_ROWS, "Blending")
        if self.is_large:
            parts = row_ranges(given.shape[0], self.rows_at_once, "Blending")
        listed = self._elsewhere(BlendScoring.listed, parts, given, BELOW)
        return Scores.stack([self.scores_of(each, len(each.indptr) - 1) for each in listed])

    def _elsewhere(
        self,
        listed: "Callable[[BlendScoring, Any, int], Listed]",
        parts: Iterable[tuple[int, int]],
        rows: Any,
        below: int,
    ) -> Iterator[Listed]:
        """Yield what a function lists for parts of rows, from workers if there are any."""
        tasks = self.tasks
        if tasks is None or not self.are_stored:
            for start, stop in parts:
                some = rows if stop - start == rows.shape[0] else rows[start:stop]
                yield listed(self, some, below)
            return
        ends: deque[bool] = deque()

        def pieces() -> Iterator[tuple[Any, ...]]:
            for start, stop in parts:
                step = max(LEAST_TASK, -(-(stop - start) // (2 * tasks.at_once)))
                for at in range(start, stop, step):
                    ends.append(at + step >= stop)
                    yield listed, rows[at : min(at + step, stop)], below

        done: list[Listed] = []
        for each in tasks.run(RemoteBlend.listed, self._remote, pieces()):
            done.append(each)
            if ends.popleft():
                yield joined(done)
                done = []

    @cached_property
    def _remote(self) -> "RemoteBlend":
        """Return what workers need to list labels."""
        return RemoteBlend.of(self)

    def scores_of(self, listed: Listed, n_rows: int, log_odds: Float | None = None) -> Scores:
        """Return listed labels as scores above a base that follows their frequency."""
        if log_odds is None:
            log_odds = self.mixture.log_odds(listed.cells)
        values = LEAST_SIMILAR + (LEAST_PROBABILITY / 2) * np.minimum(listed.similarity, 1.0)
        has_cell = listed.cell >= 0
        values[has_cell] = probability(log_odds)[listed.cell[has_cell]]
        shape = (n_rows, len(self.counts))
        stored = checked_csr(values, listed.labels, listed.indptr, shape)
        return Scores.sparse(stored, self._base)

    @cached_property
    def _base(self) -> Float:
        """Return the scores of labels that are not listed: by frequency, below all others."""
        return MOST_FREQUENT * (self.counts / max(1, self.n_rows))

    def listed(self, X: Features, below: int = 0) -> Listed:
        """Return the candidates of rows and their cells."""
        seen = [view.look.of(X) for view in self.views]
        near = [view.nearest(rows) for view, rows in zip(self.views, seen, strict=True)]
        tables = [ridge.scores(self._phi(ridge, seen)) for ridge in self.ridges]
        return self._cells(seen, near, tables, None, below)

    def _phi(self, ridge: GlobalRidge, seen: Sequence[Features]) -> Features:
        """Return φ of rows."""
        return ridge.features(self._unit(ridge, seen))

    def _unit(self, ridge: GlobalRidge, seen: Sequence[Features]) -> Features:
        """Return rows as a ridge takes them: words and vectors have length one."""
        return self.views[ridge.view].look.unit(seen[ridge.view])

    def _cells(
        self,
        seen: Sequence[Features],
        near: Sequence[NeighborGraph],
        tables: Sequence[Float],
        own: Csr | None,
        below: int,
    ) -> Listed:
        """Return the cells of rows; `own` are the labels of training rows to be left out."""
        spoken = [
            view.speak(graph, rows)
            for view, graph, rows in zip(self.views, near, seen, strict=True)
        ]
        none = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
        for view in self.views:
            view.read_sums_ahead(near[0].n_queries)
        return Listed(
            *blend_cells(
                spoken,
                list(tables),
                *csr_parts(self.Y),
                int(self.Y.shape[1]),
                self._prior,
                *(none if own is None else csr_parts(trust(own))),
                self.plan.counts(below),
                self.plan.every_label,
                MORE_COMPARED_ROWS if self.is_large else COMPARED_ROWS,
                thread_count(),
            )
        )

    @cached_property
    def _prior(self) -> Cells:
        """Return the logarithm of each label's share of rows."""
        share = (self.counts + 0.5) / (self.n_rows + 1.0)
        prior: Cells = np.log(share).astype(np.float32)
        return prior

    # -- explaining

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return exact Shapley values of the parts, as log-odds, divided among their terms.

        For a part that is left out, what it says is 0. The base is the log-odds if all parts are
        left out: it depends on the label's frequency alone. A part's share is divided among the
        neighbours or features whose terms add up to what it says. A label that is no candidate has
        no parts: its score is its place below the candidates.
        """
        given = check_given(X, graph.n_queries)
        seen = [view.look.of(given) for view in self.views]
        near = [view.nearest(rows) for view, rows in zip(self.views, seen, strict=True)]
        tables = [ridge.scores(self._phi(ridge, seen)) for ridge in self.ridges]
        listed = self._cells(seen, near, tables, None, BELOW)
        scores = self.scores_of(listed, 1)
        cell_of = dict(zip(listed.labels.tolist(), listed.cell.tolist(), strict=True))
        found = []
        for label in labels:
            may_stop()
            cell = cell_of.get(label, -1)
            if cell < 0:
                low = float(score_cells(scores, 0, [label])[0])
                found.append(Breakdown(low, facts={"candidate": "no"}))
                continue
            terms: list[Breakdown | None] = [
                each
                for view, of_view, rows in zip(self.views, near, seen, strict=True)
                for each in view.terms(of_view, rows, label, self.Y)
            ]
            terms += [self._ridge_terms(ridge, seen, label) for ridge in self.ridges]
            found.append(self._breakdown(listed.cells[cell], terms))
        return found

    def _ridge_terms(
        self, ridge: GlobalRidge, seen: Sequence[Features], label: int
    ) -> Breakdown | None:
        """Return the terms of a ridge by the columns of `X`; None if they cannot be told apart."""
        look = self.views[ridge.view].look
        found = ridge.terms(self._unit(ridge, seen), label) if look.is_readable else None
        return None if found is None else replace(found, terms=look.in_columns(found.terms))

    def _breakdown(self, cell: Cells, terms: Sequence[Breakdown | None]) -> Breakdown:
        """Return the breakdown of one cell's log-odds."""
        names = self.names
        found = divided(*self.mixture.shapley(cell, self._owners(), len(names)), names, terms)
        return replace(found, terms=_united(found.terms))

    def _owners(self) -> Int:
        """Return the part that each column of a cell belongs to; the prior belongs to none.

        The similarities of a view's neighbours belong to its votes, or its next part.
        """
        names = self.names
        firsts, part = [], 0
        for view in self.views:
            firsts += [part if view.part_names else len(names)] * 3
            part += len(view.part_names)
        return np.array([*np.repeat(np.arange(len(names)), 2), *firsts, len(names)])

    # -- fitting

    @classmethod
    @on_one_blas_thread
    def fit(
        cls,
        training: Training,
        metric: str,
        combine: str,
        random_state: int,
        max_memory: int,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        parts: tuple[str, ...] = PARTS,
        sources: FeatureViews | None = None,
    ) -> Self:
        """Build the parts and learn their mixture from leave-one-out cells."""
        X = check_given(training.X, training.n_rows)
        looks = choose_looks(X, training.Y, metric, sources, parts)
        views = tuple(View.build(look, X, training.Y, n_jobs, algorithm) for look in looks)
        bare = cls(
            views,
            _ridges(views, training.Y, max_memory),
            trust(training.Y),
            label_counts(training.Y),
            CellPlan.of(training.Y),
            ConvexMix(np.ones(1), 1.0, 0.0, 1),
            tasks=getattr(algorithm, "tasks", None),
        )
        if not bare.names:
            raise InvalidArgumentError("parts", "one that these rows can have", list(parts))
        return bare._mixed(X, combine, random_state)

    def _mixed(self, X: Features, combine: str, random_state: int) -> Self:
        """Return the blend with a mixture of its parts."""
        Y, order = self.Y, content_order(X, self.Y)
        most_rows = int(np.clip(len(order) // 10, MOST_ROWS, MOST_SAMPLED))
        rows = order[_sampled(len(order), most_rows, random_state)]
        del order  # 8 bytes per row
        rows = rows[distinct_rows(take_rows(X, rows))]
        listed = self.left_out(rows, MOST_CELLS * most_rows // MOST_ROWS)
        rows = rows[: len(listed.indptr) - 1]
        row_of = np.repeat(np.arange(len(rows)), np.diff(listed.indptr))
        true = np.asarray(take_rows(Y, rows).astype(np.float64)[row_of, listed.labels]).ravel()
        mixture, log_odds = self._mixture(listed.cells, true, row_of, combine, random_state)
        mixed = replace(self, mixture=mixture)
        rising = np.argsort(rows)
        held_out = mixed.scores_of(listed, len(rows), log_odds).take(rising)
        return replace(mixed, held_out=HeldOut(rows[rising], held_out))

    def _mixture(
        self, cells: Cells, true: Float, row_of: Int, combine: str, random_state: int
    ) -> tuple[Mixture, Float]:
        """Return the mixture, and the log-odds of its training cells."""
        if combine == "mix" or not can_learn(true, row_of, random_state):
            mix = ConvexMix.fit(cells, true, len(self.names))
            return mix, mix.log_odds(cells)
        boosted = fit_boosting(cells, true, row_of, random_state)
        return boosted.trees, boosted.held_out

    def left_out(self, rows: Int, most_cells: int) -> Listed:
        """Return the cells of training rows as if each had been left out, in their order.

        Later rows are dropped once there are `most_cells` cells.
        """
        found: list[Listed] = []
        start = n_cells = 0
        with part("Leaving rows out", len(rows)) as advance:
            while start < len(rows) and n_cells <= most_cells:
                rest = (most_cells - n_cells) * start // n_cells if n_cells else None
                stop = min(start + self._left_out_at_once(rest, most_cells), len(rows))
                parts = [(start, stop)]
                found += self._elsewhere(BlendScoring._left_out_block, parts, rows, 0)
                n_cells += len(found[-1].cells)
                advance(stop - start)
                start = stop
        return joined(found).cut(most_cells)

    def _left_out_at_once(self, rest: int | None, most_cells: int) -> int:
        """Return how many rows to leave out next, if about `rest` more have all cells wanted."""
        if not self.is_large or (rest is None and most_cells < MANY_CELLS):
            return BLOCK_ROWS
        most = self._rows_at_once(0)
        if rest is None:
            return most
        return min(most, (1 + int(1.02 * rest) // BLOCK_ROWS) * BLOCK_ROWS)

    def _left_out_block(self, some: Int, below: int) -> Listed:
        """Return the cells of some training rows."""
        seen = [take_rows(view.rows.X, some) for view in self.views]
        graphs = [view.nearest_others(some) for view in self.views]
        own = take_rows(self.Y, some)
        tables = [ridge.scores_without(self._phi(ridge, seen), own) for ridge in self.ridges]
        return self._cells(seen, graphs, tables, own, below)

    @on_one_blas_thread
    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Return the scores of training rows without themselves among the parts' rows.

        Rows that the mixture was learned on are scored by models that have not seen them, if these
        scores are still known.
        """
        asked = np.arange(training.n_rows)[rows]
        known = np.empty(0, dtype=np.int64) if self.held_out is None else self.held_out.rows
        place = np.minimum(np.searchsorted(known, asked), max(0, len(known) - 1))
        if self.held_out is not None and np.array_equal(known[place], asked):
            return self.held_out.scores.take(place)
        if not len(asked):
            return Scores.sparse(no_rows(len(self.counts)), self._base)
        return self.scores_of(self.left_out(asked, MANY_CELLS), len(asked))

    # -- changes

    @on_one_blas_thread
    def learned(self, X: Features, Y: Csr, every_label: Csr) -> Self:
        """Return the blend with further rows; `every_label` are the labels of all rows."""
        ready = self.ready()
        views = tuple(view.learned(X, Y) for view in ready.views)
        more = int(Y.shape[1]) - len(self.counts)
        counts = np.append(self.counts, np.zeros(more, dtype=np.int64)) if more else self.counts
        changed = counts + np.bincount(Y.indices, minlength=len(counts))
        return replace(
            ready,
            views=views,
            ridges=ready._changed_ridges([view.look.of(X) for view in views], Y, 1),
            Y=every_label,
            counts=changed,
            held_out=None,
        )

    @on_one_blas_thread
    def forgotten(self, places: Int) -> Self:
        """Return the blend without the rows at these places, which become empty."""
        ready = self.ready()
        Y = trust(take_rows(self.Y, places))
        seen = [take_rows(view.rows.X, places) for view in ready.views]
        return replace(
            ready,
            views=tuple(view.forgotten(places, Y) for view in ready.views),
            ridges=ready._changed_ridges(seen, Y, -1),
            counts=self.counts - np.bincount(Y.indices, minlength=len(self.counts)),
            held_out=None,
        )

    def _changed_ridges(
        self, seen: Sequence[Features], Y: Csr, sign: int
    ) -> tuple[GlobalRidge, ...]:
        return tuple(ridge.changed(self._phi(ridge, seen), Y, sign) for ridge in self.ridges)

    def with_room(self) -> Self:
        """Return the same blend, which takes further rows without a copy or fresh memory."""
        views = tuple(replace(view, rows=view.rows.with_room()) for view in self.views)
        return replace(self, views=views, ridges=tuple(each.with_room() for each in self.ridges))

    @on_one_blas_thread
    def ready(self) -> Self:
        """Return the blend with the inverses that changes need."""
        if all(ridge.inverse is not None for ridge in self.ridges):
            return self
        whole = self.as_fitted(self.Y, None) if self.views[0].rows.n_empty else self
        rows = [view.rows.X for view in whole.views]
        ridges = [ridge.ready(self._unit(ridge, rows), whole.Y) for ridge in self.ridges]
        return replace(self, ridges=tuple(ridges))

    def as_fitted(self, Y: Csr, X: Features | None) -> Self:
        """Return the same blend without empty places; `Y` are the labels of the rows that stay."""
        return replace(self, views=tuple(view.compacted() for view in self.views), Y=trust(Y))

    @on_one_blas_thread
    def rebuilt(self, X: Features, Y: Csr) -> Self:
        """Return a blend whose parts are built afresh, with the constants of this one.

        Label weights, means, landmarks, mixture and numbers of candidates stay. This is what a
        blend that learned and forgot rows equals.
        """
        views = tuple(View.build(view.look, X, Y) for view in self.views)
        bare = replace(self, views=views, Y=trust(Y), counts=label_counts(Y), held_out=None)
        rows = [view.rows.X for view in views]
        ridges = [ridge.refitted(bare._unit(ridge, rows), Y) for ridge in self.ridges]
        return replace(bare, ridges=tuple(ridges))

    # -- saving

    def bound(self, X: Features, n_jobs: int | None, algorithm: object) -> Self:
        """Return a loaded blend with views of its rows."""
        if not all(look.fits(X.shape[1]) for look in self.looks):
            raise ModelFormatError(f"looks: expected weights of {X.shape[1]} features")
        with using_threads(n_jobs):
            views = tuple(View.build(look, X, self.Y, n_jobs, algorithm) for look in self.looks)
        bound = replace(self, views=views, looks=(), tasks=getattr(algorithm, "tasks", None))
        if bound.n_columns != self.mixture.n_columns:
            raise ModelFormatError("mixture: expected one of as many columns as the parts have")
        return bound

    @property
    def n_columns(self) -> int:
        """Numbers per cell."""
        return 2 * len(self.names) + 3 * len(self.views) + 1

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the centroids, which are built again from the rows."""
        bare = tuple(replace(view, centroids=None, lists=()) for view in self.views)
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**kept, "views": bare, "taught": dict(self.taught), "tasks": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the centroids."""
        views, Y = state["views"], state["Y"]
        vars(self).update(state, views=tuple(view.with_centroids(Y) for view in views))

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values, arrays and parts; views are rebuilt from the rows."""
        plan = self.plan
        return {
            "looks": [view.look for view in self.views] or list(self.looks),
            "ridges": list(self.ridges),
            "Y": self.Y,
            "plan": [plan.votes, plan.ridge, plan.centroids, plan.table, int(plan.every_label)],
            "mixture": self.mixture,
        }

    @classmethod
    @on_one_blas_thread
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked; still to be bound to the rows."""
        Y = read_indicator(state, "Y")
        looks, ridges = _read_list(state, "looks", Look), _read_list(state, "ridges", GlobalRidge)
        mixture = read_value(state, "mixture")
        if not isinstance(mixture, Trees | ConvexMix) or not looks:
            raise ModelFormatError(f"mixture: unexpected {type(mixture).__name__}")
        counts = read_part(state, "plan", list)
        if len(counts) != 5 or not all(type(each) is int and each >= 0 for each in counts):
            raise ModelFormatError(f"plan: expected five numbers of at least 0, got {counts!r}")
        for ridge in ridges:
            if ridge.view >= len(looks) or len(ridge.mean) != Y.shape[1]:
                raise ModelFormatError(f"ridges: {ridge.name} does not fit the other parts")
        votes, ridge, centroids, table, every_label = counts
        plan = CellPlan(votes, ridge, centroids, table, bool(every_label))
        return cls((), tuple(ridges), Y, label_counts(Y), plan, mixture, None, {}, tuple(looks))


@dataclass(frozen=True, eq=False)
class RemoteBlend:
    """A blend whose views are in folders, as another process opens it."""

    bare: BlendScoring
    folders: tuple[Path, ...]
    limit: int

    @classmethod
    def of(cls, scoring: BlendScoring) -> Self:
        """Return a blend without its views."""
        looks = tuple(view.look for view in scoring.views)
        bare = replace(scoring, views=(), looks=looks, held_out=None, taught={}, tasks=None)
        indexes = [view.stored_index for view in scoring.views]
        folders = tuple(Path(str(index.folder)).parent for index in indexes)
        return cls(bare, folders, indexes[0].max_memory)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was opened here."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def scoring(self) -> BlendScoring:
        """The blend with its views, mapped from their folders."""
        n_labels = int(self.bare.Y.shape[1])
        opened = [
            View.opened(look, folder, self.limit, n_labels)
            for look, folder in zip(self.bare.looks, self.folders, strict=True)
        ]
        return replace(self.bare, views=tuple(opened), looks=())

    @on_one_blas_thread
    def listed(
        self, listed: "Callable[[BlendScoring, Any, int], Listed]", rows: Any, below: int
    ) -> Listed:
        """Return what a function lists for some rows; a pure task of one thread."""
        with using_threads(1):
            return listed(self.scoring, rows, below)


def _read_list(state: Mapping[str, State], key: str, kind: type[Any]) -> list[Any]:
    """Return ``state[key]``, a list of parts of that type."""
    items: list[Any] = read_part(state, key, list)
    if not all(isinstance(item, kind) for item in items):
        raise ModelFormatError(f"{key}: expected {kind.__name__}")
    return items


def _ridges(views: Sequence[View], Y: Csr, max_memory: int) -> tuple[GlobalRidge, ...]:
    """Return the global ridges of views where they fit."""
    asked: list[tuple[str, int, float, Landmarks | KeptFeatures | None, Features]] = []
    n_rows, n_labels = (int(size) for size in Y.shape)
    last_words = max((at for at, view in enumerate(views) if view.look.is_words), default=-1)
    for number, view in enumerate(views):
        if "ridge" not in view.look.parts:
            continue
        X, name = view.rows.X, view.look.name
        unknowns = min(X.shape[1], n_rows, MOST_UNKNOWNS)
        if unknowns * n_labels > MOST_COEFFICIENTS or 64 * unknowns**2 > max_memory:
            continue
        seen = view.look.unit(X)

        if seen.shape[1] <= MOST_UNKNOWNS:
            asked.append((f"ridge, {name}", number, 1.0, None, seen))
        elif n_rows <= MOST_UNKNOWNS:
            asked.append((f"ridge, {name}", number, 1.0, Landmarks.choose(seen, 0.0), seen))
        elif number == last_words:
            asked.append((f"ridge, {name}", number, 1.0, KeptFeatures.strongest(seen), seen))
        has_kernel = view.look.kind == "ranked" or last_words < 0  # nothing gained beside words
        if has_kernel and n_rows <= MOST_KERNEL_ROWS:
            for share, alpha in KERNELS:
                marks = Landmarks.choose(seen, share * typical_width(full_rows(seen)))
                asked.append((f"kernel ridge, {name}", number, alpha, marks, seen))
    return tuple(in_threads(lambda each: GlobalRidge.fit(*each, Y), asked))


KERNELS = ((0.3, 0.3),)
"""Width of the Gaussian kernel, as a share of the typical squared distance, and λ."""


def typical_width(rows: Float) -> float:
    """Return twice the median squared distance of some rows."""
    from scipy.spatial.distance import pdist

    some = rows[:: max(1, len(rows) // 1000)]
    distances = pdist(some, "sqeuclidean") if len(some) > 1 else np.ones(1)
    median = float(np.median(distances))
    return 2.0 * median if median > 0 else 1.0


def label_counts(Y: Csr) -> Int:
    """Return how many rows have each label."""
    return count_columns(Y.indices, int(Y.shape[1]))


def _sampled(n_rows: int, most: int, random_state: int) -> Int:
    """Return the places of rows to learn the mixture on, in random order if they are some."""
    order = np.random.default_rng(random_state).permutation(n_rows)
    return np.arange(n_rows) if n_rows <= most else order[:most].copy()  # not a view of all


def _united(terms: Sequence[Terms]) -> tuple[Terms, ...]:
    """Return terms in which every neighbour, feature and input stands once."""
    united = [each for each in terms if each.kind == "input"]
    for kind in ("feature", "neighbor"):
        same = [each for each in terms if each.kind == kind]
        if same:
            ids, place = np.unique(np.concatenate([each.ids for each in same]), return_inverse=True)
            shares = np.zeros(len(ids))
            np.add.at(shares, place, np.concatenate([each.shares for each in same]))
            united.append(Terms(kind, ids, shares))
    return tuple(united)


def probability(log_odds: Float) -> Float:
    """Return the probabilities of log-odds, at least :data:`LEAST_PROBABILITY` and below 1.

    A probability of 1 is left to labels that were taught.
    """
    p: Float = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
    return np.clip(p, LEAST_PROBABILITY, MOST_PROBABILITY)
