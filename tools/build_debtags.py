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
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from debian_index import Package, from_index, from_jsonl
from scipy import sparse

from vicinal._core.arrays import Bool, Csr
from vicinal.datasets.debtags import PATH, Contents, family, groups, pack

TOKEN_FLOOR = 2
TAG_FLOOR = 5
TEST_SHARE = 0.2


def contents(packages: Iterable[Package]) -> Contents:
    """Turn packages into matrices, names and a split."""
    rows = sorted(packages)
    tag_names, kept_tags = _frequent([set(row.tags) for row in rows], TAG_FLOOR)
    rows = [row for row, tags in zip(rows, kept_tags, strict=True) if tags]
    kept_tags = [tags for tags in kept_tags if tags]
    words = [set(re.findall("[a-z0-9]+", row.text.lower())) for row in rows]
    token_names, kept_words = _frequent(words, TOKEN_FLOOR)
    return Contents(
        packages=tuple(row.name for row in rows),
        tokens=token_names,
        tags=tag_names,
        X=_indicator(kept_words, token_names),
        Y=_indicator(kept_tags, tag_names),
        in_test=in_test([row.name for row in rows], kept_words),
    )


def in_test(names: Sequence[str], words: Sequence[set[str]]) -> Bool:
    """Choose the test rows: whole groups, by the hash of the first name of each.

    A group contains packages that share a name family or a set of words, directly or indirectly.
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


def _indicator(sets: list[set[str]], names: tuple[str, ...]) -> Csr:
    """Return the 0/1 matrix of sets by names; column ids rise, so the order of words is lost."""
    column = {name: index for index, name in enumerate(names)}
    indices = [sorted(column[name] for name in one) for one in sets]
    indptr = np.concatenate(([0], np.cumsum([len(one) for one in indices])))
    flat = np.array([index for one in indices for index in one], dtype=np.int64)
    return sparse.csr_array((np.ones(len(flat)), flat, indptr), shape=(len(sets), len(names)))


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
    n_test = int(built.in_test.sum())
    sys.stdout.write(
        f"{given.output}: {len(packed)} bytes, {built.X.shape[0]} packages ({n_test} for test), "
        f"{built.X.shape[1]} tokens ({built.X.nnz / built.X.shape[0]:.1f} a package), "
        f"{built.Y.shape[1]} tags ({built.Y.nnz / built.Y.shape[0]:.3f} a package)\n"
    )


if __name__ == "__main__":
    main()
