"""The embedded data set: its file, written and read.

One xz-compressed ``.npz`` of plain arrays, never a pickle: names joined by newlines, the two
matrices as column lengths and row gaps (see ``postings``), the test rows as bits.
"""

import io
import lzma
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Bool, Csr
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.embedded.postings import decode, encode

PATH = Path(__file__).with_name("debtags.npz.xz")


class Contents(NamedTuple):
    """What the file holds: names, 0/1 matrices, and which rows are for test."""

    packages: tuple[str, ...]
    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    X: Csr
    Y: Csr
    in_test: Bool


def pack(contents: Contents) -> bytes:
    """Return the bytes of the file; the same contents give the same bytes."""
    token_lengths, token_gaps = encode(contents.X)
    tag_lengths, tag_gaps = encode(contents.Y)
    stream = io.BytesIO()
    np.savez(
        stream,
        packages=_join(contents.packages),
        tokens=_join(contents.tokens),
        tags=_join(contents.tags),
        token_lengths=token_lengths.astype(np.int32),
        token_gaps=token_gaps,
        tag_lengths=tag_lengths.astype(np.int32),
        tag_gaps=tag_gaps,
        in_test=np.packbits(contents.in_test),
    )
    return lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def unpack(packed: bytes) -> Contents:
    """Undo :func:`pack`."""
    with np.load(io.BytesIO(lzma.decompress(packed)), allow_pickle=False) as stored:
        packages = _split(stored["packages"])
        n_rows = len(packages)
        return Contents(
            packages=packages,
            tokens=_split(stored["tokens"]),
            tags=_split(stored["tags"]),
            X=decode(stored["token_lengths"].astype(np.int64), stored["token_gaps"], n_rows),
            Y=decode(stored["tag_lengths"].astype(np.int64), stored["tag_gaps"], n_rows),
            in_test=np.unpackbits(stored["in_test"], count=n_rows).astype(np.bool_),
        )


def load_debtags() -> Dataset:
    """Return the embedded data set: 30,300 packages, binary words, tags, a split by family.

    Examples
    --------
    >>> debtags = load_debtags()
    >>> debtags.row_names[0], debtags.X.shape[0] == len(debtags.train) + len(debtags.test)
    ('0ad', True)
    >>> sorted(debtags.label_names[label] for label in debtags.Y[[0]].indices)[:2]
    ['game::strategy', 'interface::graphical']
    """
    contents = unpack(PATH.read_bytes())
    return Dataset(
        X=contents.X,
        Y=contents.Y.astype(np.int32),
        feature_names=contents.tokens,
        label_names=contents.tags,
        row_names=contents.packages,
        train=np.flatnonzero(~contents.in_test).astype(np.int64),
        test=np.flatnonzero(contents.in_test).astype(np.int64),
        source="debtags",
    )


def _join(names: tuple[str, ...]) -> NDArray[np.uint8]:
    """Return the names as UTF-8 lines."""
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def _split(stored: NDArray[np.uint8]) -> tuple[str, ...]:
    """Undo :func:`_join`."""
    return tuple(stored.tobytes().decode().split("\n"))
