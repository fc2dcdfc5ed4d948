"""Saving and loading models: an estimator, or a pipeline of preprocessing and an estimator."""

import os

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


def load(path: str | os.PathLike[str], *, verify: bool = True) -> NeighborEstimator | Pipeline:
    """Load a model that :func:`save` wrote; it predicts the same, to the bit.

    A saved pipeline comes back as a :class:`vicinal.Pipeline`.

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
