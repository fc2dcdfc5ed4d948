"""A model that learned and forgot rows equals one fitted from scratch on the rows it knows."""

import numpy as np
import pytest
from every_method import EVERY_METHOD, INCREMENTAL, repeatable
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.methods import NeighborEstimator, load

pytestmark = [
    pytest.mark.native,
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),  # of k-means, equal rows
]


def few_values(rng, n_rows, n_features=4):
    """Rows full of ties, duplicates and zeros; of tenths, sums tie but for their rounding."""
    values = [[0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 0.6, 0.9]][rng.integers(2)]
    return rng.choice(values, size=(n_rows, n_features))


def some_labels(rng, n_rows, n_labels=5):
    return (rng.random((n_rows, n_labels)) < 0.3).astype(np.int32)


def assert_same(model, scratch, queries):
    """Everything the two say of the queries is the same."""
    assert model.label_names_ == scratch.label_names_
    assert np.array_equal(model.predict(queries), scratch.predict(queries))
    np.testing.assert_allclose(
        model.predict_proba(queries), scratch.predict_proba(queries), rtol=0, atol=1e-12
    )
    near, fresh = model.neighbor_graph(queries, 3), scratch.neighbor_graph(queries, 3)
    known = np.append(model.row_ids_, -1)
    assert np.array_equal(near.ids, known[fresh.ids])
    assert np.array_equal(near.values, fresh.values)
    assert np.array_equal(model.training_graph().ids, scratch.training_graph().ids)
    assert np.array_equal(model.training_graph().values, scratch.training_graph().values)


@pytest.mark.parametrize("method", INCREMENTAL)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    first=st.integers(1, 8),
    steps=st.lists(st.tuples(st.booleans(), st.integers(1, 6)), min_size=1, max_size=5),
    as_sparse=st.booleans(),
)
def test_learning_and_forgetting_equals_starting_over(
    method, metric, seed, first, steps, as_sparse
):
    rng = np.random.default_rng(seed)
    kind = sparse.csr_array if as_sparse else np.asarray
    X, Y = few_values(rng, first), some_labels(rng, first)
    model = repeatable(method, metric=metric).fit(kind(X), Y)
    alive = np.arange(first)
    for learns, count in steps:
        if learns:
            more_X, more_Y = few_values(rng, count), some_labels(rng, count)
            alive = np.append(alive, np.arange(len(X), len(X) + count))
            X, Y = np.vstack([X, more_X]), np.vstack([Y, more_Y])
            model.partial_fit(kind(more_X), more_Y)
        elif len(alive) > 1:
            gone = rng.choice(alive, size=min(count, len(alive) - 1), replace=False)
            alive = np.setdiff1d(alive, gone)
            model.forget(gone)
    assert np.array_equal(model.row_ids_, alive)
    scratch = repeatable(method, metric=metric).fit(kind(X[alive]), Y[alive])
    assert_same(model, scratch, kind(few_values(rng, 6)))


@pytest.mark.parametrize("method", INCREMENTAL)
def test_new_labels_come_last(method):
    rng = np.random.default_rng(1)
    X = few_values(rng, 12)
    old, new = [["b"], ["a"], [], ["a", "b"]] * 2, [["c"], ["a", "d"], [], ["b"]]
    model = repeatable(method).fit(X[:8], old).partial_fit(X[8:], new)
    assert model.label_names_ == ("a", "b", "c", "d")
    scratch = repeatable(method).fit(X, old + new, label_names=("a", "b", "c", "d"))
    queries = few_values(rng, 5)
    assert model.predict_names(queries) == scratch.predict_names(queries)
    assert np.array_equal(model.rank(queries, 4)[0], scratch.rank(queries, 4)[0])


@pytest.mark.parametrize("method", INCREMENTAL)
def test_ids_survive_saving_and_are_never_given_twice(method, tmp_path):
    rng = np.random.default_rng(2)
    X, Y = few_values(rng, 10), some_labels(rng, 10)
    model = repeatable(method).fit(X[:8], Y[:8]).forget([7, 2])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").partial_fit(X[8:], Y[8:])
    model.partial_fit(X[8:], Y[8:])
    assert again.row_ids_.tolist() == [0, 1, 3, 4, 5, 6, 8, 9]
    queries = few_values(rng, 5)
    assert np.array_equal(again.predict_proba(queries), model.predict_proba(queries))
    near = again.neighbor_graph(queries, 20)
    assert np.array_equal(again.predict(queries, graph=near), again.predict(queries))


def test_rows_that_are_not_there_are_refused():
    rng = np.random.default_rng(3)
    X, Y = few_values(rng, 6), some_labels(rng, 6)
    model = EVERY_METHOD["brknn"](metric="euclidean").fit(X, Y).forget([1])
    before = model.predict_proba(X)
    for rows, says in (([1], "forgotten"), ([6], "0 to 5"), ([-1], "0 to 5"), ([0.5], "ids")):
        with pytest.raises(ValueError, match=says):
            model.forget(rows)
    with pytest.raises(ValueError, match="at least one is left"):
        model.forget(model.row_ids_)
    others = EVERY_METHOD["brknn"](metric="euclidean").fit(X, Y).neighbor_graph(X)
    with pytest.raises(ValueError, match="forgotten"):
        model.predict(X, graph=others)
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    ("X", "Y", "says"),
    [
        (np.ones((2, 3)), np.ones((2, 5), int), "features"),
        (np.ones((2, 4)), np.ones((2, 4), int), "Y: expected 5 labels"),
        (np.ones((2, 4)), np.ones((3, 5), int), "rows"),
        (np.full((2, 4), np.nan), np.ones((2, 5), int), "NaN"),
    ],
)
def test_bad_rows_change_nothing(X, Y, says):
    rng = np.random.default_rng(4)
    rows, labels = few_values(rng, 6), some_labels(rng, 6)
    model = EVERY_METHOD["mlknn"]().fit(rows, labels)
    before = model.predict_proba(rows)
    with pytest.raises(ValueError, match=says):
        model.partial_fit(X, Y)
    assert np.array_equal(model.predict_proba(rows), before)
    assert model.row_ids_.tolist() == list(range(6))


@pytest.mark.parametrize("method", INCREMENTAL)
@pytest.mark.parametrize("learns", [True, False])
def test_a_change_that_is_interrupted_changes_nothing(method, learns, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y, queries = few_values(rng, 8), some_labels(rng, 8), few_values(rng, 5)
    model = repeatable(method).fit(X, Y)
    before, expected = dict(vars(model)), model.predict_proba(queries)
    real = NeighborEstimator._adopt

    def interrupted(*given):
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(NeighborEstimator, "_adopt", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = model.partial_fit(X, Y) if learns else model.forget([0])
    assert vars(model) == before
    assert np.array_equal(model.predict_proba(queries), expected)


def test_distances_with_one_rounded_root_keep_the_order_of_their_squares():
    """1.78 and the number before it: the second row is nearer to the origin, at one distance."""
    tied = [[0.6, 0.5, 0.6, 0.9], [0.6, 0.5, 0.9, 0.6]]
    squares = [sum(value * value for value in row) for row in tied]
    assert squares[1] < squares[0]
    assert np.sqrt(squares[1]) == np.sqrt(squares[0])
    origin, far = [0.0] * 4, [9.0] * 4
    for known, more in (
        ([*tied, origin], [far]),
        ([tied[0], origin], [tied[1]]),
        ([origin], tied),
        ([origin, tied[1]], [tied[0], far]),
    ):
        rows = np.array(known + more)
        labels = np.eye(len(rows), dtype=np.int32)
        first, later = np.split(np.arange(len(rows)), [len(known)])
        for k in (1, 2):
            model = EVERY_METHOD["brknn"](n_neighbors=k).fit(rows[first], labels[first])
            model.partial_fit(rows[later], labels[later])
            scratch = EVERY_METHOD["brknn"](n_neighbors=k).fit(rows, labels)
            assert_same(model, scratch, np.zeros((1, 4)))
