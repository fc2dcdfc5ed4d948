"""Locks that a forked child finds open."""

import os
import threading
from types import TracebackType
from weakref import WeakSet

_locks: WeakSet["ForkLock"] = WeakSet()


class ForkLock:
    """A reentrant lock that is made again in a forked child.

    A child has only the thread that forked. A plain lock that another thread held at that moment
    stays locked there for ever; what it protects must therefore be whole at every moment, as it is
    where a new version is built aside and then put in place by one assignment.

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
        """Give the lock back."""
        self._lock.release()

    def renew(self) -> None:
        """Forget who held the lock."""
        self._lock = threading.RLock()


def _renew_all() -> None:
    for lock in tuple(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
