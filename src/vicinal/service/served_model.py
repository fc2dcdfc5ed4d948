"""A model that answers requests while it learns: each request sees one whole version."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vicinal.estimators import NeighborEstimator, save
from vicinal.estimators.column_names import feature_names, with_feature_names
from vicinal.estimators.model import Model, estimator_of
from vicinal.service import model_access
from vicinal.service.rows import Row, RowReader
from vicinal.service.saved_graph import write_graph


class Version(NamedTuple):
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
        self._current = Version(estimator_of(self._model).snapshot(), version)

    @contextmanager
    def reading(self) -> Iterator[Version]:
        """Hold one whole version."""
        yield self._current

    def learn(self, rows: Sequence[Row], version: int) -> None:
        """Learn rows, each with its ``labels``; the model then has the given version."""
        X = self.reader.features(rows)
        labels: list[list[Any]] = [list(row["labels"]) for row in rows]
        with self._writing:
            model_access.learn(estimator_of(self._model), X, labels)
            self._publish(version)

    def forget(self, row_ids: Sequence[int], version: int) -> None:
        """Forget rows; the model then has the given version."""
        with self._writing:
            model_access.forget(estimator_of(self._model), row_ids)
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
