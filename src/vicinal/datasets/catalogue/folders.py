"""The folders that are searched for data sets."""

import os
import sys
from pathlib import Path


def data_folders() -> list[Path]:
    """Return the folders of ``$VICINAL_DATA``, then the cache of this user.

    Each contains one folder per data set.
    """
    given = os.environ.get("VICINAL_DATA", "").split(os.pathsep)
    return [Path(folder).expanduser() for folder in given if folder] + [cache_folder()]


def cache_folder() -> Path:
    """Return ``$VICINAL_CACHE``, or the system's cache folder; it need not exist."""
    given = os.environ.get("VICINAL_CACHE")
    return Path(given).expanduser() if given else _system_cache(sys.platform) / "vicinal"


def _system_cache(platform: str) -> Path:
    """Return the folder for caches of `platform`, as ``sys.platform`` names it."""
    if platform == "darwin":
        return Path.home() / "Library" / "Caches"
    variable, usual = (
        ("LOCALAPPDATA", Path("AppData") / "Local")
        if platform == "win32"
        else ("XDG_CACHE_HOME", Path(".cache"))
    )
    given = os.environ.get(variable)
    return Path(given) if given else Path.home() / usual
