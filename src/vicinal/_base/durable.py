"""Durable writes to disk, with errors that name the file and the cause."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOT_FOR_FOLDERS = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES, errno.EPERM)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, which makes a rename durable.

    Does nothing if folders cannot be opened or flushed (Windows, some network drives).

    Examples
    --------
    >>> sync_folder(Path("."))
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows does not open folders
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:
            raise
    finally:
        os.close(descriptor)


def sync_file(file: Path) -> None:
    """Flush the content of a file to disk."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Make system errors inside the block name the file and the cause, such as a full disk.

    Examples
    --------
    >>> with naming(Path("model.npy")):
    ...     raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    Traceback (most recent call last):
    ...
    OSError: [Errno 28] cannot be written: No space left on device: 'model.npy'
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        cause = f"cannot be written: {os.strerror(error.errno)}"
        raise OSError(error.errno, cause, str(file)) from error
