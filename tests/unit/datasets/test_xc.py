import gzip

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from vicinal.datasets import Dataset
from vicinal.datasets.dataset import MAX_NUMBERED
from vicinal.datasets.xc import read_xc, write_xc
from vicinal.errors import DataFormatError

pytestmark = pytest.mark.native

SMALL = "3 10 4\n0,2 1:0.5 4:1\n 0:2\n3,1 9:-1e-3 2:7\n"


def write(folder, content, name="data.xc.txt"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_reads_rows(tmp_path):
    data = read_xc(write(tmp_path, SMALL))
    expected = np.zeros((3, 10))
    expected[[0, 0, 1, 2, 2], [1, 4, 0, 9, 2]] = [0.5, 1, 2, -1e-3, 7]
    assert isinstance(data.X, sparse.csr_array)
    np.testing.assert_array_equal(data.X.toarray(), expected)
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1]])
    assert data.feature_names[:2] == ("feature0", "feature1")
    assert data.label_names == ("label0", "label1", "label2", "label3")
    assert data.source == "data.xc.txt"


def test_dense_content_comes_dense(tmp_path):
    data = read_xc(write(tmp_path, "2 2 1\n0 0:1 1:2\n0 1:3\n"))
    np.testing.assert_array_equal(data.X, [[1, 2], [0, 3]])
    assert isinstance(data.X, np.ndarray)


def test_agrees_with_another_reader(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 50), density=0.1, rng=rng, format="csr")
    Y = sparse.csr_array(rng.random((200, 8)) < 0.3)
    names = tuple(map(str, range(50)))
    write_xc(Dataset(X, Y, names, names[:8]), tmp_path / "a.txt")
    header, *rows = (tmp_path / "a.txt").read_text().splitlines(keepends=True)
    assert header == "200 50 8\n"
    other = write(tmp_path, "".join(rows), "rows.svm")
    other_X, other_sets = load_svmlight_file(
        str(other), n_features=50, multilabel=True, zero_based=True
    )
    data = read_xc(tmp_path / "a.txt")
    np.testing.assert_array_equal(data.X.toarray(), other_X.toarray())
    sets = [tuple(np.flatnonzero(row)) for row in data.Y.toarray()]
    assert sets == [tuple(map(int, labels)) for labels in other_sets]


@pytest.mark.parametrize("data_name", ["some.xc.txt.gz", "SOME.txt.gz", "some.xc.gz"])
def test_names_are_found_beside_the_file(tmp_path, data_name):
    path = write(tmp_path, gzip.compress(b"1 2 1\n0 0:1\n"), data_name)
    write(tmp_path, "täg\r\n", "some-labels.txt")
    write(tmp_path, gzip.compress(b"one\n two "), "some-features.txt.gz")
    data = read_xc(path)
    assert data.label_names == ("täg",)
    assert data.feature_names == ("one", " two ")


def test_names_can_be_given(tmp_path):
    path = write(tmp_path, "1 2 1\n0 0:1\n")
    write(tmp_path, "wrong\n", "data-labels.txt")
    labels = write(tmp_path, "right\n", "other.txt")
    assert read_xc(path, labels=labels).label_names == ("right",)


def test_wrong_number_of_names_is_refused(tmp_path):
    path = write(tmp_path, "1 2 1\n0 0:1\n")
    write(tmp_path, "a\nb\n", "data-labels.txt")
    with pytest.raises(DataFormatError, match=r"data-labels\.txt: expected 1 label names.*got 2"):
        read_xc(path)


def test_names_in_another_encoding(tmp_path):
    path = write(tmp_path, "1 1 1\n0 0:1\n")
    write(tmp_path, "zwölf\n".encode("latin-1"), "data-labels.txt")
    with pytest.raises(DataFormatError, match=r"data-labels\.txt, line 1: .*byte 0xf6"):
        read_xc(path)
    assert read_xc(path, encoding="latin-1").label_names == ("zwölf",)


@pytest.mark.parametrize(
    ("content", "line", "expected", "got"),
    [
        (b"", 1, "a header", "an empty file"),
        (b"2 2 2\n0 0:1\n", 2, "2 rows, as the header says", "1"),
        (b"1 2 2\n0 0:1\n1 1:1\n", 3, "1 rows, as the header says", "more"),
        (b"1 2\n0 0:1\n", 1, "a header", "the end of the line"),
        (b"1 2 2\n5 0:1\n", 2, "a label id from 0 to 1", "'5'"),
        (b"1 2 2\n0 7:1\n", 2, "a feature id from 0 to 1", "'7:1'"),
        (b"1 2 2\n0 -1:1\n", 2, "a feature id from 0 to 1", "'-1:1'"),
        (b"1 2 2\n0 1:nan\n", 2, "a finite number", "'nan'"),
        (b"1 2 2\n0 1:inf\n", 2, "a finite number", "'inf'"),
        (b"1 2 2\n0 1:x\n", 2, "a finite number", "'x'"),
        (b"1 2 2\n0 1:1 1:2\n", 2, "each feature once", "feature 1 twice"),
        (b"1 2 2\n0,0 1:1\n", 2, "each label once", "label 0 twice"),
        (b"1 2 2\n0 1:\xff\xfe\n", 2, "a finite number", r"'\xff\xfe'"),
    ],
)
def test_bad_files_are_refused(tmp_path, content, line, expected, got):
    path = write(tmp_path, content)
    with pytest.raises(DataFormatError) as caught:
        read_xc(path)
    error = caught.value
    assert (error.path, error.line, error.got) == (str(path), line, got)
    assert error.expected.startswith(expected)


def test_other_encodings_are_refused(tmp_path):
    with pytest.raises(DataFormatError, match="UTF-16"):
        read_xc(write(tmp_path, SMALL.encode("utf-16")))
    assert read_xc(write(tmp_path, SMALL.encode("utf-8-sig"))).n_rows == 3


def test_a_count_beyond_reason_takes_no_memory(tmp_path):
    with pytest.raises(DataFormatError, match=f"at most {MAX_NUMBERED} features"):
        read_xc(write(tmp_path, "1 2147483646 1\n0 0:1\n"))


def test_limit_on_bytes(tmp_path):
    path = write(tmp_path, gzip.compress(b"1 1 1\n" + b" " * 10**6), "data.txt.gz")
    with pytest.raises(DataFormatError, match="at most 1000 bytes"):
        read_xc(path, max_bytes=1000)


def test_truncated_archive(tmp_path):
    path = write(tmp_path, gzip.compress(SMALL.encode())[:-9], "data.txt.gz")
    with pytest.raises(DataFormatError, match=r"complete \.gz archive"):
        read_xc(path)


def test_writes_what_the_format_says(tmp_path):
    data = Dataset(
        [[0, 2.5], [0, 0], [1, 1e-9]], [[0, 1], [0, 0], [1, 1]], ("a", "b\nc"), ('"x', "y")
    )
    write_xc(data, tmp_path / "out.xc.txt")
    assert (tmp_path / "out.xc.txt").read_text() == "3 2 2\n1 1:2.5\n \n0,1 0:1 1:1e-09\n"
    assert (tmp_path / "out-features.txt").read_text() == 'a\n"b\\nc"\n'
    assert (tmp_path / "out-labels.txt").read_text() == '"\\"x"\ny\n'
