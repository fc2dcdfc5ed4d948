"""Files as people have them, taken through every command; see tests/messy/README.md."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

import vicinal
from vicinal.cli.predict import SEPARATORS, CellFormat, list_separator

pytestmark = pytest.mark.native

MESSY = Path(__file__).parents[2] / "messy"
LABELS = [
    "tree green", "tree", "road", "road sea", "sea", "tree green",
    "road", "sea", "tree road", "tree", "green sea", "road",
]  # fmt: skip
"""The labels of the twelve rows that every file holds."""
HOT = ("--label-columns", "green:tree")

FILES = {
    "tags_semicolon.csv": (
        (),
        ["labels from column 'tags', split at ';': 4 labels", "--separator"],
    ),
    "tags_pipe.csv": ((), ["split at '|': 4 labels"]),
    "tags_blank.csv": ((), ["split at space: 4 labels"]),
    "tags_comma.csv": ((), ["split at ',': 4 labels"]),
    "tags_newline.csv": ((), ["split at newline: 4 labels"]),
    "tags_json_list.csv": ((), ["a list per cell: 4 labels"]),
    "tags_python_list.csv": ((), ["a list per cell: 4 labels"]),
    "tags_numpy_list.csv": ((), ["a list per cell: 4 labels"]),
    "tags_brackets.csv": ((), ["a list per cell: 4 labels"]),
    "tags_python_set.csv": ((), ["a list per cell: 4 labels"]),
    "excel_semicolon.csv": ((), ["cells separated by ';' (--delimiter", "split at ','"]),
    "excel_sep_line.csv": ((), ["split at ','"]),
    "excel_unicode.csv": ((), ["cells separated by tab"]),
    "utf16_no_mark.csv": ((), ["split at ';'"]),
    "bar_delimiter.csv": ((), ["cells separated by '|'"]),
    "tabs.tsv": ((), ["split at ';'"]),
    "spaces_in_header.csv": ((), ["labels from column 'Tags'"]),
    "array.json": ((), []),
    "lines.json": ((), []),
    "array.jsonl": ((), ["split at ';'"]),
    "pandas_columns.json": ((), []),
    "wrapped_rows.json": ((), []),
    "german_names.csv": ((), ["texts from column 'Beschreibung'", "'Kategorien', split at ';'"]),
    "issue_tracker.csv": (
        (),
        [
            "labels from 2 columns 'Labels', one label per cell: 4 labels (--labels and",
            "texts from column 'Description'; not used: Summary, Created, Comment (--text changes",
        ],
    ),
    "list_column.parquet": ((), []),
    "text_column.parquet": ((), ["split at ';'"]),
    "pandas_index.csv": ((), ["split at ';'"]),
    "german_cp1252.csv": ((), ["read as cp1252 (--encoding", "'Schlagworte', split at '|'"]),
    "finnish.csv": ((), ["texts from column 'teksti'", "'avainsanat', split at ','"]),
    "russian.csv": ((), ["split at ';'"]),
    "one_hot.csv": (HOT, ["2 numeric (width, height)", "scaled to [0, 1] (--preprocess none"]),
    "crosses.csv": (HOT, ["rows are named by column 'id'", "2 numeric (width, height)"]),
    "true_false.csv": (HOT, ["2 numeric"]),
    "excel_german_words.csv": (HOT, ["2 numeric"]),
    "decimal_comma.csv": (HOT, ["decimal comma"]),
    "mixed.csv": (
        HOT,
        ["column 'id'", "1 text (note), 2 numeric (width, height), 1 categorical (colour)"],
    ),
    "labels_last.arff": (("--label-count", "-4"), []),
}


def answers_of(path):
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_file_is_tried():
    files = {path.name for path in MESSY.iterdir() if path.is_file()}
    assert files == {*FILES, "README.md", "names.xml"}


@pytest.mark.parametrize("name", FILES)
def test_a_messy_file_through_every_command(run, name, tmp_path):
    options, notes = FILES[name]
    path, model = MESSY / name, tmp_path / "model"
    near = ("--method", "brknn", "--set", "n_neighbors=1")
    code, out, err = run("train", path, "-o", model, *near, *options, "--json")
    assert code == 0, err
    assert json.loads(out)["labels"] == 4
    for note in notes:
        assert note in err

    # The nearest row of each row is itself, so that a model that reads right knows its labels.
    again = options if name.endswith("arff") else ()
    code, out, err = run("evaluate", model, path, *again, "--json")
    assert code == 0, err
    assert json.loads(out)["subset-accuracy"] == 1

    code, _, err = run("predict", model, path, *again, "-o", tmp_path / "answers.csv")
    assert code == 0, err
    labels = [set(row["labels"].split(";")) for row in answers_of(tmp_path / "answers.csv")]
    assert labels == [set(row.split()) for row in LABELS]

    small = ("--folds", 2, *options, "--json")
    code, out, err = run("tune", path, "--methods", "brknn", "--grid", "n_neighbors=1,2", *small)
    assert code == 0, err
    assert json.loads(out)["rows"] == 12
    code, out, err = run("compare", path, "--methods", "brknn,mlknn", "--neighbors", 1, *small)
    assert code == 0, err
    assert len(json.loads(out)[0]["mean_ranks"]) == 2

    code, out, err = run("data", "describe", path, *options, "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["rows"], facts["labels"], facts["cardinality"]) == (12, 4, 17 / 12)


def test_words_keep_their_letters(run, tmp_path):
    from vicinal import load

    known = {}
    for name in ("german_cp1252.csv", "finnish.csv", "russian.csv"):
        assert run("train", MESSY / name, "-o", tmp_path / name)[0] == 0
        known[name] = load(tmp_path / name).steps[0][1].vocabulary_
    assert {"grüne", "straße", "bäume"} <= set(known["german_cp1252.csv"])
    assert {"vihreä", "metsässä"} <= set(known["finnish.csv"])
    assert {"дерево", "зелёное"} <= set(known["russian.csv"])


def test_words_can_be_chosen(run, tmp_path):
    stop = tmp_path / "stop.txt"
    stop.write_text("der\ndie\ndas\nund\n", encoding="utf-8")
    options = ("--ngrams", 2, "--min-df", 2, "--stop-words", stop, "--json")
    path = MESSY / "german_cp1252.csv"
    code, out, err = run("train", path, "-o", tmp_path / "model", *options)
    assert code == 0, err
    from vicinal import load

    words = set(load(tmp_path / "model").steps[0][1].vocabulary_)
    assert "der" not in words
    assert "auf" in words
    assert json.loads(out)["features"] == len(words)
    code, out, _ = run("data", "describe", path, *options)
    assert json.loads(out)["features"] == len(words)


def test_standard_input(run, tmp_path, monkeypatch):
    class Piped:
        def __init__(self, name):
            self.buffer = io.BytesIO((MESSY / name).read_bytes())

    near = ("--method", "brknn", "--set", "n_neighbors=1", "--set", "metric=cosine")
    for name in ("tags_semicolon.csv", "array.json", "list_column.parquet"):
        monkeypatch.setattr("sys.stdin", Piped(name))
        code, _, err = run("train", "-", "-o", tmp_path / "model", *near)
        assert code == 0, err
        monkeypatch.setattr("sys.stdin", Piped(name))
        code, out, err = run("predict", tmp_path / "model", "-", "--json")
        assert code == 0, err
        assert len(out.splitlines()) == 12


def test_arff_with_its_xml_elsewhere(run, tmp_path):
    given = ("--xml", MESSY / "names.xml")
    code, out, err = run("data", "describe", MESSY / "labels_last.arff", *given, "--json")
    assert code == 0, err
    assert json.loads(out)["labels"] == 4


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_predictions_by_the_ending(run, ending, tmp_path):
    path, model, answers = MESSY / "tags_pipe.csv", tmp_path / "model", tmp_path / f"out{ending}"
    near = ("--method", "brknn", "--set", "n_neighbors=1", "--set", "metric=cosine")
    assert run("train", path, "-o", model, *near)[0] == 0
    code, _, err = run("predict", model, path, "-o", answers, "--top", 1)
    assert code == 0, err
    if ending == ".jsonl":
        rows = [json.loads(line) for line in answers.read_text().splitlines()]
        assert all(set(row["labels"]) <= set(row["scores"]) for row in rows)
        return
    from vicinal.datasets.tables.reading import TableOptions
    from vicinal.datasets.tables.table_rows import read_records

    found = read_records(answers, TableOptions()).columns
    assert list(found) == ["row", "labels", "label_scores", "best", "best_scores"]
    sizes = [
        len(cell.split(";")) if isinstance(cell, str) else len(cell) for cell in found["labels"]
    ]
    assert sizes == [len(row.split()) for row in LABELS]


def test_other_endings_are_refused(run, tmp_path):
    code, _, err = run("predict", tmp_path, "x.csv", "-o", tmp_path / "answers.xlsx")
    assert code == 2
    assert "--output: expected a name that ends in .jsonl, .csv, .tsv or .parquet" in err


BROKEN = {
    "table.csv.zip": ((), ["unpack the archive first"]),
    "table.txt": ((), ["line 1", "name it .csv or .tsv"]),
    "missing_column.csv": ((), ["line 1", "a column 'labels'", "--labels", "--label-columns"]),
    "empty_number.csv": ((), ["line 3", "a number in 'height'", "an empty cell"]),
    "nonsense_label_column.csv": (
        ("--label-columns", "a,b"),
        ["line 3", "0 or 1 in the label column 'b'", "text of 5 characters"],
    ),
    "ragged.csv": ((), ["line 3", "2 cells, one per column, got 1"]),
    "half.json": ((), ["line 2", "a JSON object"]),
    "null_labels.jsonl": ((), ["line 2", "labels in 'labels'", "an empty cell"]),
    "not_western.csv": ((), ["line 3", "text in cp1252", "--encoding"]),
    "book.xlsx": ((), ["a spreadsheet"]),
    "torn.parquet": ((), ["a Parquet file"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_a_way_out(run, name, tmp_path):
    options, says = BROKEN[name]
    code, out, err = run("train", MESSY / "broken" / name, "-o", tmp_path / "model", *options)
    assert (code, out) == (2, "")
    for words in says:
        assert words in err
    assert not (tmp_path / "model").exists()


def test_sets_read_as_one_label_are_suspicious(run, tmp_path):
    path = MESSY / "broken" / "tag_sets.csv"
    code, _, err = run("train", path, "-o", tmp_path / "model", "--method", "brknn")
    assert code == 0
    assert "warning" in err
    assert "12 of 12 labels in column 'tags' occur only once, such as 'a0/b0'" in err
    code, out, err = run(
        "train", path, "-o", tmp_path / "model", "--method", "brknn", "--separator", "/", "--json"
    )
    assert json.loads(out)["labels"] == 24


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_names_of_several_words_are_not_suspicious(run, form, tmp_path):
    """Most subjects of a small catalogue occur once."""
    sets = [[f"rare subject {i}", "soil science", *["plant health"] * (i % 2)] for i in range(30)]
    rows = [(f"text about thing {i}", labels) for i, labels in enumerate(sets)]
    path = tmp_path / f"subjects.{form}"
    if form == "csv":
        lines = ["text,labels", *(f"{text},{'; '.join(labels)}" for text, labels in rows)]
    else:
        lines = [json.dumps({"text": text, "labels": labels}) for text, labels in rows]
    path.write_text("\n".join(lines))
    code, out, err = run("train", path, "-o", tmp_path / "model", "--method", "brknn", "--json")
    assert (code, json.loads(out)["labels"]) == (0, 32)
    assert "warning" not in err


def test_a_model_reads_the_next_file_as_its_own(run, tmp_path):
    model = tmp_path / "model"
    near = ("--method", "brknn", "--set", "n_neighbors=1", "--set", "metric=cosine")
    first = tmp_path / "first.csv"
    first.write_text("title,what,note\nred rose,a/b,x\nblue sea,b,y\ngreen wood,a,z\n")
    chosen = ("--text", "title", "--labels", "what", "--separator", "/", "--row-names", "note")
    code, _, err = run("train", first, "-o", model, *near, *chosen)
    assert code == 0, err
    # No option is said again: columns, separator and row names are those the model was taught.
    code, out, err = run("evaluate", model, first, "--json")
    assert code == 0, err
    assert json.loads(out)["subset-accuracy"] == 1
    code, out, err = run("predict", model, first, "--json")
    assert [json.loads(line)["row"] for line in out.splitlines()] == ["x", "y", "z"]
    # A table with other columns says which one the model needs, and may say what it is called.
    other = tmp_path / "other.jsonl"
    other.write_text('{"headline": "a red rose"}\n')
    code, _, err = run("predict", model, other)
    assert code == 2
    assert "a column 'title' (see --text: the model learned from it)" in err
    code, out, err = run("predict", model, other, "--text", "headline", "--json")
    assert code == 0, err
    assert json.loads(out)["labels"] == ["a", "b"]


def test_a_note_in_brackets_and_columns_that_new_rows_lack(run, tmp_path):
    first, model = tmp_path / "first.csv", tmp_path / "model"
    rows = [f"Licht geht nicht;Licht, Kabel;{n}" for n in range(4)]
    rows += [f"Reifen ist platt;Reifen;{n}" for n in range(4)]
    header = "Was ist kaputt?;Stichwörter (intern);Preis in €"
    first.write_text("\n".join([header, *rows]), encoding="utf-8-sig")
    code, _, err = run("train", first, "-o", model)
    assert code == 0, err
    assert "labels from column 'Stichwörter (intern)', split at ',': 3 labels" in err
    new = tmp_path / "new.csv"
    new.write_text("Was ist kaputt?\nReifen ist platt\n", encoding="utf-8")
    code, _, err = run("predict", model, new)
    assert code == 2
    assert "a column 'Preis in €' (see --feature-columns: the model learned from it; train" in err
    assert run("train", first, "-o", model, "--text", "Was ist kaputt?")[0] == 0
    code, out, err = run("predict", model, new)
    assert code == 0, err
    assert out.split()[1] == "Reifen"


def test_columns_of_numbers_are_found_by_name(run, tmp_path):
    model = tmp_path / "model"
    near = ("--method", "brknn", "--set", "n_neighbors=1")
    assert run("train", MESSY / "one_hot.csv", "-o", model, *near, *HOT)[0] == 0
    rows = list(csv.reader((MESSY / "one_hot.csv").read_text().splitlines()))
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(f"{row[1]},new,{row[0]}" for row in rows) + "\n")
    code, out, err = run("predict", model, turned, "--json")
    assert code == 0, err
    found = [set(json.loads(line)["labels"]) for line in out.splitlines()]
    assert found == [set(row.split()) for row in LABELS]


def test_no_header_and_quotes_that_enclose_nothing(run, tmp_path):
    path = tmp_path / "titles.tsv"
    path.write_text('3,17\t"Green trees\n17\tA "red road"\n3\tgreen leaves\n', encoding="utf-8")
    code, _, err = run("train", path, "-o", tmp_path / "model", "--columns", "labels,text")
    assert code != 0
    assert "--no-quotes" in err
    how = ("--columns", "labels,text", "--no-quotes")
    code, out, err = run(
        "train", path, "-o", tmp_path / "model", "--method", "brknn", *how, "--json"
    )
    assert code == 0, err
    assert json.loads(out)["rows"] == 3
    assert json.loads(out)["labels"] == 2
    assert run("predict", tmp_path / "model", path, *how)[0] == 0


def test_stop_words_and_n_grams_are_checked(run, tmp_path):
    path, model = MESSY / "tags_semicolon.csv", tmp_path / "model"
    for words, says in {
        ("--stop-words", "german"): "--stop-words: expected english, none or a file",
        ("--ngrams", "0"): "--ngrams",
        ("--label-columns", " , "): "--label-columns: expected column names separated by commas",
    }.items():
        code, _, err = run("train", path, "-o", model, *words)
        assert code == 2
        assert says in err
    code, _, err = run("train", path, "-o", model, "--stop-words", "english")
    assert code == 0, err


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("colour,size", ["numbers", "categories"]),
        ("colour,note", ["words", "categories"]),
        ("note,size", ["words", "numbers"]),
        ("colour", ["categories"]),
    ],
)
def test_each_kind_of_column_has_its_step(run, tmp_path, columns, names):
    path = tmp_path / "mixed.csv"
    rows = [f"{'red' if at % 2 else 'blue'},{at},a note of {at} words,tag" for at in range(6)]
    path.write_text("colour,size,note,tags\n" + "\n".join(rows))
    words = ("--feature-columns", columns, "--method", "brknn", "--set", "n_neighbors=1")
    code, _, err = run("train", path, "-o", tmp_path / "model", *words)
    assert code == 0, err
    steps = vicinal.load(tmp_path / "model").steps[0][1].transformers
    assert [name for name, _, _ in steps] == names
    code, out, err = run("predict", tmp_path / "model", path, "--json")
    assert code == 0, err
    assert len(out.splitlines()) == 6


def test_a_model_of_another_file_reads_its_columns_from_a_table(run, data_file, dataset, tmp_path):
    model = tmp_path / "model"
    near = ("--method", "brknn", "--set", "n_neighbors=1")
    assert run("train", data_file, "-o", model, *near)[0] == 0
    table = tmp_path / "rows.csv"
    order = [2, 0, 3, 1]
    lines = [",".join(dataset.feature_names[at] for at in order)]
    lines += [",".join(repr(float(row[at])) for at in order) for row in dataset.X]
    table.write_text("\n".join(lines))
    wanted = run("predict", model, data_file, "--json")
    assert wanted[0] == 0
    assert run("predict", model, table, "--json")[1] == wanted[1]


def test_an_encoding_can_be_said_of_any_file(run, tmp_path):
    path = tmp_path / "x.arff"
    header = "@relation 'r: -C 1'\n@attribute größe {0,1}\n@attribute a numeric\n@data\n1,2\n"
    path.write_bytes(header.encode("latin-1"))
    code, _, err = run("data", "describe", path, "--encoding", "latin-1", "--json")
    assert code == 0, err
    assert run("data", "describe", path)[0] == 2


def test_without_pyarrow_its_extra_is_named(run, tmp_path, monkeypatch):
    path, model = MESSY / "tags_semicolon.csv", tmp_path / "model"
    assert run("train", path, "-o", model, "--method", "brknn")[0] == 0
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run("predict", model, path, "-o", tmp_path / "out.parquet")
    assert code == 2
    assert "vicinal[frames]" in err
    assert not (tmp_path / "out.parquet").exists()


def test_labels_with_every_separator_are_written_as_json():
    labels = ["a;b", *SEPARATORS]
    assert CellFormat(list_separator(labels)).joined(labels) == json.dumps(labels)
