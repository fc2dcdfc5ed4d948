"""Tables of texts, numbers, dates and categories, whose rows have names, from training on."""

import csv
import json
from datetime import datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from vicinal.datasets.tables.guess import is_counting, kind_of, number_of

pytestmark = pytest.mark.native

ROWS = [
    (f"C{7 * n:03}", text, colour, price, f"2026-0{1 + n % 9}-1{n % 10}", tag)
    for n, (text, colour, price, tag) in enumerate(
        [
            ("a small boat on the lake", "blue", 10.5, "water"),
            ("an old house with a red roof", "red", 99.5, "land"),
            ("boat and harbour of the town", "blue", 12.0, "water"),
            ("house near the harbour", "red", 80.25, "land;water"),
        ]
        * 6
    )
]
COLUMNS = ("code", "note", "colour", "price", "opened", "tags")
NEAR = ("--method", "brknn", "--set", "n_neighbors=3")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "houses.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *ROWS])
    return path


def test_columns_are_said_and_dates_are_not_texts(run, table, tmp_path):
    code, _, err = run("train", table, "-o", tmp_path / "model", *NEAR)
    assert code == 0, err
    assert "rows are named by column 'code' (--row-names changes this)" in err
    assert "1 text (note), 1 numeric (price), 1 date (opened), 1 categorical (colour)" in err


def test_rows_of_a_new_file_are_named_and_explained_by_name(run, table, tmp_path):
    assert run("train", table, "-o", tmp_path / "model", *NEAR)[0] == 0
    _, out, _ = run("predict", tmp_path / "model", table, "--top", "1")
    assert [line.split("\t")[0] for line in out.splitlines()] == [row[0] for row in ROWS]
    _, out, _ = run("explain", tmp_path / "model", table, "--limit", "4", "--json")
    found = json.loads(out.splitlines()[-1])
    assert found["row"] == "C021"
    assert all(near["name"].startswith("C") for near in found["neighbors"])
    shared = {part["name"] for near in found["neighbors"] for part in near["shared"]}
    assert {"harbour", "price", "colour_red"} <= shared
    assert not any("__" in name for name in shared)


def test_new_files_need_no_names(run, table, tmp_path):
    assert run("train", table, "-o", tmp_path / "model", *NEAR)[0] == 0
    new = tmp_path / "new.jsonl"
    rows = [dict(zip(COLUMNS[1:5], row[1:5], strict=True)) for row in ROWS[:2]]
    new.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, out, _ = run("predict", tmp_path / "model", new)
    assert [line.split("\t")[0] for line in out.splitlines()] == ["0", "1"]
    new.write_text(json.dumps({"code": "x", **rows[0]}) + "\n" + json.dumps(rows[1]) + "\n")
    _, out, _ = run("predict", tmp_path / "model", new)
    assert [line.split("\t")[0] for line in out.splitlines()] == ["x", "2"]


def test_parquet_has_dates_as_they_are(run, table, tmp_path):
    days = [datetime.fromisoformat(row[4]) for row in ROWS]
    columns = {name: [row[at] for row in ROWS] for at, name in enumerate(COLUMNS)}
    parquet.write_table(pa.table({**columns, "opened": days}), tmp_path / "houses.parquet")
    code, _, err = run("train", tmp_path / "houses.parquet", "-o", tmp_path / "model", *NEAR)
    assert code == 0, err
    assert "1 date (opened)" in err
    from_parquet = run("predict", tmp_path / "model", tmp_path / "houses.parquet")
    assert run("train", table, "-o", tmp_path / "other", *NEAR)[0] == 0
    assert run("predict", tmp_path / "other", table) == from_parquet


def test_kinds_of_cells():
    assert kind_of(["2026-11-18", "2026-11-19 08:30", None, ""]) == "date"
    assert kind_of(["18.11.2026", "1.2.2025"] * 9, ",") == "date"
    assert kind_of(["1.5", "2"]) == "number"
    assert kind_of(["2026-13-18", "2026-11-18"]) == "text"
    day = datetime(2026, 11, 18, 7).toordinal()
    for decimal in ".,":
        assert number_of("2026-11-18T07:00", decimal) == day
        assert number_of("18.11.2026", decimal) == day
    assert number_of("18.11.2026.5") is None
    assert number_of("1.234,5", ",") == 1234.5
    assert is_counting(["4", "5", 6])
    assert not is_counting(["4", "6"])


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        (["a7", "b3", "c9"], True),
        (["x one", "y two", "z three"], True),  # the column is called id
        (["1", "2", "3"], False),
        (["a7", "a7", "c9"], False),
        (["a7", "", "c9"], False),
    ],
)
def test_which_columns_name_rows(run, tmp_path, cells, named):
    path = tmp_path / "d.csv"
    notes = ["red roof", "blue sea", "red house"]
    lines = [f"{cell},{note},land" for cell, note in zip(cells, notes, strict=True)]
    path.write_text("\n".join(["id,text,tags", *lines]) + "\n")
    near = ("--method", "brknn", "--set", "n_neighbors=1")
    code, _, err = run("train", path, "-o", tmp_path / "model", *near)
    assert code == 0, err
    assert ("named by column 'id'" in err) == named


def test_labels_that_are_uris_are_no_sets(run, tmp_path):
    path = tmp_path / "d.tsv"
    uris = "text number {0} of the file\t<http://x.org/a{0}> <http://x.org/b{0}>"
    rows = [uris.format(n) for n in range(9)]
    path.write_text("\n".join(rows) + "\n")
    code, _, err = run("train", path, "-o", tmp_path / "model", *NEAR)
    assert code == 0, err
    assert "18 labels" in err
    assert "warning" not in err


def test_no_message_shows_a_cell(run, table, tmp_path):
    assert run("train", table, "-o", tmp_path / "model", *NEAR)[0] == 0
    bad = table.read_text(encoding="utf-8").replace("99.5", "confidential")
    table.write_text(bad, encoding="utf-8")
    code, _, err = run("predict", tmp_path / "model", table)
    assert code == 2
    assert "line 3: expected a number in 'price'" in err
    assert "got text of 12 characters" in err
    assert "confidential" not in err


def test_a_missing_file_is_said_in_our_words(run, table, tmp_path):
    assert run("train", table, "-o", tmp_path / "model", *NEAR, "--text", "note")[0] == 0
    code, _, err = run("predict", tmp_path / "model", "nowhere")
    assert (code, err) == (2, "error: no such file: nowhere\n")


def test_lists_of_labels_are_said(run, tmp_path):
    path = tmp_path / "d.jsonl"
    rows = [{"text": f"red roof {n}", "subjects": ["land"]} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, _, err = run("train", path, "-o", tmp_path / "model", *NEAR)
    assert "labels from column 'subjects', a list per cell (--labels changes this)" in err
