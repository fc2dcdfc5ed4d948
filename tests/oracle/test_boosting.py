"""Boosting against trees that are grown from the definition, one split at a time."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal._native import MOST_BINS
from vicinal.methods.blend import mixture

pytestmark = pytest.mark.native


def made_cells(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 3] = np.round(X[:, 3])
    y = (X[:, 0] + np.abs(X[:, 1]) * X[:, 3] + rng.normal(size=n) > 0.5).astype(np.float64)
    return X, y


def best_split(X, edges, gradient, curvature, cells):
    """Return gain, column and threshold of the best split; sums are of whole numbers."""

    def score(g, h):
        return g * g / (h + mixture.L2)

    whole = score(gradient[cells].sum(), curvature[cells].sum())
    best = (0.0, None, None)
    for column in range(X.shape[1]):
        for edge in edges[column]:
            left = cells[X[cells, column] <= edge]
            right = cells[X[cells, column] > edge]
            sides = [(gradient[side].sum(), curvature[side].sum()) for side in (left, right)]
            if min(h for _, h in sides) < mixture.LEAST_CURVATURE:
                continue
            gain = sum(score(g, h) for g, h in sides) - whole
            if gain > best[0]:
                best = (gain, column, edge)
    return best


def grow(X, edges, odds, y, learned, pace):
    """Return what a tree adds to the log-odds of all cells."""
    bits = len(X).bit_length()
    p = 1 / (1 + np.exp(-odds))
    gradient = np.rint((p - y) * 2.0 ** (35 - bits)) / 2.0 ** (35 - bits)
    curvature = np.floor(p * (1 - p) * 2.0 ** (30 - bits)) / 2.0 ** (30 - bits)
    leaves = [np.arange(len(X))]
    while len(leaves) < pace.n_leaves:
        known = [np.intersect1d(leaf, learned) for leaf in leaves]
        found = [best_split(X, edges, gradient, curvature, leaf) for leaf in known]
        place = int(np.argmax([gain for gain, _, _ in found]))
        _, column, edge = found[place]
        if column is None:
            break
        leaf = leaves[place]
        goes_left = X[leaf, column] <= edge
        leaves[place] = leaf[goes_left]
        leaves.append(leaf[~goes_left])
    added = np.zeros(len(X))
    for leaf in leaves:
        cells = np.intersect1d(leaf, learned)
        h = (p[cells] * (1 - p[cells])).sum() + mixture.L2
        added[leaf] = -pace.rate * (p[cells] - y[cells]).sum() / h
    return added, len(leaves)


def boost(X, y, out, pace):
    """Return the log-odds of all cells by a model that learns outside `out` and stops by it."""
    edges = [row[np.isfinite(row)] for row in mixture.bin_thresholds(X)]
    learned = np.flatnonzero(~out)
    share = np.clip(y[learned].mean(), 1e-9, 1 - 1e-9)
    odds = np.full(len(X), np.log(share / (1 - share)))

    def loss():
        return np.sum(np.logaddexp(0, odds[out]) - y[out] * odds[out])

    kept, least, n_kept = odds.copy(), loss(), 0
    for n_trees in range(1, pace.n_rounds + 1):
        added, n_leaves = grow(X, edges, odds, y, learned, pace)
        odds = odds + added
        is_last = n_trees == pace.n_rounds or n_leaves == 1
        if n_trees % 5 and not is_last:
            continue
        if loss() < least:
            kept, least, n_kept = odds.copy(), loss(), n_trees
        if is_last or n_trees - n_kept >= mixture.PATIENCE:
            break
    return kept


@pytest.fixture
def trees_alone(monkeypatch):
    """No line beside the trees, as where cells are many."""
    monkeypatch.setattr(mixture, "MOST_LINE_CELLS", 0)


@pytest.fixture
def one_division(monkeypatch):
    monkeypatch.setattr(mixture, "REPEATED_CELLS", 1)


@pytest.mark.parametrize(
    ("n", "seed", "rate", "n_folds"), [(150, 0, 0.1, 3), (99, 1, 0.2, 3), (150, 2, 0.2, 2)]
)
def test_models_are_those_of_the_definition(
    n, seed, rate, n_folds, monkeypatch, one_division, trees_alone
):
    pace = mixture.Pace(17, rate, 5)
    monkeypatch.setattr(mixture, "PACES", ((0, pace),))
    monkeypatch.setattr(mixture, "N_FOLDS", n_folds)
    X, y = made_cells(n, seed)
    X = np.round(2 * X) / 2  # few bins, and ties between splits
    row_of = np.repeat(np.arange(n // 3), 3)
    fitted = mixture.fit_boosting(X, y, row_of, 0)
    fold_of = mixture.row_folds(row_of, 0)
    assert set(fold_of) == set(range(n_folds))
    assert all(len(set(fold_of[row_of == row])) == 1 for row in range(n // 3))
    models = [boost(X, y, fold_of == fold, pace) for fold in range(n_folds)]
    for fold, odds in enumerate(models):
        out = fold_of == fold
        np.testing.assert_allclose(fitted.held_out[out], odds[out], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fitted.trees.log_odds(X), np.mean(models, axis=0), atol=1e-9)


def test_it_learns_what_two_columns_say_together(one_division):
    X, y = made_cells()
    row_of = np.repeat(np.arange(300), 3)
    held_out = mixture.fit_boosting(X, y, row_of, 0).held_out
    share = y.mean()
    guess = -np.mean(y * np.log(share) + (1 - y) * np.log(1 - share))
    assert np.mean(np.logaddexp(0, held_out) - y * held_out) < 0.8 * guess


def test_several_divisions_are_averaged(monkeypatch, trees_alone):
    X, y = made_cells()
    row_of = np.repeat(np.arange(300), 3)
    assert mixture.repeats_for(len(X)) == 3
    whole = mixture.fit_boosting(X, y, row_of, 0)
    single, original = [], mixture.row_folds
    monkeypatch.setattr(mixture, "REPEATED_CELLS", 1)
    for repeat in range(3):
        monkeypatch.setattr(mixture, "row_folds", lambda r, s, _, at=repeat: original(r, s, at))
        single.append(mixture.fit_boosting(X, y, row_of, 0))
    held_out = np.mean([each.held_out for each in single], axis=0)
    np.testing.assert_allclose(whole.held_out, held_out, rtol=1e-12, atol=1e-12)
    mean = np.mean([each.trees.log_odds(X) for each in single], axis=0)
    np.testing.assert_allclose(whole.trees.log_odds(X), mean, rtol=1e-12, atol=1e-12)


def test_few_cells_get_half_of_their_log_odds_from_lines_of_other_rows(monkeypatch, one_division):
    X, y = made_cells()
    row_of = np.repeat(np.arange(300), 3)
    both = mixture.fit_boosting(X, y, row_of, 0)
    monkeypatch.setattr(mixture, "MOST_LINE_CELLS", len(X) - 1)
    alone = mixture.fit_boosting(X, y, row_of, 0)
    fold_of = mixture.row_folds(row_of, 0)
    lines = [mixture.fit_line(X[fold_of != f], y[fold_of != f]) for f in range(mixture.N_FOLDS)]
    of_lines = np.array([mixture.along(lines[f], X[[i]])[0] for i, f in enumerate(fold_of)])
    np.testing.assert_allclose(both.held_out, (alone.held_out + of_lines) / 2, rtol=1e-12)
    of_line = mixture.along(np.mean(lines, axis=0), X)
    mean = (alone.trees.log_odds(X) + of_line) / 2
    np.testing.assert_allclose(both.trees.log_odds(X), mean, rtol=1e-12)


def test_neither_threads_nor_repetition_change_a_bit(monkeypatch):
    X, y = made_cells()
    row_of = np.repeat(np.arange(300), 3)
    first = mixture.fit_boosting(X, y, row_of, 3)
    for n_threads in (1, 3):
        monkeypatch.setattr(mixture, "thread_count", lambda n=n_threads: n)
        again = mixture.fit_boosting(X, y, row_of, 3)
        np.testing.assert_array_equal(first.held_out, again.held_out)
        np.testing.assert_array_equal(first.trees.threshold, again.trees.threshold)


@settings(max_examples=60)
@given(n=st.integers(1, 400), n_values=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
def test_thresholds_divide_values_into_bins(n, n_values, seed):
    column = np.random.default_rng(seed).integers(0, n_values, n).astype(np.float32)
    edges = mixture.bin_thresholds(column[:, None])[0]
    assert np.all(np.diff(edges[np.isfinite(edges)]) > 0)
    assert len(edges) == MOST_BINS - 1
    distinct = np.unique(column)
    if len(distinct) <= MOST_BINS:  # every value has a bin of its own
        midway = (distinct[:-1] + distinct[1:]) / 2
        assert edges[np.isfinite(edges)].tolist() == midway.tolist()
    else:
        assert not np.isin(edges[np.isfinite(edges)], distinct).any()
        assert edges[np.isfinite(edges)][-1] < distinct[-1]


def test_bins_of_a_column_hold_about_as_many_cells_each():
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(2_000, 2)).astype(np.float32) * [1, 100]
    cells[:300, 1] = cells[:, 1].max()  # a sixth of a column is its largest value
    cells = cells.astype(np.float32)
    thresholds = mixture.bin_thresholds(cells)
    for column, edges in zip(cells.T, thresholds, strict=True):
        alone = mixture.bin_thresholds(column[:, None])[0]
        assert edges.tolist() == alone.tolist()
        edges = edges[np.isfinite(edges)]
        assert edges[-1] < column.max()
        sizes = np.bincount(np.searchsorted(edges, column))
        assert sizes[:-1].max() <= 2_000 / (MOST_BINS - 1) + 1
        assert sizes[-1] <= (column == column.max()).sum() + 2_000 / (MOST_BINS - 1) + 1


def test_as_many_values_as_bins_have_a_bin_each():
    column = np.repeat(np.arange(MOST_BINS), np.arange(MOST_BINS) % 7 + 1).astype(np.float32)
    midway = np.arange(MOST_BINS - 1) + 0.5
    assert mixture.bin_thresholds(column[:, None])[0].tolist() == midway.tolist()


def test_many_cells_are_learned_in_fewer_and_larger_steps(monkeypatch):
    X, y = made_cells()
    row_of = np.repeat(np.arange(300), 3)
    few = mixture.fit_boosting(X, y, row_of, 0)
    large, *_, (_, small) = mixture.PACES
    assert mixture.pace_for(len(X)) == small
    monkeypatch.setattr(mixture, "PACES", ((len(X) - 1, large[1]), (0, small)))
    many = mixture.fit_boosting(X, y, row_of, 0)
    assert len(many.trees.roots) < len(few.trees.roots)


@settings(max_examples=60)
@given(n=st.integers(1, 60), n_values=st.integers(1, 4), fewest=st.integers(0, 60), data=st.data())
def test_one_of_the_rows_with_equal_features_is_kept(n, n_values, fewest, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    X = np.random.default_rng(seed).integers(0, n_values, (n, 2)).astype(np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "FEWEST_ROWS", fewest)
        kept = mixture.distinct_rows(sparse.csr_array(X))
        same = mixture.distinct_rows(sparse.csr_array(X[:, ::-1]))
    assert kept.tolist() == same.tolist() == sorted(set(kept.tolist()))
    groups = {tuple(row) for row in X.tolist()}
    assert {tuple(row) for row in X[kept].tolist()} == groups
    assert len(kept) == max(len(groups), min(n, fewest))
    counts = Counter(tuple(row) for row in X[kept].tolist())
    available = Counter(tuple(row) for row in X.tolist())
    most = max(counts.values())  # of every group as many, as far as it has them
    assert all(counts[row] >= min(most - 1, available[row]) for row in groups)


def test_frequencies_that_change_a_little_change_nothing(trees_alone):
    rng = np.random.default_rng(0)
    frequency = np.log((rng.choice(50, 20, replace=False) + 10.5) / 1000).astype(np.float32)
    of_label = rng.integers(0, 20, 6_000)
    cells = np.column_stack([rng.random(6_000), frequency[of_label]]).astype(np.float32)
    likely = 0.2 + 0.6 * (of_label % 2)
    true = (rng.random(6_000) < likely).astype(np.float64)
    trees = mixture.fit_boosting(cells, true, np.arange(6_000), 0).trees
    assert np.ptp(trees.log_odds(cells)) > 1
    for rows in (999, 1001):  # one row less, one more
        moved = cells + np.float32([0.0, np.log(1000 / rows)])
        np.testing.assert_array_equal(trees.log_odds(moved), trees.log_odds(cells))
