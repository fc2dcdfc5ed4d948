"""Saving and loading models: an estimator, or a pipeline of preprocessing and an estimator."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import Saveable, State, read_names, read_part
from vicinal.estimators.base import NeighborEstimator
from vicinal.persistence import read_folder, register, write_folder

Model = NeighborEstimator | Pipeline


class NamedPipeline(Pipeline):
    """A pipeline that knows what the columns it learned from are called: those of a file."""

    columns_: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SavedPipeline:
    """The steps of a scikit-learn ``Pipeline``, by name, and the columns it learned from."""

    names: tuple[str, ...]
    steps: tuple[Saveable, ...]
    columns: tuple[str, ...] | None = None

    def get_state(self) -> dict[str, State]:
        """Return names, steps and columns."""
        columns: State = None if self.columns is None else list(self.columns)
        return {"names": list(self.names), "steps": list(self.steps), "columns": columns}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        steps = [step for step in read_part(state, "steps", list) if isinstance(step, Saveable)]
        names = read_names(state, "names")
        if len(steps) != len(names) or not names or not isinstance(steps[-1], NeighborEstimator):
            raise ModelFormatError("expected the steps of a pipeline that ends in an estimator")
        if not all(hasattr(step, "transform") for step in steps[:-1]):
            raise ModelFormatError("expected steps that transform rows before the estimator")
        columns = None if state.get("columns") is None else read_names(state, "columns")
        n_features: int | None = getattr(steps[0], "n_features_in_", None)
        if columns is not None and len(columns) != n_features:
            raise ModelFormatError(f"columns: expected {n_features} names, got {len(columns)}")
        return cls(names, tuple(steps), columns)


register("estimators.Pipeline", SavedPipeline)


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Save a fitted model as a folder of plain arrays and a JSON manifest.

    Parameters
    ----------
    model : estimator of vicinal, or Pipeline of ``vicinal.preprocess`` steps that ends in one
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
    for name, step in model.steps:
        if not isinstance(step, Saveable):
            raise InvalidArgumentError(
                "model", "steps of vicinal.preprocess and an estimator", f"{name}: {step!r}"
            )
    names, steps = zip(*model.steps, strict=True)
    write_folder(SavedPipeline(names, steps, getattr(model, "columns_", None)), path)


def named_pipeline(steps: list[tuple[str, Any]], columns: tuple[str, ...] | None) -> NamedPipeline:
    """Return the pipeline of these steps that knows its columns."""
    pipeline = NamedPipeline(steps)
    pipeline.columns_ = columns
    return pipeline


def load(
    path: str | os.PathLike[str], *, verify: bool = True, mmap: bool | Literal["auto"] = "auto"
) -> Model:
    """Load a model that :func:`save` wrote; it predicts the same, to the bit.

    Parameters
    ----------
    path : path
    verify : bool
        Compare every array with its checksum first.
    mmap : bool or "auto"
        Whether arrays of floating-point numbers are memory-mapped instead of read. "auto" reads
        models of less than 1 GiB into memory and maps larger ones.

    Notes
    -----
    A model in memory no longer needs its files. Those of a mapped one must stay as they are while
    the model is in use: :func:`save` replaces a model without touching them, but a program that
    overwrites them in place changes the numbers that the model predicts from, and one that cuts
    them short ends the process with a bus error. Ids and row starts are read into memory in any
    case, so that no change of a file makes the compiled core read outside its arrays.

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
    part = read_folder(path, verify=verify, mmap=mmap)
    if isinstance(part, SavedPipeline):
        steps = list(zip(part.names, part.steps, strict=True))
        return Pipeline(steps) if part.columns is None else named_pipeline(steps, part.columns)
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
        X = step.transform(X)
    return X, model.steps[-1][1]


def estimator_of(model: Model) -> NeighborEstimator:
    """Return the estimator at the end of a pipeline, or the model itself."""
    if isinstance(model, NeighborEstimator):
        return model
    last: NeighborEstimator = model.steps[-1][1]
    return last
