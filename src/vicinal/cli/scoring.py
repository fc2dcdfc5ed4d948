"""Score the rows of a source with a saved model; shared by ``evaluate`` and ``predict``."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from scipy import sparse
from sklearn.pipeline import Pipeline

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import part
from vicinal.cli.source import Source
from vicinal.estimators import load, prepared
from vicinal.estimators.column_names import ordered_by_name
from vicinal.estimators.model import Model, estimator_of
from vicinal.estimators.pipeline import named_pipeline
from vicinal.preprocess import MinMax
from vicinal.scores import Scores


def load_model(path: Path) -> Model:
    """Return a saved model, for rows whose columns :func:`rows_for` puts in its order."""
    return ordered_by_name(load(path))


class ScoredRows(NamedTuple):
    """Some rows with their scores; `start` is the number of the first of them."""

    start: int
    source: Source
    scores: Scores


def scored_blocks(model: Model, sources: Iterable[Source]) -> Iterator[ScoredRows]:
    """Yield blocks of rows with their scores, all by the current version of the model.

    Memory: one block.
    """
    estimator = estimator_of(model).snapshot()
    start = 0
    with part("Predicting rows") as advance:
        for source in sources:
            if not source.n_rows:  # a file of a header only
                continue
            X, _ = prepared(model, rows_for(model, source))
            yield ScoredRows(start, source, estimator.scores(X))
            start += source.n_rows
            advance(source.n_rows)


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
