import csv
import gzip
import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from vicinal.datasets import Dataset, TableOptions, read_content
from vicinal.datasets.tables.content import table_blocks
from vicinal.datasets.tables.guess import kind_of, number_of
from vicinal.datasets.tables.table_file import read_table, write_table
from vicinal.errors import DataFormatError, InvalidArgumentError

TEXTS = ["A red house, a red roof", "The roof", "", "Größe: 12 x"]
LABELS = [["b", "a"], [], ["a", "a"], ["c, d"]]
VOCABULARY = ("12", "größe", "house", "red", "roof", "the")
COUNTS = [[0, 0, 1, 2, 1, 0], [0, 0, 0, 0, 1, 1], [0] * 6, [1, 1, 0, 0, 0, 0]]
INDICATOR = [[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1]]


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def jsonl(folder, rows, name="data.jsonl"):
    return write(folder, name, "".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def table(tmp_path):
    rows = [
        {"id": i, "text": text, "labels": labels}
        for i, (text, labels) in enumerate(zip(TEXTS, LABELS, strict=True))
    ]
    return jsonl(tmp_path, rows)


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


@pytest.mark.parametrize("weighting", ["binary", "counts"])
def test_reads_jsonl(table, weighting):
    data = read_table(table, weighting=weighting, row_names="id")
    assert data.feature_names == VOCABULARY
    assert data.label_names == ("a", "b", "c, d")
    expected = np.array(COUNTS)
    np.testing.assert_array_equal(
        dense(data.X), expected > 0 if weighting == "binary" else expected
    )
    np.testing.assert_array_equal(data.Y.toarray(), INDICATOR)
    assert data.row_names == ("0", "1", "2", "3")


def test_labels_that_are_objects_have_a_name(tmp_path, caplog):
    rows = [
        {"title": text, "labels": [{"id": 7, "name": label, "color": "d73a4a"} for label in labels]}
        for text, labels in zip(TEXTS, LABELS, strict=True)
    ]
    data = read_table(jsonl(tmp_path, rows), text="title")
    assert data.label_names == ("a", "b", "c, d")
    np.testing.assert_array_equal(data.Y.toarray(), INDICATOR)
    said = "labels from column 'labels', the name of each object (--labels changes this)"
    assert said in caplog.messages
    rows[3]["labels"] = [{"title": "bug"}]
    with pytest.raises(DataFormatError, match=r"line 4: expected labels in 'labels'"):
        read_table(jsonl(tmp_path, rows), text="title")


def test_tfidf_is_scikit_learns(table):
    expected = TfidfVectorizer().fit_transform(TEXTS).toarray()
    np.testing.assert_allclose(dense(read_table(table, weighting="tfidf").X), expected, rtol=1e-15)


@pytest.mark.parametrize(("name", "delimiter"), [("data.csv", ","), ("data.tsv.gz", "\t")])
def test_reads_csv_and_tsv(tmp_path, name, delimiter):
    plain = tmp_path / "plain"
    with plain.open("w", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(["labels", "what", "text"])
        cells = ["b, a,", "", '["a"]', '["c, d"]']
        writer.writerows(zip(cells, ["x"] * 4, TEXTS, strict=True))
    content = plain.read_bytes()
    path = write(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content)
    data = read_table(path, weighting="counts")
    np.testing.assert_array_equal(dense(data.X), COUNTS)
    np.testing.assert_array_equal(data.Y.toarray(), INDICATOR)


def test_a_file_without_header_or_quoting(tmp_path):
    path = write(tmp_path, "data.tsv", '3,17\t"Quoted, but left open\n17\tit\'s "here"\n')
    data = read_table(path, columns=("labels", "text"), quoting=False)
    assert data.label_names == ("17", "3")
    assert data.feature_names == ("but", "here", "it", "left", "open", "quoted")
    with pytest.raises(DataFormatError, match=r"data\.tsv, line 2"):
        read_table(path, columns=("labels", "text"))


def test_separator_and_joined_columns(tmp_path):
    path = write(tmp_path, "d.csv", "head,body,tags\nOne,two,[x] | y\nthree,,y\n")
    data = read_table(path, ("head", "body"), "tags", separator="|")
    assert data.label_names == ("[x]", "y")
    assert data.feature_names == ("one", "three", "two")
    np.testing.assert_array_equal(data.X, [[1, 0, 1], [0, 1, 0]])


def test_joined_columns_may_be_absent_from_some_rows(tmp_path, caplog):
    rows = [
        {"title": "red roof", "body": "a house", "labels": []},
        {"title": "red roof", "body": None, "labels": []},
        {"body": "a house", "labels": []},
    ]
    data = read_table(jsonl(tmp_path, rows), text=("title", "body"))
    assert data.feature_names == ("house", "red", "roof")
    np.testing.assert_array_equal(dense(data.X), [[1, 1, 1], [0, 1, 1], [1, 0, 0]])
    said = "texts from columns 'title', 'body', of which some rows lack one (--text changes this)"
    assert said in caplog.messages
    for row, got in (({"title": None, "body": None}, "an empty cell"), ({}, "a row without it")):
        said = rf"line 4: expected text in 'title'.*, got {got}"
        with pytest.raises(DataFormatError, match=said):
            read_table(jsonl(tmp_path, [*rows, {**row, "labels": []}]), text=("title", "body"))


def test_labels_in_columns_of_one_name(tmp_path, caplog):
    """Issue trackers export one column per label, all of one name."""
    path = write(tmp_path, "d.csv", "text,Labels,Labels,Labels\nroof,a, b ,a\nred,,a;c,\nold,,,\n")
    data = read_table(path)
    assert data.label_names == ("a", "a;c", "b")
    np.testing.assert_array_equal(dense(data.Y), [[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    assert caplog.messages == [
        "labels from 3 columns 'Labels', one label per cell: 3 labels "
        "(--labels and --separator change this)"
    ]
    assert read_table(path, separator=";").label_names == ("a", "b", "c")


def test_labels_in_columns_of_several_names(tmp_path, caplog):
    """Named together, the columns are labels, and none of them is a feature."""
    content = "report,part,kind\nold roof,roof;attic,defect\nred sea,,wish\n"
    path = write(tmp_path, "d.csv", content)
    data = read_table(path, labels="part, kind")
    assert data.label_names == ("attic", "defect", "roof", "wish")
    np.testing.assert_array_equal(dense(data.Y), [[1, 1, 1, 0], [0, 0, 0, 1]])
    assert data.feature_names == ("old", "red", "roof", "sea")
    assert caplog.messages[0] == (
        "labels from 2 columns 'part, kind', split at ';': 4 labels "
        "(--labels and --separator change this)"
    )
    known = read_content(path, TableOptions(labels="part, kind")).reading
    (block,) = table_blocks(path, TableOptions(), known, 10, labelled=True)
    assert block.labels == [["roof", "attic", "defect"], ["wish"]]
    assert read_content(write(tmp_path, "new.csv", "report\nroof\n"), known=known, labelled=False).X
    with pytest.raises(DataFormatError, match="expected a column 'part,size'"):
        read_table(path, labels="part,size")


def test_the_only_text_may_name_the_rows(tmp_path):
    path = write(tmp_path, "d.csv", "number,report,tags\nB-1,old roof,x\nB-2,red sea,y\n")
    data = read_table(path, row_names="report")
    assert data.feature_names == ("old", "red", "roof", "sea")
    assert data.row_names == ("old roof", "red sea")


@pytest.mark.parametrize(
    "options",
    [
        {"text": "a"},
        {"text": ["b", "a"]},
        {"feature_columns": ["a"]},
        {"row_names": "a"},
        {"label_columns": ["a"]},
    ],
)
def test_columns_of_one_name_are_only_refused_if_they_are_used(tmp_path, caplog, options):
    path = write(tmp_path, "d.csv", "a,b,a,labels\n1,one roof,0,x\n0,two roofs,1,y\n")
    expected = r"d\.csv, line 1: expected one column 'a', got 2 columns of that name"
    with pytest.raises(DataFormatError, match=expected):
        read_table(path, **options)
    assert read_table(path).feature_names == ("one", "roof", "roofs", "two")
    assert any("features: 1 text (b); not used: a (" in said for said in caplog.messages)


def test_columns_beside_the_text_are_named(tmp_path, caplog):
    path = write(
        tmp_path, "d.csv", "id,title,text,when,labels\n1,Roof,a roof,Monday,x\n2,Sea,sea,,y\n"
    )
    read_table(path)
    assert (
        "texts from column 'text'; not used: title, when (--text changes this)" in caplog.messages
    )
    caplog.clear()
    read_table(write(tmp_path, "d.csv", "id,text,labels\n1,roof,x\n2,sea,y\n"))
    assert not any("texts from" in said for said in caplog.messages)


def test_tokens_that_are_listed_stay_as_they_are(tmp_path):
    path = jsonl(tmp_path, [{"text": ["A b", "A b", "é"], "labels": ["x"]}])
    data = read_table(path, weighting="counts")
    assert data.feature_names == ("A b", "é")
    np.testing.assert_array_equal(data.X, [[2, 1]])
    path = write(tmp_path, "d.csv", 'text,labels\n"[""A b""]",x\n"[cut text]",x\n')
    assert read_table(path).feature_names == ("A b", "cut", "text")


def test_what_counts_as_a_token(table):
    assert read_table(table, token_pattern=r"[a-z]+").feature_names[:2] == ("a", "e")
    assert read_table(table, lowercase=False).feature_names[0] == "12"
    assert "The" in read_table(table, lowercase=False).feature_names
    assert read_table(table, min_rows=2).feature_names == ("roof",)
    assert read_table(table, max_features=1, weighting="counts").feature_names == ("red",)
    for pattern in ("(", "(a)(b)"):
        with pytest.raises(InvalidArgumentError, match="token_pattern"):
            read_table(table, token_pattern=pattern)
    for wrong in ({"weighting": "bm25"}, {"min_rows": 0}, {"max_features": 0}, {"text": []}):
        with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
            read_table(table, **wrong)
    with pytest.raises(InvalidArgumentError, match="vocabulary: expected different tokens"):
        read_table(table, vocabulary=["red", "red"])
    with pytest.raises(TypeError, match="stopwords"):
        read_table(table, stopwords="english")


def test_features_and_labels_can_be_fixed(table):
    data = read_table(table, vocabulary=["red", "blue"], label_names=["c, d", "b", "a", "z"])
    np.testing.assert_array_equal(dense(data.X), [[1, 0], [0, 0], [0, 0], [0, 0]])
    assert data.Y.toarray()[0].tolist() == [0, 1, 1, 0]
    assert read_table(table, vocabulary=[]).X.shape == (4, 0)
    with pytest.raises(DataFormatError, match=r"line 4: expected a label of label_names"):
        read_table(table, label_names=["a", "b"])


def test_long_cells_are_read_and_the_limit_of_csv_is_left_alone(tmp_path):
    before = csv.field_size_limit()
    path = write(tmp_path, "d.csv", f"text,labels\n{'word ' * 100_000},x\n")
    assert read_table(path, weighting="counts").X[0, 0] == 100_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("name", "content", "line", "expected"),
    [
        ("d.jsonl", "", None, "rows of a table"),
        ("d.csv", " \n", None, "rows of a table"),
        ("d.csv", "text,labels\n", None, "rows of a table"),
        ("d.jsonl", '{"text": "aa", "labels": []}\n\n{"text": 1}\n', 3, "a column 'labels'"),
        ("d.jsonl", '{"text": "aa"\n', 1, "a JSON object"),
        ("d.jsonl", "[1]\n", 1, "a JSON object"),
        ("d.jsonl", "[" * 100_000, 1, "a JSON object"),
        ("d.jsonl", '{"text": null, "labels": []}\n', 1, "text in 'text'"),
        ("d.jsonl", '{"text": ["aa", 1], "labels": []}\n', 1, "text in 'text'"),
        ("d.jsonl", '{"text": "aa", "labels": null}\n', 1, "labels in 'labels'"),
        ("d.jsonl", '{"text": "aa", "labels": [[]]}\n', 1, "labels in 'labels'"),
        ("d.jsonl", '{"text": "aa", "labels": [true]}\n', 1, "labels in 'labels'"),
        ("d.jsonl", '{"text": ["\\ud800"], "labels": []}\n', None, "text that UTF-8 can hold"),
        ("d.jsonl", '{"text": "- - -", "labels": []}\n', None, "texts with words to keep"),
        ("d.csv", "text,what\naa,x\n", 1, "a column 'labels'"),
        ("d.csv", "text,text,labels\na,b,c\n", 1, "one column 'text'"),
        ("d.csv", "text,labels\naa,x\naa\n", 3, "2 cells, one per column"),
        ("d.csv", 'text,labels\n"aa"b,x\n', 2, "cells of a table"),
        ("d.csv", 'text,labels\n"aa,x\n', 2, "cells of a table"),
        ("d.csv", b"text,labels\naa,x\n\x81,y\n", 3, "text in cp1252"),
        ("d.csv", "text,labels\naa,x\n".encode("utf-16") + b"x", 3, "text in utf-16"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, content, line, expected):
    path = write(tmp_path, name, content)
    with pytest.raises(DataFormatError) as caught:
        read_table(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert caught.value.expected.startswith(expected)


def test_broken_archives_and_limits(tmp_path):
    path = write(tmp_path, "d.csv.gz", gzip.compress(b"text,labels\naa,x\n")[:-5])
    with pytest.raises(DataFormatError, match=r"complete \.gz archive"):
        read_table(path)
    path = write(tmp_path, "d.csv.gz", gzip.compress(b"text,labels\n" + b"aa,x\n" * 100_000))
    with pytest.raises(DataFormatError, match="at most 1000 bytes"):
        read_table(path, max_bytes=1000)


def test_writes_what_the_format_says(tmp_path):
    data = Dataset([[2, 0], [0, 1]], [[1], [0]], ("a b", "ü"), ("x,y",), row_names=("r", "\n"))
    write_table(data, tmp_path / "out.jsonl", row_names="id")
    assert (tmp_path / "out.jsonl").read_text().splitlines()[0] == (
        '{"id": "r", "text": ["a b", "a b"], "labels": ["x,y"]}'
    )
    write_table(data, tmp_path / "out.tsv")
    with (tmp_path / "out.tsv").open(newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))
    assert rows[2] == ["\n", '["ü"]', "[]"]


@pytest.mark.parametrize("value", [0.5, -1, 2e6])
def test_values_that_are_no_counts_are_not_written(tmp_path, value):
    data = Dataset([[1, value]], [[1]], ("a", "b"), ("x",))
    with pytest.raises(InvalidArgumentError, match=r"X: expected counts"):
        write_table(data, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_names_of_files_and_columns_are_checked(tmp_path):
    data = Dataset([[1.0]], [[1]], ("a",), ("x",))
    with pytest.raises(InvalidArgumentError, match=r"a name that ends in \.jsonl"):
        write_table(data, tmp_path / "out.xlsx")
    with pytest.raises(InvalidArgumentError, match="different names"):
        write_table(data, tmp_path / "out.csv", text="labels")


def test_numbers_and_categories_beside_texts(tmp_path):
    """Words first, then numbers, then one column of 0 and 1 per category; empty is one too."""
    cells = [("A red house", 1.5, "blue"), ("A tall house", 2, None), ("The red house", 0, "blue")]
    rows = [
        {"title": title, "size": size, "colour": colour, "labels": ["x"]}
        for title, size, colour in cells
    ]
    data = read_table(jsonl(tmp_path, rows), feature_columns=["size", "title", "colour"])
    assert data.feature_names == (
        *("house", "red", "tall", "the"),
        *("size", "colour=", "colour=blue"),
    )
    wanted = [[1, 1, 0, 0, 1.5, 0, 1], [1, 0, 1, 0, 2, 1, 0], [1, 1, 0, 1, 0, 0, 1]]
    np.testing.assert_array_equal(dense(data.X), wanted)


def test_numbers_alone_and_one_category(tmp_path):
    numbers = write(tmp_path, "numbers.csv", "a;b;tags\n1,5;-2;x\n2,5;1e3;y\n")
    np.testing.assert_array_equal(dense(read_table(numbers).X), [[1.5, -2], [2.5, 1000]])
    colours = write(tmp_path, "colours.csv", "colour,tags\n" + "red,x\nblue,y\n" * 3)
    data = read_table(colours)
    assert data.feature_names == ("colour=blue", "colour=red")
    np.testing.assert_array_equal(dense(data.X), [[0, 1], [1, 0]] * 3)


def test_labels_are_named_once(table):
    with pytest.raises(InvalidArgumentError, match="label_names: expected different names"):
        read_table(table, label_names=["a", "b", "a"])


@pytest.mark.parametrize(
    ("cell", "is_number"),
    [("1_000", False), ("", True), (None, True), (["red"], False), ({"a": 1}, False)],
)
def test_cells_that_are_and_are_not_numbers(cell, is_number):
    """Python reads 1_000 as a number, a table does not; an empty cell is a missing number."""
    found = number_of(cell)
    assert found is None if not is_number else np.isnan(found)


def test_lists_of_tokens_are_texts_even_where_they_repeat():
    assert kind_of([["red"], ["red"]] * 10) == "text"


@pytest.mark.parametrize("labels", [None, "tags"])
def test_cells_of_a_file_without_a_header_are_not_in_messages(tmp_path, labels):
    path = tmp_path / "notes.csv"
    path.write_text("My phone number is 555-1234 and I am ill,urgent\nAnother private note,late\n")
    with pytest.raises(DataFormatError) as caught:
        read_table(path, labels=labels)
    assert "555" not in str(caught.value)
    assert "urgent" not in str(caught.value)
    assert "2 columns that are named like texts" in str(caught.value)


def test_nulls_are_refused_with_what_to_write_instead(tmp_path):
    text = {"text": None, "labels": ["a"]}
    said = r"expected text in .text. \(\"\" for a row without text\), got an empty cell"
    with pytest.raises(DataFormatError, match=said):
        read_table(jsonl(tmp_path, [{"text": "red", "labels": ["a"]}, text]))
    labels = {"text": "roof", "labels": None}
    said = r"expected labels in .labels. \(\[\] for a row without labels\), got an empty cell"
    with pytest.raises(DataFormatError, match=said):
        read_table(jsonl(tmp_path, [{"text": "red", "labels": ["a"]}, labels]))
