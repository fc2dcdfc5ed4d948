"""Saving and loading models: an estimator, or a pipeline of preprocessing and an estimator."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import Saveable, State, read_names, read_part
from vicinal.datasets import Reading
from vicinal.estimators.base import NeighborEstimator
from vicinal.persistence import read_folder, register, write_folder
from vicinal.persistence.sklearn_parts import as_part, restored

Model = NeighborEstimator | Pipeline


class NamedPipeline(Pipeline):
    """A pipeline that knows what the columns it learned from are called, and how they were read.

    ``columns_`` are the names of the features of a file, ``reading_`` how a table was read.
    """

    columns_: tuple[str, ...] | None = None
    reading_: Reading | None = None


@dataclass(frozen=True)
class SavedPipeline:
    """The steps of a pipeline, by name, the columns it learned from, and how they were read."""

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
        columns = None if state.get("columns") is None else read_names(state, "columns")
        n_features: int | None = getattr(restored(steps[0]), "n_features_in_", None)
        if columns is not None and len(columns) != n_features:
            raise ModelFormatError(f"columns: expected {n_features} names, got {len(columns)}")
        unread = state.get("reading") is None
        return cls(
            names, tuple(steps), columns, None if unread else read_part(state, "reading", Reading)
        )


register("estimators.Pipeline", SavedPipeline)


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Save a fitted model as a folder of plain arrays and a JSON manifest.

    Parameters
    ----------
    model : estimator of vicinal, or Pipeline that ends in one
        The steps before it are of ``vicinal.preprocess``, or of scikit-learn: ``CountVectorizer``,
        ``TfidfVectorizer``, ``TfidfTransformer``, ``StandardScaler``, ``MinMaxScaler``,
        ``MaxAbsScaler``, ``Normalizer``, ``OneHotEncoder``, ``TruncatedSVD``, ``FeatureUnion``,
        ``ColumnTransformer`` and pipelines of these.
    path : path
        A new folder, or an older model, which is replaced as a whole once the new one is complete.

    Examples
    --------
    >>> import os, tempfile
    >>> from vicinal import BRkNN
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(BRkNN(1).fit([[0.0], [1.0]], [[1, 0], [0, 1]]), f"{folder}/model")
    ...     sorted(os.listdir(f"{folder}/model"))[:2]
    ['manifest.json', 'model.X.npy']
    """
    if isinstance(model, NeighborEstimator):
        model.save(path)
        return
    if not isinstance(model, Pipeline):
        raise InvalidArgumentError("model", "a vicinal estimator or a Pipeline", repr(type(model)))
    check_is_fitted(model)
    if not isinstance(model.steps[-1][1], NeighborEstimator):
        last = repr(model.steps[-1][1])[:200]
        raise InvalidArgumentError("model", "a pipeline that ends in a vicinal estimator", last)
    steps = tuple(as_part(name, step) for name, step in model.steps if not is_passed(step))
    names = tuple(name for name, step in model.steps if not is_passed(step))
    columns, reading = getattr(model, "columns_", None), getattr(model, "reading_", None)
    write_folder(SavedPipeline(names, steps, columns, reading), path)


def is_passed(step: object) -> bool:
    """Tell whether a step of a pipeline does nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def named_pipeline(
    steps: list[tuple[str, Any]],
    columns: tuple[str, ...] | None,
    reading: Reading | None = None,
) -> NamedPipeline:
    """Return the pipeline of these steps that knows its columns and how they were read."""
    pipeline = NamedPipeline(steps)
    pipeline.columns_ = columns
    pipeline.reading_ = reading
    return pipeline


def load(path: str | os.PathLike[str], *, verify: bool = True) -> Model:
    """Load a model that :func:`save` wrote; it predicts the same, to the bit.

    Arrays are memory-mapped: what a prediction does not touch is not read, once `verify` is False.

    Parameters
    ----------
    path : path
    verify : bool
        Compare every array with its checksum first.

    Examples
    --------
    >>> import tempfile
    >>> from vicinal import BRkNN
    >>> model = BRkNN(1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model")
    ...     load(f"{folder}/model").predict([[0.9]])
    array([[0, 1]])
    """
    part = read_folder(path, verify=verify)
    if isinstance(part, SavedPipeline):
        steps = list(zip(part.names, map(restored, part.steps), strict=True))
        if part.columns is None and part.reading is None:
            return Pipeline(steps)
        return named_pipeline(steps, part.columns, part.reading)
    if not isinstance(part, NeighborEstimator):
        raise ModelFormatError(f"{path}: expected a model, got a {type(part).__name__}")
    return part


def prepared(model: Model, X: object) -> tuple[object, NeighborEstimator]:
    """Return `X` after a pipeline's preprocessing, and the estimator at its end.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> from vicinal.preprocess import MinMax
    >>> model = Pipeline([("scale", MinMax()), ("estimator", BRkNN(1))])
    >>> prepared(model.fit([[0.0], [8.0]], [[1, 0], [0, 1]]), [[2.0]])
    (array([[0.25]]), BRkNN(n_neighbors=1))
    """
    if isinstance(model, NeighborEstimator):
        return X, model
    for _, step in model.steps[:-1]:
        if not is_passed(step):
            X = step.transform(X)
    return X, model.steps[-1][1]


def estimator_of(model: Model) -> NeighborEstimator:
    """Return the estimator at the end of a pipeline, or the model itself."""
    if isinstance(model, NeighborEstimator):
        return model
    last: NeighborEstimator = model.steps[-1][1]
    return last
