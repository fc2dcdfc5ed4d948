"""Folders in which new models are written, until each is renamed into its place."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from vicinal.persistence.save_lock import SaveLock

ENDING = ".unfinished"


def unfinished_folder(target: Path) -> Path:
    """Make a folder beside `target`. Its save holds a :class:`SaveLock` on it while it writes."""
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=ENDING, dir=target.parent))


def remove_unfinished(target: Path) -> None:
    """Remove what saves of `target` left beside it that were killed.

    A folder that holds something and that nobody holds: whoever writes into one locked it before.

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
    with suppress(PermissionError):  # a parent that one may write into, but not list
        for folder in list(target.parent.iterdir()):
            if folder.name.startswith(f".{target.name}.") and folder.name.endswith(ENDING):
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder that a killed save wrote into."""
    with suppress(OSError), SaveLock(folder) as save:  # another may have removed it
        if any(folder.iterdir()) and save.is_alone():
            shutil.rmtree(folder, ignore_errors=True)
