import bz2

import numpy as np
import pytest

from vicinal.datasets import Dataset
from vicinal.datasets.arff import read_meka, write_meka
from vicinal.errors import DataFormatError, InvalidArgumentError

pytestmark = pytest.mark.native

ATTRIBUTES = "@attribute a {0,1}\n@attribute b numeric\n@attribute c {NO,YES}\n@attribute d {0,1}\n"


def write(folder, relation, rows="1,2.5,YES,0\n{1 3}\n", attributes=ATTRIBUTES):
    path = folder / "data.arff"
    path.write_text(f"@relation {relation}\n{attributes}@data\n{rows}")
    return path


@pytest.mark.parametrize(
    ("relation", "labels"),
    [
        ("'Some: -C 1'", "a"),
        ("'Some: -C -1'", "d"),
        ('"Some: -I 0 -C  1 -split 5" %50', "a"),
        ("'Some: -C -2'", "cd"),
        ("'Some: -C 0'", ""),
        ("'Some: -C -1-weka.filters.Remove-R1-45'", "d"),
    ],
)
def test_reads_labels_by_position(tmp_path, relation, labels):
    data = read_meka(write(tmp_path, relation))
    assert "".join(data.label_names) == labels
    assert "".join(data.feature_names) == "".join(c for c in "abcd" if c not in labels)
    full = np.hstack([data.X, data.Y.toarray()])
    names = data.feature_names + data.label_names
    order = [names.index(c) for c in "abcd"]
    np.testing.assert_array_equal(full[:, order], [[1, 2.5, 1, 0], [0, 3, 0, 0]])


def test_the_count_can_be_given(tmp_path):
    path = write(tmp_path, "plain")
    assert read_meka(path, n_labels=-2).label_names == ("c", "d")
    with pytest.raises(DataFormatError, match=r"'-C n' in the relation name.*'plain'"):
        read_meka(path)
    with pytest.raises(
        DataFormatError, match=r"at least 5 attributes, as many as labels in '-C -?5', got 4"
    ):
        read_meka(path, n_labels=5)


@pytest.mark.parametrize("count", ["x", "99999999999999999999", ""])
def test_bad_counts_are_refused(tmp_path, count):
    with pytest.raises(DataFormatError, match="-C n"):
        read_meka(write(tmp_path, f"'Some: -C {count}'"))


def test_labels_must_be_binary(tmp_path):
    attributes = ATTRIBUTES.replace("c {NO,YES}", "c {a,b}")
    path = write(tmp_path, "'-C -2'", "", attributes)
    with pytest.raises(DataFormatError, match=r"line 4: expected a 0/1 attribute for label 'c'"):
        read_meka(path)


def test_packed(tmp_path):
    plain = write(tmp_path, "'Some: -C 1'")
    packed = tmp_path / "data.arff.bz2"
    packed.write_bytes(bz2.compress(plain.read_bytes()))
    assert read_meka(packed).n_rows == 2
    packed.write_bytes(bz2.compress(plain.read_bytes())[:-3])
    with pytest.raises(DataFormatError, match=r"complete \.bz2 archive"):
        read_meka(packed)


@pytest.mark.parametrize("labels_first", [True, False])
def test_writes_what_the_format_says(tmp_path, labels_first):
    X = [[0, 0, 0, 0, 1.5], [0, 0, 0, 0, 0]]
    data = Dataset(X, [[1], [0]], tuple("vwxyz"), ("t",))
    write_meka(data, tmp_path / "a -C 9.arff", labels_first=labels_first)
    lines = (tmp_path / "a -C 9.arff").read_text().splitlines()
    if labels_first:
        assert lines[0] == "@relation 'a -c 9: -C 1'"
        assert lines[2] == "@attribute t {0,1}"
        assert lines[-2:] == ["1,0,0,0,0,1.5", "0,0,0,0,0,0"]
    else:
        assert lines[0] == "@relation 'a -c 9: -C -1'"
        assert lines[2] == "@attribute v numeric"
        assert lines[-2:] == ["0,0,0,0,1.5,1", "0,0,0,0,0,0"]
    back = read_meka(tmp_path / "a -C 9.arff")
    np.testing.assert_array_equal(back.X.toarray(), X)
    assert back.label_names == ("t",)


def test_nothing_at_all_is_not_written(tmp_path):
    nothing = Dataset(np.zeros((2, 0)), np.zeros((2, 0)), (), ())
    with pytest.raises(InvalidArgumentError, match="at least one feature or label"):
        write_meka(nothing, tmp_path / "out.arff")
