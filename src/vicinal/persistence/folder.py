"""A model on disk: ``manifest.json`` and one ``.npy`` file per array.

The manifest holds the format number, the versions that wrote it, the parameters, and name, size and
SHA-256 of every array's file; its own SHA-256 stands in front.

A save is one rename, whenever the machine dies. A new folder is written beside its place, flushed,
and renamed into it. A model that replaces another writes its arrays beside the older ones, under
names of their own, and its manifest last, over the older one; then the older arrays go. A reader
sees the old model or the new one, never half of either (one whose arrays went meanwhile reads
again). A save that was killed leaves files that no manifest lists, or a folder beside the model's
place, and that harm nothing; the next one that ends takes them away, if no other is in progress.
"""

import hashlib
import json
import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import Saveable
from vicinal.persistence.encoding import Arrays, Json, decode, encode
from vicinal.persistence.save_lock import SaveLock
from vicinal.persistence.unfinished import remove_unfinished, unfinished_folder

FORMAT = 1
_ATTEMPTS = 20
MANIFEST = "manifest.json"
_FILE_NAME = re.compile(r"[A-Za-z0-9_.-]+\.npy")
_KEPT_MANIFEST = re.compile(r"manifest\.[0-9a-f]{16}\.json")
_OF_A_SAVE = re.compile(rf"model[A-Za-z0-9_.-]*\.npy|{_KEPT_MANIFEST.pattern}")
"""Names of files that a save which was killed may have left."""
_SURELY_OF_A_SAVE = re.compile(r"model\.([A-Za-z0-9_.-]+\.)?[0-9a-f]{16}\.npy")
"""Of arrays' names, those that nobody else gives."""


def write_folder(part: Saveable, path: str | os.PathLike[str]) -> None:
    """Save `part` as the folder `path`; an older model there is replaced as a whole.

    Refused where `path` exists and is no model, or holds other files besides, so that nothing else
    is ever overwritten.

    Examples
    --------
    >>> from vicinal.decision import Threshold
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_folder(Threshold(0.25), f"{folder}/rule")
    ...     read_folder(f"{folder}/rule")
    Threshold(value=0.25, inclusive=False)
    """
    target = Path(path)
    check_replaceable(target)
    encoded, arrays = encode(part)
    if target.exists():
        _replace(target, encoded, arrays)
    elif not _create(target, encoded, arrays):
        check_replaceable(target)
        _replace(target, encoded, arrays)
    remove_unfinished(target)


def _create(target: Path, encoded: Json, arrays: Arrays) -> bool:
    """Write a new folder; tell whether no other save was quicker."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = unfinished_folder(target)
    try:
        with SaveLock(fresh):
            _write_parts(fresh, encoded, arrays)
            fresh.chmod(0o755)
            fresh.rename(target)
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if isinstance(error, OSError) and (target / MANIFEST).is_file():
            return False
        raise
    return True


def _replace(target: Path, encoded: Json, arrays: Arrays) -> None:
    """Write a model into the folder of an older one, and remove what killed saves left there."""
    with SaveLock(target) as save:
        _overwrite(target, encoded, arrays)
        if save.is_alone():
            _remove_leftovers(target)


def _overwrite(target: Path, encoded: Json, arrays: Arrays) -> None:
    """Write a model over an older one; until its manifest is there, that stands.

    The older manifest is kept until all it lists is gone: names of a first save tell nothing.
    """
    save = f".{secrets.token_hex(8)}"
    kept = (target / MANIFEST).with_suffix(f".{secrets.token_hex(8)}.json")
    try:
        manifest = _write_parts(target, encoded, arrays, save)
        older = _listed_files(_read_manifest(target))
        shutil.copyfile(target / MANIFEST, kept)
        manifest.replace(target / MANIFEST)
    except BaseException:
        own = [file.name for file in target.glob(f"*{save}.*")]
        _remove_unlisted(target, [*own, kept.name])
        raise
    _remove_unlisted(target, older)
    _remove_unlisted(target, [kept.name])


def _remove_leftovers(target: Path) -> None:
    """Remove arrays of saves that ended: known by name, or listed in a manifest that stood once."""
    names = {file.name for file in target.iterdir()}
    kept = {name for name in names if _KEPT_MANIFEST.fullmatch(name)}
    left = {name for name in names if _SURELY_OF_A_SAVE.fullmatch(name)}
    for name in kept:
        with suppress(ModelFormatError, OSError):  # cut short, or somebody else's
            left |= _listed_files(_read_manifest(target, name))
    _remove_unlisted(target, left)
    _remove_unlisted(target, kept)


def _remove_unlisted(target: Path, names: Iterable[str]) -> None:
    """Remove files of a model, unless it is the one that stands.

    Only those named: others may be the arrays of a save that is not done yet.
    """
    for name in set(names) - _listed_files(_read_manifest(target)):
        with suppress(OSError):  # where an open file cannot be removed
            (target / name).unlink()


def check_replaceable(target: Path) -> None:
    """Raise unless `target` is a new path, or a model and nothing else.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_replaceable(Path(folder) / "new")
    """
    if not os.path.lexists(target):
        return
    try:
        listed = _listed_files(_read_manifest(target))
        found = {file.name for file in target.iterdir()} - listed - {MANIFEST}
        others = {name for name in found if not _OF_A_SAVE.fullmatch(name)}
        got = f"{target}, which also holds {min(others)}" if others else None
    except (ModelFormatError, OSError):
        got = f"{target}, something else"
    if got is not None:
        raise InvalidArgumentError("path", "a new path or an older model", got)


def _listed_files(manifest: dict[str, Json]) -> set[str]:
    """Return the names of the files that a manifest vouches for."""
    arrays = manifest.get("arrays")
    entries = arrays.values() if isinstance(arrays, dict) else ()
    names = {str(entry.get("file")) for entry in entries if isinstance(entry, dict)}
    return {name for name in names if _FILE_NAME.fullmatch(name)}


def _write_parts(folder: Path, encoded: Json, arrays: Arrays, save: str = "") -> Path:
    """Write arrays, then the manifest that vouches for them; its path, with `save` in all names."""
    files: dict[str, Json] = {}
    for name, array in arrays.items():
        file = folder / f"{name}{save}.npy"
        _write_array(file, array)
        files[name] = {"file": file.name, "bytes": file.stat().st_size, "sha256": _sha256(file)}
    body: Json = {
        "format": FORMAT,
        "written_by": {
            "vicinal": version("vicinal"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "model": encoded,
        "arrays": files,
    }
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1)
    manifest = (folder / MANIFEST).with_suffix(f"{save}.json")
    with manifest.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n")
        stream.flush()
        os.fsync(stream.fileno())
    return manifest


def _write_array(file: Path, array: NDArray[Any]) -> None:
    """Write one array; where there is no room for it, say so rather than how many items went."""
    try:
        with file.open("wb") as stream:
            np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise OSError(f"{file} cannot be written: {error}") from error


def read_folder(path: str | os.PathLike[str], *, verify: bool = True) -> Saveable:
    """Return the part saved as the folder `path`, its arrays memory-mapped.

    Parameters
    ----------
    path : path
    verify : bool
        Compare every array with its SHA-256 first, which reads them all once. Structure, shapes and
        ranges are checked in any case.
    """
    folder = Path(path)
    for _ in range(_ATTEMPTS):
        before = _identity(folder)
        try:
            part = _read_once(folder, verify)
        except (ModelFormatError, OSError):
            if _identity(folder) == before:
                raise
        else:
            if _identity(folder) == before:
                return part
    return _read_once(folder, verify)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells one model from another in the same folder, None if there is none."""
    try:
        status = (folder / MANIFEST).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _read_once(folder: Path, verify: bool) -> Saveable:
    """Read the model that stands there now."""
    manifest = _read_manifest(folder)
    files = manifest.get("arrays")
    if not isinstance(files, dict):
        raise ModelFormatError(f"{folder}: the manifest lists no arrays")
    arrays = {name: _read_array(folder, entry, verify) for name, entry in files.items()}
    try:
        part = decode(manifest.get("model"), arrays)
    except (ModelFormatError, RecursionError) as error:
        raise ModelFormatError(f"{folder}: {error}") from None
    if not isinstance(part, Saveable):
        raise ModelFormatError(f"{folder}: the manifest holds no model")
    return part


def _read_manifest(folder: Path, name: str = MANIFEST) -> dict[str, Json]:
    """Return a manifest's body, its checksum and format number checked."""
    file = folder / name
    if not file.is_file():
        raise ModelFormatError(f"{folder}: expected a saved model, found no {name}")
    try:
        checksum, text = file.read_text(encoding="utf-8").split("\n", 1)
        body: Any = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ModelFormatError(
            f"{file}: expected a checksum and JSON, got something else"
        ) from None
    if hashlib.sha256(text.rstrip("\n").encode()).hexdigest() != checksum:
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        got = body.get("format") if isinstance(body, dict) else None
        raise ModelFormatError(f"{file}: expected format {FORMAT}, got {got}")
    return body


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinity, which JSON does not have."""
    raise ValueError(name)


def _read_array(folder: Path, entry: Json, verify: bool) -> NDArray[Any]:
    """Map one array, after its name, size and, if wanted, content are as the manifest says."""
    name = entry.get("file") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
        raise ModelFormatError(f"{folder}: the manifest lists an array without a file name")
    file = folder / name
    if not file.is_file() or file.stat().st_size != entry.get("bytes"):
        raise ModelFormatError(f"{file}: missing or cut short")
    if verify and _sha256(file) != entry.get("sha256"):
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    try:
        array: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ModelFormatError(f"{file}: not an array: {error}") from None
    return array


def _sha256(file: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
