"""Saves into one folder that know of each other, across threads and processes."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

if sys.platform != "win32":
    import fcntl


class SaveLock:
    """A save in progress: a shared lock on the folder, which the system takes back from the dead.

    Where folders cannot be locked (Windows, some network drives) no save knows of another, and none
    counts as alone.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SaveLock(Path(folder)) as save:
    ...     with SaveLock(Path(folder)):
    ...         save.is_alone()
    False
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        """Begin; wait while another save tidies up."""
        if sys.platform != "win32":
            descriptor = os.open(self._folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                self._descriptor = descriptor
            except OSError:  # no locks here
                os.close(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
        return self

    def is_alone(self) -> bool:
        """Tell whether no other save is in progress; if so none begins before this one ends.

        Asked when the work is done: if there is another, this one no longer counts for it.
        """
        if sys.platform != "win32" and self._descriptor is not None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            return True
        return False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; said to the system, as a child process may hold the descriptor too."""
        if sys.platform != "win32" and self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None
