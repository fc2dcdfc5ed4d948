"""How a table was read, kept with a model: damaged readings are refused, missing extras named."""

import sys

import pytest

from vicinal._base.errors import (
    DataFormatError,
    InvalidArgumentError,
    MissingExtraError,
    ModelFormatError,
)
from vicinal.datasets import Reading, TableOptions, read_content
from vicinal.datasets.tables.read import read_records

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
