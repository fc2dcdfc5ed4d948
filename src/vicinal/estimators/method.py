"""A method as it declares itself, and the registry of those that did.

An estimator class has an attribute ``method``, a :class:`Method`: its name on the command line,
what tuning tries by default, what it costs. The class is registered when Python creates it, so that
the command line, tuning, comparisons and saved models know it without a second list.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.state import Saveable
from vicinal.decision import Decision
from vicinal.persistence import register

EVERY_K = tuple(range(1, 31))
"""k of the ML-kNN and BRkNN papers."""
ODD_K = tuple(range(1, 30, 2))
"""k of the LCIF paper."""
ODD_K_BEYOND = tuple(range(31, 60, 2))
"""The edge rule of the LCIF paper: these follow where the best of ``ODD_K`` is its last."""
FEW_K = (1, 3, 5, 7, 10, 15, 20, 25, 30)
"""For methods that search votes or fit a regression per label for every k."""


@dataclass(frozen=True)
class Method:
    """What the library needs to know about an estimator class besides how it is fitted.

    Parameters
    ----------
    name : str
        On the command line and in tables.
    grid : mapping of parameter to values
        What tuning tries by default, in grid order.
    beyond_edge : mapping of parameter to values
        Tried as well where the best value of the default grid is the last on its axis.
    cost : {"quick", "slow"}
        Quick: the cost grows with rows × k only. Slow: also with labels, clusters or rows².
    neighbors : str or None
        The parameter that is the number of neighbours k; None for a method without.
    decides_by : tuple of str
        Parameters that change what is predicted but not what is scored, besides ``threshold`` and
        ``never_empty``. Settings that differ only in these share their scores.
    rule : Decision or None
        How scores become labels where a user asks for nothing else; None: that of the class it is
        derived from.
    scoring : tuple of types
        What the method learns; registered with the class, so that models can be saved.
    is_baseline : bool
        Whether other methods are compared with it, and tuning does not try it.

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
    decides_by: tuple[str, ...] = ()
    rule: Decision | None = None
    scoring: tuple[type[Saveable], ...] = ()
    is_baseline: bool = False


_REGISTERED: dict[str, type[Any]] = {}


def declare(kind: type[Any]) -> None:
    """Register a class that has a ``method`` of its own; called for every class that is created."""
    method = vars(kind).get("method")
    if not isinstance(method, Method):
        return
    known = _REGISTERED.get(method.name)
    if known is not None and full_name(known) != full_name(kind):
        raise InvalidArgumentError("method", "a name of its own", f"{method.name!r} a second time")
    _REGISTERED[method.name] = kind
    if hasattr(kind, "get_state"):
        register(saved_name("estimators", kind), kind)
    for part in method.scoring:
        register(saved_name("scoring", part), part)


def saved_name(package: str, kind: type[Any]) -> str:
    """Return what saved models call a class: by package if it is ours, else by its module.

    Examples
    --------
    >>> from vicinal.scoring.mlknn import MLkNNScoring
    >>> saved_name("scoring", MLkNNScoring)
    'scoring.MLkNN'
    """
    if kind.__module__.startswith("vicinal."):
        return f"{package}.{kind.__name__.removesuffix('Scoring')}"
    return full_name(kind)


def full_name(kind: type[Any]) -> str:
    """Return ``module:Class``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def find_method(name: str, argument: str = "methods") -> type[Any]:
    """Return the class of a registered name, or of ``module:Class``, which is imported.

    Parameters
    ----------
    name : str
        ``module:Class`` may be any classifier of scikit-learn's kind.
    argument : str
        What errors call the argument.

    Examples
    --------
    >>> find_method("mlknn"), find_method("sklearn.neighbors:KNeighborsClassifier")
    (<class 'vicinal.estimators.mlknn.MLkNN'>,
     <class 'sklearn.neighbors._classification.KNeighborsClassifier'>)
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    module, colon, attribute = str(name).partition(":")
    if not colon:
        expected = f"names of methods ({', '.join(_REGISTERED)}) or module:Class"
        raise InvalidArgumentError(argument, expected, repr(name))
    try:
        found: object = import_module(module)
    except (ImportError, SyntaxError, ValueError) as error:
        raise InvalidArgumentError(
            argument, f"a module that can be imported before ':' ({error})", repr(name)
        ) from error
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not all(
        hasattr(found, each) for each in ("fit", "predict", "get_params", "set_params")
    ):
        expected = f"a classifier class of scikit-learn's kind in {module}"
        raise InvalidArgumentError(argument, expected, repr(name))
    return found


def make_method(name: str, params: Mapping[str, object], argument: str = "methods") -> Any:
    """Return an unfitted estimator of a method, or say what it lacks to be made.

    Examples
    --------
    >>> make_method("mlknn", {"n_neighbors": 5})
    MLkNN(n_neighbors=5)
    """
    try:
        return find_method(name, argument)(**params)
    except TypeError as error:
        expected = f"a class that these parameters suffice for ({error})"
        raise InvalidArgumentError(argument, expected, repr(name)) from None


def method_of(kind: type[Any]) -> Method:
    """Return what a class declares; a class that declares nothing goes by its full name.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> method_of(DecisionTreeClassifier).name
    'sklearn.tree._classes:DecisionTreeClassifier'
    """
    inherited = getattr(kind, "method", None)
    if isinstance(inherited, Method):
        own = "method" in vars(kind)
        return inherited if own else replace(inherited, name=full_name(kind))
    has_neighbors = "n_neighbors" in parameters(kind)
    return Method(full_name(kind), neighbors="n_neighbors" if has_neighbors else None)


def can_be_saved(kind: type[Any]) -> bool:
    """Tell whether models of a class can be saved: it declares itself and gives its state."""
    return hasattr(kind, "get_state") and kind in _REGISTERED.values()


def parameters(kind: type[Any]) -> list[str]:
    """Return the names of a class's parameters."""
    return list(inspect.signature(kind).parameters)
