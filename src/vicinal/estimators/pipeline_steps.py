"""The preprocessing steps of a pipeline."""

from typing import Any

from sklearn.pipeline import Pipeline as SklearnPipeline


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
