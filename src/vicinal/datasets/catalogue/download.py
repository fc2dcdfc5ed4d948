"""Download files into the cache with pooch, completely and verified, or not at all."""

import os
import shutil
import zipfile
from pathlib import Path
from types import ModuleType

from vicinal._base.errors import DataFormatError, DataNotFoundError, MissingExtraError
from vicinal.datasets.catalogue.checksums import known_checksum, record_checksum
from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.files import DEFAULT_MAX_BYTES, bare_name


def addresses(entry: Entry, file: str) -> list[str]:
    """List the addresses of a file: the mirror of ``$VICINAL_DATA_URL`` first, then its home."""
    mirror = os.environ.get("VICINAL_DATA_URL", "").rstrip("/")
    found = [f"{mirror}/{entry.folder}/{file}"] if mirror else []
    if entry.home is not None:
        bare = bare_name(file)
        home = file if known_checksum(entry.folder, bare) is None else bare
        found.append(f"{entry.home}/{home}")
    return found


def download(entry: Entry, file: str, cache: Path) -> Path:
    """Fetch a file of `entry` into the cache and return its path.

    A failed download leaves nothing behind. A file with an unknown checksum is accepted, and its
    checksum is stored next to it.
    """
    target = cache / entry.folder
    failures = []
    for address in addresses(entry, file):
        path = target / address.rpartition("/")[2]
        try:
            _retrieve(address, path, known_checksum(entry.folder, path.name))
        except OSError as error:
            failures.append(f"{address}: {error}")
        else:
            if known_checksum(entry.folder, path.name) is None:
                record_checksum(path)
            return path
    if entry.archive is not None:
        try:
            _from_archive(entry, entry.archive, target)
        except OSError as error:
            failures.append(f"{entry.archive}: {error}")
        else:
            return target / file
    raise DataNotFoundError("; ".join(failures) or "no address is known")


def _from_archive(entry: Entry, address: str, target: Path) -> None:
    """Fetch a zip archive and keep the files of `entry`, whatever their folders in it."""
    packed = target / "archive.zip"
    _retrieve(address, packed, None)
    try:
        with zipfile.ZipFile(packed) as archive:
            members = {Path(name).name: name for name in archive.namelist()}
            for file in entry.recipe.files:
                if file not in members:
                    raise DataFormatError(address, f"an archive with {file}", str(list(members)))
                _check_size(archive.getinfo(members[file]).file_size, address)
                _extract(archive, members[file], target / file)
    except zipfile.BadZipFile:
        raise DataFormatError(address, "a zip archive", "something else") from None
    finally:
        packed.unlink()


def _check_size(n_bytes: int, address: str) -> None:
    """Raise if a member would unpack to more than the limit; zipfile enforces the stated size."""
    if n_bytes > DEFAULT_MAX_BYTES:
        raise DataFormatError(address, f"at most {DEFAULT_MAX_BYTES} bytes per file", str(n_bytes))


def _extract(archive: zipfile.ZipFile, member: str, path: Path) -> None:
    """Unpack one member next to `path`, rename it into place and store its checksum."""
    partial = path.with_name(path.name + ".partial")
    try:
        with archive.open(member) as source, partial.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    record_checksum(path)


def _retrieve(address: str, path: Path, checksum: str | None) -> None:
    """Download to a temporary file, check it, and move it to `path`."""
    pooch = _pooch()
    try:
        pooch.retrieve(
            address,
            known_hash=None if checksum is None else f"sha256:{checksum}",
            fname=path.name,
            path=path.parent,
        )
    except ValueError as error:
        expected = f"a file with SHA-256 {checksum}" if checksum else "an address of a file"
        raise DataFormatError(address, expected, str(error)) from error


def _pooch() -> ModuleType:
    """Import pooch late: only a download needs it."""
    try:
        import pooch
    except ImportError:
        raise MissingExtraError("pooch", "data") from None
    return pooch
