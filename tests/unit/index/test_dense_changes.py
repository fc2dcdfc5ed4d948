"""A dense index that rows were added to: whose arrays it writes to, and when it starts anew."""

from copy import deepcopy

import numpy as np
import pytest

from vicinal.errors import InvalidArgumentError
from vicinal.index import DenseIndex
from vicinal.index.reference import reference_query, reference_query_self

pytestmark = pytest.mark.native

METRICS = ["euclidean", "cosine", "dot"]


def assert_same(found, wanted):
    assert np.array_equal(found.ids, wanted.ids)
    assert np.array_equal(found.values, wanted.values)


def test_the_callers_array_is_not_written_to():
    whole = np.arange(12.0).reshape(6, 2)
    index = DenseIndex(whole[:3])
    index.add([[-1.0, -1.0]])
    index.add([[-2.0, -2.0]])
    assert np.array_equal(whole, np.arange(12.0).reshape(6, 2))
    assert index.query([[-2.0, -2.0]], 2).ids.tolist() == [[4, 3]]


def test_small_additions_are_written_behind_the_rows_there():
    rng = np.random.default_rng(0)
    index = DenseIndex(rng.normal(size=(100, 3)))
    index.add(rng.normal(size=(1, 3)))
    room = index._rows.room
    for _ in range(40):
        index.add(rng.normal(size=(1, 3)))
    assert index._rows.room is room
    index.add(rng.normal(size=(20, 3)))
    assert index._rows.room is not room


@pytest.mark.parametrize("metric", METRICS)
def test_rows_of_other_sizes_and_places(metric):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 6))
    far = rng.normal(size=(40, 6)) + 500.0
    huge = rng.normal(size=(40, 6)) * 1e9
    tiny = rng.normal(size=(40, 6)) * 1e-9
    index = DenseIndex(X, metric, n_jobs=2, block_rows=64)
    for part in (rng.normal(size=(1, 6)), far, tiny, huge):
        index.add(part)
        X = np.vstack([X, part])
        Q = np.vstack([X[::37], rng.normal(size=(5, 6)) * 300.0])
        assert_same(index.query(Q, 7), reference_query(X, Q, 7, metric))
    assert_same(index.query_self(4), reference_query_self(X, 4, metric))


@pytest.mark.parametrize("metric", METRICS)
def test_double_rows_make_a_single_index_double(metric):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 4)).astype(np.float32)
    fresh = rng.normal(size=(3, 4))
    index = DenseIndex(X, metric)
    index.add(X[:2])
    index.add(fresh)
    index.add(X[:2])
    X = np.vstack([X, X[:2], fresh, X[:2]])
    assert_same(index.query(fresh, 9), reference_query(X, fresh, 9, metric))


def test_a_copied_index_keeps_what_was_removed():
    X = np.eye(4)
    index = DenseIndex(X)
    index.add([[9.0, 9.0, 9.0, 9.0], [0.0, 0.0, 0.0, 0.0]])
    index.remove([0, 4])
    copy = deepcopy(index)  # the way a pickle goes
    assert copy.n_rows == 6
    assert_same(copy.query_self(5), index.query_self(5))
    assert copy.add(X[:1]).tolist() == [6]
    assert copy.query(X[:1], 2).ids.tolist() == [[6, 5]]
    assert index.n_rows == 6


def test_an_index_on_a_device_does_not_change():
    pytest.importorskip("torch")
    index = DenseIndex(np.eye(3), backend="torch", device="cpu")
    with pytest.raises(InvalidArgumentError, match=r"^backend: expected 'numpy'"):
        index.add(np.eye(3))
    with pytest.raises(InvalidArgumentError, match=r"^backend: expected 'numpy'"):
        index.remove([0])
    assert index.query(np.eye(3), 1).ids.tolist() == [[0], [1], [2]]


def test_memory_says_what_the_index_holds_besides_the_callers_rows():
    index = DenseIndex(np.ones((10, 3)))
    assert index.nbytes == 10 * (3 * 4 + 4 + 4 + 8)
    index.add(np.ones((10, 3)))
    assert index.nbytes == 30 * (3 * 8 + 3 * 4 + 4 + 4 + 8)
