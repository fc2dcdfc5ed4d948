"""The declaration of a method, and the registry of declared methods.

An estimator class has an attribute ``method``, a :class:`Method`: its name on the command line, the
default grid for tuning, its cost. The class is registered when Python creates it, so that the
command line, tuning, comparisons and saved models know it without a second list.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal

from vicinal._core.state import Saveable
from vicinal.decision import Decision
from vicinal.errors import InvalidArgumentError, did_you_mean
from vicinal.persistence import register

EVERY_K = tuple(range(1, 31))
"""The values of k in the ML-kNN and BRkNN papers."""
ODD_K = tuple(range(1, 30, 2))
"""The values of k in the LCIF paper."""
ODD_K_BEYOND = tuple(range(31, 60, 2))
"""Further values of k in the LCIF paper, tried if the best of ``ODD_K`` is its last one."""
FEW_K = (1, 3, 5, 7, 10, 15, 20, 25, 30)
"""For methods whose fit for each k is expensive."""


@dataclass(frozen=True)
class Method:
    """What the library needs to know about an estimator class besides how it is fitted.

    Parameters
    ----------
    name : str
        Its name on the command line and in tables.
    grid : mapping of parameter to values
        The default grid for tuning, in the order in which it is tried.
    beyond_edge : mapping of parameter to values
        Further values to try if the best value of the default grid is the last one.
    cost : {"quick", "slow"}
        Quick: the cost grows with rows × k only. Slow: it grows with labels, clusters or rows² too.
    neighbors : str or None
        The parameter that is the number of neighbours k; None for a method without neighbours.
    sweeps : str or None
        A parameter of which one pass scores many values, besides the number of neighbours
        (:class:`vicinal.methods.fold.SharedSweepScoring`).
    decides_by : tuple of str
        Parameters that change what is predicted but not what is scored, besides ``threshold`` and
        ``never_empty``. Settings that differ only in these share their scores.
    rule : Decision or None
        How scores become labels by default; None for the rule of the parent class.
    scoring : tuple of types
        The classes that hold what the method learns; registered for saving models.

    Examples
    --------
    >>> from vicinal import MLkNN
    >>> MLkNN.method.name, MLkNN.method.grid["n_neighbors"][-1]
    ('mlknn', 30)
    """

    name: str
    grid: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    beyond_edge: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    cost: Literal["quick", "slow"] = "quick"
    neighbors: str | None = "n_neighbors"
    sweeps: str | None = None
    decides_by: tuple[str, ...] = ()
    rule: Decision | None = None
    scoring: tuple[type[Saveable], ...] = ()


_REGISTERED: dict[str, type[Any]] = {}


def declare(kind: type[Any]) -> None:
    """Register an estimator class if it has its own ``method``; called for every new class."""
    method = vars(kind).get("method")
    if not isinstance(method, Method):
        return
    known = _REGISTERED.get(method.name)
    if known is not None and full_name(known) != full_name(kind):
        expected = f"a name other than that of {full_name(known)}"
        raise InvalidArgumentError("method", expected, f"{method.name!r} for {full_name(kind)}")
    _REGISTERED[method.name] = kind
    if hasattr(kind, "get_state"):
        register(saved_name(kind), kind)
    for part in method.scoring:
        register(saved_name(part), part)


def saved_name(kind: type[Any]) -> str:
    """Return the name of a class in saved models: short for ours, else the full name."""
    if kind.__module__.startswith("vicinal."):
        return f"methods.{kind.__name__}"
    return full_name(kind)


def full_name(kind: type[Any]) -> str:
    """Return ``module:Class``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def find_method(name: str, argument: str = "methods") -> type[Any]:
    """Return the class registered under a name, or import it from ``module:Class``."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    module, colon, attribute = str(name).partition(":")
    if not colon:
        # Neighbour methods come before baselines.
        ours = {each: ".methods." in kind.__module__ for each, kind in _REGISTERED.items()}
        own = sorted(ours, key=lambda each: (not ours[each], each))
        expected = f"a method ({', '.join(own)}) or module:Class"
        raise InvalidArgumentError(argument, expected, repr(name), did_you_mean(name, own))
    try:
        found: object = import_module(module)
    except (ImportError, SyntaxError, ValueError) as error:
        raise InvalidArgumentError(
            argument, f"module:Class with a module that can be imported ({error})", repr(name)
        ) from error
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not all(
        hasattr(found, each) for each in ("fit", "predict", "get_params", "set_params")
    ):
        expected = f"a scikit-learn classifier class in {module}"
        raise InvalidArgumentError(argument, expected, repr(name))
    return found


def make_method(name: str, params: Mapping[str, object], argument: str = "methods") -> Any:
    """Return an unfitted estimator of a method with these parameters."""
    try:
        return find_method(name, argument)(**params)
    except TypeError as error:
        expected = f"a class that accepts the parameters {dict(params)} ({error})"
        raise InvalidArgumentError(argument, expected, repr(name)) from None


def method_of(kind: type[Any]) -> Method:
    """Return the declaration of a class; a class without one is named by its full name."""
    inherited = getattr(kind, "method", None)
    if isinstance(inherited, Method):
        own = "method" in vars(kind)
        return inherited if own else replace(inherited, name=full_name(kind))
    has_neighbors = "n_neighbors" in parameters(kind)
    return Method(full_name(kind), neighbors="n_neighbors" if has_neighbors else None)


def can_be_saved(kind: type[Any]) -> bool:
    """Tell whether models of a class can be saved: it is registered and has ``get_state``."""
    return hasattr(kind, "get_state") and kind in _REGISTERED.values()


def parameters(kind: type[Any]) -> list[str]:
    """Return the names of a class's parameters."""
    return list(inspect.signature(kind).parameters)
