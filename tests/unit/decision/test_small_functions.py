"""Examples of functions that other tests reach only on the way."""

import numpy as np
from scipy import sparse

from vicinal.decision._cells import above_labels, above_rows, first_best, sweep_labels
from vicinal.decision.cardinality import CellsAbove
from vicinal.decision.rule import is_fitted, needs_of
from vicinal.scores import Scores


def test_above_rows():
    stored = sparse.csr_array(np.array([[0.9, 0.0], [0.0, 0.1]]))
    scores = Scores.sparse(stored, base=np.array([0.2, 0.3]))
    np.testing.assert_equal(
        (above_rows(scores, np.array([0.3, 0.15])).toarray()),
        np.array([[1, 0], [1, 0]], dtype=np.int32),
    )


def test_above_labels():
    scores = Scores.dense(np.array([[0.9, 0.4], [0.2, 0.1]]))
    np.testing.assert_equal(
        (above_labels(scores, np.array([0.5, 0.1])).toarray()),
        np.array([[1, 1], [0, 0]], dtype=np.int32),
    )


def test_sweep_labels():
    from scipy import sparse

    Y = sparse.csr_array(np.array([[1], [0], [1]], dtype=np.int32))
    sweep = sweep_labels(Scores.dense(np.array([[0.75], [0.5], [0.5]])), Y)
    np.testing.assert_equal(
        (sweep.thresholds.round(3), sweep.tp, sweep.predicted),
        (np.array([0.75, 0.625, 0.5]), np.array([0, 1, 2]), np.array([0, 1, 3])),
    )


def test_first_best():
    np.testing.assert_equal(
        (first_best(np.array([0, 0, 4, 4, 4]), np.array([1, 2, 5, 7, 7]))), np.array([1, 3])
    )


def test_cellsabove():
    above = CellsAbove(np.array([0.0, 0.5]))
    above.add(Scores.dense(np.array([[0.1, 0.7]])))
    above.add(Scores.dense(np.array([[0.0, 0.5]])))
    np.testing.assert_equal(above.counts, np.array([3, 1]))


def test_is_fitted():
    from vicinal.decision import CardinalityThreshold, Threshold

    assert (is_fitted(Threshold(0.5)), is_fitted(CardinalityThreshold())) == (True, False)


def test_needs():
    from vicinal.decision import CardinalityThreshold, CrossValidated, NeverEmpty, Threshold

    assert not (needs_of(NeverEmpty(Threshold(0.5))).needs_scores)
    assert needs_of(NeverEmpty(CrossValidated(CardinalityThreshold(), n_folds=5))).n_folds == 5
