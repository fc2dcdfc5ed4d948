"""An index that rows were added to and removed from answers like one built from what is left."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.index import DenseIndex, InvertedIndex, inverted
from vicinal.index.reference import reference_query

pytestmark = pytest.mark.native

BACKENDS = [InvertedIndex, DenseIndex]
PALETTES = [
    [0.0, 1.0],
    [0.0, 0.1, 0.3, 2.0],
    [0.0, 0.1, 7.0, 1e4, -3e7],
    [0.0, -1.0, 1.0, 1e-160],
    [0.0, 1 / 3, 0.7, 1e160],
]


def expected(X, alive, Q, k, metric, skip=None):
    """Search the rows left by the definition, and give them their own ids again."""
    kept = np.flatnonzero(alive)
    if skip is not None:
        kept = kept[kept != skip]
    graph = reference_query(X[kept], Q, k, metric)
    ids = np.where(graph.ids >= 0, np.append(kept, 0)[graph.ids], -1)
    return ids, graph.values


def assert_same(found, wanted):
    assert np.array_equal(found.ids, wanted[0])
    assert np.array_equal(found.values, wanted[1])


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9)),
        st.tuples(st.just("remove"), st.integers(0, 3)),
    ),
    max_size=8,
)


@given(
    st.sampled_from(BACKENDS),
    steps,
    st.sampled_from(["cosine", "dot", "euclidean"]),
    st.sampled_from(PALETTES),
    st.integers(0, 2**31),
    st.integers(1, 9),
)
@settings(deadline=None, max_examples=300)
def test_every_sequence_of_changes(backend, changes, metric, palette, seed, k):
    rng = np.random.default_rng(seed)
    X = rng.choice(palette[: int(rng.integers(1, 9))], size=(int(rng.integers(0, 12)), 5))
    alive = np.ones(len(X), dtype=bool)
    Q = rng.choice(palette, size=(4, 5))
    index = backend(X if backend is DenseIndex else sparse.csr_array(X), metric, n_jobs=2)
    for action, size in changes:
        if action == "add":
            fresh = rng.choice(palette, size=(size, 5))
            ids = index.add(fresh if size % 2 else sparse.csr_array(fresh))
            assert ids.tolist() == list(range(len(X), len(X) + size))
            X, alive = np.vstack([X, fresh]), np.append(alive, np.ones(size, dtype=bool))
        elif len(X):
            gone = rng.integers(0, len(X), size)
            index.remove(gone)
            alive[gone] = False
        assert index.n_rows == len(X)
        assert_same(index.query(Q, k), expected(X, alive, Q, k, metric))
    own = deepcopy(index).query_self(k)
    for i in range(len(X)):
        wanted = expected(X, alive, X[[i]], k, metric, skip=i)
        if alive[i]:
            assert own.ids[i].tolist() == wanted[0][0].tolist()
            assert own.values[i].tolist() == wanted[1][0].tolist()
        else:
            assert (own.ids[i] == -1).all()


def test_many_small_additions_make_few_segments():
    index = InvertedIndex(sparse.csr_array(np.eye(4)[:1]))
    for i in range(200):
        index.add(np.eye(4)[[i % 4]])
    assert len(index._rows.segments) <= 9
    assert index.query(np.eye(4)[[2]], 3).ids.tolist() == [[3, 7, 11]]


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_segments_merged_beside_changes_lose_no_row(monkeypatch, seed, waits):
    monkeypatch.setattr(inverted, "FEWEST_ROWS", 2)
    monkeypatch.setattr(inverted, "MERGED_AT_ONCE", 4)
    monkeypatch.setattr(inverted, "MOST_SEGMENTS", 0 if waits else 24)
    taken, started = [], []
    take, beside = inverted.Merge.taken, inverted.Beside
    monkeypatch.setattr(inverted, "Beside", lambda do: started.append(beside(do)) or started[-1])
    monkeypatch.setattr(inverted.Merge, "taken", lambda *given: taken.append(1) or take(*given))
    rng = np.random.default_rng(seed)
    X, alive = rng.choice(PALETTES[1], size=(40, 5)), np.ones(40, dtype=bool)
    index, older = InvertedIndex(sparse.csr_array(X), n_jobs=1), []
    Q = rng.choice(PALETTES[1], size=(3, 5))
    for step in range(150):
        fresh = rng.choice(PALETTES[1], size=(1, 5))
        index.add(fresh)
        X, alive = np.vstack([X, fresh]), np.append(alive, True)
        if rng.random() < 0.3:
            gone = rng.integers(max(0, len(X) - 30), len(X), 1)
            index.remove(gone)
            alive[gone] = False
        if step % 40 == 20:
            older.append((index.copy(), X, alive.copy()))
        if step % 10 == 9 and started:
            started[-1].result()  # the thread that merges gives way to those that run
        assert_same(index.query(Q, 5), expected(X, alive, Q, 5, "cosine"))
    assert len(taken) > 5
    assert index._rows.count <= 1.2 * alive.sum()
    for copy, before, then in older:  # a copy goes on by itself, with the merge that was under way
        copy.add(Q[:1])
        now = np.vstack([before, Q[:1]]), np.append(then, True)
        assert_same(copy.query(Q, 5), expected(*now, Q, 5, "cosine"))


def test_many_large_additions_make_few_segments():
    index = InvertedIndex(sparse.csr_array(np.eye(4)[:1]))
    for i in range(3000):
        index.add(np.eye(4)[[i % 4]])
    assert len(index._rows.segments) <= inverted.MOST_SEGMENTS + 1
    assert index._rows.count == 3001


def test_adding_to_a_large_index_leaves_it_alone():
    index = InvertedIndex(sparse.csr_array(np.tile(np.eye(4), (50, 1))))
    large = index._rows.segments[0].native
    index.add(np.eye(4))
    assert index._rows.segments[0].native is large


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_graph_found_before_a_change_stays(backend):
    index = backend(np.eye(3), "cosine")
    before = index.query(np.eye(3), 1)
    index.remove([0])
    assert before.ids.tolist() == [[0], [1], [2]]
    assert index.query(np.eye(3), 1).ids.tolist() == [[-1], [1], [2]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_bad_changes_are_refused(backend):
    index = backend(np.eye(3), "cosine")
    with pytest.raises(InvalidArgumentError, match=r"^rows:"):
        index.add(np.eye(4))
    with pytest.raises(InvalidArgumentError, match=r"^rows:"):
        index.remove([3])
    assert index.n_rows == 3
    assert index.query(np.eye(3), 1).ids.tolist() == [[0], [1], [2]]
