"""Files read in chunks give the rows of the whole file, wherever they are cut."""

import csv
import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.datasets import blocks
from vicinal.datasets.blocks import text_chunks, xc_chunks
from vicinal.datasets.tables import TableOptions
from vicinal.datasets.tables.table_rows import TableFile, record_blocks
from vicinal.datasets.xc import read_xc
from vicinal.errors import DataFormatError

ROWS = ["0,2 1:0.5 4:1", " 0:2", "", "1", "2 3:0.25", " 4:7"]


@given(
    st.lists(st.sampled_from(ROWS), max_size=12),
    st.integers(1, 80),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(deadline=None, max_examples=150)
def test_xc_chunks_are_the_file(tmp_path_factory, rows, chunk_bytes, end):
    path = tmp_path_factory.mktemp("xc") / "some.xc.txt"
    path.write_bytes((end.join([f"{len(rows)} 5 3", *rows]) + end).encode())
    whole = read_xc(path)
    chunks = list(xc_chunks(path, chunk_bytes=chunk_bytes))
    assert sum(chunk.X.shape[0] for chunk in chunks) == len(rows)
    X = np.vstack([np.zeros((0, 5)), *(chunk.X.toarray() for chunk in chunks)])
    Y = np.vstack([np.zeros((0, 3)), *(chunk.Y.toarray() for chunk in chunks)])
    dense = whole.X if isinstance(whole.X, np.ndarray) else whole.X.toarray()
    assert np.array_equal(X, dense)
    assert np.array_equal(Y, whole.Y.toarray())


def test_packed_xc(tmp_path):
    path = tmp_path / "some.xc.txt.gz"
    path.write_bytes(gzip.compress(b"2 5 3\n0,2 1:0.5 4:1\n 0:2"))
    assert [chunk.X.shape for chunk in xc_chunks(path, chunk_bytes=3)] == [(1, 5), (1, 5)]
    path.write_bytes(gzip.compress(b"2 5 3\n0,2 1:0.5 4:1\n 0:2")[:-9])
    with pytest.raises(DataFormatError, match="archive"):
        list(xc_chunks(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("3 5\n", "line 1: expected the counts"),
        ("3 5 2\n0 1:1\n", "expected 3 rows"),
        ("1 5 2\n0 1:1\n0 1:1\n", "expected 1 rows"),
        ("3 5 2\n0 1:1\n0 1:1\n0 9:1\n", "line 4"),
    ],
)
def test_damaged_xc_names_the_line(tmp_path, content, said):
    path = tmp_path / "some.xc.txt"
    path.write_text(content)
    for size in (4, 10**6):
        with pytest.raises(DataFormatError, match=said):
            list(xc_chunks(path, chunk_bytes=size))


RECORDS = [("buy milk", ["home", "shop"]), ("a\nb, c", ["7"]), ("übel", []), ("x", ["home"])]


def write_table(path):
    if path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow", reason="needs the extra [frames]")
        parquet = pytest.importorskip("pyarrow.parquet")
        texts, labels = zip(*RECORDS, strict=True)
        parquet.write_table(arrow.table({"text": list(texts), "labels": list(labels)}), path)
    elif path.suffix == ".jsonl":
        lines = [json.dumps({"text": text, "labels": labels}) for text, labels in RECORDS]
        path.write_text("\n\n".join(lines), encoding="utf-8")
    else:
        import csv

        with path.open("w", newline="", encoding="utf-8-sig") as stream:
            table = csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writerow(["text", "labels"])
            table.writerows([text, ",".join(labels)] for text, labels in RECORDS)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "parquet"])
@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_text_chunks(tmp_path, ending, chunk_rows):
    path = tmp_path / f"notes.{ending}"
    write_table(path)
    chunks = list(text_chunks(path, chunk_rows=chunk_rows))
    assert len(chunks) == -(-len(RECORDS) // chunk_rows)
    pairs = [pair for chunk in chunks for pair in zip(chunk.X, chunk.labels, strict=True)]
    assert pairs == RECORDS


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": "a"}', "a column 'labels'"),
        ('{"text": 3, "labels": []}', "text in 'text'"),
        ('{"text": "a", "labels": [1.5]}', "labels in 'labels'"),
        ("[1]", "a JSON object"),
        ("{", "a JSON object"),
    ],
)
def test_bad_rows_are_named(tmp_path, line, said):
    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "a", "labels": ["x"]}\n' + line)
    with pytest.raises(DataFormatError, match=f"line 2: expected {said}"):
        list(text_chunks(path))


def test_lines_that_are_too_long_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 30)
    path = tmp_path / "rows.txt"
    path.write_text("1 9 1\n0" + " 1:0.5" * 20)
    with pytest.raises(DataFormatError, match="lines of at most 30 bytes"):
        list(xc_chunks(path, chunk_bytes=10))
    path = tmp_path / "rows.arff"
    path.write_text("@relation 'r: -C 1'\n@attribute a {0,1}\n@data\n" + "%" * 40)
    with pytest.raises(DataFormatError, match="lines of at most 30 bytes"):
        list(blocks.file_blocks(path, 2))


HEADER = "@relation 'r: -C 1'\n@attribute a {0,1}\n@attribute size numeric\n"


def test_blocks_of_arff_skip_comments_and_keep_an_empty_file_empty(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text(HEADER + "@data\n% none\n% here\n1,2\n\n0,3\n")
    found = list(blocks.file_blocks(path, 1))
    assert [np.asarray(block.X).tolist() for block in found] == [[[2.0]], [[3.0]]]
    path.write_text(HEADER + "@data\n% none\n")
    (empty,) = blocks.file_blocks(path, 1)
    assert (empty.n_rows, empty.n_features, empty.label_names) == (0, 1, ("a",))


def test_an_arff_header_without_an_end_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "rows.arff"
    path.write_text(HEADER)
    with pytest.raises(DataFormatError, match="@data"):
        list(blocks.file_blocks(path, 1))
    monkeypatch.setattr(blocks, "DEFAULT_MAX_BYTES", 30)
    with pytest.raises(DataFormatError, match="a line '@data', got none"):
        list(blocks.file_blocks(path, 1))


def test_names_of_xc_are_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CHUNK_BYTES", 8)
    asked, names = [], blocks.names_beside
    monkeypatch.setattr(blocks, "names_beside", lambda *of: asked.append(of[2]) or names(*of))
    path = tmp_path / "rows.txt"
    path.write_text("3 2 2\n0 0:1\n1 1:2\n0 0:3\n")
    (tmp_path / "rows-labels.txt").write_text("a\nb\n")
    found = list(blocks.file_blocks(path, 9))
    assert [block.n_rows for block in found] == [1, 1, 1]
    assert {tuple(block.label_names) for block in found} == {("a", "b")}
    assert asked == ["label", "feature"]


@given(
    rows=st.lists(
        st.one_of(
            st.tuples(st.text('ab ,"\n\r', max_size=5), st.text("ab;\n\r", max_size=5)),
            st.integers(1, 30),
        ),
        min_size=1,
        max_size=12,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    block_rows=st.sampled_from([1, 2, 5]),
)
@settings(deadline=None)
def test_each_row_of_a_csv_file_has_the_line_on_which_it_ends(
    tmp_path_factory, rows, end, block_rows
):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerow(["text", "labels"])
        for row in [*rows, ("last", "x")]:
            stream.write(end * row) if isinstance(row, int) else writer.writerow(row)
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.reader(stream)
        expected = [reader.line_num for cells in reader if cells][1:]
    file = TableFile(path, str(path), ".csv")
    blocks = record_blocks(file, TableOptions(delimiter=","), [], None, block_rows)
    found = [list(block.lines) for block in blocks]
    assert [line for lines in found for line in lines] == expected
    assert max(map(len, found)) <= block_rows
