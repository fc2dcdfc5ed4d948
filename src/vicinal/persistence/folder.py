"""A model on disk: ``manifest.json`` and one ``.npy`` file per array.

The manifest holds the format number, the versions that wrote it, the parameters, and name, size and
SHA-256 of every array's file; its own SHA-256 comes first.

A save is atomic, even if the machine crashes. A new folder is written next to its destination,
flushed, and renamed. A model that replaces another writes its arrays next to the old ones under new
names, and finally its manifest over the old one; then the old arrays are deleted. A reader sees the
old model or the new one, never a mixture (if its arrays disappear meanwhile, it reads again). A
killed save leaves unlisted files or a temporary folder, which do no harm; the next completed save
removes them if no other save is in progress.
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

from vicinal._core.files import naming, sync_folder
from vicinal._core.state import Saveable
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.arrays import FILE_NAME, Mapping, read_arrays, write_array
from vicinal.persistence.encoding import Arrays, Json, decode, encode
from vicinal.persistence.save_lock import SaveLock
from vicinal.persistence.unfinished import remove_unfinished, unfinished_folder

FORMAT = 1
_ATTEMPTS = 20
MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 2**28
"""Maximum size of a manifest: 256 MiB, enough for the names of about ten million labels."""
_WRONG_VALUES = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
"""Exceptions that unexpected values may raise when a part is built from them."""
_KEPT_MANIFEST = re.compile(r"manifest\.[0-9a-f]{16}\.json")
_OF_A_SAVE = re.compile(rf"model[A-Za-z0-9_.-]*\.npy|{_KEPT_MANIFEST.pattern}")
"""Names of files that a killed save may have left behind."""
_SURELY_OF_A_SAVE = re.compile(r"model\.([A-Za-z0-9_.-]+\.)?[0-9a-f]{16}\.npy")
"""Names of arrays that only a save gives to its files."""


def write_folder(part: Saveable, path: str | os.PathLike[str]) -> None:
    """Save `part` as the folder `path`; an older model there is replaced as a whole.

    Raises an error if `path` exists and is not a model, or contains other files, so that nothing
    else is ever overwritten.

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
    """Write a new folder; return False if another save was faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = unfinished_folder(target)
    try:
        with SaveLock(fresh):
            _write_parts(fresh, encoded, arrays)
            fresh.chmod(0o755)
            sync_folder(fresh)
            fresh.rename(target)
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if isinstance(error, OSError) and (target / MANIFEST).is_file():
            return False
        raise
    sync_folder(target.parent)
    return True


def _replace(target: Path, encoded: Json, arrays: Arrays) -> None:
    """Write a model into the folder of an older one and remove leftovers of killed saves."""
    with SaveLock(target) as save:
        _overwrite(target, encoded, arrays)
        if save.is_alone():
            _remove_leftovers(target)


def _overwrite(target: Path, encoded: Json, arrays: Arrays) -> None:
    """Replace an older model, which stays valid until the new manifest is written.

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
    sync_folder(target)
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
    return {name for name in names if FILE_NAME.fullmatch(name)}


def _write_parts(folder: Path, encoded: Json, arrays: Arrays, save: str = "") -> Path:
    """Write arrays, then the manifest that vouches for them; its path, with `save` in all names."""
    files: dict[str, Json] = {}
    for name, array in arrays.items():
        files[name] = write_array(folder / f"{name}{save}.npy", array)
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
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1).encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError("model", "names that UTF-8 can hold", str(error)) from None
    if len(text) > MOST_MANIFEST_BYTES:
        expected = f"names and parameters of at most {MOST_MANIFEST_BYTES} bytes"
        raise InvalidArgumentError("model", expected, f"{len(text)} bytes")
    manifest = (folder / MANIFEST).with_suffix(f"{save}.json")
    with naming(manifest), manifest.open("wb") as stream:
        stream.write(b"%s\n%s\n" % (hashlib.sha256(text).hexdigest().encode(), text))
        stream.flush()
        os.fsync(stream.fileno())
    return manifest


def read_folder(
    path: str | os.PathLike[str], *, verify: bool = True, mmap: Mapping = "auto"
) -> Saveable:
    """Return the part saved as the folder `path`.

    Parameters
    ----------
    path : path
    verify : bool
        Compare every array with its SHA-256 first, which reads them all once. Structure, shapes and
        ranges are checked in any case.
    mmap : bool or "auto"
        Whether arrays of fractions are mapped; see :func:`~vicinal.persistence.arrays.read_arrays`.
    """
    folder = Path(path)
    for _ in range(_ATTEMPTS):
        before = _identity(folder)
        try:
            part = _read_once(folder, verify, mmap)
        except (ModelFormatError, OSError):
            if _identity(folder) == before:
                raise
        else:
            if _identity(folder) == before:
                return part
    return _read_once(folder, verify, mmap)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells one model from another in the same folder, None if there is none."""
    try:
        status = (folder / MANIFEST).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _read_once(folder: Path, verify: bool, mmap: Mapping) -> Saveable:
    """Read the model that stands there now."""
    manifest = _read_manifest(folder)
    arrays = read_arrays(folder, manifest.get("arrays"), verify, mmap)
    try:
        part = decode(manifest.get("model"), arrays)
    except ModelFormatError as error:
        raise ModelFormatError(f"{folder}: {error}") from None
    except _WRONG_VALUES as error:
        raise ModelFormatError(f"{folder}: {type(error).__name__}: {error}") from None
    if not isinstance(part, Saveable):
        raise ModelFormatError(f"{folder}: the manifest holds no model")
    return part


def _read_manifest(folder: Path, name: str = MANIFEST) -> dict[str, Json]:
    """Return a manifest's body, its checksum and format number checked."""
    file = folder / name
    if not file.is_file():
        raise ModelFormatError(f"{folder}: expected a saved model, found no {name}")
    with file.open("rb") as stream:
        is_long = os.fstat(stream.fileno()).st_size > MOST_MANIFEST_BYTES + 128
        content = b"" if is_long else stream.read()
        if is_long:
            expected = f"a manifest of at most {MOST_MANIFEST_BYTES} bytes"
            raise ModelFormatError(f"{file}: expected {expected}, got more")
    checksum, _, text = content.partition(b"\n")
    if len(checksum) != 64 or not text:
        raise ModelFormatError(f"{file}: expected a checksum and JSON, got something else")
    if hashlib.sha256(text.rstrip(b"\n")).hexdigest().encode() != checksum:
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    try:
        body: Any = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ModelFormatError(
            f"{file}: expected a checksum and JSON, got something else"
        ) from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        got = body.get("format") if isinstance(body, dict) else None
        raise ModelFormatError(f"{file}: expected format {FORMAT}, got {got!r:.60}")
    return body


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinity, which JSON does not have."""
    raise ValueError(name)
