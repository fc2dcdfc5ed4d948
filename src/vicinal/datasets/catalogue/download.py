"""Download files into the cache with pooch, completely and verified, or not at all."""

import os
import shutil
import sys
import zipfile
from functools import cache
from pathlib import Path

from vicinal._core.files import replacing, sha256_of
from vicinal.datasets.catalogue.entry import Entry, Finder
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES, PACKED, bare_name
from vicinal.errors import DataFormatError, DataNotFoundError, optional_module

_LIST = Path(__file__).with_name("SHA256SUMS")
_BESIDE = ".sha256"


def known_checksum(folder: str, file: str) -> str | None:
    """Return the SHA-256 of a file of the catalogue in hexadecimal, or None if it is unknown."""
    return _sums().get(f"{folder}/{file}")


def record_checksum(path: Path) -> None:
    """Store the checksum of a file next to it, so that later changes are detected."""
    line = f"{sha256_of(path)}  {path.name}\n"
    path.with_name(path.name + _BESIDE).write_text(line, encoding="utf-8")


def verify(path: Path, folder: str) -> None:
    """Raise if the checksum differs from the known or recorded one."""
    beside = path.with_name(path.name + _BESIDE)
    wanted = known_checksum(folder, path.name)
    if wanted is None and beside.is_file():
        wanted = beside.read_text(encoding="utf-8").split()[0]
    if wanted is not None and (got := sha256_of(path)) != wanted:
        raise DataFormatError(path, f"SHA-256 {wanted}", got)


@cache
def _sums() -> dict[str, str]:
    """Read the list: the sum, two spaces, folder and file, as ``sha256sum`` writes it."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


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
    """Fetch a file of `entry` into the cache and return its path."""
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
            members = {Path(member.filename).name: member for member in archive.infolist()}
            for file in entry.recipe.files:
                if file not in members:
                    raise DataFormatError(address, f"an archive with {file}", str(list(members)))
                if members[file].file_size > DEFAULT_MAX_BYTES:  # which zipfile enforces
                    expected = f"at most {DEFAULT_MAX_BYTES} bytes per file"
                    raise DataFormatError(address, expected, str(members[file].file_size))
                with (
                    archive.open(members[file]) as source,
                    replacing(target / file) as beside,
                    beside.open("xb") as sink,
                ):
                    shutil.copyfileobj(source, sink)
                record_checksum(target / file)
    except zipfile.BadZipFile:
        raise DataFormatError(address, "a zip archive", "something else") from None
    finally:
        packed.unlink()


def _retrieve(address: str, path: Path, checksum: str | None) -> None:
    """Download to a temporary file, check it, and move it to `path`."""
    pooch = optional_module("pooch", "data")
    digest = None if checksum is None else f"sha256:{checksum}"
    try:
        pooch.retrieve(address, known_hash=digest, fname=path.name, path=path.parent)
    except ValueError as error:
        expected = f"a file with SHA-256 {checksum}" if checksum else "an address of a file"
        raise DataFormatError(address, expected, str(error)) from error


def data_folders() -> list[Path]:
    """Return the folders of ``$VICINAL_DATA``, then the cache of this user."""
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


def finder(entry: Entry, check: bool = False) -> Finder:
    """Return the function that finds the files of `entry` for its recipe, or downloads them."""

    def find(file: str) -> Path:
        path = _on_disk(entry, file)
        if path is None:
            return _fetch(entry, file)
        if check:
            verify(path, entry.folder)
        return path

    return find


def at_hand(entry: Entry) -> bool:
    """Tell whether every file of `entry` is on this machine."""
    return all(_on_disk(entry, file) is not None for file in entry.recipe.files)


def _on_disk(entry: Entry, file: str) -> Path | None:
    """Return the first file of that name, whether or not it is compressed."""
    names = [file, *(bare_name(file) + ending for ending in ("", *PACKED))]
    paths = (folder / entry.folder / name for folder in data_folders() for name in names)
    return next((path for path in paths if path.is_file()), None)


def _fetch(entry: Entry, file: str) -> Path:
    """Download a file, or raise an error that says where it was looked for and what to do."""
    try:
        return download(entry, file, cache_folder())
    except DataNotFoundError as error:
        folders = ", ".join(str(folder / entry.folder) for folder in data_folders())
        raise DataNotFoundError(
            f"{entry.name}: {file} is not in {folders}, and could not be downloaded ({error}). "
            f"Put the files of the data set ({', '.join(entry.recipe.files)}) into a folder "
            f"{entry.folder} and set VICINAL_DATA to the folder that holds it, or VICINAL_DATA_URL "
            f"to the address of a mirror." + (f" Note: {entry.hint}." if entry.hint else "")
        ) from error
