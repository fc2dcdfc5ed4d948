import numpy as np
import pytest
from scipy import sparse

from vicinal.datasets import Dataset
from vicinal.errors import InvalidArgumentError


def make(**changes):
    parts = {
        "X": [[0.5, 0.0], [0.0, 2.0], [1.0, 3.0], [4.0, 0.0]],
        "Y": [[1, 0, 1], [0, 0, 0], [1, 1, 1], [1, 0, 1]],
        "feature_names": ("a", "b"),
        "label_names": ("x", "y", "z"),
        "row_names": ("r0", "r1", "r2", "r3"),
        "train": [0, 2],
        "test": [1, 3],
        "source": "made up",
    }
    return Dataset(**(parts | changes))


def test_figures():
    data = make()
    assert (data.n_rows, data.n_features, data.n_labels) == (4, 2, 3)
    assert data.cardinality == 7 / 4
    assert data.density == 7 / 12
    assert data.statistics() == {
        "rows": 4,
        "features": 2,
        "labels": 3,
        "cardinality": 7 / 4,
        "density": 7 / 12,
        "label sets": 3,
        "rows without labels": 1,
        "labels never used": 0,
        "most labels of a row": 3,
        "non-zeros per row": 5 / 4,
        "training rows": 2,
        "test rows": 2,
    }
    as_csr = make(X=sparse.csr_array(data.X))
    assert as_csr.statistics() == data.statistics()


def test_figures_of_nothing():
    data = Dataset(X=np.zeros((0, 0)), Y=np.zeros((0, 0)), feature_names=(), label_names=())
    assert data.cardinality == 0
    assert data.density == 0
    assert data.statistics()["label sets"] == 0


def test_arrays_are_canonical_typed_and_read_only():
    unsorted = sparse.csr_array(
        (np.array([1.0, 0.0, 2.0], np.float32), np.array([1, 0, 0]), np.array([0, 2, 3, 3, 3])),
        shape=(4, 2),
    )
    data = make(X=unsorted, Y=make().Y.toarray().astype(bool))
    assert data.X.dtype == np.float64
    assert data.X.nnz == 2
    assert data.X.has_canonical_format
    assert data.Y.dtype == np.int32
    assert set(data.Y.data) == {1}
    assert data.train.dtype == np.int64
    for array in (data.X.data, data.X.indices, data.X.indptr, data.Y.data, data.train, make().X):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_callers_arrays_stay_writable_and_unchanged():
    X, train = np.ones((2, 2)), np.array([0])
    Y = sparse.csr_array((np.ones(3), [1, 0, 1], [0, 2, 3]), shape=(2, 2))  # not sorted, float
    Dataset(X, Y, ("a", "b"), ("x", "y"), train=train, test=np.array([1]))
    assert (X.tolist(), train.tolist()) == ([[1, 1], [1, 1]], [0])
    assert (Y.indices.tolist(), Y.data.dtype) == ([1, 0, 1], np.float64)
    X[0, 0] = Y.data[0] = train[0] = 5  # raises where an array was frozen


def test_subset_keeps_order_and_drops_the_split():
    part = make().subset([3, 0, 3])
    np.testing.assert_array_equal(part.X, [[4, 0], [0.5, 0], [4, 0]])
    np.testing.assert_array_equal(part.Y.toarray(), [[1, 0, 1]] * 3)
    assert part.row_names == ("r3", "r0", "r3")
    assert part.train is None
    assert part.source == "made up"
    assert make().subset(np.array([True, False, False, True])).row_names == ("r0", "r3")
    assert make().subset([]).n_rows == 0


@pytest.mark.parametrize("rows", [[4], [-1], [0.5], [[0]], [True], "ab"])
def test_bad_rows_are_refused(rows):
    with pytest.raises(InvalidArgumentError, match="rows: expected"):
        make().subset(rows)


def test_split():
    train, test = make().split()
    assert train.row_names == ("r0", "r2")
    assert test.row_names == ("r1", "r3")
    np.testing.assert_array_equal(test.X, [[0, 2], [4, 0]])
    with pytest.raises(InvalidArgumentError, match=r"split: expected .*made up without one"):
        make(train=None, test=None).split()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": [[np.nan, 0]] * 4}, "X: expected finite"),
        ({"X": [[np.inf, 0]] * 4}, "X: expected finite"),
        ({"X": [1.0, 2.0]}, "X: expected a two-dim"),
        ({"Y": [[1, 0, 1]] * 3}, "Y: expected 4 rows"),
        ({"Y": [[2, 0, 1]] * 4}, "Y: expected values 0 and 1"),
        ({"feature_names": ("a",)}, "feature_names: expected 2 names, got 1"),
        ({"label_names": "xyz"}, "label_names: expected several names"),
        ({"label_names": (1, 2, 3)}, "label_names: expected strings"),
        ({"label_names": ("a", "b", "\ud800")}, "label_names: expected text"),
        ({"row_names": ("r",)}, "row_names: expected 4 names"),
        ({"train": None}, "train, test: expected both"),
        ({"train": [0, 4]}, "train: expected row ids from 0 to 3"),
        ({"train": [-1]}, "train: expected row ids from 0 to 3"),
        ({"train": [2, 0]}, "train: expected ascending"),
        ({"train": [0, 0]}, "train: expected ascending"),
        ({"train": [0, 1]}, "test: expected rows that are not in train, got row 1"),
        ({"train": [0.0]}, "train: expected a one-dimensional array of row ids"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make(**changes)


def test_an_empty_side_of_a_split_is_allowed():
    train, test = make(train=[0, 1, 2, 3], test=[]).split()
    assert (train.n_rows, test.n_rows) == (4, 0)
