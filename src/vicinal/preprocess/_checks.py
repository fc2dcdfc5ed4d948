"""Checks of parameters that only transformers have, and of parameters that come from a file."""

import numbers
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State
from vicinal._base.validation import check_integer, check_real


def check_flag(name: str, value: object) -> bool:
    """Return `value` as a bool, which it must be.

    Examples
    --------
    >>> check_flag("clip", "yes")
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: clip: expected True or False, got 'yes'
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgumentError(name, "True or False", repr(value))
    return bool(value)


def check_frequency(name: str, value: object) -> int | float:
    """Return `value`: an int is a number of rows, at least 1, a float a share of them.

    Examples
    --------
    >>> check_frequency("min_df", 2), check_frequency("max_df", 1.0)
    (2, 1.0)
    """
    if isinstance(value, numbers.Integral):
        return check_integer(name, value, low=1)
    return check_real(name, value, low=0.0, high=1.0)


def read_value(state: Mapping[str, State], key: str) -> State:
    """Return ``state[key]``, of any type: for values that a parameter check looks at next."""
    if key not in state:
        raise ModelFormatError(f"{key}: missing")
    return state[key]


@contextmanager
def parameters_from_a_file() -> Iterator[None]:
    """Within, a refused parameter is a damaged model, not a mistake of the caller."""
    try:
        yield
    except InvalidArgumentError as error:
        raise ModelFormatError(str(error)) from None
