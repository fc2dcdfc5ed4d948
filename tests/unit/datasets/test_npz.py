import gzip
import io
import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

from vicinal.datasets import Dataset
from vicinal.datasets.npz import read_npz, write_npz
from vicinal.errors import DataFormatError

pytestmark = pytest.mark.native

DATA = Dataset(
    X=sparse.csr_array(np.diag([1.5, -2, 3, 1e-300, 5])),
    Y=np.eye(5, 2),
    feature_names=tuple("abcde"),
    label_names=("x\x00", "y"),
    row_names=("r0", "r1", "", "r3", "r4"),
    train=[0, 1],
    test=[3],
    source="here",
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.npz"


def parts_of(path):
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def test_keeps_everything(path):
    write_npz(DATA, path)
    data = read_npz(path)
    np.testing.assert_array_equal(data.X.toarray(), DATA.X.toarray())
    np.testing.assert_array_equal(data.Y.toarray(), DATA.Y.toarray())
    for name in ("feature_names", "label_names", "row_names", "source"):
        assert getattr(data, name) == getattr(DATA, name)
    assert data.train.tolist() == [0, 1]
    assert data.test.tolist() == [3]


def test_equal_data_make_equal_files(path):
    write_npz(DATA, path)
    first = path.read_bytes()
    write_npz(DATA, path)
    assert path.read_bytes() == first


def test_reads_plain_arrays(path):
    np.savez(path, X=np.eye(2, dtype=np.float32), Y=np.ones((2, 1), bool))
    data = read_npz(path)
    np.testing.assert_array_equal(data.X, np.eye(2))
    assert data.label_names == ("label0",)
    assert data.source == "data.npz"
    np.savez(path, X=np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]), Y=np.ones((2, 1), bool))
    np.testing.assert_array_equal(read_npz(path).X, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_data": None}, "an array in X_data, got no such array"),
        ({"Y_indptr": None}, "an array in Y_indptr, got no such array"),
        ({"X_indices": np.array([0, 1, 2, 3, 99])}, "ids from 0 to 4 in X"),
        ({"X_indices": np.array([0, 1, 2, 3, -1])}, "ids from 0 to 4 in X"),
        ({"X_indices": np.zeros((5, 1), int)}, "a list of numbers in X_indices"),
        ({"X_indices": np.zeros(5)}, "a list of numbers in X_indices"),
        ({"X_indptr": np.array([0, 3, 2, 3, 4, 5])}, "a valid sparse structure in X"),
        ({"X_indptr": np.array([0, 1, 2, 3, 4, 50])}, "a valid sparse structure in X"),
        ({"X_indptr": np.array([0, 1, 2, 3, 4, -1])}, "a valid sparse structure in X"),
        ({"X_shape": np.array([5, -5])}, "two counts in X_shape"),
        ({"X_shape": np.array([5])}, "two counts in X_shape"),
        ({"X_shape": np.array([5, 2**31])}, "two counts in X_shape"),
        ({"X_data": np.array([1, 2, np.nan, 4, 5])}, "finite values in X"),
        ({"X_data": np.array([1, 2, np.inf, 4, 5])}, "finite values in X"),
        ({"X_data": np.array(list("abcde"))}, "an array of numbers as X_data"),
        ({"X_data": np.array([1, 2, 3, 4, 5j])}, "an array of numbers as X_data"),
        ({"Y_indices": np.array([0, 0]), "Y_indptr": np.array([0, 2, 2, 2, 2, 2])}, "0 and 1"),
        ({"Y_shape": np.array([4, 2]), "Y_indptr": np.array([0, 1, 2, 2, 2])}, "5 rows"),
        ({"train": np.array([0, 3])}, "not in train"),
        ({"test": np.array([5])}, "row ids from 0 to 4"),
        ({"about": np.frombuffer(b"{", np.uint8)}, "JSON in about"),
        ({"about": np.frombuffer(b"\xff", np.uint8)}, "JSON in about"),
        ({"about": np.frombuffer(b"[]", np.uint8)}, "a JSON object in about"),
        ({"about": np.frombuffer(b'{"label_names": "xy"}', np.uint8)}, "a list as label_names"),
        ({"about": np.frombuffer(b'{"label_names": ["x"]}', np.uint8)}, "2 names in label_names"),
        ({"about": np.frombuffer(b'{"label_names": [1, 2]}', np.uint8)}, "strings in label_names"),
        ({"strange": np.zeros(1)}, "arrays of a data set, got 'strange'"),
    ],
)
def test_bad_parts_are_refused(path, changes, message):
    write_npz(DATA, path)
    parts = {name: part for name, part in (parts_of(path) | changes).items() if part is not None}
    np.savez(path, **parts)
    with pytest.raises(DataFormatError, match=message):
        read_npz(path)


def test_nothing_is_unpickled(path):
    np.savez(path, X=np.array([[object()]], dtype=object), Y=np.ones((1, 1)))
    with pytest.raises(DataFormatError, match="an array of numbers as X"):
        read_npz(path)


def test_damaged_archives_are_refused(path):
    write_npz(DATA, path)
    content = path.read_bytes()
    for damaged in (b"", b"PK", content[:100], content[:-30], b"x" * 1000):
        path.write_bytes(damaged)
        with pytest.raises(DataFormatError, match="an intact"):
            read_npz(path)


def test_a_header_that_promises_more_than_is_there(path):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        content, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**3)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", content.getvalue() + bytes(80))
    with pytest.raises(DataFormatError, match="an array of numbers as X"):
        read_npz(path)


def test_limit_on_bytes(path, tmp_path):
    np.savez_compressed(path, X=np.zeros((1000, 1000)), Y=np.zeros((1000, 1)))
    with pytest.raises(DataFormatError, match="at most 1000000 bytes"):
        read_npz(path, max_bytes=1_000_000)
    again = tmp_path / "again.npz.gz"
    again.write_bytes(gzip.compress(path.read_bytes()))
    assert read_npz(again).n_rows == 1000


def test_about_is_readable_without_us(path):
    write_npz(DATA, path)
    about = json.loads(parts_of(path)["about"].tobytes())
    assert about["label_names"] == ["x\x00", "y"]


@pytest.mark.parametrize("prefix", ["X", "Y"])
@pytest.mark.parametrize(
    "indptr",
    [
        np.array([0, 2, 2_000_000, -(2**31), 0, 5], dtype=np.int32),
        np.array([0, 1_500_000_000, -1_294_967_296, 3, 4, 5], dtype=np.int32),
        np.array([0, 5, 1, 2, 3, 5], dtype=np.uint8),
        np.array([0, 2**63, 2**63, 2**63, 2**63, 2**63], dtype=np.uint64),
    ],
)
def test_row_starts_whose_differences_wrap(path, prefix, indptr):
    write_npz(DATA, path)
    np.savez(path, **(parts_of(path) | {f"{prefix}_indptr": indptr}))
    with pytest.raises(DataFormatError, match=f"a valid sparse structure in {prefix}"):
        read_npz(path)
