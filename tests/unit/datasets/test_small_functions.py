"""Examples of functions that other tests reach only on the way."""

from pathlib import Path

import numpy as np
from scipy import sparse

from vicinal.datasets.arff import DATA_LINE, positive_value, unquoted
from vicinal.datasets.dataset import by_content, is_numbered
from vicinal.datasets.formats import format_of
from vicinal.datasets.mulan import _candidates
from vicinal.datasets.tables.csv import decode_table, detect_delimiter, find_encoding
from vicinal.datasets.tables.folder import folder_records
from vicinal.datasets.tables.guess import decimal_sign, is_identifier
from vicinal.datasets.tables.label_cells import cell_labels
from vicinal.datasets.tables.reading import TableOptions, cell_bytes
from vicinal.datasets.xc import number_texts


def test_data_line():
    assert DATA_LINE.match(b" @DATA \r\n")
    assert not DATA_LINE.match(b"1,2,3\n")


def test_unquoted():
    assert unquoted(r"'Swainson\'s Thrush'") == "Swainson's Thrush"
    assert unquoted("plain") == "plain"


def test_positive_value():
    assert positive_value(("YES", "NO")) == "YES"
    assert positive_value(("0",)) == ""
    assert positive_value(("red", "green")) is None


def test_by_content():
    assert by_content(np.eye(5)).nnz == 5
    np.testing.assert_equal(
        (by_content(sparse.csr_array(np.eye(2)))), np.array([[1.0, 0.0], [0.0, 1.0]])
    )


def test_is_numbered():
    assert (
        is_numbered(["label0", "label1"], "label"),
        is_numbered(["label1", "sad"], "label"),
    ) == (True, False)


def test_format_of():
    assert (format_of("scene-train.arff.gz"), format_of("rcv1sub1.xc.txt.xz")) == ("mulan", "xc")


def test_candidates():
    assert _candidates("Some-train-sparse.arff")[::4] == [
        "Some-train-sparse.xml",
        "Some-train.xml",
        "Some.xml",
    ]


def test_detect_delimiter():
    text = "text;tags\nred, round;a,b\nblue, square;c\n"
    assert detect_delimiter(text, ",", [], quoting=True, path="x.csv") == ";"


def test_decode_table():
    for encoding in ("cp1252", "utf-16"):
        data = "Größe".encode(encoding)
        assert decode_table(data, "x.csv", None) == "Größe"
        assert find_encoding(lambda data=data: [data], "x.csv", None) == encoding


def test_folder_records():
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        _ = (Path(folder) / "a.txt").write_text("A castle")
        _ = (Path(folder) / "a.tsv").write_text("<http://example.org/1>\tcastles\n")
        found = folder_records(folder, TableOptions(), labelled=True)
    assert found.columns == {
        "document": ["a"],
        "text": ["A castle"],
        "labels": [["http://example.org/1"]],
    }


def test_decimal_sign():
    assert (decimal_sign([["3,5", "4"], ["red"]], ";"), decimal_sign([["3.5"]], ";")) == (",", ".")


def test_is_identifier():
    assert (
        is_identifier(["1", "2", "3"]),
        is_identifier(["T01", "T02"]),
        is_identifier(["red", "x1"]),
    ) == (True, True, False)
    assert not (is_identifier([0.5, 2.0, 3.5]))


def test_cell_labels():
    assert (
        cell_labels("red;round;red", ";"),
        cell_labels('["red"]', ";"),
        cell_labels(3, ";"),
    ) == (["red", "round"], ["red"], ["3"])
    assert cell_labels([{"name": "bug", "color": "d73a4a"}], ";") == ["bug"]
    assert cell_labels([0.5], ";") is None


def test_cell_bytes():
    assert (cell_bytes(["0", "1"]), cell_bytes(["10", None]), cell_bytes([["a", "bc"]])) == (
        16,
        130,
        195,
    )


def test_number_texts():
    assert number_texts(np.array([0.1, 2.0, -3.0, 1e300])) == ["0.1", "2", "-3", "1e+300"]
