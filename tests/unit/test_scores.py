"""The value that methods, decisions and metrics share."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.scores import Scores, check_scores

pytestmark = pytest.mark.native


def stored(data, indices, indptr, shape):
    return sparse.csr_array((data, indices, indptr), shape=shape)


def test_a_stored_zero_is_a_score_of_zero():
    scores = Scores.sparse(stored([0.0], [1], [0, 1], (1, 3)), base=np.array([0.5, 0.5, 0.25]))
    assert scores.toarray().tolist() == [[0.5, 0.0, 0.25]]
    assert scores.top(3)[0].tolist() == [[0, 2, 1]]


def test_rows_out_of_order_are_sorted_and_zeros_kept():
    matrix = stored([1.0, 0.0, 2.0], [2, 0, 1], [0, 3], (1, 3))
    scores = Scores.sparse(matrix)
    assert scores.values.indices.tolist() == [0, 1, 2]
    assert scores.values.data.tolist() == [0.0, 2.0, 1.0]
    assert matrix.indices.tolist() == [2, 0, 1]  # the caller's own


def test_order_is_looked_at_not_believed():
    matrix = stored([1.0, 3.0], [2, 0], [0, 2], (1, 3))
    matrix.has_sorted_indices = True
    assert Scores.sparse(matrix).top(1)[0].tolist() == [[0]]


def test_views_with_gaps_are_read_right():
    spread = np.array([1.0, 9.0, 3.0, 9.0])
    matrix = stored(spread[::2], np.array([0, 8, 2, 8])[::2], [0, 2], (1, 3))
    assert Scores.sparse(matrix).top(1)[0].tolist() == [[2]]
    assert Scores.dense(np.arange(8.0).reshape(2, 4)[:, ::2]).top(1)[1].tolist() == [[2.0], [6.0]]


def test_other_number_types_become_float64():
    single = Scores.dense(np.float32([[0.5, 1.0]]))
    assert single.values.dtype == np.float64
    whole = Scores.sparse(sparse.csr_array(np.array([[0, 2]])), base=[1, 0])
    assert whole.toarray().tolist() == [[1.0, 2.0]]
    assert whole.top(2)[1].tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("values", "base", "message"),
    [
        (stored([1.0, 2.0], [1, 1], [0, 2], (1, 3)), np.zeros(3), "values: .*stored twice"),
        (stored([np.nan], [1], [0, 1], (1, 3)), np.zeros(3), "values: expected finite"),
        (sparse.csr_array((1, 3)), np.zeros(2), r"base: .*shape \(3,\), got shape \(2,\)"),
        (sparse.csr_array((1, 3)), np.array([0, 1, np.inf]), "base: .*infinity"),
        (np.array([1.0]), np.zeros(1), "values: expected a two-dimensional"),
        (np.array([[np.inf]]), np.zeros(1), "values: expected finite"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(values, base, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Scores(values, base)


def test_label_ids_out_of_range_never_reach_native_code():
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[1] = 10**6
    with pytest.raises(InvalidArgumentError, match="values: expected ids"):
        Scores.sparse(matrix)


def test_neighbor_cardinality_has_one_number_a_row():
    with pytest.raises(InvalidArgumentError, match="neighbor_cardinality"):
        Scores.dense(np.zeros((2, 3)), neighbor_cardinality=np.zeros(3))
    assert Scores.dense(np.zeros((2, 3)), np.ones(2)).rows(1, 2).neighbor_cardinality == [1.0]


def test_some_rows():
    scores = Scores.sparse(stored([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3)), np.full(3, 0.5))
    assert scores.rows(1, 2).toarray().tolist() == [[0.5, 0.5, 2.0]]
    assert scores.rows(0, 0).top(2)[0].shape == (0, 2)


def test_top_is_as_wide_as_there_are_labels():
    ids, values = Scores.dense(np.array([[1.0, 3.0], [2.0, 2.0]])).top(9)
    assert ids.tolist() == [[1, 0], [0, 1]]
    assert values.tolist() == [[3.0, 1.0], [2.0, 2.0]]
    assert ids.dtype == np.int32


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_top_wants_a_positive_count(k):
    with pytest.raises(InvalidArgumentError, match="k: expected an integer"):
        Scores.dense(np.zeros((1, 2))).top(k)


def test_top_of_many_labels_reads_the_base_order():
    n_labels = 300_000
    base = np.linspace(0, 1, n_labels)
    matrix = stored([2.0, -1.0], [7, n_labels - 1], [0, 1, 2], (2, n_labels))
    ids, values = Scores.sparse(matrix, base).top(3)
    last = n_labels - 1
    assert ids.tolist() == [[7, last, last - 1], [last - 1, last - 2, last - 3]]
    assert values[0].tolist() == [2.0, base[last], base[last - 1]]


def test_threads_do_not_change_the_best_labels():
    rng = np.random.default_rng(0)
    scores = Scores.sparse(sparse.csr_array(rng.integers(0, 3, (300, 20)).astype(float)))
    one, many = scores.top(5, n_jobs=1), scores.top(5, n_jobs=4)
    assert np.array_equal(one[0], many[0])
    assert np.array_equal(one[1], many[1])


def test_a_large_array_is_refused():
    with pytest.raises(InvalidArgumentError, match="300000 labels"):
        Scores.sparse(sparse.csr_array((1000, 300_000))).toarray()


def test_check_scores_takes_arrays_and_sparse():
    same = Scores.dense(np.ones((1, 2)))
    assert check_scores(same) is same
    assert check_scores([[1, 0]]).toarray().tolist() == [[1.0, 0.0]]
    assert check_scores(sparse.coo_matrix([[1, 0]])).is_sparse
    with pytest.raises(InvalidArgumentError, match="given: expected finite"):
        check_scores(sparse.csr_array([[np.nan]]), "given")


def test_sparse_and_dense_blocks_are_not_stacked() -> None:
    blocks = [Scores.dense(np.zeros((1, 2))), Scores.sparse(sparse.csr_array((1, 2)))]
    with pytest.raises(InvalidArgumentError, match=r"^blocks: expected all sparse or all dense"):
        Scores.stack(blocks)
