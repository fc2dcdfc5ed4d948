"""The names under which types are saved, and the types of others that a load may trust."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module

from vicinal import datasets, decision, preprocess
from vicinal._core.state import Saveable, State
from vicinal.datasets.vocabulary import Vocabulary
from vicinal.errors import InvalidArgumentError, ModelFormatError

_TYPES: dict[str, type[Saveable]] = {
    "datasets.Reading": datasets.Reading,
    "datasets.Vocabulary": Vocabulary,
    "decision.Threshold": decision.Threshold,
    "decision.TopS": decision.TopS,
    "decision.CardinalityThreshold": decision.CardinalityThreshold,
    "decision.LabelSets": decision.LabelSets,
    "decision.CrossValidated": decision.CrossValidated,
    "decision.NeverEmpty": decision.NeverEmpty,
    "decision.FittedNeverEmpty": decision.FittedNeverEmpty,
    "decision.MetricThreshold": decision.MetricThreshold,
    "decision.PerLabelThreshold": decision.PerLabelThreshold,
    "decision.LabelThresholds": decision.LabelThresholds,
    "decision.RCut": decision.RCut,
    "decision.MCut": decision.MCut,
    "decision.PCut": decision.PCut,
    "preprocess.BM25": preprocess.BM25,
    "preprocess.Binary": preprocess.Binary,
    "preprocess.LabelWeights": preprocess.LabelWeights,
    "preprocess.MinMax": preprocess.MinMax,
    "preprocess.TextVectorizer": preprocess.TextVectorizer,
    "preprocess.TfIdf": preprocess.TfIdf,
    "preprocess.UnitRows": preprocess.UnitRows,
}

HOMES = {"methods": "methods", "persistence": "persistence.sklearn_steps", "reduction": "reduction"}
"""Packages of later layers that register types, by the prefix of the names; imported on demand."""


TRUSTED: ContextVar[frozenset[str]] = ContextVar("TRUSTED", default=frozenset())
"""Types and functions that the caller of ``load`` trusts besides those trusted by default."""


@contextmanager
def trusting(names: Collection[str]) -> Iterator[None]:
    """Let parts that are built inside the block contain these types and functions."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError("trusted", "a list of names such as 'numpy.log1p'", repr(names))
    token = TRUSTED.set(frozenset(names))
    try:
        yield
    finally:
        TRUSTED.reset(token)


def register(name: str, part: type[Saveable]) -> None:
    """Register a type under its name in saved models, which must never change."""
    _TYPES[name] = part


def name_of(part: Saveable) -> str:
    """Return the name under which the type of `part` is registered."""
    for name, kind in _TYPES.items():
        if type(part) is kind:
            return name
    got = f"a {type(part).__name__} (an estimator class declares its scoring: Method(scoring=…))"
    raise InvalidArgumentError("model", "parts of registered types", got)


def type_named(name: str) -> type[Saveable]:
    """Return the type registered under `name`."""
    package, _, kind = name.partition(".")
    if name not in _TYPES and package in HOMES:
        getattr(import_module(f"vicinal.{HOMES[package]}"), kind, None)  # its module registers it
    module, colon, _ = name.partition(":")
    if name not in _TYPES and colon:
        raise ModelFormatError(
            f"{name} is not part of vicinal: import {module!r} before loading "
            f"(on the command line: --import {module})"
        )
    if name not in _TYPES:
        raise ModelFormatError(f"unknown part {name!r}: was it saved by a newer version?")
    return _TYPES[name]


def build(name: str, state: Mapping[str, State]) -> Saveable:
    """Build a part of the type registered under `name`, which checks the state."""
    kind = type_named(name)
    try:
        return kind.from_state(state)
    except (InvalidArgumentError, TypeError) as error:
        raise ModelFormatError(f"{name}: {error}") from None
