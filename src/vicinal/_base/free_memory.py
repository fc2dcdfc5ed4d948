"""Return freed memory to the operating system."""

import ctypes
import sys


def release_free_memory() -> None:
    """Return freed memory to the system if the C library supports it (glibc); otherwise do nothing.

    By default the C library keeps freed memory for later allocations, so that a process could
    exceed a memory limit that its live arrays respect.

    Examples
    --------
    >>> release_free_memory()
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
