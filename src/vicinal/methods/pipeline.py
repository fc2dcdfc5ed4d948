"""A pipeline that offers every method of its last step, and its saved form.

A model that was fitted on a data frame compares the names of each frame it is given, and
scikit-learn warns where an array has none. Whoever has put the columns in the model's order already
removes the names first, so that users are not warned of an order that was checked.
"""

import copy
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.pipeline import make_pipeline as sklearn_make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Features, Float, Int, Int32
from vicinal._core.state import Saveable, State, read_names, read_part
from vicinal.datasets import Reading
from vicinal.datasets.vocabulary import Vocabulary
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation import Explanations
from vicinal.graph import NeighborGraph
from vicinal.methods.base import NeighborEstimator
from vicinal.methods.explaining import explain_rows
from vicinal.methods.feature_views import BesideVectors, as_vectors
from vicinal.methods.fitted_state import check_row_names, index_names
from vicinal.methods.incremental import IncrementalEstimator
from vicinal.methods.what_if import FeatureNames, TextRows
from vicinal.persistence import read_model, register, write_model
from vicinal.persistence.sklearn_steps import as_part, restored
from vicinal.preprocess import TextVectorizer
from vicinal.preprocess.text import read_documents
from vicinal.scores import Scores


def is_passthrough(step: object) -> bool:
    """Tell whether a step of a pipeline leaves rows unchanged."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def transformers(pipeline: SklearnPipeline) -> list[Any]:
    """Return the steps before the estimator that change rows."""
    return [step for _, step in pipeline.steps[:-1] if not is_passthrough(step)]


def transformed(pipeline: SklearnPipeline, X: object) -> object:
    """Return rows as a fitted pipeline passes them to its estimator."""
    for step in transformers(pipeline):
        X = step.transform(X)
    return X


def explain(
    model: NeighborEstimator | SklearnPipeline,
    X: object,
    labels: Sequence[str | int] | None = None,
    top: int = 5,
    *,
    what_if: bool = False,
    row_names: Sequence[str] | None = None,
    row_texts: Sequence[str] | Mapping[int, str] | None = None,
) -> Explanations:
    """Explain why each row gets its labels, for an estimator or a pipeline that ends in one.

    Parameters
    ----------
    model : estimator of vicinal, or Pipeline that ends in one
        The fitted model.
    X : rows as the model accepts them
        Texts if the pipeline begins with a :class:`~vicinal.preprocess.TextVectorizer`: the
        explanation then shows which words each feature came from.
    labels, top, what_if, row_names
        See :meth:`vicinal.MLkNN.explain`. A feature of a text is removed by deleting its words from
        the text.
    row_texts : sequence or mapping of str, optional
        Texts of the training rows, in their order or by row id, to show next to the explained text.

    Examples
    --------
    >>> from vicinal import InstanceKNN
    >>> texts = ["buy milk and bread", "buy a bike", "ride a bike to work"]
    >>> model = SklearnPipeline([("words", TextVectorizer()), ("estimator", InstanceKNN(2))])
    >>> model = model.fit(texts, [["shop"], ["shop", "sport"], ["sport"]])
    >>> (why,) = explain(model, ["milk and a bike"], row_texts=texts)
    >>> [part.name for part in why["sport"].highlights]
    ['a', 'bike']
    >>> why.neighbors[0].text
    'buy a bike'
    """
    pipeline = (
        model if isinstance(model, SklearnPipeline) else SklearnPipeline([("estimator", model)])
    )
    estimator = pipeline.steps[-1][1]
    if not isinstance(estimator, NeighborEstimator):
        expected = "a vicinal estimator, or a pipeline that ends in one"
        raise InvalidArgumentError("model", expected, estimator)
    source: TextRows | None = None
    steps = transformers(pipeline)
    if steps and isinstance(steps[0], TextVectorizer):
        X = read_documents(X)
        if all(isinstance(step, OneToOneFeatureMixin) for step in steps[1:]):
            source = TextRows(X, steps[0], lambda _, texts: _prepared(pipeline, texts))
    elif steps and isinstance(steps[0], BesideVectors):
        source = _texts_beside_vectors(pipeline, steps[0], cast("Mapping[str, Any]", X))
    return explain_rows(
        estimator._to_explain(),
        _prepared(pipeline, X),
        labels,
        top,
        what_if,
        row_names,
        names_after(pipeline),
        source,
        _texts_by_id(row_texts, estimator.search_.n_ids, source),
    )


def _prepared(model: SklearnPipeline, X: object) -> Features:
    """Return rows after a pipeline's preprocessing, validated by its estimator."""
    estimator: NeighborEstimator = model.steps[-1][1]
    return estimator._read_new_X(transformed(model, X))


def _texts_beside_vectors(
    pipeline: SklearnPipeline, step: BesideVectors, X: Mapping[str, Any]
) -> TextRows | None:
    """Return the texts of rows with vectors, which stay as they are; None for other rows."""
    inner = [each for _, each in step.steps_]
    if not inner or not isinstance(inner[0], TextVectorizer):
        return None
    if not all(isinstance(each, OneToOneFeatureMixin) for each in inner[1:]):
        return None
    vectors = as_vectors(X["vectors"])

    def prepare(row: int, texts: list[str]) -> Features:
        same = np.repeat(vectors[row : row + 1], len(texts), axis=0)
        return _prepared(pipeline, {"rows": texts, "vectors": same})

    return TextRows(read_documents(X["rows"]), inner[0], prepare)


def names_after(model: NeighborEstimator | SklearnPipeline) -> FeatureNames:
    """Return the names of the features that a model passes to its estimator, if known."""
    names: Any = getattr(model, "columns_", None)
    reading: Reading | None = getattr(model, "reading_", None)
    for step in transformers(model) if isinstance(model, SklearnPipeline) else ():
        if isinstance(step, OneToOneFeatureMixin):
            names = getattr(step, "feature_names_in_", None) if names is None else names
        elif reading is not None and isinstance(step, (ColumnTransformer, BesideVectors)):
            # Without the name of the step in front, as in numbers__price.
            prefixed = map(str, step.get_feature_names_out(reading.inputs))
            names = [name.partition("__")[2] or name for name in prefixed]
        elif hasattr(step, "get_feature_names_out"):
            names = step.get_feature_names_out()
        else:
            names = None
    if names is None:
        names = estimator_of(model)._feature_names()
    return FeatureNames(names)


def _texts_by_id(texts: object, n_ids: int, source: TextRows | None) -> Mapping[int, str] | None:
    """Return the texts of training rows by row id."""
    if texts is None:
        return None
    if source is None:
        raise InvalidArgumentError("row_texts", "None: the model reads no texts", "texts")
    if isinstance(texts, Mapping):
        for row, text in texts.items():
            if not isinstance(text, str):
                raise InvalidArgumentError("row_texts", "strings", f"{text!r} for row {row}")
        return texts
    return dict(enumerate(check_row_names(texts, n_ids, "row_texts")))


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
    label_vocabulary_ : Vocabulary or None
        The names of labels that are identifiers, if the model has a vocabulary.

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
    label_vocabulary_: Vocabulary | None = None

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps one after the other, then the estimator.

        Keyword arguments with ``__`` go to the step they name, as in scikit-learn; others
        (``label_names``, ``graph``) go to the estimator.
        """
        last = self.steps[-1][0]
        names = index_names(X)
        if names is not None and isinstance(self.steps[-1][1], NeighborEstimator):
            params.setdefault("row_names", names)
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
        """Explain why each row gets its labels (see :func:`vicinal.methods.explain`)."""
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

    def save(self, path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> None:
        """Save the fitted pipeline as one file; see :func:`vicinal.save`."""
        save_pipeline(self, path, trusted)

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
    vocabulary: Vocabulary | None = None

    def get_state(self) -> dict[str, State]:
        """Return names, steps, columns, reading and vocabulary."""
        columns: State = None if self.columns is None else list(self.columns)
        return {
            "names": list(self.names),
            "steps": list(self.steps),
            "columns": columns,
            "reading": self.reading,
            **({} if self.vocabulary is None else {"vocabulary": self.vocabulary}),
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
        first = restored(steps[0])
        first = first.first if isinstance(first, BesideVectors) and first.steps_ else first
        n_features: int | None = getattr(first, "n_features_in_", None)
        if columns is not None and len(columns) != n_features:
            raise ModelFormatError(f"columns: expected {n_features} names, got {len(columns)}")
        unread = state.get("reading") is None
        reading = None if unread else read_part(state, "reading", Reading)
        named = state.get("vocabulary") is not None
        vocabulary = read_part(state, "vocabulary", Vocabulary) if named else None
        return cls(names, tuple(steps), columns, reading, vocabulary)

    def pipeline(self) -> Pipeline:
        """Return the pipeline."""
        steps = list(zip(self.names, map(restored, self.steps), strict=True))
        return named_pipeline(steps, self.columns, self.reading, self.vocabulary)


register("methods.Pipeline", SavedPipeline)


def save_pipeline(
    model: SklearnPipeline, path: str | os.PathLike[str], trusted: Collection[str] = ()
) -> None:
    """Save a fitted pipeline (of scikit-learn or vicinal) whose steps can all be saved."""
    check_is_fitted(model)
    if not isinstance(model.steps[-1][1], NeighborEstimator):
        last = repr(model.steps[-1][1])[:200]
        raise InvalidArgumentError("model", "a pipeline that ends in a vicinal estimator", last)
    kept = [(name, step) for name, step in model.steps if not is_passthrough(step)]
    columns, reading = getattr(model, "columns_", None), getattr(model, "reading_", None)
    names, parts = [name for name, _ in kept], [as_part(name, step, trusted) for name, step in kept]
    vocabulary = getattr(model, "label_vocabulary_", None)
    saved = SavedPipeline(tuple(names), tuple(parts), columns, reading, vocabulary)
    write_model(saved, path)


def named_pipeline(
    steps: list[tuple[str, Any]],
    columns: tuple[str, ...] | None,
    reading: Reading | None = None,
    vocabulary: Vocabulary | None = None,
) -> Pipeline:
    """Return a pipeline with its columns, how they were read, and the names of its labels."""
    pipeline = Pipeline(steps)
    pipeline.columns_ = columns
    pipeline.reading_ = reading
    pipeline.label_vocabulary_ = vocabulary
    return pipeline


Model = NeighborEstimator | SklearnPipeline


def save(model: Model, path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> None:
    """Save a fitted model as one file of plain arrays with a JSON header; nothing is pickled.

    The file has the layout of safetensors. It is written next to `path` and renamed. Other
    programs see the old model or the new one, never a part of it.

    Parameters
    ----------
    model : estimator of vicinal, or Pipeline that ends in one
        The other steps are transformers of vicinal or of scikit-learn, which skops writes:
        vectorizers, scalers, encoders, imputers, decompositions, feature selection,
        ``FeatureUnion``, ``ColumnTransformer``, pipelines of these and so on.
    path : path
        A new file, or an older model, which is replaced once the new one is complete.
    trusted : collection of str
        Full names of further types and functions that steps may contain, such as
        ``"numpy.log1p"``. :func:`load` needs the same names.

    Examples
    --------
    >>> import os, tempfile
    >>> from vicinal import BRkNN
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(BRkNN(1).fit([[0.0], [1.0]], [[1, 0], [0, 1]]), f"{folder}/model.vicinal")
    ...     os.listdir(folder)
    ['model.vicinal']
    """
    if isinstance(model, NeighborEstimator):
        model.save(path)
        return
    if not isinstance(model, SklearnPipeline):
        raise InvalidArgumentError(
            "model", "a vicinal estimator, or a Pipeline that ends in one", type(model).__name__
        )
    save_pipeline(model, path, trusted)


def load(
    path: str | os.PathLike[str],
    *,
    verify: bool = True,
    mmap: bool | Literal["auto"] = "auto",
    trusted: Collection[str] = (),
) -> NeighborEstimator | Pipeline:
    """Load a model that :func:`save` wrote; its predictions are identical.

    A saved pipeline is loaded as a :class:`vicinal.Pipeline`.

    Parameters
    ----------
    path : path
        The file.
    verify : bool
        Check every array against its checksum first, which reads the whole file once. The header
        is always checked.
    mmap : bool or "auto"
        Whether arrays of floating-point numbers are memory-mapped instead of read. "auto" reads
        models of less than 1 GiB into memory and maps larger ones (on Windows it maps none,
        because a mapped file cannot be replaced there).
    trusted : collection of str
        Full names of types and functions, besides scikit-learn's own transformers, that steps of a
        pipeline may contain. Trust only what you know: their code runs with the values in the file.

    Notes
    -----
    A model that was read into memory no longer needs its file. The file of a memory-mapped model
    must not change while it is in use. :func:`save` writes a new file, so it can safely replace the
    model, but overwriting the old file in place changes the predictions, and truncating it
    crashes the process with a bus error. Ids and row offsets are always read into memory, so
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
    part = read_model(path, verify=verify, mmap=mmap, trusted=trusted)
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


def column_names(model: Model) -> tuple[str, ...] | None:
    """Return the names of the columns of numbers that a model expects, if it knows them."""
    columns: tuple[str, ...] | None = getattr(model, "columns_", None)
    names = feature_names(model)
    return columns if columns is not None or names is None else tuple(map(str, names))


def feature_names(model: Model) -> Any:
    """Return ``feature_names_in_`` of the first step that takes rows of numbers; None without."""
    first = _first(model)
    # The columns of a frame that these two divide may hold texts or categories.
    if isinstance(first, ColumnTransformer | OneHotEncoder):
        return None
    return vars(first).get("feature_names_in_")


def with_feature_names(model: Model, names: Any) -> Model:
    """Return a shallow copy of a model whose first step has these names; without any if None."""
    first = _first(model)
    changed = first.snapshot() if isinstance(first, NeighborEstimator) else copy.copy(first)
    vars(changed).pop("feature_names_in_", None)
    if names is not None:
        changed.feature_names_in_ = names
    if not isinstance(model, SklearnPipeline):
        renamed: Model = changed
        return renamed
    whole = copy.copy(model)
    whole.steps = [(name, changed if step is first else step) for name, step in model.steps]
    return whole


def ordered_by_name(model: Model) -> Model:
    """Return a model for rows whose columns were put in the order of its ``columns_``."""
    if feature_names(model) is None:
        return model
    nameless = with_feature_names(model, None)
    steps = nameless.steps if isinstance(nameless, SklearnPipeline) else [("estimator", nameless)]
    if not isinstance(model, Pipeline):
        return named_pipeline(steps, column_names(model))
    return named_pipeline(steps, column_names(model), model.reading_, model.label_vocabulary_)


def _first(model: Model) -> Any:
    """Return the first step that does not leave rows as they are; an estimator itself."""
    if not isinstance(model, SklearnPipeline):
        return model
    return next(step for _, step in model.steps if not is_passthrough(step))
