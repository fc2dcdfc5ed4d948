"""How a table was read, kept with a model: damaged readings are refused, missing extras named."""

import io
import sys

import pytest

from vicinal.datasets import Reading, TableOptions, read_content
from vicinal.datasets.blocks import text_chunks
from vicinal.datasets.tables import table_rows as rows
from vicinal.datasets.tables.table_rows import read_records, table_document
from vicinal.datasets.texts import read_texts
from vicinal.errors import (
    DataFormatError,
    InvalidArgumentError,
    MissingExtraError,
    ModelFormatError,
)

READING = Reading(text=("t",), labels="l", separator=";", encoding="cp1252", delimiter=";")


def test_a_reading_survives_saving():
    assert Reading.from_state(READING.get_state()) == READING


@pytest.mark.parametrize(
    "change",
    [{"text": []}, {"text": "t"}, {"labels": 3}, {"separator": ["x"]}, {"decimal": "x"}],
)
def test_damaged_readings_are_refused(change):
    with pytest.raises(ModelFormatError):
        Reading.from_state({**READING.get_state(), **change})


def test_what_is_said_comes_before_what_is_known():
    found = READING.for_options(TableOptions(text=["u"], separator="|"))
    assert (found.text, found.separator, found.labels) == (("u",), "|", "l")
    marked = READING.for_options(TableOptions(label_columns=["a", "b"]))
    assert (marked.labels, marked.label_columns) == (None, ("a", "b"))
    with pytest.raises(InvalidArgumentError, match="feature_columns"):
        READING.for_options(TableOptions(feature_columns=["x"]))


@pytest.mark.parametrize(
    "options",
    [
        {"labels": "a", "label_columns": ["b"]},
        {"text": ["a"], "feature_columns": ["b"]},
        {"text": []},
        {"label_columns": "abc"},
        {"delimiter": ";;"},
        {"encoding": "nonsense"},
        {"encoding": "hex"},
    ],
)
def test_options_that_contradict_each_other_are_refused(options):
    with pytest.raises(InvalidArgumentError):
        TableOptions(**options)


def test_parquet_names_its_extra(monkeypatch, tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"vicinal\[frames\]"):
        read_records(path, TableOptions())


def test_ranges_of_columns(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("size,a,b,c\n1.5,1,0,1\n2.5,0,1,0\n")
    content = read_content(path, TableOptions(label_columns=["a:"]))
    assert content.labels == [["a", "c"], ["b"]]
    assert content.reading.numbers == ("size",)
    with pytest.raises(DataFormatError, match="'x'"):
        read_content(path, TableOptions(label_columns=["a:x"]))


def test_a_further_file_may_name_its_labels_differently(tmp_path):
    """The separator is then that of the further file; a known column keeps its name."""
    path = tmp_path / "x.csv"
    path.write_text("t,tags\nbuy milk,home|shop\nsleep,home\n")
    known = Reading(text=("t",), labels="l", separator=";")
    content = read_content(path, known=known)
    assert content.labels == [["home", "shop"], ["home"]]
    assert (content.reading.labels, content.reading.text) == ("tags", ("t",))
    unseparated = Reading(text=("t",), labels="tags")
    assert read_content(path, known=unseparated).labels == [["home", "shop"], ["home"]]


def test_a_table_of_labels_alone_has_nothing_to_learn_from(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("tags\nhome\nshop\n")
    with pytest.raises(DataFormatError, match=r"columns to learn from .*--text"):
        read_content(path)


def test_named_columns_are_features_even_beside_a_text(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,size,tags\nbuy milk,1,home\nsleep,2.5,shop\n")
    content = read_content(path, TableOptions(feature_columns=["size"]))
    assert content.X.tolist() == [[1.0], [2.5]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "got an empty file"),
        (" \n\t\n", "got an empty file"),
        ("text,tags\n", "got a header only"),
    ],
)
def test_blocks_of_a_table_without_rows(content, said, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(DataFormatError, match=f"rows of a table, {said}"):
        list(text_chunks(path))


def test_blocks_of_json_that_starts_blank_or_with_a_mark(tmp_path):
    line = '{"text": "a", "labels": ["x"]}'
    path = tmp_path / "x.json"
    for content in (" " * 2**20 + f"\n{line}\n", f"\ufeff{line}\n{line}", f'{{"rows": [{line}]}}'):
        path.write_text(content, encoding="utf-8")
        (block,) = text_chunks(path)
        assert set(block.X) == {"a"}


def test_blocks_of_parquet(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 cut off")
    with pytest.raises(DataFormatError, match="a Parquet file"):
        list(text_chunks(path))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"vicinal\[frames\]"):
        list(text_chunks(path))


@pytest.mark.parametrize("content", ["[]", "{}", '{"a": [1], "b": [1, 2]}', "3"])
def test_json_that_is_no_table(content):
    assert table_document(content) is None


def test_rows_that_are_too_long_name_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "MOST_CHARACTERS", 40)
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a", "labels": []}\n{"text": "' + "b" * 40 + '", "labels": []}\n')
    with pytest.raises(DataFormatError, match="line 2: expected lines of at most 40 characters"):
        read_content(path)


def test_standard_input_has_a_limit(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text,tags\na,b\n")))
    with pytest.raises(DataFormatError, match="standard input: expected at most 5 bytes"):
        read_content("-", TableOptions(max_bytes=5))


def test_what_reads_texts_alone_refuses_other_columns(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("size,tags\n1.5,home\n2.5,shop\n")
    with pytest.raises(InvalidArgumentError, match=r"a column of text .*columns size"):
        read_texts(path)
