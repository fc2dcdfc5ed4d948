"""Rows of a source scored by a saved model, with a bar: what evaluating and predicting share."""

from pathlib import Path
from typing import Annotated

import typer

from vicinal._base.progress import part, shown
from vicinal.cli.source import Source
from vicinal.estimators import NeighborEstimator, prepared
from vicinal.estimators.model import Model
from vicinal.scores import Scores

ModelArgument = Annotated[
    Path, typer.Argument(help="Folder of a saved model.", metavar="MODEL", exists=True)
]


def score(model: Model, source: Source) -> tuple[NeighborEstimator, Scores]:
    """Return the estimator of a model and its scores of a source's rows."""
    with shown(), part(f"Predicting {source.n_rows:,} rows"):
        X, estimator = prepared(model, source.X)
        return estimator, estimator.scores(X)
