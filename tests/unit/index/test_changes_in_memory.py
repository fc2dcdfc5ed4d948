"""Removed rows leave memory, writers wait for each other, and nothing is allocated in vain."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.index import DenseIndex, InvertedIndex, ReferenceIndex, TrainingRows
from vicinal.index._common import COMPACT_SHARE, WIDEST_PADDING

pytestmark = pytest.mark.native

BACKENDS = [InvertedIndex, DenseIndex]


def rows_of(n, m=20, seed=3):
    rng = np.random.default_rng(seed)
    return rng.random((n, m)) * (rng.random((n, m)) < 0.4)


def held(index):
    """Rows that an index holds, and the share of them that are removed."""
    rows = index._rows
    parts = rows.segments if isinstance(index, InvertedIndex) else [rows]
    flags = [int(np.count_nonzero(part.removed)) for part in parts]
    return rows.count, sum(flags) / max(1, rows.count)


@pytest.mark.parametrize("backend", BACKENDS)
def test_compact_leaves_nothing_of_removed_rows(backend):
    X = rows_of(100)
    X[7] = 123.25
    index = backend(X.copy(), "cosine")
    index.remove([7])
    assert held(index)[0] == 100
    index.compact()
    assert held(index) == (99, 0.0)
    rows = index._rows
    values = rows.segments[0].rows.data if backend is InvertedIndex else rows.room.values
    assert 123.25 not in values
    assert index.n_rows == 100
    fresh = backend(np.delete(X, 7, axis=0), "cosine").query(X, 5)
    ids = np.delete(np.arange(100), 7)
    assert np.array_equal(index.query(X, 5).ids, ids[fresh.ids])
    assert np.array_equal(index.query(X, 5).values, fresh.values)
    assert index.add(X[[7]]).tolist() == [100]


@pytest.mark.parametrize("backend", BACKENDS)
def test_at_most_the_stated_share_is_held(backend):
    rng = np.random.default_rng(0)
    index, alive = backend(rows_of(200), "cosine"), list(range(200))
    for step in range(300):
        alive += index.add(rows_of(2, seed=step)).tolist()
        gone = [alive.pop(rng.integers(len(alive))) for _ in range(2)]
        index.remove(gone)
        assert held(index)[1] <= COMPACT_SHARE
    assert index.n_rows == 800
    assert held(index)[0] <= 200 / (1 - COMPACT_SHARE)
    assert sorted(set(index.query(np.ones((1, 20)), 300).ids[0]) - {-1}) == sorted(alive)


def test_a_model_that_learns_and_forgets_stays_small(tmp_path):
    X, Y = sparse.csr_array(rows_of(60)), np.ones((60, 1), int)
    model = vicinal.BRkNN(2, metric="cosine").fit(X, Y)
    fresh = model.search_.index.nbytes
    for _ in range(150):
        model.partial_fit(X[:2], Y[:2])
        model.forget(model.row_ids_[:2])
    assert model.search_.index._rows.count <= 60 / (1 - COMPACT_SHARE)
    assert model.search_.index.nbytes < 1.5 * fresh
    assert model.compact().search_.index._rows.count == 60


@pytest.mark.parametrize("backend", [*BACKENDS, ReferenceIndex])
@pytest.mark.parametrize("k", [10**9, 2**62])
def test_a_huge_k_costs_nothing(backend, k):
    X = sparse.csr_array(rows_of(30))
    index = backend(X, "cosine")
    tracemalloc.start()
    try:
        near, own = index.query(X, k), index.query_self(k)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert near.k == own.k == WIDEST_PADDING
    assert most < 50e6
    assert near.found.max() <= 30
    assert np.array_equal(near.prefix(30).ids, index.query(X, 30).ids)


@pytest.mark.parametrize("backend", BACKENDS)
def test_writers_wait_for_each_other(backend):
    index = backend(rows_of(50), "euclidean", n_jobs=1)
    parts = [rows_of(3, seed=seed) for seed in range(60)]

    def work(part):
        ids = index.add(part)
        index.remove(ids[:1])
        return ids

    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(work, parts))
    assert sorted(np.concatenate(given)) == list(range(50, 50 + 180))
    assert index.n_rows == 230
    for part, ids in zip(parts, given, strict=True):
        assert index.query(part[1:], 1).ids.ravel().tolist() == ids[1:].tolist()
    gone = [ids[0] for ids in given]
    assert not np.isin(index.query(np.zeros((1, 20)), 230).ids, gone).any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_copy_and_its_original_change_apart(backend):
    X = rows_of(40)
    index = backend(X, "cosine")
    index.add(X[:3])
    before = index.query(X, 6)
    twin = index.copy()
    twin.remove([0, 5])
    twin.add(X[:2] + 1.0)
    index.add(X[:1] + 2.0)
    index.remove([40])
    assert (index.n_rows, twin.n_rows) == (44, 45)
    for one, rows, gone in (
        (index, np.vstack([X, X[:3], X[:1] + 2.0]), [40]),
        (twin, np.vstack([X, X[:3], X[:2] + 1.0]), [0, 5]),
    ):
        left = np.setdiff1d(np.arange(len(rows)), gone)
        wanted = ReferenceIndex(rows[left], "cosine").query(X, 6)
        assert np.array_equal(one.query(X, 6).ids, left[wanted.ids])
    assert before.n_rows == 43
    del twin
    gc.collect()
    assert index.query(X[:1], 1).n_rows == 44


@pytest.mark.parametrize("backend", BACKENDS)
def test_ids_that_no_int32_holds_are_refused(backend):
    index = backend(rows_of(4), "cosine")
    index._rows = replace(index._rows, n_ids=2**31 - 3)
    with pytest.raises(InvalidArgumentError, match=r"^rows: expected fewer than 2\^31 - 1"):
        index.add(rows_of(2))
    with pytest.raises(InvalidArgumentError, match=r"^rows: expected row ids from 0 to"):
        index.remove([2**31])


def test_a_model_gives_no_ids_that_wrap(tmp_path):
    X = rows_of(4)
    ids = np.array([0, 1, 2, 2**31 - 4])
    rows = TrainingRows(X, "cosine", None, ids, 2**31 - 3)
    assert rows.by_id(rows.query(X[[3]], 1)).ids.tolist() == [[2**31 - 4]]
    with pytest.raises(InvalidArgumentError, match=r"2\^31 - 1"):
        rows.grown(X[:2])
    model = vicinal.BRkNN(1).fit(X, np.eye(4, dtype=int))
    state = model.get_state()
    with pytest.raises(ModelFormatError, match="n_ids"):
        vicinal.BRkNN.from_state({**state, "n_ids": 2**31 + 5})


@pytest.mark.parametrize("n_queries", [1, 40])
def test_ids_of_few_places_are_those_of_all(n_queries):
    """Parts that lost rows: ids are looked up part by part for few places, at once for many."""
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.choice([0.0, 0.0, 1.0], size=(300, 6)))
    index = InvertedIndex(X[:200])
    index.add(X[200:270])
    index.remove(np.arange(0, 120, 2))
    index.compact()
    index.add(X[270:])
    rows = index._rows
    assert len(rows.parts) > 1
    assert rows.count < rows.n_ids
    places = rng.integers(-1, rows.count, size=(n_queries, 3)).astype(np.int32)
    assert np.array_equal(rows.ids_at(places), np.append(rows.ids, -1)[places])
