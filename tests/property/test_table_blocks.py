"""Files read in blocks give the rows that they give when read whole, however many at a time."""

import gzip
import io
import json
import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.datasets import Dataset, Reading, TableOptions, read_content, read_file, write_file
from vicinal.datasets.blocks import file_blocks
from vicinal.datasets.tables.content import table_blocks
from vicinal.datasets.tables.table_rows import array_rows
from vicinal.datasets.texts import read_texts, text_blocks
from vicinal.errors import DataFormatError

pytestmark = pytest.mark.native

MESSY = Path(__file__).parents[1] / "messy"
HOT = {
    "one_hot.csv",
    "excel_german_words.csv",
    "crosses.csv",
    "true_false.csv",
    "decimal_comma.csv",
    "mixed.csv",
}
TABLES = sorted(
    path.name
    for path in MESSY.iterdir()
    if path.is_file() and path.suffix not in {".md", ".arff", ".xml"}
)


def in_blocks(path, options, known, block_rows, *, labelled=True):
    """All rows of a table that is read in blocks, as read_content gives them."""
    parts = list(table_blocks(path, options, known, labelled=labelled, block_rows=block_rows))
    labels = [row for part in parts for row in part.labels or ()]
    (names,) = {part.label_names for part in parts}
    assert not labelled or {label for row in labels for label in row} <= set(names)
    return (
        [list(row) if isinstance(row, np.ndarray) else row for part in parts for row in part.X],
        labels if labelled else None,
        [name for part in parts for name in part.row_names or ()],
        [line for part in parts for line in part.lines],
    )


def whole(path, options, known, *, labelled=True):
    found = read_content(path, options, known=known, labelled=labelled)
    rows = [list(row) if isinstance(row, np.ndarray) else row for row in found.X]
    return rows, found.labels, list(found.row_names or ()), list(found.lines)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("block_rows", [1, 5, 12])
def test_messy_files(name, block_rows):
    options = TableOptions(label_columns=["green:tree"] if name in HOT else None)
    path = MESSY / name
    known = read_content(path, options).reading
    for labelled in (True, False):
        wanted = whole(path, TableOptions(), known, labelled=labelled)
        assert in_blocks(path, TableOptions(), known, block_rows, labelled=labelled) == wanted


CELLS = st.text(st.sampled_from("ab ,;\"'\n\réßÄ€"), max_size=12)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, st.lists(st.sampled_from("xyz"), max_size=3)), min_size=1),
    form=st.sampled_from(["csv", "csv.gz", "jsonl", "json", "parquet"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    block_rows=st.integers(1, 7),
)
def test_tables_of_any_content(rows, form, encoding, block_rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / f"some.{form}"
    records = [{"text": text, "tags": "|".join(tags)} for text, tags in rows]
    if form == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        import pyarrow as pa

        parquet.write_table(pa.Table.from_pylist(records), path)
    else:
        path.write_bytes(_written(records, form).encode(encoding))
        if form.endswith("gz"):
            path.write_bytes(gzip.compress(path.read_bytes()))
    options = TableOptions() if form == "parquet" else TableOptions(encoding=encoding)
    known = Reading(text=("text",), labels="tags", separator="|", row_names="text")
    assert in_blocks(path, options, known, block_rows) == whole(path, options, known)


def _written(records, form):
    if form == "json":
        return json.dumps(records, ensure_ascii=False, indent=1)
    if form == "jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    import csv

    target = io.StringIO(newline="")
    writer = csv.DictWriter(target, ["text", "tags"])
    writer.writeheader()
    writer.writerows(records)
    return target.getvalue()


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.dictionaries(st.sampled_from("abc"), CELLS | st.integers()), max_size=6),
    indent=st.sampled_from([None, 0, 3]),
    size=st.integers(1, 9),
)
def test_arrays_of_objects_in_pieces(rows, indent, size):
    text = json.dumps(rows, indent=indent, ensure_ascii=False) + "\n"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(array_rows(pieces, "x.json")) == list(array_rows([text], "x.json"))
    assert [row.cells for row in array_rows(pieces, "x.json")] == rows


def test_a_broken_array_is_named_by_its_line():
    pieces = ['[{"a": 1},\n', '{"a": \n', "oops}]"]
    with pytest.raises(DataFormatError, match="line 2"):
        list(array_rows(pieces, "x.json"))


def dataset(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 9))
    X = np.round(rng.random((n_rows, 5)) * (rng.random((n_rows, 5)) < rng.random()), 3)
    Y = sparse.csr_array((rng.random((n_rows, 3)) < 0.4).astype(np.int32))
    return Dataset(X, Y, tuple("abcde"), ("one", "two", "three"))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    ending=st.sampled_from(["xc.txt", "arff", "meka.arff", "arff.gz", "xc"]),
    block_rows=st.integers(1, 10),
)
def test_files_of_features(seed, ending, block_rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / f"some.{ending}"
    write_file(dataset(seed), path)
    wanted, blocks = read_file(path), list(file_blocks(path, block_rows))
    assert all(block.n_rows <= block_rows for block in blocks)
    for block in blocks:
        assert list(block.label_names) == list(wanted.label_names)
        assert list(block.feature_names) == list(wanted.feature_names)
    np.testing.assert_array_equal(np.vstack([dense(b.X) for b in blocks]), dense(wanted.X))
    np.testing.assert_array_equal(np.vstack([dense(b.Y) for b in blocks]), dense(wanted.Y))


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("at", [2, 5, 8])
def test_an_error_in_a_block_names_the_line_of_the_file(at, tmp_path):
    path = tmp_path / "some.arff"
    write_file(dataset(3), path)
    lines = path.read_text().splitlines()
    first = lines.index("@data") + 1
    rows = [*lines[first:], *lines[first:]][:9]
    rows[at] = "1,oops"
    path.write_text("\n".join([*lines[:first], *rows]) + "\n")
    with pytest.raises(DataFormatError, match=f"line {first + at + 1}"):
        list(file_blocks(path, 2))


@settings(max_examples=40, deadline=None)
@given(
    text=st.text(st.sampled_from("ab \n\r\x0bé"), max_size=40),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
    block_rows=st.integers(1, 5),
)
def test_texts_one_per_line(text, encoding, block_rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "some.txt"
    path.write_bytes(text.encode(encoding))
    found = [line for block in text_blocks(path, block_rows) for line in block.texts]
    assert found == read_texts(path).texts


@pytest.mark.parametrize("size", [1, 2**20])
def test_a_late_byte_of_another_encoding_is_found(size, tmp_path, monkeypatch):
    monkeypatch.setattr("vicinal.datasets.tables.table_rows._PIECE", size)
    path = tmp_path / "late.csv"
    path.write_bytes(b"text,tags\n" + b"plain,x\n" * 20 + "Größe,y\n".encode("cp1252"))
    known = Reading(text=("text",), labels="tags", separator=";")
    assert in_blocks(path, TableOptions(), known, 4)[0][-1] == "Größe"
    with pytest.raises(DataFormatError, match=r"utf-8 .*byte 0xf6.*line 22|line 22"):
        in_blocks(path, TableOptions(encoding="utf-8"), known, 4)


def test_what_was_found_is_said_once(caplog):
    path = MESSY / "german_cp1252.csv"
    known = read_content(path).reading
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="vicinal"):
        in_blocks(path, TableOptions(), known, 2)
    assert caplog.text.count("read as cp1252") == 1
