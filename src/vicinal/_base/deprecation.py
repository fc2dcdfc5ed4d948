"""Deprecated names: they keep working for a while, and say what to use instead.

The policy is in ``docs/project/versions.md``. Every deprecation is a value with the version in
which the name goes, so that a test fails when that version is reached and the name still exists.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar
from warnings import warn

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Deprecation:
    """A public name that will be removed.

    Parameters
    ----------
    name : str
        As users write it.
    instead : str
        What to use: the end of a sentence that begins with "use".
    since, removed_in : str
        The versions that first warn and that first lack the name.

    Examples
    --------
    >>> print(Deprecation("vicinal.old", "vicinal.new", since="0.1", removed_in="0.3").message)
    vicinal.old is deprecated since 0.1 and will be removed in 0.3: use vicinal.new
    """

    name: str
    instead: str
    since: str
    removed_in: str

    @property
    def message(self) -> str:
        """What the warning says."""
        return (
            f"{self.name} is deprecated since {self.since} and will be removed in "
            f"{self.removed_in}: use {self.instead}"
        )

    def warn(self, stacklevel: int = 1) -> None:
        """Warn at the caller's line, or further up."""
        warn(self.message, DeprecationWarning, stacklevel=stacklevel + 2)

    def is_due(self, version: str) -> bool:
        """Tell whether a version should no longer have the name.

        Examples
        --------
        >>> old = Deprecation("vicinal.old", "vicinal.new", since="0.1", removed_in="0.3")
        >>> old.is_due("0.2.9"), old.is_due("0.3.0"), old.is_due("0.10.1")
        (False, True, True)
        """
        return _numbers(version) >= _numbers(self.removed_in)

    def __call__(self, function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        """Make a function warn whenever it is called.

        Examples
        --------
        >>> import warnings
        >>> @Deprecation("twice", "2 * x", since="0.1", removed_in="0.3")
        ... def twice(x):
        ...     return 2 * x
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     twice(4)
        8
        >>> caught[0].category.__name__
        'DeprecationWarning'
        """

        @wraps(function)
        def warning(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
            self.warn()
            return function(*args, **kwargs)

        return warning


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: ``"0.10.1rc1"`` gives ``(0, 10)``."""
    parts = version.split(".")
    leading = next((at for at, part in enumerate(parts) if not part.isdigit()), len(parts))
    return tuple(int(part) for part in parts[:leading])


RIVALS = Deprecation(
    "vicinal.rivals", "vicinal.baselines, which has the same names", since="0.1", removed_in="0.2"
)

DEPRECATIONS = (RIVALS,)
"""Every deprecated public name."""
