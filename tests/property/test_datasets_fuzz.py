"""Damaged files never crash: they are read, or refused with a DataFormatError."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_files import COUNTS, DATA, MEKA, matlab, written
from scipy import sparse

from vicinal.datasets import read_file
from vicinal.errors import DataFormatError

pytestmark = pytest.mark.native

NUMBERS = [b"-1", b"99999999999999999999", b"nan", b"inf", b"1e999", b"4294967295"]
MARKS = [bytes([byte]) for byte in b"\n ,:?'\"\\{}%\x00\r\t[<&"]
PIECES = [b"", b"\xff\xfe", b"@data", *NUMBERS, *MARKS]


FILES = {
    "xc": ("d.txt", written(DATA, "d.txt")),
    "xc names": ("d.txt", written(DATA, "d.txt"), "d-labels.txt"),
    "packed": ("d.txt.gz", {"d.txt.gz": gzip.compress(written(DATA, "d.txt")["d.txt"])}),
    "mulan": ("d.arff", written(DATA, "d.arff")),
    "mulan xml": ("d.arff", written(DATA, "d.arff"), "d.xml"),
    "meka": ("d.arff", {"d.arff": MEKA}),
    "npz": ("d.npz", written(DATA, "d.npz")),
    "jsonl": ("d.jsonl", written(COUNTS, "d.jsonl")),
    "csv": ("d.csv", written(COUNTS, "d.csv")),
    "mat": ("d.mat", matlab("d.mat", packed=False)),
    "packed mat": ("d.mat", matlab("d.mat", packed=True)),
}
edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 6),
        st.sampled_from(PIECES) | st.binary(min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=4,
)


def damaged(content, changes):
    """Replace, at shares of the length, so many bytes by others."""
    for place, length, piece in changes:
        at = int(place * len(content))
        content = content[:at] + piece + content[at + length :]
    return content


def read_damaged(kind, changes):
    name, files, *victim = FILES[kind]
    with tempfile.TemporaryDirectory() as folder:
        for file_name, content in files.items():
            is_victim = file_name == (victim[0] if victim else name)
            (Path(folder) / file_name).write_bytes(
                damaged(content, changes) if is_victim else content
            )
        return read_file(Path(folder) / name)


@pytest.mark.parametrize("kind", FILES)
def test_undamaged_files_are_read(kind):
    assert read_damaged(kind, []).n_rows == 3


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=edits)
def test_damaged_files_are_read_or_refused(kind, changes):
    try:
        data = read_damaged(kind, changes)
    except DataFormatError:
        return
    assert data.Y.shape == (data.n_rows, data.n_labels)
    assert np.isfinite(data.X.data if sparse.issparse(data.X) else data.X).all()
