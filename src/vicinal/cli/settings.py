"""Turn arguments of the command line into estimators and preprocessing steps."""

import ast
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from vicinal import preprocess
from vicinal.errors import InvalidArgumentError, did_you_mean, logger
from vicinal.methods import METHODS
from vicinal.methods.registry import can_be_saved, find_method, make_method, parameters


def parse_settings(words: Sequence[str]) -> dict[str, object]:
    """Return ``name=value`` arguments as a dictionary; values are Python literals, or else text."""
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
    """Return ``name=value,value`` arguments as a grid; ``method.name=…`` is for one method."""
    grid: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name or not text:
            raise InvalidArgumentError("--grid", "name=value,value", repr(word))
        values = [parse_settings([f"{name}={each}"])[name] for each in text.split(",")]
        method, dot, parameter = name.rpartition(".")
        if dot:
            grid.setdefault(method, {})[parameter] = values
        else:
            grid[name] = values
    return grid or None


def method_class(method: str, option: str) -> type[Any]:
    """Return the class of a method, a baseline or ``module:Class``."""
    import_module("vicinal.baselines")  # registers the baselines
    return find_method(method, option)


def method_parameters(method: str, option: str = "--methods") -> list[str]:
    """Return the names of a method's parameters."""
    return parameters(method_class(method, option))


def method_words(names: Sequence[str]) -> list[str]:
    """Return the names of methods, with ``quick`` and ``all`` expanded."""
    groups = {
        "all": list(METHODS),
        "quick": [name for name, kind in METHODS.items() if kind.method.cost == "quick"],
    }
    return list(dict.fromkeys(each for name in names for each in groups.get(name, [name])))


def make_estimator(method: str, settings: Mapping[str, object], option: str = "--method") -> Any:
    """Return an unfitted estimator with these parameters."""
    known = method_parameters(method, option)
    for name in settings:
        if name not in known:
            expected = f"a parameter of {method} ({', '.join(known)})"
            raise InvalidArgumentError("--set", expected, repr(name), _similar(name, known))
    return make_method(method, settings, option)


def _similar(name: str, known: Sequence[str]) -> str:
    """Return a hint with a similar parameter, or with other methods that have such a one."""
    meant = "n_neighbors" if name == "k" else name
    others = [each for each, kind in METHODS.items() if meant in parameters(kind)]
    elsewhere = f"{meant} is a parameter of {', '.join(others)}: choose one with --method"
    return did_you_mean(meant, known) or (elsewhere if others else "")


def neighbor_settings(method: str, k: int) -> dict[str, object]:
    """Return the parameters that set a method's number of neighbours to k; LCIF has two."""
    return {name: k for name in method_parameters(method) if name.startswith("n_neighbors")}


def check_saveable(option: str, methods: Sequence[str]) -> None:
    """Raise for methods whose models cannot be saved without pickle, before any work is done."""
    for method in methods:
        if not can_be_saved(method_class(method, option)):
            raise InvalidArgumentError(
                option,
                "a method that can be saved without pickle: one of vicinal, or a class derived "
                "from one with method = Method(name=…); tune, compare and bench accept any "
                "multi-label classifier",
                repr(method),
            )


def make_steps(names: str, is_sparse: bool) -> list[tuple[str, Any]]:
    """Return the preprocessing steps that ``--preprocess`` names."""
    steps = preprocess.make_steps(names, is_sparse, "--preprocess")
    if names == "auto" and steps:
        logger.info("features scaled to [0, 1] (--preprocess none leaves them unchanged)")
    return steps
