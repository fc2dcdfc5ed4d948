"""Locks between threads and processes: a request to others, let go when their holder dies."""

import sys
from contextlib import suppress

if sys.platform != "win32":
    import fcntl


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file or folder, and tell whether that succeeded.

    It does not where another holds the lock and `wait` is not wanted, nor where there are no locks
    (Windows, some network drives).

    Parameters
    ----------
    descriptor : int
    shared : bool
        Whether others may share the lock; if not it is held alone.
    wait : bool

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as one, open(one.name) as same:
    ...     lock(one.fileno()), lock(same.fileno(), wait=False)
    (True, False)
    """
    if sys.platform == "win32":
        return False
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, how if wait else how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Let go; closing alone does not where a child process has the descriptor too."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
