"""Snapshots: the model folder of a version, so that a start need not replay the whole history.

They are written beside the store, to ``STORE.snapshots/MODEL/VERSION``. A snapshot is either
complete or absent, and is verified when it is loaded. A damaged one is renamed to
``VERSION.damaged`` and skipped. Since the store holds every event, an older snapshot or the trained
model gives the same model after more events are replayed.
"""

import logging
import re
import shutil
from contextlib import suppress
from pathlib import Path

from vicinal._base.errors import ModelFormatError
from vicinal.estimators import load
from vicinal.estimators.model import Model
from vicinal.persistence.unfinished import ENDING, remove_unfinished
from vicinal.service.saved_graph import graph_file, read_graph
from vicinal.service.served_model import ServedModel

_VERSION = re.compile(r"[0-9]{12}")
log = logging.getLogger("vicinal.service")


class Snapshots:
    """The snapshots of one model.

    Parameters
    ----------
    store : Path
        The store they lie beside.
    model : str
        The id of the model.
    kept : int
        How many of the newest to keep.
    """

    def __init__(self, store: Path, model: str, kept: int) -> None:
        self.folder = store.with_name(store.name + ".snapshots") / model
        self.kept = kept

    def versions(self) -> list[int]:
        """Return the versions that have a snapshot, newest first."""
        if not self.folder.is_dir():
            return []
        names = [path.name for path in self.folder.iterdir() if _VERSION.fullmatch(path.name)]
        return sorted((int(name) for name in names), reverse=True)

    def newest(self) -> tuple[Model, int] | None:
        """Load the newest undamaged snapshot; one of version 0 would be the model as trained."""
        for version in filter(None, self.versions()):
            path = self._path(version)
            try:
                model = load(path, verify=True)
                read_graph(model, path)
                return model, version
            except (ModelFormatError, OSError) as error:
                log.error("snapshot skipped", extra={"path": str(path), "reason": str(error)})
                with suppress(OSError):  # on a read-only disk it stays where it is
                    path.rename(path.with_name(path.name + ".damaged"))
        return None

    def write(self, served: ServedModel) -> tuple[Path, int]:
        """Save the model as it is now, then remove all but the newest snapshots."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            while not served.save(self._path(version := served.version), version):
                pass  # the model has changed meanwhile
        finally:
            self._remove_leftovers()
        for old in self.versions()[self.kept :]:
            shutil.rmtree(self._path(old), ignore_errors=True)
            graph_file(self._path(old)).unlink(missing_ok=True)
        return self._path(version), version

    def _remove_leftovers(self) -> None:
        """Remove what failed saves and killed processes left: unfinished files, graphs alone."""
        for folder in self.folder.glob(f".*{ENDING}"):
            remove_unfinished(self.folder / folder.name.split(".")[1])
        for graph in self.folder.glob("*.graph.*"):
            if not self._path(int(graph.name.split(".")[0])).exists():
                graph.unlink(missing_ok=True)

    def _path(self, version: int) -> Path:
        return self.folder / f"{version:012d}"
