"""Deprecated names, which still work but warn and name their replacement.

The policy is in ``docs/project/versions.md``. Every deprecation states the version that removes the
name, and a test fails if that version is reached and the name still exists.
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
        The full name, as in user code.
    instead : str
        The replacement: the end of a sentence that starts with "use".
    since, removed_in : str
        The first version that warns, and the first without the name.

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
        """The text of the warning."""
        return (
            f"{self.name} is deprecated since {self.since} and will be removed in "
            f"{self.removed_in}: use {self.instead}"
        )

    def warn(self, stacklevel: int = 1) -> None:
        """Warn at the line of the caller, or of a caller further up the stack."""
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
