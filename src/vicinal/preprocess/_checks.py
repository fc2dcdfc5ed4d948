"""Validation of parameters that only transformers have."""

import numbers

from vicinal._base.validation import check_integer, check_real


def check_frequency(name: str, value: object) -> int | float:
    """Return `value`: an int is a number of rows (at least 1), a float is a share of them.

    Examples
    --------
    >>> check_frequency("min_df", 2), check_frequency("max_df", 1.0)
    (2, 1.0)
    """
    if isinstance(value, numbers.Integral):
        return check_integer(name, value, low=1)
    return check_real(name, value, low=0.0, high=1.0)
