"""The data set that comes with the package: Debian packages, their words, their tags.

Input: the file next to this module, written by ``tools/build_debtags.py``. Output:
a :class:`~vicinal.datasets.dataset.Dataset`. Imported by the catalogue and by that tool.

One xz-compressed ``.npz`` of plain arrays, never a pickle: names joined by newlines, the two
matrices as column lengths and row gaps (see ``postings``), the test rows as bits.

Packages built from one source share most of their description: ``libfoo1``, ``libfoo-dev`` and
``python3-foo`` have nearly the same words and tags. A split that separates them would leak test
rows into the training set.

A column is the ascending list of its rows. The differences are stored (the first row counts from
−1, so every gap is at least 1), each as a little-endian base-128 number whose last byte is below
128. Frequent columns have small gaps, so most gaps take one byte, and ``xz`` finds the rest.
"""

import io
import lzma
import re
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Bool, Csr, Int
from vicinal.datasets.dataset import Dataset

Bytes = NDArray[np.uint8]


def encode(indicator: Csr) -> tuple[Int, Bytes]:
    """Return the length of each column, and all gaps as bytes."""
    columns = sparse.csc_array(indicator)
    columns.sort_indices()
    lengths = np.diff(columns.indptr).astype(np.int64)
    rows = columns.indices.astype(np.int64)
    gaps = np.diff(rows, prepend=-1)
    first = columns.indptr[:-1][lengths > 0]
    gaps[first] = rows[first] + 1
    return lengths, _to_bytes(gaps)


def decode(lengths: Int, stored: Bytes, n_rows: int) -> Csr:
    """Return the matrix that :func:`encode` was given: float64, canonical CSR."""
    gaps = _from_bytes(stored)
    total = np.cumsum(gaps)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    before = np.concatenate(([0], total))[indptr[:-1]]
    rows = (total - np.repeat(before, lengths) - 1).astype(np.int32)
    parts = (np.ones(len(rows)), rows, indptr.astype(np.int32))
    matrix = sparse.csr_array(sparse.csc_array(parts, shape=(n_rows, len(lengths))))
    matrix.sort_indices()
    return matrix


def _to_bytes(numbers: Int) -> Bytes:
    """Write each number in base 128, low digits first; the last byte of each is below 128."""
    digits = np.ones(len(numbers), dtype=np.int64)
    for bits in range(7, 63, 7):
        digits += numbers >> bits > 0
    start = np.cumsum(digits) - digits
    stored = np.empty(int(digits.sum()), dtype=np.uint8)
    for place in range(int(digits.max(initial=0))):
        has = digits > place
        digit = (numbers[has] >> (7 * place)) & 127
        stored[start[has] + place] = digit | np.where(digits[has] > place + 1, 128, 0)
    return stored


def _from_bytes(stored: Bytes) -> Int:
    """Undo :func:`_to_bytes`."""
    ends = np.flatnonzero(stored < 128)
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    if not len(ends):
        return np.empty(0, dtype=np.int64)
    place = np.arange(len(stored)) - np.repeat(starts, ends - starts + 1)
    parts = (stored & 127).astype(np.int64) << (7 * place)
    numbers: Int = np.add.reduceat(parts, starts)
    return numbers


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
    """Return the embedded data set: 30,300 packages, binary words, tags, a split by family."""
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


_PREFIX = re.compile(
    r"^(?:lib(?:ghc|rust|32|64|n32|x32)?-?|python3?-|ruby-|golang-(?:github-|gopkg-|go\.)?|node-|r-cran-"
    r"|r-bioc-|php-|gir1\.2-|elpa-|fonts-|emacs-|vim-|xfonts-|lua-|perl6-|haskell-)(?=..)"
)
_SUFFIX = re.compile(
    r"(?<=..)-(?:dev|doc|docs|dbg|dbgsym|data|common|bin|tools?|utils?|perl|java|ruby|python3?|lua"
    r"|php|tcl|cil|ocaml|el|guile|examples?|tests?|headers|source|src|static|runtime|core|base|gui"
    r"|cli|gtk|gtk[234]|qt|qt[456]|x11|nox|server|client|daemon|extras?|plugins?|modules?|all|full"
    r"|light|demo|theme|i18n|locales?|l10n|dkms|prof|pic|ssl|gnutls|openssl|mpi|mpich|openmpi"
    r"|java-doc|l10n-[a-z]+|help-[a-z-]+|(?:[a-z0-9]+-)?cross|multilib)$"
)
_VERSION = re.compile(r"(?<=[a-z+]{2})[-.]?\d[\d.+]*(?:-\d[\d.]*)*(?:[a-z]{1,3}\d*)?$")


def family(package: str) -> str:
    """Return a package name without language prefixes, role suffixes and versions."""
    stem = _PREFIX.sub("", package.lower(), count=1)
    while (shorter := _VERSION.sub("", _SUFFIX.sub("", stem))) != stem:
        stem = shorter
    return stem


def groups(keys: Sequence[Iterable[Hashable]]) -> list[int]:
    """Group rows that share a key, directly or through others: each gets its group's first row."""
    parent = list(range(len(keys)))
    seen: dict[Hashable, int] = {}
    for row, own in enumerate(keys):
        for key in own:
            one, other = _root(parent, row), _root(parent, seen.setdefault(key, row))
            parent[max(one, other)] = min(one, other)
    return [_root(parent, row) for row in range(len(keys))]


def _root(parent: list[int], row: int) -> int:
    """Follow `parent` to the first row of the group, halving the path on the way."""
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row
