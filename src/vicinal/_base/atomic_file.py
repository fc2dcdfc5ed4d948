"""Files that are replaced as a whole: readers see the old content or the new one, never a part."""

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vicinal._base.durable import naming, sync_file, sync_folder

UNFINISHED = ".unfinished"
STALE_SECONDS = 3600
"""An unfinished file that was not written to for this long belongs to a process that died."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to; at the end the file takes its place.

    The content and the folder are flushed to disk. If the block fails, `path` stays as it was. Of
    several writers the last one wins. The file keeps the permissions of the one it replaces.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "notes.txt"
    ...     with replacing(target) as beside:
    ...         _ = beside.write_text("all of it")
    ...     target.read_text(), len(os.listdir(folder))
    ('all of it', 1)
    """
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with naming(path):
            yield beside
            sync_file(beside)
        with suppress(OSError):
            shutil.copymode(path, beside)
        _replace(beside, path)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _replace(beside: Path, path: Path) -> None:
    """Rename over the old file, which Windows refuses while a program has it open or mapped."""
    try:
        beside.replace(path)
    except PermissionError as error:
        cause = "cannot be replaced: no permission, or another program has it open"
        raise PermissionError(error.errno, cause, str(path)) from None


def remove_stale(path: Path) -> None:
    """Remove unfinished files of `path` that killed processes left more than an hour ago."""
    start, oldest = f".{path.name[:200]}.", time.time() - STALE_SECONDS
    with suppress(OSError):  # the folder may not be listable
        for file in list(path.parent.iterdir()):
            if file.name.startswith(start) and file.name.endswith(UNFINISHED):
                with suppress(OSError):  # another process may have removed it
                    if file.stat().st_mtime < oldest:
                        file.unlink()
