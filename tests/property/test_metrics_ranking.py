"""Ranking metrics against their definitions, written out over every label of every row."""

import math
from functools import cmp_to_key

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.metrics import evaluate
from vicinal.scores import Scores

pytestmark = pytest.mark.native

COARSE = [-0.5, 0.0, 0.25, 0.5, 1.0]
NEAR = [0.0, 4e-7, 8e-7, 1.2e-6, 2e-6, 0.5, 0.5 + 9e-7]  # Mulan ties some of these
NAMES = ["one-error", "coverage", "coverage-normalised", "ranking-loss", "average-precision"]
SHARES = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
"""Of cells that are true, or stored."""


@st.composite
def problems(draw, levels):
    """Truth, sparse scores with a base, and the same scores in full."""
    n_rows, n_labels = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (n_rows, n_labels)
    truth, stored = rng.random(shape) < draw(SHARES), rng.random(shape) < draw(SHARES)
    values, base = rng.choice(levels, size=shape), rng.choice(levels, size=n_labels)
    rows, labels = np.nonzero(stored)
    starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    matrix = sparse.csr_array((values[rows, labels], labels, starts), shape=shape)
    return truth, Scores.sparse(matrix, base), np.where(stored, values, base)


def lower_id_first(row):
    return sorted(range(len(row)), key=lambda label: (-row[label], label))


def higher_id_first(row):
    return sorted(range(len(row)), key=lambda label: (-row[label], -label))


def mulan_order(row):
    """Sort rising; from the lowest, tie all within 1e-6 of the group's first; then reverse."""
    rising = sorted(range(len(row)), key=lambda label: row[label])
    group, first = {}, None
    for label in rising:
        if first is None or row[label] - row[first] >= 1e-6:
            first = label
        group[label] = row[first]

    def compare(a, b):
        return (group[b] > group[a]) - (group[b] < group[a]) or b - a

    return sorted(range(len(row)), key=cmp_to_key(compare))


def loss_by_order(truth, order):
    place = {label: at for at, label in enumerate(order)}
    return [place[false] < place[true] for true in truth for false in order if false not in truth]


def loss_by_score(truth, row):
    return [
        row[true] <= row[false] for true in truth for false in range(len(row)) if false not in truth
    ]


def mean(values):
    return sum(values) / len(values) if values else math.nan


def by_definition(truth, full, order_of, losses, empty_precision):
    """All five metrics, row by row."""
    n_labels = full.shape[1]
    errors, depths, lost, precisions = [], [], [], []
    for row_truth, row in zip(truth, full.tolist(), strict=True):
        true, order = set(np.flatnonzero(row_truth).tolist()), order_of(row)
        rank = {label: at + 1 for at, label in enumerate(order)}
        errors.append(order[0] not in true)
        depths.append(max((rank[label] for label in true), default=1) - 1)
        lost.append(mean(losses(true, row)) if 0 < len(true) < n_labels else 0.0)
        if true:
            precisions.append(mean([sum(rank[b] <= rank[a] for b in true) / rank[a] for a in true]))
        elif empty_precision is not None:
            precisions.append(empty_precision)
    values = [mean(errors), mean(depths), mean(depths) / n_labels, mean(lost), mean(precisions)]
    return dict(zip(NAMES, values, strict=True))


def check(truth, scores, full, system, expected):
    wanted = pytest.approx(expected, nan_ok=True, rel=1e-12, abs=1e-12)
    for given_scores in (scores, full, Scores.dense(full)):
        assert evaluate(truth, scores=given_scores, conventions=system, metrics=NAMES) == wanted


@settings(deadline=None)
@given(problems(COARSE))
def test_vicinal(problem):
    truth, scores, full = problem
    expected = by_definition(truth, full, lower_id_first, loss_by_score, None)
    check(truth, scores, full, "vicinal", expected)


@settings(deadline=None)
@given(problems(NEAR) | problems(COARSE))
def test_mulan(problem):
    truth, scores, full = problem

    def losses(true, row):
        return loss_by_order(true, mulan_order(row))

    expected = by_definition(truth, full, mulan_order, losses, None)
    check(truth, scores, full, "mulan", expected)


@settings(deadline=None)
@given(problems(NEAR) | problems(COARSE))
def test_meka(problem):
    truth, scores, full = problem

    def losses(true, row):
        return loss_by_order(true, higher_id_first(row))

    expected = by_definition(truth, full, lower_id_first, losses, 1.0)
    check(truth, scores, full, "meka", expected)


@settings(deadline=None)
@given(problems(COARSE))
def test_absent_scores_are_zero_without_a_base(problem):
    truth, _, full = problem
    assert evaluate(truth, scores=sparse.csr_matrix(full), metrics=NAMES) == pytest.approx(
        evaluate(truth, scores=full, metrics=NAMES), nan_ok=True
    )
