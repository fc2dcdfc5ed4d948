"""Explanations of any model: an estimator, or a pipeline that reads numbers or texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline as SklearnPipeline

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.explaining import explain_rows
from vicinal.estimators.feature_names import FeatureNames
from vicinal.estimators.pipeline_steps import transformed, transformers
from vicinal.estimators.row_names import check_row_names
from vicinal.estimators.row_sources import TextRows
from vicinal.explain import Explanations
from vicinal.preprocess import TextVectorizer
from vicinal.preprocess._documents import read_documents


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
    X : rows as the model accepts them
        Texts if the pipeline begins with a :class:`~vicinal.preprocess.TextVectorizer`: the
        explanation then shows which words each feature came from.
    labels, top, what_if, row_names
        See :meth:`vicinal.MLkNN.explain`. A feature of a text is removed by deleting its words from
        the text.
    row_texts : sequence or mapping of str, optional
        Texts of the training rows, in their order or by row id, to show beside the explained text.

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
            source = TextRows(X, steps[0], lambda texts: _prepared(pipeline, texts))
    return explain_rows(
        estimator,
        _prepared(pipeline, X),
        labels,
        top,
        what_if,
        row_names,
        _names_after(pipeline),
        source,
        _texts_by_id(row_texts, estimator.search_.n_ids, source),
    )


def _prepared(model: SklearnPipeline, X: object) -> Features:
    """Return rows after a pipeline's preprocessing, validated by its estimator."""
    estimator: NeighborEstimator = model.steps[-1][1]
    return estimator._read_new_X(transformed(model, X))


def _names_after(model: SklearnPipeline) -> FeatureNames:
    """Return the names of the features that a pipeline passes to its estimator, if known."""
    names: Any = getattr(model, "columns_", None)
    for step in transformers(model):
        if isinstance(step, OneToOneFeatureMixin):
            names = getattr(step, "feature_names_in_", None) if names is None else names
        elif hasattr(step, "get_feature_names_out"):
            names = step.get_feature_names_out()
        else:
            names = None
    if names is None:
        names = getattr(model.steps[-1][1], "feature_names_in_", None)
    return FeatureNames(names)


def _texts_by_id(texts: object, n_ids: int, source: TextRows | None) -> Mapping[int, str] | None:
    """Return the texts of training rows by row id."""
    if texts is None:
        return None
    if source is None:
        raise InvalidArgumentError("row_texts", "a model that reads texts", "one of numbers")
    if isinstance(texts, Mapping):
        for row, text in texts.items():
            if not isinstance(text, str):
                raise InvalidArgumentError("row_texts", "strings", f"{text!r} for row {row}")
        return texts
    return dict(enumerate(check_row_names(texts, n_ids, "row_texts")))
