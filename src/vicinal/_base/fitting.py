"""Restore an estimator if a fit fails."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def unchanged_on_failure(estimator: object) -> Iterator[None]:
    """Restore the attributes of an estimator if the block fails or is interrupted by Ctrl-C.

    Examples
    --------
    >>> class Estimator: fitted = False
    >>> model = Estimator()
    >>> with unchanged_on_failure(model):
    ...     model.fitted = True
    ...     raise ValueError("too few rows")
    Traceback (most recent call last):
    ...
    ValueError: too few rows
    >>> model.fitted
    False
    """
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
