"""Build the embedded data set: Debian packages as bags of words with tags.

From an extract::

    python tools/build_debtags.py debtags-bookworm-main-amd64.jsonl.gz

or from an index of the archive::

    python tools/build_debtags.py Packages.xz Translation-en.xz

The output depends only on the input: rows are sorted by package name and columns by name, without
dates or random numbers. ``src/vicinal/datasets/debtags.md`` explains what is kept and why.
"""

import argparse
import hashlib
import io
import lzma
import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from debian_index import Package, from_index, from_jsonl
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Bool, Csr, Int
from vicinal._core.labels import indicator_of
from vicinal.datasets import Dataset
from vicinal.datasets.debtags import PATH

TOKEN_FLOOR = 2
TAG_FLOOR = 5
TEST_SHARE = 0.2


def contents(packages: Iterable[Package]) -> Dataset:
    """Turn packages into matrices, names and a split."""
    rows = sorted(packages)
    tag_names, kept_tags = _frequent([set(row.tags) for row in rows], TAG_FLOOR)
    rows = [row for row, tags in zip(rows, kept_tags, strict=True) if tags]
    words = [set(re.findall("[a-z0-9]+", row.text.lower())) for row in rows]
    token_names, kept_words = _frequent(words, TOKEN_FLOOR)
    names = tuple(row.name for row in rows)
    held_out = in_test(names, kept_words)
    return Dataset(
        X=indicator_of(kept_words, token_names),
        Y=indicator_of([tags for tags in kept_tags if tags], tag_names),
        feature_names=token_names,
        label_names=tag_names,
        row_names=names,
        train=np.flatnonzero(~held_out),
        test=np.flatnonzero(held_out),
    )


def in_test(names: Sequence[str], words: Sequence[set[str]]) -> Bool:
    """Choose the test rows: whole groups, by the hash of the first name of each.

    A group contains packages that share a name family or a set of words, directly or indirectly.
    Packages built from one source share most of their description: ``libfoo1``, ``libfoo-dev`` and
    ``python3-foo`` have nearly the same words and tags. A split that separates them would leak test
    rows into the training set.
    """
    keys = [(family(name), frozenset(bag)) for name, bag in zip(names, words, strict=True)]
    chosen = [_fraction(names[first]) < TEST_SHARE for first in groups(keys)]
    return np.array(chosen, dtype=np.bool_)


def _fraction(name: str) -> float:
    """Map a name to [0, 1), uniformly and reproducibly."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]) / 2**48


def _frequent(sets: list[set[str]], floor: int) -> tuple[tuple[str, ...], list[set[str]]]:
    """Return the names in at least `floor` of the sets, sorted, and the sets cut down to them."""
    counts = Counter(name for one in sets for name in one)
    kept = {name for name, count in counts.items() if count >= floor}
    return tuple(sorted(kept)), [one & kept for one in sets]


def pack(data: Dataset) -> bytes:
    """Return the bytes of the file; the same data set gives the same bytes."""
    token_lengths, token_gaps = encode(sparse.csr_array(data.X))
    tag_lengths, tag_gaps = encode(data.Y)
    stream = io.BytesIO()
    np.savez(
        stream,
        packages=_join(data.row_names or ()),
        tokens=_join(data.feature_names),
        tags=_join(data.label_names),
        token_lengths=token_lengths.astype(np.int32),
        token_gaps=token_gaps,
        tag_lengths=tag_lengths.astype(np.int32),
        tag_gaps=tag_gaps,
        in_test=np.packbits(np.isin(np.arange(data.n_rows), cast("Int", data.test))),
    )
    return lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def encode(indicator: Csr) -> tuple[Int, NDArray[np.uint8]]:
    """Return the length of each column, and all gaps as bytes."""
    columns = sparse.csc_array(indicator)
    columns.sort_indices()
    lengths = np.diff(columns.indptr).astype(np.int64)
    rows = columns.indices.astype(np.int64)
    gaps = np.diff(rows, prepend=-1)
    first = columns.indptr[:-1][lengths > 0]
    gaps[first] = rows[first] + 1
    return lengths, _to_bytes(gaps)


def _to_bytes(numbers: Int) -> NDArray[np.uint8]:
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


def _join(names: Sequence[str]) -> NDArray[np.uint8]:
    """Return the names as UTF-8 lines."""
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


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


def main() -> None:
    """Read the command line, write the file, and print a summary."""
    parser = argparse.ArgumentParser(description="Build the embedded debtags data set.")
    parser.add_argument("source", type=Path, help="a JSONL extract, or a Packages file")
    parser.add_argument("translation", type=Path, nargs="?", help="its Translation-en")
    parser.add_argument("-o", "--output", type=Path, default=PATH)
    given = parser.parse_args()
    packages = (
        from_jsonl(given.source)
        if given.translation is None
        else from_index(given.source, given.translation)
    )
    built = contents(packages)
    packed = pack(built)
    given.output.write_bytes(packed)
    facts = built.statistics()
    sys.stdout.write(
        f"{given.output}: {len(packed)} bytes, {built.n_rows} packages ({facts['test rows']} for "
        f"test), {built.n_features} tokens ({facts['non-zeros per row']:.1f} a package), "
        f"{built.n_labels} tags ({built.cardinality:.3f} a package)\n"
    )


if __name__ == "__main__":
    main()
