"""Locks that are released in forked child processes."""

import os
import threading
from types import TracebackType
from weakref import WeakSet

_locks: WeakSet["ForkLock"] = WeakSet()


class ForkLock:
    """A reentrant lock that is recreated in a forked child.

    A child has only the thread that forked. A plain lock that another thread held at that moment
    stays locked there for ever. The protected data must therefore be consistent at every moment,
    for example because a new version is built separately and then put in place by one assignment.

    Examples
    --------
    >>> lock = ForkLock()
    >>> with lock, lock:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Wait for the lock and take it."""
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lock."""
        self._lock.release()

    def renew(self) -> None:
        """Reset the lock."""
        self._lock = threading.RLock()


def _renew_all() -> None:
    for lock in tuple(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
