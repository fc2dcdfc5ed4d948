"""Memory that was freed, handed back to the system."""

import ctypes
import sys


def release_free_memory() -> None:
    """Hand freed memory back to the system, where its C library can (glibc); else do nothing.

    Large arrays that are freed stay with the process for its next allocations. Where a limit on
    memory is to hold, that is too much.

    Examples
    --------
    >>> release_free_memory()
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
