"""Score the rows of a source with a saved model; shared by ``evaluate`` and ``predict``."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from scipy import sparse
from sklearn.pipeline import Pipeline

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import part, shown
from vicinal.cli.source import Source
from vicinal.estimators import NeighborEstimator, prepared
from vicinal.estimators.model import Model, estimator_of
from vicinal.estimators.pipeline import named_pipeline
from vicinal.preprocess import MinMax
from vicinal.scores import Scores

BLOCK_ROWS = 4096
"""Rows that ``vicinal predict`` reads, scores and writes at a time."""


def score(model: Model, source: Source) -> tuple[NeighborEstimator, Scores]:
    """Return the estimator of a model and its scores for a source's rows."""
    with shown(), part(f"Predicting {source.n_rows:,} rows"):
        X, estimator = prepared(model, rows_for(model, source))
        return estimator, estimator.scores(X)


def score_blocks(model: Model, source: Source) -> Iterator[tuple[int, Scores]]:
    """Yield the scores of a source's rows in blocks, each with the number of its first row.

    Memory: one block.
    """
    rows: Any = rows_for(model, source)
    estimator = estimator_of(model).snapshot()
    for start in range(0, max(source.n_rows, 1), BLOCK_ROWS):
        X, _ = prepared(model, rows[start : start + BLOCK_ROWS])
        yield start, estimator.scores(X)


def save_named(model: Model, source: Source, path: Path) -> None:
    """Save a model with the names of its training columns, if they have names."""
    steps = model.steps if isinstance(model, Pipeline) else [("estimator", model)]
    named_pipeline(steps, source.columns, source.reading).save(path)


def rows_for(model: Model, source: Source) -> object:
    """Return the rows of a source with the columns of a model, matched by name."""
    X = source.X
    columns: tuple[str, ...] | None = getattr(model, "columns_", None)
    if columns is not None and source.columns is not None:
        X = in_order(cast("Any", X), source.columns, columns, estimator_of(model).label_names_)
    if sparse.issparse(X) and isinstance(model, Pipeline):
        scale = model.steps[0][1]
        # A file of few rows may look sparse although the training data did not.
        if isinstance(scale, MinMax) and not scale.keeps_zeros:
            return cast("Any", X).toarray()
    return X


def in_order(
    X: Features, names: Sequence[str], wanted: Sequence[str], labels: Sequence[str]
) -> Features:
    """Return the `wanted` columns of `X`; the other columns in `names` must be labels.

    Examples
    --------
    >>> import numpy as np
    >>> in_order(np.array([[1, 2, 3]]), ["sad", "b", "a"], ["a", "b"], labels=["sad"])
    array([[3, 2]])
    """
    place = {name: column for column, name in enumerate(names)}
    if tuple(names) == tuple(wanted) or len(set(wanted)) < len(wanted):
        return X
    missing = [name for name in wanted if name not in place]
    further = [name for name in names if name not in {*wanted, *labels}]
    if missing or further or len(place) < len(names):
        got = f"no {missing[0]!r}" if missing else f"{(*further, *names)[0]!r} too"
        raise InvalidArgumentError("columns", f"the {len(wanted)} features of the model", got)
    return X[:, [place[name] for name in wanted]]
