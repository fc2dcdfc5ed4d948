"""Words of the command line as estimators and preprocessing steps."""

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from vicinal import preprocess
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option
from vicinal.estimators import METHODS, NeighborEstimator
from vicinal.estimators.pipeline import Pipeline

PreprocessOption = Annotated[
    str,
    typer.Option(
        help=f"none, or by commas of: {', '.join(preprocess.STEPS)}; auto: minmax if dense."
    ),
]


def parse_settings(words: Sequence[str]) -> dict[str, object]:
    """Return ``name=value`` words as a dictionary; values are Python literals, or else text.

    Examples
    --------
    >>> parse_settings(["n_neighbors=5", "metric=cosine", "threshold=None"])
    {'n_neighbors': 5, 'metric': 'cosine', 'threshold': None}
    """
    settings: dict[str, object] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InvalidArgumentError("--set", "name=value", repr(word))
        try:
            settings[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            settings[name] = text
    return settings


def parse_grid(words: Sequence[str]) -> dict[str, object] | None:
    """Return ``name=value,value`` words as a grid; ``method.name=…`` is for one method.

    Examples
    --------
    >>> parse_grid(["n_neighbors=1,5", "variant=a,b", "lcif.mixing=0.5"])
    {'n_neighbors': [1, 5], 'variant': ['a', 'b'], 'lcif': {'mixing': [0.5]}}
    """
    grid: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name or not text:
            raise InvalidArgumentError("--grid", "name=value,value", repr(word))
        values = [parse_settings([f"{name}={each}"])[name] for each in text.split(",")]
        method, dot, parameter = name.partition(".")
        if dot:
            grid.setdefault(method, {})[parameter] = values
        else:
            grid[name] = values
    return grid or None


def make_estimator(method: str, settings: Mapping[str, object]) -> NeighborEstimator:
    """Return an unfitted estimator with these parameters."""
    kind = METHODS[check_option("--method", method, tuple(METHODS))]
    check_parameters(method, kind, settings)
    return kind(**settings)


def make_model(steps: Sequence[tuple[str, Any]], estimator: NeighborEstimator) -> Pipeline:
    """Return the pipeline of preprocessing steps and an estimator."""
    return Pipeline([*steps, ("estimator", estimator)])


def make_steps(names: str, is_sparse: bool) -> list[tuple[str, Any]]:
    """Return the preprocessing steps that ``--preprocess`` names."""
    return preprocess.make_steps(names, is_sparse, "--preprocess")


def check_parameters(
    method: str, kind: Callable[..., object], settings: Mapping[str, object]
) -> None:
    """Refuse parameters that the method does not have, naming those it has."""
    known = [name for name in inspect.signature(kind).parameters if name != "self"]
    for name in settings:
        if name not in known:
            raise InvalidArgumentError(
                "--set", f"a parameter of {method} ({', '.join(known)})", repr(name)
            )
