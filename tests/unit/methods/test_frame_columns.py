"""Data frames with texts, categories, numbers and dates."""

import logging

import numpy as np
import pandas as pd
import polars as pl
import pytest

from vicinal import BRkNN, FrameColumns, load, make_pipeline
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.preprocess import TextVectorizer

TAGS = [["land"], ["water"], ["land"], ["water"]]


def frame(index=None):
    return pd.DataFrame(
        {
            "id": ["T01", "T02", "T03", "T04"],
            "title": ["old red house", "deep blue sea", "small red house", "cold blue lake"],
            "colour": ["red", "blue", "red", "blue"],
            "year": [1990, 2000, 2010, 2020],
            "seen": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-05"]),
        },
        index=index,
    )


@pytest.mark.parametrize("kind", ["frame", "column", "polars"])
def test_texts_without_a_step_for_them_are_refused_without_showing_them(kind):
    data = pd.DataFrame({"title": ["my private diary " * 1000] * 4, "year": [1, 2, 3, 4]})
    given = {"frame": data, "column": data["title"], "polars": pl.from_pandas(data)}[kind]
    with pytest.raises(InvalidArgumentError) as error:
        BRkNN(1).fit(given, TAGS)
    assert "private" not in str(error.value)
    assert len(str(error.value)) < 200
    if kind != "column":
        assert "text in column 'title'" in str(error.value)
        assert "FrameColumns()" in str(error.value)


def test_numbers_written_as_text_are_still_numbers():
    data = pd.DataFrame({"year": ["1", "2", "3", "4"]})
    assert BRkNN(1).fit(data, TAGS).predict_names(data[:1]) == [["land"]]


def test_columns_are_recognised_and_logged(caplog):
    with caplog.at_level(logging.INFO, logger="vicinal"):
        columns = FrameColumns().fit(frame())
    assert columns.kinds_ == {
        "title": "text", "colour": "category", "year": "number", "seen": "date",
    }  # fmt: skip
    (note,) = caplog.messages
    assert note == (
        "columns: texts title; numbers year; dates seen; categories colour; not used: id "
        "(choose others with X[[...]])"
    )


def test_rows_by_definition():
    data = frame()
    rows = FrameColumns().fit_transform(data).toarray()
    words = TextVectorizer(weighting="tfidf").fit_transform(data["title"]).toarray()
    year = (data["year"].to_numpy() - 1990) / 30
    seen = np.array([0, 1, 2, 4]) / 4
    colours = np.array([[0, 1], [1, 0], [0, 1], [1, 0]])
    assert rows == pytest.approx(np.column_stack([words, year, seen, colours]))


def test_new_frames_may_differ_in_order_and_in_categories():
    columns = FrameColumns().fit(frame())
    new = frame()[["colour", "seen", "title", "year"]].assign(colour="green")
    row = columns.transform(new[:1]).toarray()[0]
    names = columns.get_feature_names_out().tolist()
    assert row[names.index("colour=red")] == row[names.index("colour=blue")] == 0
    with pytest.raises(InvalidArgumentError, match="no column 'year'"):
        columns.transform(new[["title", "colour", "seen"]])


def test_polars_frames_are_read_like_pandas_frames():
    data = frame()
    of_pandas = FrameColumns().fit_transform(data)
    assert (FrameColumns().fit_transform(pl.from_pandas(data)) != of_pandas).nnz == 0


def test_missing_numbers_name_the_column_and_the_row():
    data = frame().assign(year=[1990.0, None, 2010.0, 2020.0])
    with pytest.raises(InvalidArgumentError, match="a missing value in column 'year', row 1"):
        FrameColumns().fit(data)


def test_rows_are_named_by_the_index(tmp_path):
    data = frame(index=["a", "b", "c", "d"])
    model = make_pipeline(FrameColumns(), BRkNN(1, metric="cosine")).fit(data, TAGS)
    assert model[-1].row_names_ == ("a", "b", "c", "d")
    assert BRkNN(1).fit(data[["year"]], TAGS).row_names_ == ("a", "b", "c", "d")
    assert BRkNN(1).fit(frame()[["year"]], TAGS).row_names_ is None
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.predict_names(data) == model.predict_names(data) == TAGS
    assert loaded[-1].row_names_ == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    "damage",
    [{"kinds": ["text"]}, {"words": None}, {"categories": []}, {"language": 3}, {"low": None}],
)
def test_damaged_states_are_refused(damage):
    state = FrameColumns().fit(frame()).get_state()
    with pytest.raises(ModelFormatError):
        FrameColumns.from_state({**state, **damage})
