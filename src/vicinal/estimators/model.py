"""Saving and loading models: an estimator, or a pipeline of preprocessing and an estimator."""

import os
from typing import Literal

from sklearn.pipeline import Pipeline as SklearnPipeline

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.pipeline import Pipeline, SavedPipeline, is_passed, save_pipeline
from vicinal.persistence import read_folder

Model = NeighborEstimator | SklearnPipeline


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
    if not isinstance(model, SklearnPipeline):
        raise InvalidArgumentError("model", "a vicinal estimator or a Pipeline", repr(type(model)))
    save_pipeline(model, path)


def load(
    path: str | os.PathLike[str], *, verify: bool = True, mmap: bool | Literal["auto"] = "auto"
) -> NeighborEstimator | Pipeline:
    """Load a model that :func:`save` wrote; it predicts the same, to the bit.

    A saved pipeline comes back as a :class:`vicinal.Pipeline`.

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
        return part.pipeline()
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
    for _, step in model.steps[:-1] if isinstance(model, SklearnPipeline) else ():
        if not is_passed(step):
            X = step.transform(X)
    return X, estimator_of(model)


def estimator_of(model: Model) -> NeighborEstimator:
    """Return the estimator at the end of a pipeline, or the model itself."""
    last: NeighborEstimator = model.steps[-1][1] if isinstance(model, SklearnPipeline) else model
    return last
