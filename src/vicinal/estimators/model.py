"""Saving and loading models: an estimator, or a pipeline of preprocessing and an estimator."""

import os
from typing import Literal

from sklearn.pipeline import Pipeline as SklearnPipeline

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.pipeline import Pipeline, SavedPipeline, save_pipeline
from vicinal.estimators.pipeline_steps import transformed
from vicinal.persistence import read_folder

Model = NeighborEstimator | SklearnPipeline


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Save a fitted model as a folder of plain arrays and a JSON manifest.

    Parameters
    ----------
    model : estimator of vicinal, or Pipeline that ends in one
        The other steps come from ``vicinal.preprocess`` or scikit-learn: ``CountVectorizer``,
        ``TfidfVectorizer``, ``TfidfTransformer``, ``StandardScaler``, ``MinMaxScaler``,
        ``MaxAbsScaler``, ``Normalizer``, ``OneHotEncoder``, ``TruncatedSVD``, ``FeatureUnion``,
        ``ColumnTransformer`` and pipelines of these.
    path : path
        A new folder, or an older model, which is replaced once the new one is complete.

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
    if not isinstance(model, SklearnPipeline):
        raise InvalidArgumentError(
            "model", "a vicinal estimator, or a Pipeline that ends in one", type(model).__name__
        )
    save_pipeline(model, path)


def load(
    path: str | os.PathLike[str], *, verify: bool = True, mmap: bool | Literal["auto"] = "auto"
) -> NeighborEstimator | Pipeline:
    """Load a model that :func:`save` wrote; its predictions are identical, bit for bit.

    A saved pipeline is loaded as a :class:`vicinal.Pipeline`.

    Parameters
    ----------
    path : path
    verify : bool
        Check every array against its checksum first.
    mmap : bool or "auto"
        Whether arrays of floating-point numbers are memory-mapped instead of read. "auto" reads
        models of less than 1 GiB into memory and maps larger ones.

    Notes
    -----
    A model that was read into memory no longer needs its files. The files of a memory-mapped model
    must not change while it is in use. :func:`save` writes new files, so it can safely replace the
    model, but overwriting the old files in place changes the predictions, and truncating them
    crashes the process with a bus error. Ids and row offsets are always read into memory, so that
    no change of a file makes the compiled core read outside its arrays.

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
        return part.pipeline()
    if not isinstance(part, NeighborEstimator):
        raise ModelFormatError(f"{path}: expected a model, got a {type(part).__name__}")
    return part


def prepared(model: Model, X: object) -> tuple[object, NeighborEstimator]:
    """Return `X` after a pipeline's preprocessing, and its estimator.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> from vicinal.preprocess import MinMax
    >>> model = Pipeline([("scale", MinMax()), ("estimator", BRkNN(1))])
    >>> prepared(model.fit([[0.0], [8.0]], [[1, 0], [0, 1]]), [[2.0]])
    (array([[0.25]]), BRkNN(n_neighbors=1))
    """
    rows = transformed(model, X) if isinstance(model, SklearnPipeline) else X
    return rows, estimator_of(model)


def estimator_of(model: Model) -> NeighborEstimator:
    """Return the last step of a pipeline, or the model itself if it is an estimator."""
    last: NeighborEstimator = model.steps[-1][1] if isinstance(model, SklearnPipeline) else model
    return last
