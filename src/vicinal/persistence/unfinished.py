"""Temporary folders in which models are written before they are renamed."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from vicinal.persistence.save_lock import SaveLock

ENDING = ".unfinished"


def unfinished_folder(target: Path) -> Path:
    """Make a folder next to `target`; the save must hold a :class:`SaveLock` on it."""
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=ENDING, dir=target.parent))


def remove_unfinished(target: Path) -> None:
    """Remove the unfinished folders of killed saves of `target`.

    These are folders that are not empty and not locked, because a save locks its folder first.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = unfinished_folder(Path(parent) / "model")
    ...     (folder / "model.X.npy").touch()
    ...     with SaveLock(folder):
    ...         remove_unfinished(Path(parent) / "model")
    ...         folder.exists()
    ...     remove_unfinished(Path(parent) / "model")
    ...     folder.exists()
    True
    False
    """
    with suppress(PermissionError):  # the parent may be writeable but not listable
        for folder in list(target.parent.iterdir()):
            if folder.name.startswith(f".{target.name}.") and folder.name.endswith(ENDING):
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder that a killed save wrote into."""
    with suppress(OSError), SaveLock(folder) as save:  # another process may have removed it
        if any(folder.iterdir()) and save.is_alone():
            shutil.rmtree(folder, ignore_errors=True)
