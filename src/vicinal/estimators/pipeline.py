"""A pipeline that offers every method of its last step, and its saved form."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.pipeline import make_pipeline as sklearn_make_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from vicinal._base.arrays import Float, Int, Int32
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import Saveable, State, read_names, read_part
from vicinal.datasets import Reading
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.explained_models import explain
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.pipeline_steps import is_passthrough, transformed
from vicinal.explain import Explanations
from vicinal.graph import NeighborGraph
from vicinal.persistence import register, write_folder
from vicinal.persistence.sklearn_parts import as_part, restored
from vicinal.scores import Scores


def _last_has(name: str) -> Callable[[SklearnPipeline], bool]:
    """Return a check that the last step has a method, which raises its error if it has not."""

    def check(pipeline: SklearnPipeline) -> bool:
        getattr(pipeline.steps[-1][1], name)
        return True

    return check


class Pipeline(SklearnPipeline):
    """scikit-learn's ``Pipeline`` with all methods of the estimator that is its last step.

    ``predict_names``, ``rank``, ``scores``, ``neighbor_graph``, ``kneighbors``, ``partial_fit``,
    ``forget``, ``explain`` and so on preprocess the rows and call the last step. The pipeline has
    each of these methods if the last step has it.

    Parameters
    ----------
    steps : list of (str, object)
        Transformers, then an estimator, each with a name.
    transform_input, memory, verbose
        See scikit-learn.

    Attributes
    ----------
    columns_ : tuple of str or None
        Column names of the file that the model was trained on, if the data came from a file.
    reading_ : Reading or None
        How the training table was read, if the data came from a table.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> from vicinal.preprocess import TextVectorizer
    >>> model = make_pipeline(TextVectorizer(), BRkNN(n_neighbors=1, metric="cosine"))
    >>> model = model.fit(["red apple", "green pear"], [["apple"], ["pear"]])
    >>> model.predict_names(["an apple"])
    [['apple']]
    >>> model.partial_fit(["green apple"], [["apple", "sour"]]).predict_names(["a green apple"])
    [['apple', 'sour']]
    """

    columns_: tuple[str, ...] | None = None
    reading_: Reading | None = None

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps one after the other, then the estimator.

        Keyword arguments with ``__`` go to the step they name, as in scikit-learn; others
        (``label_names``, ``graph``) go to the estimator.
        """
        last = self.steps[-1][0]
        routed = {key if "__" in key else f"{last}__{key}": value for key, value in params.items()}
        return super().fit(X, y, **routed)

    @property
    def label_names_(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self._estimator.label_names_

    @property
    def row_ids_(self) -> Int:
        """The id of each training row, in increasing order."""
        return self._estimator.row_ids_

    @available_if(_last_has("predict_names"))
    def predict_names(self, X: Any, *, graph: NeighborGraph | None = None) -> list[list[str]]:
        """Return the names of the labels predicted for each row."""
        return self._last.predict_names(transformed(self, X), graph=graph)

    @available_if(_last_has("predict_blocks"))
    def predict_blocks(self, X_blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield the label indicators of blocks of rows, one after the other."""
        return self._last.predict_blocks(transformed(self, X) for X in X_blocks)

    @available_if(_last_has("recalibrate"))
    def recalibrate(self) -> Self:
        """Refit the threshold on the current rows."""
        self._last.recalibrate()
        return self

    @available_if(_last_has("scores"))
    def scores(self, X: Any, *, graph: NeighborGraph | None = None) -> Scores:
        """Return the scores of every row and label."""
        return self._last.scores(transformed(self, X), graph=graph)

    @available_if(_last_has("rank"))
    def rank(
        self, X: Any, top: int = 5, *, graph: NeighborGraph | None = None
    ) -> tuple[Int32, Float]:
        """Return the `top` best labels of each row and their scores, best first."""
        return self._last.rank(transformed(self, X), top, graph=graph)

    @available_if(_last_has("neighbor_graph"))
    def neighbor_graph(self, X: Any, k: int | None = None) -> NeighborGraph:
        """Return the `k` nearest training rows of each row."""
        return self._last.neighbor_graph(transformed(self, X), k)

    @available_if(_last_has("kneighbors"))
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[Float, Int32] | Int32:
        """Return distances and ids of the nearest training rows, as scikit-learn does."""
        rows = None if X is None else transformed(self, X)
        return self._last.kneighbors(rows, n_neighbors, return_distance)

    @available_if(_last_has("explain"))
    def explain(
        self, X: Any, labels: Sequence[str | int] | None = None, top: int = 5, **options: Any
    ) -> Explanations:
        """Explain why each row gets its labels (see :func:`vicinal.estimators.explain`)."""
        return explain(self, X, labels, top, **options)

    @available_if(_last_has("partial_fit"))
    def partial_fit(
        self,
        X: Any,
        Y: Any,
        classes: object = None,
        *,
        label_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn further rows; the first call fits the whole pipeline.

        Later calls do not change the preprocessing steps, so that the rows learned before keep
        their features. Refit the pipeline when the scale or vocabulary of the data has changed.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y, label_names=label_names, row_names=row_names)
        rows = transformed(self, X)
        self._last.partial_fit(rows, Y, classes, label_names=label_names, row_names=row_names)
        return self

    @available_if(_last_has("forget"))
    def forget(self, rows: object) -> Self:
        """Forget training rows by id (``row_ids_``)."""
        self._last.forget(rows)
        return self

    @available_if(_last_has("compact"))
    def compact(self) -> Self:
        """Release the memory that the index still holds for forgotten rows."""
        self._last.compact()
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted pipeline as a folder; :func:`vicinal.load` reads it."""
        save_pipeline(self, path)

    @property
    def _estimator(self) -> IncrementalEstimator:
        """The last step; ``available_if`` checks that it has a method."""
        return cast("IncrementalEstimator", self.steps[-1][1])

    @property
    def _last(self) -> IncrementalEstimator:
        """The last step, which must be fitted."""
        check_is_fitted(self)
        return self._estimator


def make_pipeline(*steps: Any, **options: Any) -> Pipeline:
    """Return a :class:`Pipeline` of these steps, named after their classes.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> from vicinal.preprocess import MinMax
    >>> [name for name, _ in make_pipeline(MinMax(), BRkNN()).steps]
    ['minmax', 'brknn']
    """
    return Pipeline(sklearn_make_pipeline(*steps).steps, **options)


@dataclass(frozen=True)
class SavedPipeline:
    """A pipeline as it is saved: its named steps, training columns and how they were read."""

    names: tuple[str, ...]
    steps: tuple[Saveable, ...]
    columns: tuple[str, ...] | None = None
    reading: Reading | None = None

    def get_state(self) -> dict[str, State]:
        """Return names, steps, columns and reading."""
        columns: State = None if self.columns is None else list(self.columns)
        return {
            "names": list(self.names),
            "steps": list(self.steps),
            "columns": columns,
            "reading": self.reading,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        steps = [step for step in read_part(state, "steps", list) if isinstance(step, Saveable)]
        names = read_names(state, "names")
        if len(steps) != len(names) or not names or not isinstance(steps[-1], NeighborEstimator):
            raise ModelFormatError("expected the steps of a pipeline that ends in an estimator")
        if not all(hasattr(restored(step), "transform") for step in steps[:-1]):
            raise ModelFormatError("expected steps that transform rows before the estimator")
        columns = None if state.get("columns") is None else read_names(state, "columns")
        n_features: int | None = getattr(restored(steps[0]), "n_features_in_", None)
        if columns is not None and len(columns) != n_features:
            raise ModelFormatError(f"columns: expected {n_features} names, got {len(columns)}")
        unread = state.get("reading") is None
        reading = None if unread else read_part(state, "reading", Reading)
        return cls(names, tuple(steps), columns, reading)

    def pipeline(self) -> Pipeline:
        """Return the pipeline."""
        steps = list(zip(self.names, map(restored, self.steps), strict=True))
        return named_pipeline(steps, self.columns, self.reading)


register("estimators.Pipeline", SavedPipeline)


def save_pipeline(model: SklearnPipeline, path: str | os.PathLike[str]) -> None:
    """Save a fitted pipeline (of scikit-learn or vicinal) whose steps can all be saved."""
    check_is_fitted(model)
    if not isinstance(model.steps[-1][1], NeighborEstimator):
        last = repr(model.steps[-1][1])[:200]
        raise InvalidArgumentError("model", "a pipeline that ends in a vicinal estimator", last)
    kept = [(name, step) for name, step in model.steps if not is_passthrough(step)]
    columns, reading = getattr(model, "columns_", None), getattr(model, "reading_", None)
    names, parts = [name for name, _ in kept], [as_part(name, step) for name, step in kept]
    write_folder(SavedPipeline(tuple(names), tuple(parts), columns, reading), path)


def named_pipeline(
    steps: list[tuple[str, Any]],
    columns: tuple[str, ...] | None,
    reading: Reading | None = None,
) -> Pipeline:
    """Return a pipeline of these steps with its columns and how they were read."""
    pipeline = Pipeline(steps)
    pipeline.columns_ = columns
    pipeline.reading_ = reading
    return pipeline
