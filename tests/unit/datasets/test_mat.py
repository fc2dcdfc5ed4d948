import gzip
import struct
import zlib

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from vicinal.datasets.mat import read_mat
from vicinal.errors import DataFormatError

pytestmark = pytest.mark.native

RNG = np.random.default_rng(3)
X = RNG.random((6, 4))
Y = (RNG.random((6, 3)) < 0.5).astype(float)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.mat"


def signed(indicator):
    return np.where(indicator.T == 1, 1, -1).astype(np.int16)


@pytest.mark.parametrize("packed", [False, True])
def test_reads_rows_by_row(path, packed):
    parts = {"X": X[:4], "Y": Y[:4], "Xt": X[4:], "Yt": sparse.csc_array(Y[4:]), "other": "text"}
    savemat(path, parts, do_compression=packed)
    data = read_mat(path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)
    assert data.train.tolist() == [0, 1, 2, 3]
    assert data.test.tolist() == [4, 5]
    assert data.feature_names == ("feature0", "feature1", "feature2", "feature3")
    assert data.label_names == ("label0", "label1", "label2")


def test_reads_labels_by_column_and_signed(path):
    savemat(
        path,
        {
            "train_data": X[:4],
            "train_target": signed(Y[:4]),
            "test_data": X[4:],
            "test_target": signed(Y[4:]),
        },
    )
    data = read_mat(path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)
    assert data.test.tolist() == [4, 5]


def test_without_test_rows_there_is_no_split(path):
    savemat(path, {"X": sparse.csc_array(np.eye(6)), "Y": Y})
    data = read_mat(path)
    assert data.train is None
    assert isinstance(data.X, sparse.csr_array)
    np.testing.assert_array_equal(data.X.toarray(), np.eye(6))


def test_packed_once_more(tmp_path, path):
    savemat(path, {"X": X, "Y": Y})
    again = tmp_path / "data.mat.gz"
    again.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read_mat(again).X, X)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"Z": X}, "the variables train_data and train_target or X and Y, got none of them"),
        ({"X": X}, "the variables .*, got X"),
        ({"X": X, "Y": Y[:5]}, r"labels for 6 rows.* got 5 × 3"),
        ({"X": X, "Y": Y, "Xt": X[:, :2], "Yt": Y}, "4 features, got 2 in Xt"),
        ({"X": X, "Y": Y, "Xt": X, "Yt": Y[:, :2]}, r"in Yt, got 6 × 2"),
        ({"X": X, "Y": Y, "Xt": X}, "in Yt, got no Yt"),
        ({"X": X, "Y": Y, "Yt": Y}, "in Xt, got no Xt"),
        ({"X": X, "Y": Y * 2}, "values 0, 1 and −1 in Y, got 2"),
        ({"X": X * np.nan, "Y": Y}, "finite numbers in X, got input that contains NaN"),
        ({"X": X + np.inf, "Y": Y}, "finite numbers in X, got input that contains infinity"),
        ({"X": X, "Y": Y + np.inf}, "finite numbers in Y"),
        ({"X": "text", "Y": Y}, "X that is not a matrix of real numbers"),
        ({"X": {"a": 1}, "Y": Y}, "X that is not a matrix of real numbers"),
        ({"X": X.reshape(6, 2, 2), "Y": Y}, "X with 3 dimensions"),
        ({"X": X + 1j, "Y": Y}, "X that is not a matrix of real numbers"),
    ],
)
def test_bad_variables_are_refused(path, parts, message):
    savemat(path, parts)
    with pytest.raises(DataFormatError, match=message):
        read_mat(path)


@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_refused(path, packed):
    savemat(path, {"X": X, "Y": Y}, do_compression=packed)
    content = path.read_bytes()
    for cut in (0, 50, 127, 140, 200, len(content) - 20):
        path.write_bytes(content[:cut])
        with pytest.raises(DataFormatError, match=r"data\.mat"):
            read_mat(path)


def test_other_versions_are_refused(path):
    savemat(path, {"X": X, "Y": Y}, format="4")
    with pytest.raises(DataFormatError, match="a MATLAB file of version 5 to 7"):
        read_mat(path)
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(400))
    with pytest.raises(DataFormatError, match=r"7\.3 is HDF5"):
        read_mat(path)


def test_variables_that_unpack_without_end_are_stopped(path):
    savemat(path, {"X": X, "Y": Y})
    bomb = zlib.compress(bytes(20_000_000))
    element = struct.pack("<II", 15, len(bomb)) + bomb
    path.write_bytes(path.read_bytes()[:128] + element)
    with pytest.raises(DataFormatError, match="more than max_bytes"):
        read_mat(path, max_bytes=1_000_000)


def test_a_sparse_variable_with_ids_out_of_range_is_refused(path):
    matrix = sparse.csc_array(np.eye(6))
    savemat(path, {"X": matrix, "Y": Y})
    content = bytearray(path.read_bytes())
    ids = np.arange(6, dtype=np.int32).tobytes()
    at = content.find(ids)
    assert at > 0
    content[at : at + 4] = struct.pack("<i", 1_000_000)
    path.write_bytes(content)
    with pytest.raises(DataFormatError, match="an intact MATLAB file, got X:"):
        read_mat(path)


def test_a_sparse_variable_with_starts_that_fall_is_refused(path):
    savemat(path, {"X": sparse.csc_array(np.eye(6)), "Y": Y})
    content = bytearray(path.read_bytes())
    at = content.find(np.arange(7, dtype=np.int32).tobytes())
    assert at > 0
    for start in (-1, 0, 2**30):
        content[at + 24 : at + 28] = struct.pack("<i", start)
        path.write_bytes(content)
        with pytest.raises(DataFormatError, match="an intact MATLAB file, got"):
            read_mat(path)


def big_endian_matrix(name, values):
    """A variable as a machine of the other byte order writes it."""

    def element(kind, content):
        return struct.pack(">II", kind, len(content)) + content + bytes(-len(content) % 8)

    short_name = struct.pack(">HH", len(name), 1) + name.encode().ljust(4, b"\0")
    return element(
        14,
        element(6, struct.pack(">II", 6, 0))
        + element(5, struct.pack(">ii", *values.shape))
        + short_name
        + element(3, values.astype(">i2").tobytes(order="F")),
    )


def test_the_other_byte_order(path):
    variables = big_endian_matrix("X", np.arange(6).reshape(2, 3)) + big_endian_matrix(
        "Y", np.array([[1, 0], [0, 1]])
    )
    path.write_bytes(b" " * 124 + b"\x01\x00MI" + variables)
    data = read_mat(path)
    np.testing.assert_array_equal(data.X, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 1]])


def element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


FLAGS, SIZES = element(6, struct.pack("<II", 6, 0)), element(5, struct.pack("<ii", 1, 2))
NAME, VALUES = element(1, b"X"), element(9, struct.pack("<dd", 1, 2))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (FLAGS + SIZES, "a variable without its name"),
        (FLAGS + SIZES + NAME + element(16, b"a"), "numbers of type 16 in 1 bytes"),
        (FLAGS + SIZES + NAME + element(9, b"abc"), "numbers of type 9 in 3 bytes"),
        (FLAGS + VALUES + NAME + VALUES, "fractions for counts"),
        (FLAGS + SIZES + NAME + VALUES + VALUES, "2 values in X of 1 × 2"),
        (FLAGS + SIZES + NAME, "0 values in X of 1 × 2"),
    ],
)
def test_variables_whose_parts_do_not_fit_are_refused(path, parts, said):
    savemat(path, {"Y": Y})
    path.write_bytes(path.read_bytes() + element(14, parts))
    with pytest.raises(DataFormatError, match=f"an intact MATLAB file, got {said}"):
        read_mat(path)


def test_a_variable_given_twice_is_refused(path):
    savemat(path, {"Y": Y})
    path.write_bytes(path.read_bytes() + 2 * element(14, FLAGS + SIZES + NAME + VALUES))
    with pytest.raises(DataFormatError, match="got X twice"):
        read_mat(path)


def test_a_packed_variable_cut_off_is_refused(path):
    savemat(path, {"Y": Y})
    whole = element(14, FLAGS + SIZES + NAME + VALUES)
    for packed in (zlib.compress(whole)[:-4], zlib.compress(whole + whole), zlib.compress(b"")):
        content = path.read_bytes()[:128] + struct.pack("<II", 15, len(packed)) + packed
        (path.parent / "cut.mat").write_bytes(content)
        with pytest.raises(DataFormatError, match="a packed variable cut off"):
            read_mat(path.parent / "cut.mat")


def test_an_empty_sparse_variable_of_unheard_of_size_is_refused(path):
    sizes = element(5, struct.pack("<ii", 2**30, 0))
    flags, none = element(6, struct.pack("<II", 5, 0)), element(5, b"")
    starts = element(5, struct.pack("<i", 0))
    savemat(path, {"Y": Y})
    variable = flags + sizes + NAME + none + starts + element(9, b"")
    path.write_bytes(path.read_bytes() + element(14, variable))
    with pytest.raises(DataFormatError, match=r"in X, got shape \(1073741824, 0\)"):
        read_mat(path)
