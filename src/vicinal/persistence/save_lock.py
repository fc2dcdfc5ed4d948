"""Coordinate concurrent saves into one folder, across threads and processes."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from vicinal._core.threads import lock, unlock


class SaveLock:
    """A save in progress: a shared lock on the folder, released by the system if the process dies.

    If folders cannot be locked (Windows, some network drives), saves cannot detect each other, and
    :meth:`is_alone` is always False.

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
        self._is_known = False

    def __enter__(self) -> Self:
        """Take the lock; wait while another save removes files."""
        try:
            self._descriptor = os.open(self._folder, os.O_RDONLY)
        except OSError:  # Windows does not open folders
            return self
        try:
            self._is_known = lock(self._descriptor, shared=True)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def is_alone(self) -> bool:
        """Tell whether no other save is in progress; if so none begins before this one ends.

        Asked when the work is done: if there is another, this one no longer counts for it.
        """
        if self._descriptor is None or not self._is_known:
            return False
        return lock(self._descriptor, wait=False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        if self._descriptor is not None:
            unlock(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
