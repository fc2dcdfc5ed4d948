"""Advisory locks between threads and processes, released when their holder dies."""

import sys
from contextlib import suppress

if sys.platform != "win32":
    import fcntl


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file or folder and return whether that succeeded.

    It fails if another process holds the lock and `wait` is False, and if locks are not supported
    (Windows, some network drives).

    Parameters
    ----------
    descriptor : int
    shared : bool
        Whether others may share the lock; otherwise it is exclusive.
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
    """Release the lock; closing is not enough if a child process shares the descriptor."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
