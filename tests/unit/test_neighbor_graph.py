import numpy as np
import pytest

from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph


def graph_of(ids, metric="cosine", n_rows=10):
    ids = np.array(ids, dtype=np.int32)
    padding = np.inf if metric == "euclidean" else 0.0
    places = np.arange(ids.shape[1])
    near = 0.5 + places if metric == "euclidean" else 1.0 / (2.0 + places)
    values = np.where(ids >= 0, near, padding)
    return NeighborGraph(ids, values, metric, n_rows)


def test_prefix_is_a_view_that_is_not_checked_again(monkeypatch):
    graph = graph_of([[3, 1, 2], [0, -1, -1]])
    monkeypatch.setattr(NeighborGraph, "__post_init__", lambda self: pytest.fail("checked again"))
    near = graph.prefix(2)
    assert np.shares_memory(near.ids, graph.ids)
    assert near.ids.tolist() == [[3, 1], [0, -1]]
    assert (near.metric, near.n_rows, near.k) == ("cosine", 10, 2)
    assert not near.ids.flags.writeable
    assert not near.values.flags.writeable


@pytest.mark.parametrize("k", [0, 4, 1.5, True])
def test_prefix_refuses_a_width_it_does_not_have(k):
    with pytest.raises(InvalidArgumentError, match=r"^k:"):
        graph_of([[3, 1, 2]]).prefix(k)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_without_closes_up_and_pads(metric):
    graph = graph_of([[3, 1, 2], [1, 0, -1], [4, 5, 6]], metric)
    rest, short = graph.without(np.array([1, 9]))
    padding = np.inf if metric == "euclidean" else 0.0
    assert rest.ids.tolist() == [[3, 2, -1], [0, -1, -1], [4, 5, 6]]
    assert rest.values[0].tolist() == [graph.values[0, 0], graph.values[0, 2], padding]
    assert rest.values[1].tolist() == [graph.values[1, 1], padding, padding]
    assert short.tolist() == [0]
    assert rest.n_rows == 10


def test_without_leaves_the_original_alone():
    graph = graph_of([[3, 1, 2]])
    graph.without([3])
    assert graph.ids.tolist() == [[3, 1, 2]]


def test_without_nothing_is_the_same_graph():
    graph = graph_of([[3, 1, 2]])
    for rows in ([], [7], np.zeros(0, dtype=np.int64)):
        rest, short = graph.without(rows)
        assert rest is graph
        assert short.dtype == np.int64
        assert len(short) == 0


def test_without_all_rows():
    rest, short = graph_of([[3, 1], [2, -1]]).without(range(10))
    assert (rest.ids == -1).all()
    assert short.tolist() == [0]


@pytest.mark.parametrize("rows", [[10], [-1], [0.5], [[1]], "abc"])
def test_without_rejects_invalid_rows(rows):
    with pytest.raises(InvalidArgumentError, match=r"^rows:"):
        graph_of([[3, 1, 2]]).without(rows)


def test_bad_arrays_are_refused():
    values = np.zeros((1, 2))
    with pytest.raises(InvalidArgumentError, match="gap"):
        NeighborGraph(np.array([[-1, 2]], dtype=np.int32), values, "cosine", 3)
    with pytest.raises(InvalidArgumentError, match="row ids"):
        NeighborGraph(np.array([[1, 3]], dtype=np.int32), values, "cosine", 3)
    with pytest.raises(InvalidArgumentError, match="integers"):
        NeighborGraph(np.array([[1.0, 2.0]]), values, "cosine", 3)
    with pytest.raises(InvalidArgumentError, match="values"):
        NeighborGraph(np.array([[1, 2]], dtype=np.int32), np.zeros((1, 1)), "cosine", 3)
