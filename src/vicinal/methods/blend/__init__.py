r"""The blend: neighbours, label centroids and linear models, mixed on leave-one-out scores.

.. math:: p(x, l) = \sigma\Bigl(\frac{1}{F} \sum_{f=1}^{F} T_f(c(x, l))\Bigr)

where the cell :math:`c(x, l)` holds what every part says of label :math:`l` and row :math:`x`, the
trees :math:`T_f` were fitted on the cells of all sampled training rows but those of fold :math:`f`,
and :math:`\sigma` is the logistic function. Where cells are few, half of the sum is that of a line.
How data flows::

    rows ─▶ views: words as given and weighted by labels; measurements ranked; vectors
         ─▶ parts: votes, local ridge, centroids of each view; global ridge where it fits
         ─▶ cells: candidate labels, and what each part says of them
         ─▶ mixture ─▶ probabilities

All parts answer from the rows as they are now, so the model learns and forgets rows at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.checks import check_integer, check_option
from vicinal._core.csr import private_copy, stacked, take_rows, trust
from vicinal._core.progress import blocks
from vicinal._core.state import State, read_array, read_part
from vicinal._core.threads import using_threads
from vicinal._core.validation import as_csr
from vicinal.decision import Decision, FittedDecision, MetricThreshold, NeverEmpty
from vicinal.decision.rule import fit_blocks, is_fitted, needs_of
from vicinal.errors import InvalidArgumentError, ModelFormatError, logger
from vicinal.explanation.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph, narrowed
from vicinal.index import SegmentedAlgorithm, TrainingRows
from vicinal.methods._formulas import cells
from vicinal.methods.blend.global_ridge import GlobalRidge
from vicinal.methods.blend.mixture import ConvexMix, Trees
from vicinal.methods.blend.parts import NEIGHBORS, Look, View, check_parts, labels_of
from vicinal.methods.blend.scoring import BlendScoring
from vicinal.methods.blend.taught import (
    as_taught,
    decided_as_taught,
    still_taught,
    taught_places,
    teach,
)
from vicinal.methods.blend.view_folder import (
    ChangeLog,
    change_between,
    index_of,
    joined_changes,
    read_rows,
    rows_in,
    views_in,
)
from vicinal.methods.feature_views import FeatureViews
from vicinal.methods.fitted_state import Calibration, FittedState
from vicinal.methods.frame_columns import FrameColumns, identifiers, is_mixed
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator, SmallChange
from vicinal.methods.label_ridge.solver import check_memory
from vicinal.methods.predicting import as_kneighbors, check_count, probabilities_as
from vicinal.methods.registry import Method
from vicinal.methods.training import Scoring, Training, block_rows
from vicinal.scores import Scores

__all__ = ["Blend", "BlendScoring"]

COMBINATIONS = ("boosting", "mix")
THRESHOLD = MetricThreshold("micro-f1", trust=1000)
"""The default rule. The trust was chosen on folds of training rows."""
MANY_CELLS = 2**27
"""Cells of a dense view above which an approximate search is offered: 0.5 GB of float32."""
_NO_FEATURES = (
    "%d of %d rows have no word or feature that the model knows, so their labels will not be "
    "predicted for them; fit again to learn new words"
)


class Blend(IncrementalEstimator):
    """Neighbours, label centroids and linear models, combined by a model of their scores.

    Needs no tuning: for counts, 0/1 values, tf-idf, measurements or vectors it chooses the feature
    weights, the combination and the threshold by itself, from the training rows alone. Its scores
    are calibrated probabilities. It learns and forgets rows in milliseconds, for any number of
    labels.

    `X` may be a mapping of views, such as ``{"words": counts, "vectors": embeddings}``: several
    kinds of features of the same rows, sparse or dense. Each view is searched and scored by itself,
    and the combination learns how much each of them counts.

    A data frame with texts, categories or dates is read as by :class:`vicinal.FrameColumns`.

    Parameters
    ----------
    combine : {"boosting", "mix"}
        How the parts' scores of a row's candidate labels are combined. ``"boosting"``: gradient
        boosting; ``"mix"``: a convex combination in closed form, the fastest, with about half of
        the gain.
    parts : "auto" or list of str
        What it consists of: all that the rows can have, or some of ``"votes"``,
        ``"local ridge"``, ``"centroids"`` and ``"ridge"`` (the global ridge).
    random_state : int
        Random seed for the folds, and for the sample of rows that a large mixture is trained on.
    max_memory : int or None
        Bytes that the global ridge may use; None for 4 GiB.
    recalibrate_at : float, "always" or "never"
        Share of rows learned and forgotten since the last fit at which :meth:`recalibrate` runs by
        itself.
    metric : {"cosine", "dot", "euclidean"}
        For the neighbours among the rows as given.
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How probabilities become labels; None for the one threshold with the best micro-F1 on
        held-out training rows.
    never_empty : bool or None
        Whether every row gets at least one label, its most likely one; None for the method's own
        rule: it does, unless of the held-out training rows below the threshold more have no label
        than have their most likely one.
    n_jobs : int or None
        Number of threads; None for all cores.
    algorithm : str or callable
        The index for the neighbours: ``"auto"`` (exact: inverted if X is sparse, else dense),
        another name, or a factory (:func:`vicinal.index.build_index`).

    Attributes
    ----------
    part_names_ : tuple of str
        The parts in use; those of a view have its name.
    views_ : dict of str to int, or None
        The views of `X` and their numbers of features; None if `X` was one matrix.

    Notes
    -----
    The candidates of a row get a probability of at least 1e-6. All other labels are ranked below
    them: by the cosine of the row and the label's centroid, then by frequency.

    ``partial_fit`` and ``forget`` change the indexes, the centroids, the label counts and the
    global ridge. The weights of features, the mixture and the threshold stay those of the last
    ``fit`` or :meth:`recalibrate`: the model equals one whose parts are built afresh from the
    current rows, with the same weights, mixture and threshold.

    The features of all views are stored side by side, as a sparse matrix if one of them is sparse.
    A dense view of it then takes 12 bytes per value, and 8 more in its index.

    A row that equals one learned by ``partial_fit`` gets the labels that were learned last with it,
    or none if it was learned without labels, whatever the parts say, until that row is forgotten.

    Examples
    --------
    >>> from vicinal import datasets
    >>> tags = datasets.load("debtags")
    >>> train, test = tags.subset(range(0, 200)), tags.subset(range(200, 240))
    >>> model = Blend().fit(train.X, train.Y, label_names=tags.label_names)
    >>> model.part_names_
    ('votes, as given', 'local ridge, as given', 'centroids, as given',
     'votes, weighted', 'local ridge, weighted', 'centroids, weighted',
     'ridge, as given', 'ridge, weighted')
    >>> len(model.predict_names(test.X))
    40

    A correction counts in the next prediction:

    >>> model.partial_fit(test.X[:1], [["made-of::glass"]]).predict_names(test.X[:1])
    [['made-of::glass']]

    Two views of three rows:

    >>> X = {"words": np.eye(3), "numbers": np.array([[1.0, 5.0], [2.0, 5.5], [4.0, 1.0]])}
    >>> model = Blend("mix").fit(X, [["a"], ["b"], ["a", "c"]])
    >>> model.views_, [name for name in model.part_names_ if "numbers" in name][0]
    ({'words': 3, 'numbers': 2}, 'votes, numbers ranked')
    """

    method = Method(
        name="blend",
        grid={"combine": ("boosting", "mix")},
        cost="slow",
        neighbors=None,
        rule=NeverEmpty(THRESHOLD, always=False),
        scoring=(BlendScoring, Look, GlobalRidge, Trees, ConvexMix),
    )
    _searches_rows = False

    def __init__(
        self,
        combine: str = "boosting",
        *,
        parts: object = "auto",
        random_state: int = 0,
        max_memory: int | None = None,
        recalibrate_at: float | str = 0.1,
        metric: str = "cosine",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
    ) -> None:
        self.combine = combine
        self.parts = parts
        self.random_state = random_state
        self.max_memory = max_memory
        self.recalibrate_at = recalibrate_at
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm

    def _neighbors(self) -> int:
        """Return 0, because the views search by themselves."""
        return 0

    def _fit_scoring(self, training: Training) -> BlendScoring:
        """Build the parts and learn their mixture."""
        combine = check_option("combine", self.combine, COMBINATIONS)
        seed = check_integer("random_state", self.random_state, low=0)
        memory, parts = check_memory(self.max_memory), check_parts(self.parts)
        known = training, self.metric, combine, seed, memory
        return BlendScoring.fit(*known, self.n_jobs, self.algorithm, parts, self._views())

    # -- several views

    def _frame_columns(self) -> FrameColumns | None:
        """Return how the columns of the training frame became features; None for numbers."""
        known: FrameColumns | None = vars(self).get("_frame")
        return known

    def _from_frame(self, X: object, reset: bool) -> object:
        """Return the features of a frame of texts, categories, numbers and dates, or `X` itself."""
        if reset and is_mixed(X):
            frame = FrameColumns()
            rows = frame.fit_transform(X)
            self._frame = frame
            vars(self).pop("feature_names_in_", None)
            return rows
        known = self._frame_columns()
        if known is None or getattr(X, "columns", None) is None:
            return X
        return known.transform(X)

    def _learn(
        self,
        X: object,
        Y: object,
        graph: NeighborGraph | None,
        label_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
        sample_weight: object = None,
    ) -> None:
        """Learn from rows; those of a frame are named by its column of identifiers, if any."""
        names = identifiers(X) if row_names is None else row_names
        super()._learn(X, Y, graph, label_names, names, sample_weight)

    def _views(self) -> FeatureViews | None:
        """Return the views that the model was fitted on; None for one matrix."""
        known: FeatureViews | None = vars(self).get("_sources")
        return known

    @property
    def views_(self) -> dict[str, int] | None:
        """Names of the views and their numbers of features; None if `X` was one matrix."""
        self._state("views_")
        views = self._views()
        return None if views is None else dict(zip(views.names, views.widths, strict=True))

    def _read_X(self, X: object, *, reset: bool) -> Features:
        """Return validated features; the views of a mapping stand side by side."""
        if reset:
            vars(self).pop("_sources", None)
            vars(self).pop("_frame", None)
        X = self._from_frame(X, reset)
        views = self._views()
        if not isinstance(X, Mapping):
            if views is not None and getattr(X, "shape", (0, 0))[-1] != views.n_features:
                expected = f"a mapping of the views {', '.join(views.names)}"
                raise InvalidArgumentError("X", expected, type(X).__name__)
            return super()._read_X(X, reset=reset)
        if reset:
            self._sources = views = FeatureViews.of(X)
            self.n_features_in_ = views.n_features
            vars(self).pop("feature_names_in_", None)
        if views is None:
            raise InvalidArgumentError("X", "one matrix, as in fit", "a mapping of views")
        return views.joined(X)

    def _finish_fit(self, scoring: Scoring, training: Training) -> None:
        """Say where an approximate search would be quicker, or how good the one in use is."""
        for view in _blend(scoring).views:
            size, recall = view.rows.X.size, view.rows.recall
            if recall is not None:
                logger.info(
                    "%s: hnsw finds %.1f %% of the nearest rows (algorithm='auto' finds all)",
                    view.look.name,
                    100 * recall,
                )
            elif self.algorithm == "auto" and not view.look.is_words and size > MANY_CELLS:
                logger.info(
                    "%s: each prediction reads %.1f GB; algorithm='hnsw' with vicinal[approx] is "
                    "quicker and finds about 98 %% of the nearest rows",
                    view.look.name,
                    4e-9 * size,
                )

    @property
    def part_names_(self) -> tuple[str, ...]:
        """The parts in use."""
        return _blend(self._state("part_names_").scoring).names

    def _fitted_decision(
        self, decision: Decision, scoring: Scoring, training: Training, search: TrainingRows
    ) -> FittedDecision:
        """Fit a rule on the held-out scores of the rows that the combination was trained on."""
        held_out = _blend(scoring).held_out
        if held_out is None or is_fitted(decision):
            return super()._fitted_decision(decision, scoring, training, search)
        needs = needs_of(decision)
        if not needs.needs_scores or needs.n_folds is not None:
            return super()._fitted_decision(decision, scoring, training, search)
        known = training.Y[held_out.rows]
        return fit_blocks(decision, held_out.blocks(block_rows(scoring)), known)

    # -- learning at once

    def _update(self, scoring: Scoring, revision: ChangedRows) -> Scoring:
        """Return the blend with the rows that were added, or without those that are gone."""
        before, rows = _blend(scoring), revision.rows
        known = before.views[0].rows
        with using_threads(rows.n_jobs):
            if rows.n_places > known.n_places:
                fresh = np.arange(known.n_places, rows.n_places)
                X, Y = take_rows(rows.X, fresh), take_rows(revision.Y, fresh)
                after = before.learned(X, Y, revision.Y)
                empty = teach(after.taught, X, rows.place_ids[fresh])
                if empty:
                    logger.warning(_NO_FEATURES, empty, len(fresh))
                return after
            gone = rows.gone.copy()
            gone[: len(known.gone)] &= ~known.gone
            return before.forgotten(np.flatnonzero(gone))

    def recalibrate(self) -> Self:
        """Fit the weights, the mixture and the threshold again, on the current rows.

        The model then equals one fitted from scratch. Predictions in other threads do not wait.
        """
        return super().recalibrate()

    def compact(self) -> Self:
        """Release the memory that forgotten rows still use; those in a folder stay there."""
        return self if self._log is not None else super().compact()

    @property
    def _log(self) -> ChangeLog | None:
        """Where changes are recorded of a model whose views are in a folder."""
        known: ChangeLog | None = vars(self).get("_change_log")
        return known

    def _keeps_places(self) -> bool:
        """Tell whether the places of forgotten rows stay empty, because rows are in a folder."""
        return self._log is not None

    def _adopt(self, *arguments: Any, **options: Any) -> None:
        """Fit; the changes of a model whose views are in a folder are recorded from now on."""
        super()._adopt(*arguments, **options)
        version, algorithm, self._change_log = self._fitted(), self.algorithm, None
        are_stored = _blend(version.scoring).are_stored
        if are_stored and isinstance(algorithm, SegmentedAlgorithm) and algorithm.folder:
            self._change_log = ChangeLog.new(algorithm.folder, version)

    def _commit(
        self, change: SmallChange, version: FittedState, recalibrate: bool | None = None
    ) -> None:
        """Publish a version, after its change is on disk if its views are in a folder."""
        if (log := self._log) is None or not log.is_writable:
            self._change_log = None
            super()._commit(change, version, recalibrate)
            return
        with log.recording(change_between(change.version, version)):
            super()._commit(change, version, recalibrate)
            if self._fitted() is not version:
                log.append({"recalibrated": True})
                log.rebase(self._fitted())

    def snapshot(self) -> Self:
        """Return a copy of the model that later changes of the original do not affect.

        Takes microseconds: the two share all data until one of them changes. If the views of the
        model are in a folder, changes of the copy are in memory.
        """
        twin = super().snapshot()
        twin._change_log = None if self._log is None else self._log.read_only()
        return twin

    def _make_again(self, log: ChangeLog) -> None:
        """Make the changes of a log; rows learned one after the other are learned together."""
        for each in joined_changes(log.changes()):
            with self._changing() as change:
                if "learned" in each:
                    rows = read_rows(each["X"], self.n_features_in_, np.float64)
                    names = (*change.version.label_names, *each["label names"])
                    labels, of_rows = read_rows(each["Y"], len(names), np.int32), each["row names"]
                    version = change.learned(rows, labels, names, of_rows and tuple(of_rows))
                elif "forgotten" in each:
                    gone = change.version.rows.places_of(np.array(each["forgotten"]))
                    version = change.forgotten(gone)
                else:
                    version = self._recalibrated(change, change.version)
                    log.rebase(version)
                change.live.keep_for(version)
                self._publish(version)

    def _without_gaps(self, reviser: SmallChange, version: FittedState) -> FittedState:
        """Return the version without empty places; rows of a folder are written to it again."""
        rows, algorithm, scoring = version.rows, self.algorithm, _blend(version.scoring)
        if self._log is None or not isinstance(algorithm, SegmentedAlgorithm):
            return reviser.compacted(version)
        kept = np.flatnonzero(~rows.gone) if rows.n_empty else np.arange(rows.n_places)
        index, names = algorithm.written(as_csr(rows.X), kept), version.row_names
        search = replace(algorithm, index=index)
        known = rows.row_ids, rows.n_ids
        return replace(
            version,
            rows=TrainingRows(index.X, rows.metric, rows.n_jobs, *known, algorithm=search),
            scoring=replace(scoring, Y=trust(take_rows(scoring.Y, kept))),
            row_names=None if names is None else tuple(names[place] for place in kept.tolist()),
        )

    def _recalibrated(self, reviser: SmallChange, version: FittedState) -> FittedState:
        """Return the version fitted from scratch on its rows; what was taught stays so."""
        version = self._without_gaps(reviser, version)
        rows, before = version.rows, _blend(version.scoring)
        training = Training(rows.query_self(0), before.Y, rows.X)
        with using_threads(rows.n_jobs):
            kept = still_taught(before.taught, rows)
            scoring = replace(self._fit_scoring(training), taught=kept)
            decision = self._fit_decision(reviser.rule, scoring, training, rows)
        return replace(
            version, scoring=scoring, decision=decision, calibration=Calibration(rows.n_rows)
        )

    def prepare(self) -> Self:
        """Compute now what the first change would need: the inverses, and room for further rows."""
        with self._changing() as reviser:
            version = reviser.version
            with using_threads(version.rows.n_jobs):
                scoring = _blend(version.scoring).ready().with_room()
            version = replace(version, rows=version.rows.with_room(), scoring=scoring)
            reviser.live.keep_for(version)
            self._publish(version)
        return self

    # -- what was taught

    def _score_blocks(
        self, version: FittedState, X: object, graph: NeighborGraph | None
    ) -> Iterator[Scores]:
        """Score rows in blocks; a row that was taught scores 1 for its labels."""
        queries = self._read_new_X(X)
        known, scoring = version.rows, _blend(version.scoring)
        for start, stop in blocks(queries.shape[0], block_rows(scoring), "Scoring rows"):
            some = queries if stop - start == queries.shape[0] else queries[start:stop]
            with using_threads(known.n_jobs if queries.shape[0] > 1 else 1):
                scores = scoring.scores(known.query(some, 0), some)
            yield as_taught(scores, taught_places(scoring, known, some), scoring.Y)

    def taught_rows(self, X: object) -> dict[int, int]:
        """Return which rows of `X` get the labels they were taught, and by which training row.

        Returns
        -------
        dict of int to int
            Places of rows in `X`, and the id of the row that was taught last; :meth:`forget` of
            this id undoes it.
        """
        version, queries = self._fitted(), self._read_new_X(X)
        found = taught_places(_blend(version.scoring), version.rows, queries)
        return {row: int(version.rows.place_ids[place]) for row, place in found}

    def _decided(self, version: FittedState, X: object, graph: NeighborGraph | None) -> Csr:
        """Return the label indicator that one version predicts; of taught rows, what was taught."""
        scored = self._score_blocks(version, X, graph)
        return stacked([decided_as_taught(version.decision, scores) for scores in scored])

    def decide(self, scores: Scores) -> Csr:
        """Return the label indicator (int32) predicted from scores.

        A row that was taught has a score of 1 for its labels and gets exactly these; if it was
        taught none, all its scores are below 1e-6. The fitted rule decides on all other rows.
        """
        return decided_as_taught(self._fitted().decision, scores)

    def predict_proba(self, X: object, *, graph: NeighborGraph | None = None) -> Float | Csr:
        """Return the probability of every row and label.

        The result has shape (n, L). It is a CSR array if the training labels were sparse; a label
        that it does not store has a probability below 1e-7. If it is dense and too large for
        memory, an error points to :meth:`rank`.
        """
        version = self._fitted()
        scores = self._scores(version, X, graph)
        if version.label_kind == "sparse":
            return private_copy(cast("Csr", scores.values))
        return probabilities_as(scores, version.label_kind)

    # -- neighbours and explanations

    def neighbor_graph(
        self, X: object, k: int | None = None, *, view: str | None = None
    ) -> NeighborGraph:
        """Return the `k` nearest training rows of each row, by default 50, as they were given.

        If the model has several views, neighbours are those of one of them: `view`, or the first.
        """
        k = NEIGHBORS if k is None else check_integer("k", k, low=1)
        searched = self._view(view)
        if searched is None:
            return super().neighbor_graph(X, k)
        near = searched.rows.query(searched.look.of(self._read_new_X(X)), k)
        return self._fitted().rows.by_id(near)

    def kneighbors(
        self,
        X: object = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        view: str | None = None,
    ) -> tuple[Float, Int32] | Int32:
        """Return the nearest training rows, as scikit-learn's ``kneighbors`` does.

        If the model has several views, neighbours are those of one of them: `view`, or the first.
        """
        if n_neighbors is None:
            n_neighbors = min(NEIGHBORS, self._fitted().rows.n_rows - (X is None))
        if self._view(view) is None:
            return super().kneighbors(X, n_neighbors, return_distance)
        return as_kneighbors(self._neighbors_in(X, n_neighbors, view), return_distance)

    def _neighbors_in(self, X: object, n_neighbors: int, view: str | None) -> NeighborGraph:
        """Return the nearest training rows of rows, or of the training rows, in one view."""
        model = self.as_fitted() if X is None else self.snapshot()
        known, searched = model._fitted().rows, cast("View", model._view(view))
        k = check_count(n_neighbors, known.n_rows - (X is None))
        if X is None:
            found = searched.rows.query_self(k)
        else:
            found = searched.rows.query(searched.look.of(model._read_new_X(X)), k)
        return known.by_id(narrowed(found, k))

    def _view(self, name: str | None) -> View | None:
        """Return the first view of features with this name; None for a model of one matrix."""
        views = _blend(self._fitted().scoring).views
        known = self._views()
        if known is None:
            if name is not None:
                raise InvalidArgumentError("view", "None for a model of one matrix", repr(name))
            return None
        check_option("view", known.names[0] if name is None else name, known.names)
        return next(view for view in views if name in (None, view.look.source))

    def _to_explain(self) -> Self:
        """Return the model as it is now; rows of a folder are not copied, even if some are gone."""
        return self.snapshot() if self._keeps_places() else self.as_fitted()

    def _explained(self, X: Features) -> tuple[NeighborGraph, Scores, Csr]:
        """Return the neighbours in the first view, the scores and the predicted labels of rows."""
        version = self._fitted()
        scoring, rows = _blend(version.scoring), version.rows
        view = scoring.views[0]
        with using_threads(rows.n_jobs):
            near = view.nearest(view.look.of(X))
            scores = scoring.scores(rows.query(X, 0), X)
        scores = as_taught(scores, taught_places(scoring, rows, X), scoring.Y)
        return near, scores, decided_as_taught(version.decision, scores)

    def _readable(self, X: Features) -> Features:
        """Return rows without the values of vectors, which say nothing to a reader one by one."""
        spans = [
            view.look.columns or (0, X.shape[1])
            for view in _blend(self._fitted().scoring).views
            if view.look.kind == "vectors"
        ]
        if not spans:
            return X
        rows: Csr = sparse.csr_array(as_csr(X), copy=True)
        for first, behind in spans:
            rows.data[(rows.indices >= first) & (rows.indices < behind)] = 0.0
        rows.eliminate_zeros()
        return rows

    def _compared(self, X: Features) -> Features:
        """Return rows as the first view compares words; measurements as they are."""
        look = _blend(self._fitted().scoring).views[0].look
        if not look.is_words:
            return self._readable(X)
        seen, first = as_csr(look.of(X)), look.columns[0] if look.columns else 0
        return sparse.csr_array((seen.data, seen.indices + first, seen.indptr), X.shape)

    def _feature_names(self) -> Sequence[str] | None:
        """Return names of the features; with several views, the view and the number within it."""
        views, frame = self._views(), self._frame_columns()
        if frame is not None:
            return cast("Sequence[str]", frame.get_feature_names_out())
        return super()._feature_names() if views is None else views.feature_names()

    def _scores_without(self, x: Features, groups: Sequence[Sequence[int]]) -> Scores:
        """Return the scores of a row by the parts without each group of training rows."""
        scoring, rows = _blend(self.scoring_), self.search_
        with using_threads(rows.n_jobs):
            fewer = [_without(scoring, np.array(group)) for group in groups]
            return Scores.stack([each.scores(rows.query(x, 0), x) for each in fewer])

    def _explain_scores(
        self, graph: NeighborGraph, X: Features, labels: Sequence[int]
    ) -> list[Breakdown]:
        """Return the breakdown of the scores of `labels`; of a row that was taught, that it was."""
        scoring, rows = _blend(self.scoring_), self.search_
        places = taught_places(scoring, rows, X)
        if not places:
            return super()._explain_scores(graph, X, labels)
        with using_threads(rows.n_jobs):
            scores = as_taught(scoring.scores(rows.query(X, 0), X), places, scoring.Y)
        place = places[0][1]
        facts = {"as taught": f"row {rows.place_ids[place]}"}
        taught = Terms("neighbor", np.array([place]), np.ones(1))
        known = set(labels_of(scoring.Y, place).tolist())
        values = cells(scores, 0, labels).tolist()
        return [
            Breakdown(0.0, (taught,), facts=facts)
            if label in known
            else Breakdown(value, facts=facts)
            for label, value in zip(labels, values, strict=True)
        ]

    # -- saving

    def get_state(self) -> dict[str, State]:
        """Return the fitted model as plain values, arrays and parts."""
        model, log, algorithm = self, self._log, self.algorithm
        if log is not None and log.size != log.start:  # what changed since is read from the log
            model = self.snapshot()
            model._publish(log.base)
        taught = _blend(model._fitted().scoring).taught
        ids = sorted(each for ids in list(taught.values()) for each in ids)
        views = self._views()
        state: dict[str, State] = {
            **super(Blend, model).get_state(),
            "taught": np.array(ids, dtype=np.int64),
            "views": None if views is None else views.get_state(),
            "frame": self._frame_columns(),
        }
        if log is not None and isinstance(algorithm, SegmentedAlgorithm):
            place = str(log.file.parent), algorithm.limit
            state["views in"] = [*place, log.file.name, log.start]
            if (index := index_of(model._fitted().rows)) is not None:
                rows: list[State] = [str(Path(str(index.folder)).resolve()), index.stamp]
                state |= {"X": None, "rows in": rows}
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        read_part(state, "scoring", BlendScoring)
        stored = views_in(state) if "views in" in state else None
        if stored is not None:
            index = rows_in(state) if "rows in" in state else None
            algorithm = SegmentedAlgorithm(stored[1], index, stored[0])
            params = {**read_part(state, "params", dict), "algorithm": algorithm}
            state = {**state, "params": params} | ({} if index is None else {"X": index.X})
        model = super().from_state(state)
        version = model._fitted()
        rows, scoring = version.rows, _blend(version.scoring)
        ids = read_array(state, "taught", np.int64, (None,))
        places = np.searchsorted(rows.row_ids, ids)
        here = rows.row_ids[np.minimum(places, rows.n_rows - 1)] == ids
        taught: dict[bytes, tuple[int, ...]] = {}
        teach(taught, take_rows(rows.X, places[here]), ids[here])
        search = model.algorithm
        if stored is not None and isinstance(search, SegmentedAlgorithm):
            search = replace(search, is_written=True)
        bound = replace(scoring.bound(rows.X, model.n_jobs, search), taught=taught)
        model._publish(replace(version, scoring=bound))
        if state.get("views") is not None:
            views = FeatureViews.from_state(read_part(state, "views", dict))
            if views.n_features != rows.X.shape[1]:
                raise ModelFormatError(f"views: expected {rows.X.shape[1]} features in all")
            model._sources = views
        if state.get("frame") is not None:
            model._frame = read_part(state, "frame", FrameColumns)
        if stored is not None:
            folder, _, name, start = stored
            model._change_log = ChangeLog(Path(folder) / name, model._fitted(), start)
            model._make_again(model._change_log)
        return model


def _blend(scoring: object) -> BlendScoring:
    """Return what a blend learned, or raise."""
    if not isinstance(scoring, BlendScoring):
        raise ModelFormatError(f"scoring: expected a blend, got {type(scoring).__name__}")
    return scoring


def _without(scoring: BlendScoring, places: Int) -> BlendScoring:
    """Return the blend without rows; an index that cannot forget is built again without them."""
    fewer = scoring.forgotten(places)
    if scoring.views[0].rows.is_mutable:
        return fewer
    kept = np.setdiff1d(np.arange(scoring.Y.shape[0]), places)
    return fewer.as_fitted(take_rows(scoring.Y, kept), None)
