"""Propensities and the metrics they weigh, by hand."""

import math

import numpy as np
import pytest
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.metrics import evaluate, propensities, psndcg_at_k, psp_at_k
from vicinal.metrics.at_k import inverse_propensities

pytestmark = pytest.mark.native


def p(count, n_rows, a=0.55, b=1.5):
    return 1 / (1 + (math.log(n_rows) - 1) * (b + 1) ** a * (count + b) ** -a)


def test_the_formula():
    assert propensities([0, 3, 50], 100) == pytest.approx([p(0, 100), p(3, 100), p(50, 100)])
    assert propensities([2], 9, a=1.0, b=0.5) == pytest.approx([p(2, 9, 1.0, 0.5)])
    assert inverse_propensities([0, 3], 100, 2) == pytest.approx([1 / p(0, 100), 1 / p(3, 100)])


def test_a_label_may_be_in_every_row():
    assert propensities([4, 1], 4) == pytest.approx([p(4, 4), p(1, 4)])
    assert propensities([[1], [1], [1]]) == pytest.approx([p(3, 3)])


def test_rare_labels_have_low_propensity_within_0_and_1():
    values = propensities(np.arange(1000), 1000)
    assert np.all(np.diff(values) > 0)
    assert values[0] > 0
    assert values[-1] < 1


def test_training_labels_tell_both_counts_and_rows():
    Y = np.array([[1, 0], [1, 1], [1, 0], [0, 0]])
    expected = [p(3, 4), p(1, 4)]
    assert propensities(Y) == pytest.approx(expected)
    assert propensities(sparse.csr_array(Y)) == pytest.approx(expected)
    assert propensities([3, 1], 4) == pytest.approx(expected)


def test_without_a_number_of_rows_the_total_stands_in():
    assert propensities([30, 12]) == pytest.approx([p(30, 42), p(12, 42)])


@pytest.mark.parametrize(
    ("counts", "n_rows", "message"),
    [
        ([5, 1], 4, "n_train_rows: expected at least the largest label count, 5, got 4"),
        ([1, 1], 2, "n_train_rows: expected an integer of at least 3"),
        ([1, np.nan], 5, "train_label_counts: expected counts"),
        (3, 5, "train_label_counts: expected a number for each label"),
        (["many"], 5, "train_label_counts: expected a number for each label"),
        ([[1, 2]], 5, "train_label_counts: expected values 0 and 1"),
    ],
)
def test_bad_counts_are_named(counts, n_rows, message):
    with pytest.raises(InvalidArgumentError, match=message):
        propensities(counts, n_rows)


def test_ratios_are_of_means_over_rows():
    counts, n_rows = [8, 1, 3], 10
    rare, common = 1 / p(1, n_rows), 1 / p(8, n_rows)
    Y = [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
    scores = [[0.9, 0.1, 0.5], [0.2, 0.5, 0.9], [0.2, 0.5, 0.9]]
    # Row 0 finds the common label where the rare one was to be had; row 1 finds none.
    psp = psp_at_k(Y, scores, 1, train_label_counts=counts, n_train_rows=n_rows)
    assert psp == pytest.approx(common / (rare + common))
    # At 3: ranks 1 and 3 in row 0, rank 3 in row 1.
    second = 1 / math.log2(3)
    reached = (common + rare / 2) / (1 + second) + common / 2
    best = (rare + common * second) / (1 + second) + common
    psndcg = psndcg_at_k(Y, scores, 3, train_label_counts=counts, n_train_rows=n_rows)
    assert psndcg == pytest.approx(reached / best)


def test_no_true_label_anywhere_is_0():
    answer = evaluate([[0, 0]], scores=[[1, 2]], train_label_counts=[1, 1], k=1)
    assert answer["psp@1"] == answer["psndcg@1"] == 0.0


@pytest.mark.parametrize("counts", [[1, 2], [1, 1], [0, 0]])
def test_fewer_than_three_rows_count_as_three(counts):
    np.testing.assert_array_equal(propensities(counts), propensities(counts, 3))
    rows = np.array([[1, 0], [0, 1], [0, 1]])
    np.testing.assert_array_equal(propensities(rows), propensities([1, 2], 3))
    np.testing.assert_array_equal(propensities(rows[:2]), propensities([1, 1], 3))
