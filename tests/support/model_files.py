"""Model files taken apart and put together again, with every checksum right: what a forger can do.

Written from the description of the layout, without the library's own reader and writer.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CODES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip


def taken_apart(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the manifest of a model file and its arrays by name."""
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    manifest = json.loads(header.pop("__metadata__")["vicinal"])
    arrays = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        array = np.frombuffer(data[start:stop], dtype=CODES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"]).copy()
    return manifest, arrays


def put_together(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return a model file with these contents; the checksums of the arrays are made anew."""
    codes = {np.dtype(code): name for name, code in CODES.items()}
    ordered = sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize)
    sums = {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in ordered}
    entries: dict[str, Any] = {}
    place = 0
    for name, array in ordered:
        offsets = [place, place + array.nbytes]
        code = codes.get(array.dtype.newbyteorder("<"), "C64")
        entries[name] = {"dtype": code, "shape": array.shape, "data_offsets": offsets}
        place += array.nbytes
    data = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for _, array in ordered)
    if "sha256" in manifest:
        manifest = {**manifest, "sha256": sums}
    return with_header({**metadata(json.dumps(manifest, ensure_ascii=False)), **entries}) + data


def metadata(manifest: str) -> dict[str, Any]:
    """Return the entry of a header that holds the manifest, without its checksum."""
    saved = "2026-11-16T12:00:00+00:00"
    return {"__metadata__": {"sha256": "0" * 64, "saved": saved, "vicinal": manifest}}


def with_header(entries: dict[str, Any] | str) -> bytes:
    """Return length and text of a header with the right checksum."""
    text = entries if isinstance(entries, str) else json.dumps(entries, ensure_ascii=False)
    plain = text.encode()
    digest = hashlib.sha256(plain).hexdigest().encode()
    return len(plain).to_bytes(8, "little") + plain.replace(b"0" * 64, digest, 1)


def parts_of(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a model file with zeros as its checksum, and the bytes behind it."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"]["sha256"] = "0" * 64
    return header, content[8 + length :]


def edit_manifest(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest of a model file, all checksums right."""
    manifest, arrays = taken_apart(path.read_bytes())
    change(manifest)
    path.write_bytes(put_together(manifest, arrays))


def edit_header(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of a model file, the bytes behind it unchanged."""
    header, data = parts_of(path.read_bytes())
    change(header)
    path.write_bytes(with_header(header) + data)


def stored_array(path: Path, name: str) -> np.ndarray:
    """Return an array of a model file."""
    return taken_apart(path.read_bytes())[1][f"model.{name}"]


def replace_array(path: Path, name: str, array: np.ndarray) -> None:
    """Put another array in place of one, all checksums right."""
    manifest, arrays = taken_apart(path.read_bytes())
    assert f"model.{name}" in arrays
    arrays[f"model.{name}"] = array
    path.write_bytes(put_together(manifest, arrays))
