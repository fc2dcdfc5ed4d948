"""Turn arguments of the command line into methods to compare."""

from collections.abc import Mapping, Sequence
from typing import Any

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer
from vicinal.cli.settings import make_estimator
from vicinal.comparison import Tuned
from vicinal.comparison.candidates import BASELINES
from vicinal.estimators.method import find_method, method_of
from vicinal.estimators.method import parameters as parameters_of


def candidates(
    methods: Sequence[str], settings: Mapping[str, object], neighbors: Sequence[int] = ()
) -> dict[str, Any]:
    """Return the estimators to compare, by their names in tables.

    Parameters
    ----------
    methods : sequence of str
        Names of methods and baselines, or ``module:Class``.
    settings : mapping of str to object
        Values by ``method.parameter``, or by ``parameter`` for every method that has it.
    neighbors : sequence of int
        Compare each method with each of these numbers of neighbours; if empty, with its default.

    Examples
    --------
    >>> candidates(["mlknn"], {"mlknn.smoothing": 0.5}, [5, 10])
    {'mlknn k=5': MLkNN(n_neighbors=5, smoothing=0.5),
     'mlknn k=10': MLkNN(smoothing=0.5)}
    """
    _check_settings(methods, settings)
    found: dict[str, Any] = {}
    for method in methods:
        own = _own_settings(method, settings)
        if not neighbors:
            found[method] = make_estimator(method, own, "--methods")
        for k in neighbors:
            name = method_of(find_method(method)).neighbors
            if name is None:
                expected = "--methods that have a number of neighbours"
                raise InvalidArgumentError("--neighbors", expected, method)
            found[f"{method} k={k}"] = make_estimator(method, {**own, name: k}, "--methods")
    return found


def tuned_candidates(
    methods: Sequence[str], settings: Mapping[str, object], metric: str
) -> dict[str, Tuned]:
    """Return methods whose settings are tuned inside each fold, except those in `settings`.

    Examples
    --------
    >>> tuned_candidates(["mlknn"], {"mlknn.smoothing": 0.5}, "micro-f1")
    {'mlknn tuned': Tuned(method='mlknn', metric='micro-f1', params={'smoothing': 0.5})}
    """
    for method in methods:
        if method in BASELINES:
            raise InvalidArgumentError("--tune", "methods that are not baselines", repr(method))
    candidates(methods, settings)  # raises for settings that the methods do not have
    return {
        f"{method} tuned": Tuned(method, metric, params=_own_settings(method, settings) or None)
        for method in methods
    }


def parse_numbers(option: str, words: str | None) -> list[int]:
    """Return the integers of a list separated by commas.

    Examples
    --------
    >>> parse_numbers("--neighbors", "5,10"), parse_numbers("--neighbors", None)
    ([5, 10], [])
    """
    if words is None:
        return []
    try:
        numbers = [int(word) for word in words.split(",")]
    except ValueError:
        raise InvalidArgumentError(option, "integers separated by commas", repr(words)) from None
    return [check_integer(option, number, low=1) for number in dict.fromkeys(numbers)]


def _own_settings(method: str, settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of one method; those for it alone override the shared ones."""
    shared = {name: value for name, value in settings.items() if name in parameters(method)}
    prefix = f"{method}."
    own = {n.removeprefix(prefix): v for n, v in settings.items() if n.startswith(prefix)}
    return {**shared, **own}


def _check_settings(methods: Sequence[str], settings: Mapping[str, object]) -> None:
    """Raise for settings that no method of the comparison has."""
    for setting in settings:
        method, dot, _ = setting.rpartition(".")
        if dot and method not in methods:
            expected = f"method.parameter=value with a method of {', '.join(methods)}"
            raise InvalidArgumentError("--set", expected, repr(setting))
        if not dot and not any(setting in parameters(each) for each in methods):
            expected = f"a parameter of {', '.join(methods)}"
            raise InvalidArgumentError("--set", expected, repr(setting))


def parameters(method: str) -> list[str]:
    """Return the names of a method's parameters."""
    return parameters_of(find_method(method, "--methods"))
