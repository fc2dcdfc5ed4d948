"""A fit that fails leaves the estimator as it was."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unchanged_on_failure(estimator: object) -> Iterator[None]:
    """Give an estimator its attributes back if what is done within fails, by Ctrl-C too.

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
        attributes.clear()
        attributes.update(before)
        raise
