"""Neighbours and clusters as Weka has them, against what the definitions say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal_reproduction.protocols.weka_clusters import JavaRandom, first_centers, weka_centers
from vicinal_reproduction.protocols.weka_search import heap_graph, nearest_of_heap, tied_graph

pytestmark = pytest.mark.native

DISTANCES = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=30)


@given(DISTANCES, st.integers(1, 8))
def test_a_heap_keeps_k_of_the_nearest(distances, k):
    kept = nearest_of_heap(distances, k)
    assert len(set(kept)) == len(kept) == min(k, len(distances))
    assert sorted(distances[row] for row in kept) == sorted(distances)[: len(kept)]


@given(DISTANCES, st.integers(1, 8), st.integers(0, 29))
def test_a_row_left_out_is_not_kept(distances, k, left_out):
    kept = nearest_of_heap(distances, k, left_out)
    others = [each for row, each in enumerate(distances) if row != left_out]
    assert left_out not in kept
    assert sorted(distances[row] for row in kept) == sorted(others)[:k]


def test_later_rows_as_far_as_the_farthest_do_not_enter():
    assert sorted(nearest_of_heap([1.0, 2.0, 2.0, 2.0], 2)) == [0, 1]


def test_the_order_in_the_heap_decides_among_rows_as_far_by_hand():
    # 3 3 3 | 1: row 0 is on top and goes, row 2 takes its place. | 1: row 2 goes, row 1 is left.
    assert sorted(nearest_of_heap([3.0, 3.0, 3.0, 1.0], 3)) == [1, 2, 3]
    assert sorted(nearest_of_heap([3.0, 3.0, 3.0, 1.0, 1.0], 3)) == [1, 3, 4]


@pytest.fixture
def words():
    """Rows of few words, full of ties and repeats."""
    return (np.random.default_rng(3).random((40, 6)) < 0.3).astype(float)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_tied_graph_has_every_row_as_near_as_the_kth(words, kind):
    rows, queries = words[:30], words[30:]
    graph = tied_graph(kind(rows), 4, kind(queries))
    for ids, query in zip(graph.ids, queries, strict=True):
        squares = ((rows - query) ** 2).sum(axis=1)
        assert set(ids[ids >= 0]) == set(np.flatnonzero(squares <= np.sort(squares)[3]))
    assert graph.k > 4  # there are ties


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_heap_graph_is_the_heap_of_each_row(words, kind):
    own = heap_graph(kind(words), 5)
    other = heap_graph(kind(words[:30]), 5, kind(words[30:]))
    assert own.k == other.k == 5
    for at, ids in enumerate(own.ids):
        distances = np.sqrt(((words - words[at]) ** 2).sum(axis=1))
        assert set(ids) == set(nearest_of_heap(distances.tolist(), 5, at))
    assert np.all(np.diff(own.distance, axis=1) >= 0)


def test_a_heap_graph_of_few_rows_is_narrower(words):
    assert heap_graph(words[:3], 5).k == 2
    assert heap_graph(words[:3], 5, words[3:]).k == 3
    assert tied_graph(words[:3], 5, words[3:]).k == 3


def test_java_draws_by_hand():
    # The first draw of seed 0: (0 ^ a) · a + 11 mod 2^48, its upper 31 bits.
    a = 0x5DEECE66D
    bits = ((a * a + 11) % 2**48) >> 17
    assert JavaRandom(0).below(1000) == bits % 1000
    assert JavaRandom(0).below(1024) == bits >> 21  # a power of two takes the high bits


def test_first_centers_are_different_rows():
    rows = np.repeat(np.arange(4.0), 5)[:, None]
    chosen = first_centers(rows, 4, seed=10)
    assert sorted(rows[chosen].ravel()) == [0.0, 1.0, 2.0, 3.0]
    assert len(first_centers(rows, 9, seed=10)) == 4  # there are no more


def test_centers_are_the_means_of_the_rows_they_are_nearest_to():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    centers = weka_centers(rows, 4)
    nearest = ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    for at, center in enumerate(centers):
        assert center == pytest.approx(rows[nearest == at].mean(axis=0))
    assert not np.array_equal(centers, weka_centers(rows, 4, seed=11))
