"""The manifest of an index on disk lists its runs of rows; changes replace it atomically."""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vicinal._base.durable import naming, sync_folder
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.file_lock import lock, unlock
from vicinal.distances import distance_names
from vicinal.index.row_ids import MOST_IDS

MANIFEST = "index.json"
LOCK = "lock"
FORMAT = "vicinal segmented index 1"
_RUN = re.compile(r"run-[0-9a-f]{16}")
_REMOVED = re.compile(r"removed-[0-9a-f]{16}")
_FRESH = re.compile(r"index-[0-9a-f]{16}\.json")
_POSTINGS = re.compile(r"postings-[0-9]+")
_SUMS = {"indptr", "indices", "ids", "values"}


@dataclass(frozen=True)
class Manifest:
    """The contents of an index folder; files that it does not list are ignored.

    Parameters
    ----------
    metric : str
    n_features : int
    n_ids : int
        Number of ids assigned so far.
    max_memory : int
        Bytes that a search may use for postings, as set when the index was built.
    runs : tuple of dict
        Name, rows, entries, number type and checksums of each run, its removed rows and postings.
    version : str
        Random; shows whether another process has changed the index.
    postings : bool
        Whether the postings of new runs are written.
    """

    metric: str
    n_features: int
    n_ids: int
    max_memory: int
    runs: tuple[dict[str, Any], ...]
    version: str
    postings: bool = False


def new_name(kind: str) -> str:
    """Return a new random name for a file or folder."""
    return f"{kind}-{secrets.token_hex(8)}"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically: readers see either the old one or the new one."""
    body = {"format": FORMAT, **asdict(manifest)}
    text = json.dumps(body, indent=1).encode()
    fresh = folder / f"{new_name('index')}.json"
    with naming(fresh), fresh.open("wb") as stream:
        stream.write(b"%s\n%s\n" % (hashlib.sha256(text).hexdigest().encode(), text))
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(folder / MANIFEST)
    sync_folder(folder)


def read_manifest(folder: Path) -> Manifest:
    """Return the current manifest, with every field checked."""
    file = folder / MANIFEST
    if not file.is_file():
        raise ModelFormatError(f"{folder}: expected a segmented index, found no {MANIFEST}")
    checksum, _, text = file.read_bytes().partition(b"\n")
    text = text.rstrip(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != checksum:
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise ModelFormatError(f"{file}: expected format {FORMAT!r}")
    try:
        manifest = Manifest(**{**body, "runs": tuple(body.get("runs", ()))})
        is_sound = (
            manifest.metric in distance_names()
            and all(_is_count(n) for n in (manifest.n_features, manifest.n_ids))
            and _is_count(manifest.max_memory, 2**62)
            and isinstance(manifest.version, str)
            and isinstance(manifest.postings, bool)
            and all(map(_is_run, manifest.runs))
        )
    except TypeError:
        is_sound = False
    if not is_sound:
        raise ModelFormatError(f"{file}: expected the fields of a segmented index")
    return manifest


def _is_count(value: object, most: int = MOST_IDS) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_run(entry: Any) -> bool:
    """Tell whether a manifest entry is valid and only names files that an index writes."""
    if not isinstance(entry, dict) or not _RUN.fullmatch(str(entry.get("name"))):
        return False
    sums, removed = entry.get("sha256"), entry.get("removed", "")
    is_removed = isinstance(removed, dict) and _REMOVED.fullmatch(str(removed.get("file")))
    return (
        _is_count(entry.get("rows"))
        and _is_count(entry.get("entries"), 2**50)
        and entry.get("dtype") in ("float32", "float64")
        and isinstance(sums, dict)
        and sums.keys() == _SUMS
        and all(isinstance(each, str) for each in sums.values())
        and (removed is None or (bool(is_removed) and isinstance(removed.get("sha256"), str)))
        and isinstance(entry.get("postings", []), list)
        and all(map(_is_postings, entry.get("postings", [])))
    )


def _is_postings(entry: Any) -> bool:
    """Tell whether an entry names a file of postings that the index itself writes."""
    return (
        isinstance(entry, dict)
        and bool(_POSTINGS.fullmatch(str(entry.get("file"))))
        and _is_count(entry.get("start"))
        and _is_count(entry.get("stop"))
        and _is_count(entry.get("bytes"), 2**50)
        and isinstance(entry.get("sha256"), str)
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Lock the folder for one writer; others wait. The system releases locks of dead processes."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        lock(descriptor)
        yield
    finally:
        unlock(descriptor)
        os.close(descriptor)


def check_folder(folder: Path) -> None:
    """Raise if a folder contains files that do not belong to a finished or interrupted index."""
    if not folder.exists():
        return
    if not folder.is_dir():
        expected = "a new folder or an existing index"
        raise InvalidArgumentError("folder", expected, f"the file {folder}")
    others = [file.name for file in folder.iterdir() if not _is_ours(file.name)]
    if others:
        got = f"{folder}, which also contains {min(others)}"
        raise InvalidArgumentError("folder", "a new folder or an existing index", got)


def remove_unlisted(folder: Path, manifest: Manifest) -> None:
    """Delete runs that the manifest does not list: merged runs, and those of killed writers.

    Readers that have them mapped are not affected. The caller must hold the lock.
    """
    listed = {run["name"] for run in manifest.runs}
    listed |= {run["removed"]["file"] for run in manifest.runs if run["removed"]}
    for file in list(folder.iterdir()):
        if not _is_ours(file.name) or file.name in {*listed, MANIFEST, LOCK}:
            continue
        with suppress(OSError):
            if file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink()


def _is_ours(name: str) -> bool:
    patterns = (_RUN, _REMOVED, _FRESH)
    return name in (MANIFEST, LOCK) or any(each.fullmatch(name) for each in patterns)
