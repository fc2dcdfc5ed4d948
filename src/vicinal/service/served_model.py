"""A model that answers requests while it learns: each request sees one whole version."""

import logging
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Int
from vicinal._core.files import replacing, without_nan
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.methods import NeighborEstimator, save
from vicinal.methods._formulas import cells
from vicinal.methods.incremental import IncrementalEstimator
from vicinal.methods.pipeline import Model, estimator_of, feature_names, with_feature_names
from vicinal.service.rows import Row, RowReader

log = logging.getLogger("vicinal.service")
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, InvalidArgumentError)
"""What reading a damaged file may raise."""


def graph_file(snapshot: Path) -> Path:
    """Return the file of a snapshot's graph.

    Examples
    --------
    >>> graph_file(Path("taught.sqlite.snapshots/news/000000000012")).name
    '000000000012.graph.npz'
    """
    return snapshot.with_name(f"{snapshot.name}.graph.npz")


def write_graph(model: Model, snapshot: Path) -> None:
    """Write the graph of a model, if it has one; complete or not at all."""
    estimator = estimator_of(model)
    graph = estimator.known_graph() if isinstance(estimator, IncrementalEstimator) else None
    if graph is None:
        return
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
        rows = estimator.search_
        estimator.use_graph(NeighborGraph(ids, values, rows.metric, rows.n_rows))
    except DAMAGE as error:
        log.error("graph skipped", extra={"path": str(file), "reason": str(error)})


MOST_FEATURES = 100
"""Features of a row that are left out, one after the other: those with the largest values."""
MOST_ROWS = 16
"""Rows of one request; each of them costs as much as `MOST_FEATURES` predictions."""


def add_contributions(
    estimator: NeighborEstimator,
    X: Features,
    explanations: Sequence[dict[str, Any]],
    feature_names: Sequence[str],
) -> None:
    """Add ``without`` to each explained label: features and what the score loses without them.

    Largest loss first; features without which the score does not fall are left out.

    Parameters
    ----------
    estimator : NeighborEstimator
    X : ndarray or csr_array, shape (n, m)
    explanations : sequence of n dict
        As :func:`explanations` returns them; changed in place.
    feature_names : sequence of str
    """
    number = {name: label for label, name in enumerate(estimator.label_names_)}
    for row, explanation in enumerate(explanations):
        x = sparse.csr_array(X[[row]])
        columns = _largest(x)
        explained = explanation["labels"]
        labels = [number[each["label"]] for each in explained]
        scores = estimator.scores(_with_and_without(x, columns))
        found = np.array([cells(scores, place, labels) for place in range(len(columns) + 1)])
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
    """Return the row as it is, and once without each of the columns.

    Examples
    --------
    >>> x = sparse.csr_array(np.array([[1.0, 0.0, 2.0]]))
    >>> _with_and_without(x, np.array([0, 2])).toarray()
    array([[1., 0., 2.],
           [0., 0., 2.],
           [1., 0., 0.]])
    """
    kept = [np.ones(x.nnz, dtype=bool), *(x.indices != column for column in columns)]
    lengths = np.cumsum([0, *(int(mask.sum()) for mask in kept)])
    indices = np.concatenate([x.indices[mask] for mask in kept])
    data = np.concatenate([x.data[mask] for mask in kept])
    return sparse.csr_array((data, indices, lengths), shape=(len(kept), x.shape[1]))


DEFAULT_NEIGHBORS = 10
"""Neighbours shown of a method that uses none."""
SHARED_WORDS = 8
"""Features shown per neighbour."""


class Answer(NamedTuple):
    """The predicted labels of one row, and the labels with the highest scores, best first."""

    labels: list[str]
    scores: list[tuple[str, float]]


def answers(estimator: NeighborEstimator, X: Features, top: int) -> list[Answer]:
    """Return the answer for each row."""
    scores = estimator.scores(X)
    decided = estimator.decide(scores)
    ids, values = scores.top(top)
    names = estimator.label_names_
    found = []
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
        best = zip(ids[row].tolist(), values[row].tolist(), strict=True)
        found.append(
            Answer([names[label] for label in labels], [(names[i], value) for i, value in best])
        )
    return found


def neighbors(
    estimator: NeighborEstimator, X: Features, k: int | None, feature_names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Return the nearest training rows: id, name, similarity, labels, shared features."""
    search, Y = estimator.search_, estimator.scoring_.Y
    graph = search.query(X, k or estimator.scoring_.k or DEFAULT_NEIGHBORS)
    measure = "distance" if graph.metric == "euclidean" else "similarity"
    names: Sequence[str] | None = getattr(estimator, "row_names_", None)
    found = []
    for query in range(graph.n_queries):
        near = []
        for place, value in zip(
            graph.ids[query].tolist(), graph.values[query].tolist(), strict=True
        ):
            if place < 0:
                break
            labels = Y.indices[Y.indptr[place] : Y.indptr[place + 1]]
            near.append(
                {
                    "row_id": int(search.row_ids[place]),
                    "name": None if names is None else str(names[place]),
                    measure: value,
                    "labels": [estimator.label_names_[label] for label in labels],
                    "shared": shared_features(X[[query]], search.X[[place]], feature_names),
                }
            )
        found.append(near)
    return found


def shared_features(
    row: Features, other: Features, feature_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the features two rows have in common, largest share of their cosine first.

    The cosine splits into one share per feature f: x_f · y_f / (‖x‖ ‖y‖).

    Examples
    --------
    >>> row, other = np.array([[3.0, 4.0, 0.0]]), np.array([[0.0, 1.0, 2.0]])
    >>> [(part["feature"], round(part["share"], 4)) for part in shared_features(row, other, "abc")]
    [('b', 0.3578)]
    """
    x, y = sparse.csr_array(row), sparse.csr_array(other)
    both = sparse.csr_array(x.multiply(y))
    length = float(np.sqrt((x.data**2).sum() * (y.data**2).sum())) or 1.0
    order = np.argsort(-both.data, kind="stable")[:SHARED_WORDS]
    return [
        {"feature": feature_names[both.indices[entry]], "share": float(both.data[entry] / length)}
        for entry in order
        if both.data[entry] > 0 and both.indices[entry] < len(feature_names)
    ]


def explanations(
    estimator: NeighborEstimator,
    X: Features,
    labels: list[str] | None,
    top: int,
    feature_names: Sequence[str],
) -> list[dict[str, Any]]:
    """Return why each row gets its labels, as JSON can hold it."""
    found = estimator.explain(X, labels=labels, top=top, feature_names=feature_names)
    return [cast("dict[str, Any]", without_nan(explanation.to_dict())) for explanation in found]


def can_learn(estimator: NeighborEstimator) -> bool:
    """Tell whether the method learns rows without starting over."""
    return isinstance(estimator, IncrementalEstimator)


def learn(estimator: NeighborEstimator, X: Features, labels: list[list[str]]) -> None:
    """Add rows with the names of their labels."""
    if not isinstance(estimator, IncrementalEstimator):
        raise TypeError(f"{type(estimator).__name__} cannot learn incrementally")
    estimator.partial_fit(X, labels)


def forget(estimator: NeighborEstimator, row_ids: Sequence[int]) -> None:
    """Remove rows by id."""
    if not isinstance(estimator, IncrementalEstimator):
        raise TypeError(f"{type(estimator).__name__} cannot forget rows")
    estimator.forget(list(row_ids))


def row_ids(estimator: NeighborEstimator) -> Int:
    """Return the ids of the model's rows, in rising order."""
    return estimator.row_ids_


def next_row_id(estimator: NeighborEstimator) -> int:
    """Return the id that the next learned row gets."""
    return estimator.search_.n_ids


def label_counts(estimator: NeighborEstimator) -> dict[str, int]:
    """Return each label with the number of rows that carry it."""
    Y: Csr = estimator.scoring_.Y
    counts = np.bincount(Y.indices, minlength=len(estimator.label_names_))
    return dict(zip(estimator.label_names_, counts.tolist(), strict=True))


def example_words(
    estimator: NeighborEstimator, feature_names: Sequence[str], count: int
) -> list[dict[str, str]]:
    """Return a few training rows as texts made of their words, evenly spread over the rows."""
    X = estimator.search_.X
    names: Sequence[str] | None = getattr(estimator, "row_names_", None)
    shown = []
    for place in np.unique(np.linspace(0, X.shape[0] - 1, count + 2, dtype=np.int64)[1:-1]):
        words = sparse.csr_array(X[[place]]).indices
        text = " ".join(feature_names[word] for word in words[:60])
        title = f"row {place}" if names is None else names[place]
        shown.append({"title": f"words of {title}", "text": text})
    return shown


class HeldVersion(NamedTuple):
    """One whole version of a model; it does not change while a reader holds it."""

    estimator: NeighborEstimator
    number: int


class ServedModel:
    """A model with its version number, which can be read while it is changed.

    Readers never wait: they hold a snapshot that later changes do not affect. Changes are made one
    after the other.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted. Only this object may change it from now on.
    version : int
        Number of changes made to the model that was trained.
    """

    def __init__(self, model: Model, version: int = 0) -> None:
        self.reader = RowReader(model)
        # The reader orders columns by name, so that rows come without names; a snapshot keeps them.
        self._names = feature_names(model)
        self._model = model if self._names is None else with_feature_names(model, None)
        self._writing = threading.Lock()
        self._publish(version)

    @property
    def version(self) -> int:
        """The newest version number; a reader's own is in :meth:`reading`."""
        return self._current.number

    def _publish(self, version: int) -> None:
        """Let readers see the model as it is now, under a version number: one assignment."""
        self._current = HeldVersion(estimator_of(self._model).snapshot(), version)

    @contextmanager
    def reading(self) -> Iterator[HeldVersion]:
        """Hold one whole version."""
        yield self._current

    def learn(self, rows: Sequence[Row], version: int) -> None:
        """Learn rows, each with its ``labels``; the model then has the given version."""
        X = self.reader.features(rows)
        labels: list[list[Any]] = [list(row["labels"]) for row in rows]
        with self._writing:
            learn(estimator_of(self._model), X, labels)
            self._publish(version)

    def forget(self, row_ids: Sequence[int], version: int) -> None:
        """Forget rows; the model then has the given version."""
        with self._writing:
            forget(estimator_of(self._model), row_ids)
            self._publish(version)

    def skip(self, version: int) -> None:
        """Take a new version number without a change, for an event that has no effect."""
        with self._writing:
            self._publish(version)

    def save(self, path: Path, version: int) -> bool:
        """Save the model and its graph if it still has the given version; tell whether it had."""
        with self._writing:
            if self.version != version:
                return False
            write_graph(self._model, path)
            model = self._model
            save(model if self._names is None else with_feature_names(model, self._names), path)
            return True
