"""Validate numbers, flags and names; needs only NumPy (see :mod:`vicinal.gpu`)."""

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from vicinal.errors import InvalidArgumentError, did_you_mean

WEIGHTINGS = ("binary", "counts", "tfidf")
"""What the words of a text may count for."""


def check_integer(name: str, value: object, low: int | None = None) -> int:
    """Return `value` as an int, or raise if it is not an integer."""
    expected = "an integer" if low is None else f"an integer of at least {low}"
    if isinstance(value, bool | np.bool_):
        raise InvalidArgumentError(name, expected, repr(value))
    try:
        number = operator.index(cast("Any", value))
    except TypeError:
        raise InvalidArgumentError(name, expected, repr(value)) from None
    if low is not None and number < low:
        raise InvalidArgumentError(name, expected, number)
    return number


def check_real(name: str, value: object, low: float = -np.inf, high: float = np.inf) -> float:
    """Return `value` as a finite float between `low` and `high`, both included."""
    expected = "a finite number"
    if low > -np.inf or high < np.inf:
        expected += f" between {low:g} and {high:g}"
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise InvalidArgumentError(name, expected, repr(value))
    try:
        number = float(cast("Any", value))
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(name, expected, f"{value!r:.60}") from None
    if not (np.isfinite(number) and low <= number <= high):
        raise InvalidArgumentError(name, expected, number)
    return number


def check_positive(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    number = check_real(name, value)
    if number <= 0:
        raise InvalidArgumentError(name, "a number above 0", number)
    return number


def check_flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgumentError(name, "True or False", repr(value))
    return bool(value)


def check_option(name: str, value: object, options: Collection[str]) -> str:
    """Return `value` if it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        expected = "one of " + ", ".join(map(repr, options))
        raise InvalidArgumentError(name, expected, repr(value), did_you_mean(value, options))
    return value


def check_sequence(name: str, values: object) -> list[Any]:
    """Return several values as a list; text and mappings are one value, not several."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgumentError(name, "a sequence of values", repr(values))
    return list(values)


def check_encodable(name: str, names: Sequence[str]) -> None:
    r"""Raise for names that UTF-8 cannot encode, because no model could be saved with them."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        found = next(each for each in names if _SURROGATE.search(each))
        got = f"a lone surrogate in {found!r:.60}"
        raise InvalidArgumentError(name, "text that UTF-8 can hold", got) from None


_SURROGATE = re.compile("[\ud800-\udfff]")
Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def unchanged_on_failure(estimator: object) -> Iterator[None]:
    """Restore the attributes of an estimator if the block fails or is interrupted by Ctrl-C."""
    attributes = vars(estimator)
    before = dict(attributes)
    try:
        yield
    except BaseException:
        for name in [name for name in attributes if name not in before]:
            del attributes[name]
        attributes.update(before)  # never missing in between, because other threads may read
        raise


def all_or_nothing(fit: Method) -> Method:
    """Decorate a method so that its object is restored if the method fails."""

    @wraps(fit)
    def safe(self: object, *given: object, **named: object) -> object:
        with unchanged_on_failure(self):
            return fit(self, *given, **named)

    return cast("Method", safe)
