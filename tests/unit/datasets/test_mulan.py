import gzip

import numpy as np
import pytest
from scipy import sparse
from scipy.io import arff as scipy_arff

from vicinal.datasets import Dataset
from vicinal.datasets.mulan import find_labels_xml, read_mulan, write_mulan
from vicinal.errors import DataFormatError, InvalidArgumentError

pytestmark = pytest.mark.native

HEADER = r"""% made by hand
@RELATION 'a % relation' % why

@attribute size REAL
@attribute 'tag\'s' {0,1}   % a label, amid the features
@attribute "has wings" {YES, NO}
@Attribute colour {red,'dark green', blue}
@attribute	tag2	{ 0 , 1 }
@attribute legs integer
@data
"""
DENSE = """1.5,1,NO,red,0,4
% a comment

0, 0, YES, 'dark green', 1, 2
-2,0,NO,blue,1,0
"""
SPARSE = """{0 1.5, 1 1, 2 NO, 5 4}
{3 "dark green", 4 1, 5 2}
{0 -2,2 NO,3 blue,4 1}
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="tag2"><label name="tag's"></label></label>
</labels>
"""


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "some.xml", XML)
    return tmp_path


@pytest.mark.parametrize("rows", [DENSE, SPARSE, DENSE.replace(",", "\t"), DENSE.rstrip()])
def test_reads_rows_dense_and_sparse(folder, rows):
    data = read_mulan(write(folder, "some.arff", HEADER + rows))
    assert data.feature_names == (
        "size", "has wings", "colour=red", "colour=dark green", "colour=blue", "legs",
    )  # fmt: skip
    assert data.label_names == ("tag's", "tag2")
    np.testing.assert_array_equal(
        data.X, [[1.5, 0, 1, 0, 0, 4], [0, 1, 0, 1, 0, 2], [-2, 0, 0, 0, 1, 0]]
    )
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 1], [0, 1]])


def test_every_nominal_as_one_hot(folder):
    data = read_mulan(write(folder, "some.arff", HEADER + SPARSE), nominal="onehot")
    assert data.feature_names[1:3] == ("has wings=YES", "has wings=NO")
    np.testing.assert_array_equal(data.X[:, 1:3], [[0, 1], [1, 0], [0, 1]])
    with pytest.raises(InvalidArgumentError, match="nominal"):
        read_mulan(folder / "some.arff", nominal="ordinal")


def test_agrees_with_another_reader(folder):
    header = "@relation r\n@attribute size real\n@attribute tag2 {0,1}\n@attribute kind {a,b}\n"
    rows = "".join(f"{i / 7!r},{i % 2},{'ab'[i % 3 == 0]}\n" for i in range(50))
    path = write(folder, "other.arff", f"{header}@data\n{rows}")
    xml = write(folder, "other.xml", '<labels><label name="tag2"/></labels>')
    theirs, _ = scipy_arff.loadarff(str(path))
    ours = read_mulan(path, xml)
    np.testing.assert_array_equal(ours.X[:, 0], theirs["size"])
    np.testing.assert_array_equal(ours.X[:, 1], theirs["kind"] == b"a")
    np.testing.assert_array_equal(ours.X[:, 2], theirs["kind"] == b"b")
    np.testing.assert_array_equal(ours.Y.toarray()[:, 0], theirs["tag2"] == b"1")


def test_sparse_content_of_dense_rows_comes_sparse(folder):
    names = "".join(f"@attribute f{i} {{0,1}}\n" for i in range(20))
    text = f"@relation r\n{names}@attribute tag2 {{0,1}}\n@attribute tag's {{0,1}}\n@data\n"
    row = ",".join(["0"] * 19 + ["1"] * 3)
    data = read_mulan(write(folder, "some.arff", text + row))
    assert isinstance(data.X, sparse.csr_array)
    assert data.X.indices.tolist() == [19]
    assert data.label_names == ("tag2", "tag's")


def test_attributes_can_be_dropped(folder):
    text = HEADER.replace("size REAL", "size string").replace("integer", "date 'yyyy'")
    rows = "'a, b',1,NO,red,0,\"1999\"\n{0 x,2 NO}\n"
    path = write(folder, "some.arff", text + rows)
    with pytest.raises(DataFormatError, match=r"line 4: .*the string attribute 'size'"):
        read_mulan(path)
    data = read_mulan(path, drop=["size", "legs"])
    np.testing.assert_array_equal(data.X, [[0, 1, 0, 0], [0, 1, 0, 0]])
    with pytest.raises(
        InvalidArgumentError, match="drop: expected names of attributes, got 'sise'"
    ):
        read_mulan(path, drop=["sise"])


@pytest.mark.parametrize(
    "name",
    [
        "some.arff",
        "Some-train.arff.gz",
        "SOME-test-sparse.ARFF",
        "some_full.arff",
        "some-dense.arff",
    ],
)
def test_finds_the_xml_beside(folder, name):
    assert find_labels_xml(folder / name) == folder / "some.xml"


def test_prefers_the_nearest_xml(folder):
    near = write(folder, "some-train.xml", XML)
    assert find_labels_xml(folder / "some-train.arff") == near
    assert find_labels_xml(folder / "other.arff") is None


def test_packed_and_latin_1(folder):
    text = (HEADER + DENSE).replace("colour", "couleur_foncée")
    path = write(folder, "some.arff.gz", gzip.compress(text.encode("latin-1")))
    with pytest.raises(DataFormatError, match=r"line 7: .*byte 0xe9"):
        read_mulan(path)
    names = read_mulan(path, encoding="latin-1").feature_names
    assert names[2] == "couleur_foncée=red"


def test_numeric_labels_and_a_row_of_nothing(folder):
    text = "@relation r\n@attribute tag2 numeric\n@attribute tag's integer\n@data\n{}\n{1 1}\n"
    data = read_mulan(write(folder, "some.arff", text))
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 0], [0, 1]])
    assert data.X.shape == (2, 0)


def test_no_rows(folder):
    data = read_mulan(write(folder, "some.arff", HEADER))
    assert (data.n_rows, data.n_features, data.n_labels) == (0, 6, 2)


def test_writes_what_the_format_says(tmp_path):
    data = Dataset([[0.5, 2.0]], [[1]], ("a", "it's 5%\n"), ('"<&',))
    write_mulan(data, tmp_path / "out.arff")
    assert (tmp_path / "out.arff").read_text() == (
        "@relation out\n\n@attribute a numeric\n@attribute 'it\\'s 5\\%\\n' numeric\n"
        "@attribute '\\\"<&' {0,1}\n\n@data\n0.5,2,1\n"
    )
    assert "<label name='\"&lt;&amp;'></label>" in (tmp_path / "out.xml").read_text()


def test_names_the_format_cannot_hold_are_refused_before_anything_is_written(tmp_path):
    twice = Dataset([[1.0]], [[1]], ("a",), ("a",))
    with pytest.raises(InvalidArgumentError, match="'a' twice"):
        write_mulan(twice, tmp_path / "out.arff")
    control = Dataset([[1.0]], [[1]], ("a",), ("\x01",))
    with pytest.raises(InvalidArgumentError, match="text that XML can hold"):
        write_mulan(control, tmp_path / "out.arff")
    assert list(tmp_path.iterdir()) == []
