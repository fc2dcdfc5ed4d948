"""Rows into folds: against the pseudo code of the papers, taken literally."""

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.selection.stratification import label_pairs, spread_rows


def pseudo_code(rows: list[set[Any]], n_folds: int, first_fold: list[int]) -> list[int]:
    """Spread rows by desired numbers, which may be fractions, as Sechidis et al. write it."""
    share = Fraction(1, n_folds)
    left = set(range(len(rows)))
    wanted_rows = [len(rows) * share for _ in range(n_folds)]
    evidence = sorted(set().union(*rows))
    holders = {e: [at for at, row in enumerate(rows) if e in row] for e in evidence}
    wanted = {e: [len(holders[e]) * share for _ in range(n_folds)] for e in evidence}
    fold_of = [-1] * len(rows)

    def place(row: int, desired: list[Fraction]) -> None:
        most = [j for j in range(n_folds) if desired[j] == max(desired)]
        size = max(wanted_rows[j] for j in most)
        best = [j for j in most if wanted_rows[j] == size]
        fold = min(best, key=lambda j: (j - first_fold[row]) % n_folds)
        fold_of[row] = fold
        left.remove(row)
        wanted_rows[fold] -= 1
        for e in rows[row]:
            wanted[e][fold] -= 1

    while any(rows[at] for at in left):
        counts = {e: sum(at in left for at in holders[e]) for e in evidence}
        rarest = min((e for e in evidence if counts[e]), key=lambda e: (counts[e], e))
        for row in [at for at in holders[rarest] if at in left]:
            place(row, wanted[rarest])
    for row in sorted(left):
        place(row, wanted_rows)
    return fold_of


@st.composite
def indicators(draw: st.DrawFn) -> np.ndarray:
    """Indicators with rows of no label, rare and absent labels, repeated rows, one label."""
    shape = draw(st.tuples(st.integers(2, 24), st.integers(1, 5)))
    often = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = (rng.random(shape) < often).astype(np.int32)
    dense[3:, rng.random(shape[1]) < 0.3] = 0  # some labels with fewer rows than folds
    return dense


@settings(max_examples=200, deadline=None)
@given(indicators(), st.integers(2, 6), st.integers(0, 99))
def test_first_order_as_the_pseudo_code(Y: np.ndarray, n_folds: int, seed: int) -> None:
    first = np.random.default_rng(seed).integers(n_folds, size=len(Y)) if seed else 0 * Y[:, 0]
    found = spread_rows(sparse.csr_array(Y), n_folds, first.astype(np.int64))
    rows: list[set[Any]] = [set(np.flatnonzero(row)) for row in Y]
    assert found.tolist() == pseudo_code(rows, n_folds, first.tolist())


@settings(max_examples=200, deadline=None)
@given(indicators(), st.integers(2, 6))
def test_second_order_as_the_pseudo_code(Y: np.ndarray, n_folds: int) -> None:
    pairs = label_pairs(sparse.csr_array(Y))
    found = spread_rows(pairs, n_folds, np.zeros(len(Y), dtype=np.int64))
    rows: list[set[Any]] = [
        set(combinations_with_replacement(np.flatnonzero(row).tolist(), 2)) for row in Y
    ]
    assert found.tolist() == pseudo_code(rows, n_folds, [0] * len(Y))


@settings(max_examples=100, deadline=None)
@given(indicators())
def test_pairs_of_labels(Y: np.ndarray) -> None:
    pairs = label_pairs(sparse.csr_array(Y)).toarray()
    n_labels = Y.shape[1]
    wanted = [
        Y[:, a] * Y[:, b]
        for a, b in combinations_with_replacement(range(n_labels), 2)
        if (Y[:, a] * Y[:, b]).any()
    ]
    np.testing.assert_array_equal(pairs, np.array(wanted).reshape(-1, len(Y)).T)


@settings(max_examples=100, deadline=None)
@given(indicators(), st.integers(2, 6), st.sampled_from([1, 2]))
def test_no_fold_is_empty_where_rows_suffice(Y: np.ndarray, n_folds: int, order: int) -> None:
    evidence = sparse.csr_array(Y) if order == 1 else label_pairs(sparse.csr_array(Y))
    found = spread_rows(evidence, n_folds, np.zeros(len(Y), dtype=np.int64))
    assert len(set(found.tolist())) == min(n_folds, len(Y))


def test_rows_without_labels_even_out_the_folds() -> None:
    Y = np.zeros((23, 2), dtype=np.int32)
    Y[:5, 0] = 1
    folds = spread_rows(sparse.csr_array(Y), 4, np.zeros(23, dtype=np.int64))
    assert sorted(np.bincount(folds)) == [5, 6, 6, 6]


@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_one_label_is_spread_within_one(n_folds: int) -> None:
    Y = (np.random.default_rng(1).random((101, 1)) < 0.37).astype(np.int32)
    folds = spread_rows(sparse.csr_array(Y), n_folds, np.zeros(101, dtype=np.int64))
    for counts in (np.bincount(folds), np.bincount(folds[Y[:, 0] == 1])):
        assert counts.max() - counts.min() <= 1
