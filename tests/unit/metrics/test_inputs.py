"""What the metrics accept, and what they say of the rest."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.metrics import MetricAccumulator, align_labels, evaluate
from vicinal.metrics.evaluate import widen, widen_labels
from vicinal.scores import Scores

pytestmark = pytest.mark.native

Y = np.array([[1, 0, 1], [0, 1, 0]])
Z = np.array([[1, 1, 0], [0, 1, 0]])
F = np.array([[0.9, 0.5, 0.25], [0.0, 0.75, 0.5]])


def with_stored_zero(array):
    matrix = sparse.coo_array(np.ones(array.shape)).tocsr()
    matrix.data = array.ravel().astype(float)
    return matrix


def unsorted(array):
    matrix = sparse.csr_array(array)
    for row in range(matrix.shape[0]):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        matrix.indices[span] = matrix.indices[span][::-1].copy()
        matrix.data[span] = matrix.data[span][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def wide_ids(array):
    matrix = sparse.csr_array(array)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


FORMS = [
    np.asfortranarray,
    lambda array: array.tolist(),
    lambda array: array.astype(np.float32),
    sparse.csr_array,
    sparse.csr_matrix,
    sparse.coo_array,
    sparse.csc_matrix,
    sparse.lil_array,
    with_stored_zero,
    unsorted,
    wide_ids,
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_same(form):
    expected = evaluate(Y, Z, np.float32(F).astype(float), train_label_counts=[3, 1, 2])
    assert evaluate(form(Y), form(Z), form(np.float32(F)), train_label_counts=[3, 1, 2]) == expected


def test_booleans_are_an_indicator():
    assert evaluate(Y == 1, sparse.csr_array(Z == 1)) == evaluate(Y, Z)


def test_scores_with_a_base_are_taken_as_they_stand():
    stored = sparse.csr_array(([0.9, 0.0], [0, 0], [0, 1, 2]), shape=(2, 3))
    base = np.array([0.3, 0.5, 0.25])
    full = [[0.9, 0.5, 0.25], [0.0, 0.5, 0.25]]  # the stored zero is a score of zero, not absent
    assert evaluate(Y, scores=Scores.sparse(stored, base)) == evaluate(Y, scores=full)


def test_input_is_not_changed():
    matrix = unsorted(F)
    before = matrix.indices.copy(), matrix.data.copy()
    evaluate(Y, scores=matrix)
    assert np.array_equal(matrix.indices, before[0])
    assert np.array_equal(matrix.data, before[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Y_true": [[0, 2]], "labels": [[0, 1]]}, "Y_true: expected values 0 and 1"),
        ({"Y_true": np.zeros((2, 2, 2)), "labels": [0, 1]}, "Y_true: expected a two-dimensional"),
        ({"Y_true": [0, 2], "labels": [0, 1]}, "Y_true: expected values 0 and 1"),
        ({"Y_true": np.zeros((0, 3)), "labels": np.zeros((0, 3))}, "Y_true: expected at least one"),
        ({"Y_true": np.zeros((3, 0)), "labels": np.zeros((3, 0))}, "Y_true: expected at least one"),
        ({"Y_true": [[0, 1]], "labels": [[0, 0.5]]}, "labels: expected values 0 and 1"),
        ({"Y_true": [[0, 1]], "labels": [[0], [1]]}, r"labels: expected the shape \(1, 2\)"),
        ({"Y_true": [[0, 1]], "scores": [[0.1]]}, r"scores: expected the shape \(1, 2\)"),
        ({"Y_true": [[0, 1]], "scores": [[0.1, np.nan]]}, "scores: .*NaN"),
        ({"Y_true": [[0, 1]], "scores": sparse.csr_array([[0.1, np.inf]])}, "scores: .*infinity"),
        ({"Y_true": [[0, 1]], "scores": [["a", "b"]]}, "scores: expected numbers"),
        ({"Y_true": [[0, 1]]}, "labels, scores: expected at least one"),
        ({"Y_true": [[0, 1]], "scores": [[1, 2]], "k": 0}, "k: expected an integer of at least 1"),
        ({"Y_true": [[0, 1]], "scores": [[1, 2]], "k": [1.5]}, "k: expected an integer"),
        (
            {"Y_true": [[0, 1]], "scores": [[1, 2]], "train_label_counts": [1]},
            "train_label_counts: expected one for each of 2 labels, got 1",
        ),
        (
            {"Y_true": [[0, 1]], "scores": [[1, 2]], "train_label_counts": [1, -1]},
            "train_label_counts: expected counts of at least 0",
        ),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        evaluate(**arguments)


def test_an_accumulator_without_rows_has_none():
    assert MetricAccumulator(most_scores=1).n_rows == 0
    with pytest.raises(
        InvalidArgumentError, match="most_scores: expected an integer of at least 1"
    ):
        MetricAccumulator(most_scores=0)


@pytest.mark.parametrize("names", [None, ["a"], ["a", "b", "c"]])
def test_columns_without_a_name_each_are_refused(names):
    with pytest.raises(InvalidArgumentError, match="names: expected the names of the 2 columns"):
        align_labels([[1, 0]], ["a", "b"], names=names)


def test_columns_that_are_appended_are_empty_and_score_lowest():
    labels = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1]]))
    wide = widen_labels(labels, 3)
    assert wide.shape == (3, 5)
    assert wide.toarray()[:, :2].tolist() == labels.toarray().tolist()
    assert wide.nnz == labels.nnz
    scores = widen(Scores.sparse(labels.astype(np.float64)), 1)
    assert scores.shape == (3, 3)
    assert scores.toarray()[:, 2].max() < scores.toarray()[:, :2].min()
