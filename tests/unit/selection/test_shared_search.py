"""A fold's graphs, made from one search of all rows, equal a fresh search."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows
from vicinal.index.reference import reference_query, reference_query_self
from vicinal.selection.folds import SharedSearch, depth
from vicinal.selection.stratification import Split, read_splits, train_share

pytestmark = pytest.mark.native


def assert_same(got: NeighborGraph, expected: NeighborGraph) -> None:
    assert got.metric == expected.metric
    assert got.n_rows == expected.n_rows
    assert np.array_equal(got.ids, expected.ids)
    assert np.array_equal(got.values, expected.values)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Split, str, int]:
    """Rows with few distinct values, so that most distances tie; some rows in neither part."""
    n_rows = draw(st.integers(3, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X: Any = rng.choice([0.0, 0.0, 1.0, 2.0, -1.0], size=(n_rows, 3))
    if draw(st.booleans()):
        X = sparse.csr_array(X)
    if draw(st.booleans()):
        X = X.astype(np.float32)
    part = rng.choice(list(draw(st.sampled_from(["r", "t", "rrrto", "to"]))), size=n_rows)
    part[0], part[-1] = "r", "t"
    split = Split(np.flatnonzero(part == "r"), np.flatnonzero(part == "t"))
    metric = draw(st.sampled_from(["euclidean", "cosine", "dot"]))
    return X, split, metric, draw(st.integers(1, n_rows + 2))


@given(cases())
@settings(max_examples=150, deadline=None)
def test_fold_graphs_equal_a_search_by_the_definition(case: tuple[Any, Split, str, int]) -> None:
    X, split, metric, k = case
    shared = SharedSearch(X, metric, k, train_share([split], X.shape[0]), None)
    among_training, held_out = shared.fold(split)
    n_train = len(split.train)
    train, test = X[split.train], X[split.test]
    assert_same(among_training, reference_query_self(train, max(1, min(k, n_train - 1)), metric))
    assert_same(held_out, reference_query(train, test, min(k, n_train), metric))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_every_fold_of_larger_data_equals_a_fresh_search(metric: str, as_sparse: bool) -> None:
    rng = np.random.default_rng(3)
    X: Any = np.round(rng.random((300, 5)) * 3) * (rng.random((300, 5)) < 0.5)
    X = sparse.csr_array(X) if as_sparse else X
    Y = sparse.csr_array((rng.random((300, 4)) < 0.3).astype(np.int32))
    splits = read_splits(5, X, Y)
    shared = SharedSearch(X, metric, 20, train_share(splits, 300), None)
    for split in splits:
        fresh = TrainingRows(X[split.train], metric, None)
        among_training, held_out = shared.fold(split)
        assert_same(among_training, fresh.query_self(20))
        assert_same(held_out, fresh.query(X[split.test], 20))
        assert_same(shared.training(split), among_training)


def test_lists_that_become_too_short_are_searched_again() -> None:
    # All near neighbours of the rows around 0 are dropped at once: no margin is deep enough.
    X = np.concatenate([np.linspace(0, 1, 40), np.linspace(100, 101, 40)])[:, None]
    split = Split(np.concatenate([[0, 1], np.arange(40, 80)]), np.arange(2, 40))
    shared = SharedSearch(X, "euclidean", 5, 0.9, None)
    assert shared.graph.k < 10
    among_training, held_out = shared.fold(split)
    assert_same(among_training, reference_query_self(X[split.train], 5))
    assert_same(held_out, reference_query(X[split.train], X[split.test], 5))


def test_only_lists_that_ran_short_are_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, asked = rng.random((400, 3)), []
    query_rows = TrainingRows.query_rows

    def counted(self: TrainingRows, places: Any, k: int) -> NeighborGraph:
        asked.append(len(places))
        return query_rows(self, places, k)

    monkeypatch.setattr(TrainingRows, "query_rows", counted)
    rows = np.arange(400)
    split = Split(rows[rows % 10 != 0], rows[rows % 10 == 0])
    SharedSearch(X, "euclidean", 10, 0.9, None).fold(split)
    assert sum(asked) < 40  # of 360


def test_no_neighbors_are_searched_where_none_are_wanted() -> None:
    split = Split(np.array([0, 1]), np.array([2]))
    among_training, held_out = SharedSearch(np.eye(3), "cosine", 0, 0.5, None).fold(split)
    assert (among_training.ids.shape, held_out.ids.shape) == ((2, 0), (1, 0))


def test_depth_grows_with_the_share_of_held_out_rows() -> None:
    assert depth(30, 0.5) > depth(30, 0.9) > 30
