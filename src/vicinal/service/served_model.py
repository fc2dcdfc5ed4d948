"""A model that answers requests while it learns: each request sees one whole version."""

import copy
import logging
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.files import replacing, without_nan
from vicinal._core.progress import may_stop
from vicinal.datasets.vocabulary import Vocabulary
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.methods import Blend, NeighborEstimator
from vicinal.methods._formulas import cells
from vicinal.methods.fitted_state import FittedState
from vicinal.methods.incremental import IncrementalEstimator, without_pauses
from vicinal.methods.pipeline import Model, estimator_of, feature_names, with_feature_names
from vicinal.methods.what_if import MOST_FEATURES
from vicinal.service.request_rows import RowReader

log = logging.getLogger("vicinal.service")
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, InvalidArgumentError)
"""What reading a damaged file may raise."""


def graph_file(snapshot: Path) -> Path:
    """Return the file of a snapshot's graph."""
    return snapshot.with_name(f"{snapshot.name}.graph.npz")


def write_graph(graph: NeighborGraph, snapshot: Path) -> None:
    """Write the graph of a snapshot; complete or not at all."""
    with replacing(graph_file(snapshot)) as beside, beside.open("xb") as stream:
        np.savez(stream, ids=graph.ids, values=graph.values)


def read_graph(model: Model, snapshot: Path) -> None:
    """Give a model that was just loaded the graph that was saved with it, if there is one."""
    estimator, file = estimator_of(model), graph_file(snapshot)
    if not isinstance(estimator, IncrementalEstimator) or not file.exists():
        return
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            ids, values = arrays["ids"], arrays["values"]  # reading checks their CRC-32
        rows = state_of(estimator).rows
        estimator.use_graph(NeighborGraph(ids, values, rows.metric, rows.n_rows))
    except DAMAGE as error:
        log.error("graph skipped", extra={"path": str(file), "reason": str(error)})


MOST_ROWS = 16
"""Rows of one request; each of them costs as much as `MOST_FEATURES` predictions."""
PORTION_ROWS = 16
"""Rows that are predicted between two checks whether somebody still waits for them."""


def add_contributions(
    estimator: NeighborEstimator,
    x: Csr,
    explained: Sequence[dict[str, Any]],
    feature_names: Sequence[str],
) -> None:
    """Add ``without`` to each explained label of a row: features and what it loses without them.

    Largest loss first; features without which the score does not fall are left out.
    """
    number = {name: label for label, name in enumerate(state_of(estimator).label_names)}
    columns = _largest(x)
    labels = [number[each["label"]] for each in explained]
    rows = _with_and_without(x, columns)
    scored: list[Float] = []
    for start in range(0, rows.shape[0], PORTION_ROWS):
        may_stop()
        scores = estimator.scores(rows[start : start + PORTION_ROWS])
        scored += [cells(scores, place, labels) for place in range(scores.shape[0])]
    found = np.array(scored)
    for place, each in enumerate(explained):
        losses = found[0, place] - found[1:, place]
        order = np.argsort(-losses, kind="stable")
        each["without"] = [
            {"feature": feature_names[columns[entry]], "loss": float(losses[entry])}
            for entry in order
            if losses[entry] > 0 and columns[entry] < len(feature_names)
        ]


def _largest(x: Csr) -> Int:
    """Return the columns of a row's largest values, in the order of the columns."""
    kept = np.argsort(-np.abs(x.data), kind="stable")[:MOST_FEATURES]
    columns: Int = np.sort(x.indices[kept]).astype(np.int64)
    return columns


def _with_and_without(x: Csr, columns: Int) -> Csr:
    """Return the row as it is, and once without each of the columns."""
    kept = [np.ones(x.nnz, dtype=bool), *(x.indices != column for column in columns)]
    lengths = np.cumsum([0, *(int(mask.sum()) for mask in kept)])
    indices = np.concatenate([x.indices[mask] for mask in kept])
    data = np.concatenate([x.data[mask] for mask in kept])
    return sparse.csr_array((data, indices, lengths), shape=(len(kept), x.shape[1]))


DEFAULT_NEIGHBORS = 10
"""Neighbours shown of a method that uses none."""
SHARED_WORDS = 8
"""Features shown per neighbour."""


class Prediction(NamedTuple):
    """The predicted labels of one row with their scores, and the best labels, best first.

    `as_taught` is the id of the training row that taught them, if the model keeps to it.
    """

    labels: list[str]
    label_scores: list[float]
    scores: list[tuple[str, float]]
    as_taught: int | None


def predictions(
    estimator: NeighborEstimator, X: Features, top: int, with_label_scores: bool = False
) -> list[Prediction]:
    """Return the prediction for each row; the scores of its labels only if they are asked."""
    scores = estimator.scores(X)
    decided = estimator.decide(scores)
    ids, values = scores.top(top)
    names = state_of(estimator).label_names
    taught = estimator.taught_rows(X) if isinstance(estimator, Blend) else {}
    found = []
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]].tolist()
        own = cells(scores, row, labels).tolist() if with_label_scores else []
        best = [(names[i], v) for i, v in zip(ids[row].tolist(), values[row].tolist(), strict=True)]
        found.append(Prediction([names[label] for label in labels], own, best, taught.get(row)))
    return found


def neighbors(
    estimator: NeighborEstimator, X: Features, k: int | None, feature_names: Sequence[str]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the training rows nearest to each row: ids, similarity, labels, shared features."""
    state = state_of(estimator)
    rows, Y, names = state.rows, state.scoring.Y, state.row_names
    graph = rows.query(X, k or shown_neighbors(estimator))
    measure = "distance" if graph.metric == "euclidean" else "similarity"
    for query in range(graph.n_queries):
        shared = SharedFeatures(X[[query]], feature_names)
        near = []
        for place, value in zip(
            graph.ids[query].tolist(), graph.values[query].tolist(), strict=True
        ):
            if place < 0:
                break
            labels = Y.indices[Y.indptr[place] : Y.indptr[place + 1]]
            near.append(
                {
                    "row_id": int(rows.place_ids[place]),
                    "name": None if names is None else str(names[place]),
                    measure: value,
                    "labels": [state.label_names[label] for label in labels],
                    "shared": shared.with_row(rows.X, place),
                }
            )
        yield near


def shown_neighbors(estimator: NeighborEstimator) -> int:
    """Return how many neighbours are shown by default: as many as the method uses."""
    return state_of(estimator).scoring.k or DEFAULT_NEIGHBORS


class SharedFeatures:
    """The features that one row has in common with others, largest share of their cosine first.

    The cosine splits into one share per feature f: x_f · y_f / (‖x‖ ‖y‖).
    """

    def __init__(self, row: Features, feature_names: Sequence[str]) -> None:
        self._row = np.asarray(
            row.toarray() if sparse.issparse(row) else row, dtype=np.float64
        ).ravel()
        self._length = float(np.sqrt((self._row**2).sum()))
        self._names = feature_names

    def with_row(self, X: Features, place: int) -> list[dict[str, Any]]:
        """Return the features shared with one row of `X`."""
        if isinstance(X, np.ndarray):
            columns: Int | Int32 = np.arange(X.shape[1])
            values = X[place]
        else:
            entries = slice(X.indptr[place], X.indptr[place + 1])
            columns, values = X.indices[entries], X.data[entries]
        products = self._row[columns] * values
        length = self._length * float(np.sqrt((values.astype(np.float64) ** 2).sum())) or 1.0
        order = np.argsort(-products, kind="stable")[:SHARED_WORDS]
        return [
            {
                "feature": self._names[columns[entry]],
                "share": float(products[entry] / length),
            }
            for entry in order
            if products[entry] > 0 and columns[entry] < len(self._names)
        ]


def explanations(
    estimator: NeighborEstimator,
    X: Features,
    labels: list[str] | None,
    top: int,
    feature_names: Sequence[str],
    without: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield why each row gets its labels, as JSON can hold it."""
    for row in range(X.shape[0]):
        (explained,) = estimator.explain(
            X[[row]], labels=labels, top=top, row_names=[str(row)], feature_names=feature_names
        )
        found = cast("dict[str, Any]", without_nan(explained.to_dict()))
        if without and sparse.issparse(X):
            add_contributions(estimator, sparse.csr_array(X[[row]]), found["labels"], feature_names)
        yield found


def can_learn(estimator: NeighborEstimator) -> bool:
    """Tell whether the method learns rows without starting over."""
    return isinstance(estimator, IncrementalEstimator)


def learn(estimator: NeighborEstimator, X: Features, labels: list[list[str]]) -> None:
    """Add rows with the names of their labels.

    New labels come in the order of the rows, so that rows learned together give the same model as
    rows learned one by one.
    """
    if not isinstance(estimator, IncrementalEstimator):
        raise TypeError(f"{type(estimator).__name__} cannot learn incrementally")
    names = list(dict.fromkeys(name for row in labels for name in row))
    estimator.partial_fit(X, labels, label_names=names or None)


def forget(estimator: NeighborEstimator, row_ids: Sequence[int]) -> None:
    """Remove rows by id."""
    if not isinstance(estimator, IncrementalEstimator):
        raise TypeError(f"{type(estimator).__name__} cannot forget rows")
    estimator.forget(list(row_ids))


def row_ids(estimator: NeighborEstimator) -> Int:
    """Return the ids of the model's rows, in rising order."""
    return estimator.row_ids_


def label_counts(estimator: NeighborEstimator) -> dict[str, int]:
    """Return each label with the number of rows that have it."""
    state = state_of(estimator)
    Y: Csr = state.scoring.Y
    if state.rows.n_empty:
        Y = Y[np.flatnonzero(~state.rows.gone)]
    counts = np.bincount(Y.indices, minlength=len(state.label_names))
    return dict(zip(state.label_names, counts.tolist(), strict=True))


def example_words(
    estimator: NeighborEstimator, feature_names: Sequence[str], count: int
) -> list[dict[str, str]]:
    """Return a few training rows as texts made of their words, evenly spread over the rows."""
    state = state_of(estimator)
    rows, names = state.rows, state.row_names
    places = np.flatnonzero(~rows.gone) if rows.n_empty else np.arange(rows.n_places)
    shown = []
    for at in np.unique(np.linspace(0, len(places) - 1, count + 2, dtype=np.int64)[1:-1]):
        place = int(places[at])
        words = sparse.csr_array(rows.X[[place]]).indices
        text = " ".join(feature_names[word] for word in words[:60])
        title = f"row {rows.place_ids[place]}" if names is None else names[place]
        shown.append({"title": f"words of {title}", "text": text})
    return shown


def state_of(estimator: NeighborEstimator) -> FittedState:
    """Return what a model learned, as it is: nothing is computed, and places may be empty."""
    return estimator._fitted()


class HeldVersion(NamedTuple):
    """One whole version of a model; it does not change while a reader holds it.

    `history` is the digest of the last event that it contains.
    """

    estimator: NeighborEstimator
    number: int
    history: str


class Lesson(NamedTuple):
    """A change that can be made to a copy of the model too."""

    rows: int
    teach: Callable[[NeighborEstimator], None]


MOST_NEW_LABELS = 10_000
"""Labels that a model may be taught beyond those that it was loaded with. A label of a few bytes
takes up to 100 kB of a model that has a coefficient for each of its words."""
CATCH_UP_ROWS = 4
"""Rows that lessons may wait for while a recalibrated copy takes the model's place; twice as many
after each try, because clients that teach many rows at a time always have taught more meanwhile."""


class ServedModel:
    """A model with its version number, which can be read while it is changed.

    Readers never wait: they hold a snapshot that later changes do not affect. Changes are made one
    after the other, within :meth:`changing`, and are seen by readers when they are published.
    """

    def __init__(self, model: Model, version: int = 0, history: str = "") -> None:
        self.reader = RowReader(model)
        # The reader orders columns by name, so that rows come without names; a snapshot keeps them.
        self._model = model
        self.vocabulary: Vocabulary | None = getattr(model, "label_vocabulary_", None)
        self._names = feature_names(model)
        nameless = model if self._names is None else with_feature_names(model, None)
        self._estimator = estimator_of(nameless).snapshot()
        # A lesson does not wait until the threshold is fitted again: see `recalibrate`.
        self._recalibrate_at: object = getattr(self._estimator, "recalibrate_at", "never")
        if isinstance(self._recalibrate_at, float):
            self._estimator.set_params(recalibrate_at="never")
        self.most_labels = len(state_of(self._estimator).label_names) + MOST_NEW_LABELS
        self._writing = threading.Lock()
        self._is_changed = False
        self._since: list[Lesson] | None = None
        self.publish(version, history)

    @property
    def version(self) -> int:
        """The newest version number; a reader's own is in :meth:`reading`."""
        return self._current.number

    @property
    def history(self) -> str:
        """Digest of the last event that the newest version contains."""
        return self._current.history

    @contextmanager
    def reading(self) -> Iterator[HeldVersion]:
        """Hold one whole version."""
        yield self._current

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let this thread alone change the model; if the block fails, nothing has changed.

        Readers have their turns while changes are committed to the disk.
        """
        with self._writing, without_pauses():
            self._is_changed = False
            with self.savepoint():
                yield

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo the changes of the block if it fails; only within :meth:`changing`."""
        before, was_changed, self._is_changed = self._estimator.snapshot(), self._is_changed, False
        n_since = len(self._since or ())
        try:
            yield
        except BaseException:
            if self._is_changed:
                self._estimator = before
            if self._since is not None:
                del self._since[n_since:]
            self._is_changed = was_changed
            raise
        self._is_changed |= was_changed

    def learn(self, X: Features, labels: list[list[str]]) -> tuple[int, ...]:
        """Learn rows and return their ids; only within :meth:`changing`."""
        learn(self._estimator, X, labels)  # a model that refuses rows is as it was before
        self._note(Lesson(len(labels), lambda model: learn(model, X, labels)))
        return tuple(row_ids(self._estimator)[-len(labels) :].tolist())

    def forget(self, ids: Sequence[int]) -> None:
        """Forget rows; only within :meth:`changing`."""
        forget(self._estimator, ids)
        self._note(Lesson(len(ids), lambda model: forget(model, ids)))

    def _note(self, lesson: "Lesson") -> None:
        """Remember a change until it is published, and for a recalibration that is under way."""
        self._is_changed = True
        if self._since is not None:
            self._since.append(lesson)

    def draft_row_ids(self) -> Int:
        """Return the ids of the rows, with the changes that are not published yet."""
        return row_ids(self._estimator)

    def draft_label_names(self) -> Sequence[str]:
        """Return the names of the labels, with the changes that are not published yet."""
        return state_of(self._estimator).label_names

    def publish(self, version: int, history: str) -> None:
        """Let readers see the model as it is now, under a version number: one assignment."""
        self._current = HeldVersion(self._estimator.snapshot(), version, history)

    def to_save(self) -> tuple[Model, NeighborGraph | None, HeldVersion]:
        """Return the newest version as a model to save, its graph if it is known, and its number.

        Changes wait only while the graph is copied, not while the model is saved.
        """
        with self._writing:
            held, graph = self._current, _known_graph(self._estimator)
        return self._whole(held.estimator), graph, held

    def prepare(self) -> None:
        """Compute what the first lesson needs, so that it takes no longer than the next ones."""
        with self._writing, without_pauses():
            if isinstance(self._estimator, IncrementalEstimator):
                self._estimator.prepare()

    @property
    def is_stale(self) -> bool:
        """Whether so many rows have changed that the threshold should be fitted again."""
        at, state = self._recalibrate_at, state_of(self._current.estimator)
        return (
            isinstance(at, float)
            and not state.calibration.is_current
            and (state.calibration.stale_share >= at)
        )

    def recalibrate(self) -> None:
        """Fit the threshold again on a copy, while readers and lessons go on; then put it in place.

        If a method recalibrates more than its threshold, the copy learns the lessons that were
        taught meanwhile, and takes the model's place.
        """
        with self._writing:
            twin, self._since = self._estimator.snapshot(), []
            graph = _known_graph(self._estimator)
        if not isinstance(twin, IncrementalEstimator):
            return
        try:
            if graph is not None and not state_of(twin).rows.n_empty:
                twin.use_graph(graph)
            twin.recalibrate()
            if not self._has_taken_threshold(twin):
                twin.prepare()
                most = CATCH_UP_ROWS
                while not self._has_replaced(twin, most):
                    most *= 2
        finally:
            with self._writing:
                self._since = None

    def _has_taken_threshold(self, twin: IncrementalEstimator) -> bool:
        """Let the model use the threshold of a recalibrated copy; tell whether that was enough."""
        with self._writing, without_pauses():
            model = self._estimator
            if not isinstance(model, IncrementalEstimator) or not model.take_threshold(twin):
                return False
            self.publish(self.version, self.history)
            return True

    def _has_replaced(self, twin: IncrementalEstimator, most: int) -> bool:
        """Teach a copy what it missed; if that was at most so many rows, it replaces the model."""
        with self._writing, without_pauses():
            missed, self._since = self._since or [], []
            is_little = sum(lesson.rows for lesson in missed) <= most
            if is_little:
                for lesson in missed:
                    lesson.teach(twin)
                self._estimator = twin
                self.publish(self.version, self.history)
        if not is_little:
            for lesson in missed:
                lesson.teach(twin)
        return is_little

    def _whole(self, estimator: NeighborEstimator) -> Model:
        """Return the model that was loaded with another estimator in its place."""
        if isinstance(self._recalibrate_at, float):
            estimator = estimator.snapshot()
            estimator.set_params(recalibrate_at=self._recalibrate_at)
        model: Model = estimator
        if isinstance(self._model, Pipeline):
            model = copy.copy(self._model)
            model.steps = [*self._model.steps[:-1], (self._model.steps[-1][0], estimator)]
        return model if self._names is None else with_feature_names(model, self._names)


def _known_graph(estimator: NeighborEstimator) -> NeighborGraph | None:
    return estimator.known_graph() if isinstance(estimator, IncrementalEstimator) else None
