"""Cells and views of a blend against their definitions, number by number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.methods.blend import mixture
from vicinal.methods.blend.mixture import LARGEST_SCORE, LEAST_TOP, CellMaker, score_spread
from vicinal.methods.blend.parts import View, given_view, scaled_view, unchanged_view, weighted_view
from vicinal.preprocess.label_weights import LabelWeights, weighted_rows
from vicinal.scores import Scores

pytestmark = pytest.mark.native


@st.composite
def said_by_parts(draw):
    """Scores of some parts, no two of a row equal, and whether each part is sparse."""
    n, n_labels, n_parts = (draw(st.integers(1, most)) for most in (4, 20, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.uniform(-1, 1, size=(n_parts, n, n_labels))
    scores *= rng.random(scores.shape) < draw(st.sampled_from([0.3, 1.0]))
    scores *= 10.0 ** rng.integers(-5, 3, size=(n_parts, 1, 1))
    kinds = draw(st.sampled_from([[True] * 3, [False] * 3, [True, False, True]]))
    return scores, kinds[:n_parts]


def as_scores(matrix, is_sparse):
    return Scores.sparse(sparse.csr_array(matrix)) if is_sparse else Scores.dense(matrix)


@settings(max_examples=50)
@given(said_by_parts(), st.integers(1, 21), st.integers(0, 2**32 - 1))
def test_cells_are_those_of_the_labels_with_the_largest_sums(problem, width, seed):
    scores, kinds = problem
    n_parts, n, n_labels = scores.shape
    rng = np.random.default_rng(seed)
    scale, log_prior = rng.uniform(0.1, 3.0, n_parts), -rng.random(n_labels)
    maker = CellMaker(rng.normal(size=n_parts), scale, log_prior, width)
    found = maker.make([as_scores(*pair) for pair in zip(scores, kinds, strict=True)])
    width = min(width, n_labels)
    assert found.labels.shape == (n, width)
    assert maker.n_columns == 3 * n_parts + 1
    cells = found.cells.reshape(n, width, 3 * n_parts + 1)
    total = sum(part / each for part, each in zip(scores, scale, strict=True))
    for row in range(n):
        labels = found.labels[row].tolist()
        assert labels == sorted(set(labels))
        others = [total[row, label] for label in range(n_labels) if label not in labels]
        assert min(total[row, labels]) >= max(others, default=-np.inf)
        for place, label in enumerate(labels):
            expected = []
            for part in scores:
                top = part[row].max()
                value = part[row, label]
                expected += [value, value / max(top, LEAST_TOP), top]
            expected.append(log_prior[label])
            np.testing.assert_allclose(cells[row, place], expected, rtol=1e-6)


def test_of_many_labels_the_candidates_are_the_largest():
    said = np.random.default_rng(0).normal(size=(20, 2_000))
    found = CellMaker(np.zeros(1), np.ones(1), np.zeros(2_000), 30).make([Scores.dense(said)])
    assert found.labels.tolist() == np.sort(np.argsort(-said)[:, :30]).tolist()


@settings(max_examples=30)
@given(said_by_parts())
def test_the_spread_of_scores_counts_those_that_are_not_stored(problem):
    scores, kinds = problem
    mean, deviation = score_spread([as_scores(*pair) for pair in zip(scores, kinds, strict=True)])
    for part, center, scale in zip(scores, mean, deviation, strict=True):
        assert center == pytest.approx(part.mean(), rel=1e-9, abs=1e-12)
        if part.var() > 1e-9:
            assert scale == pytest.approx(part.std(), rel=1e-6)
        elif part.var() == 0:
            assert scale == 1.0


def test_scores_too_large_to_add_up_are_refused():
    maker = CellMaker(np.zeros(1), np.ones(1), np.zeros(2), 2)
    maker.make([Scores.dense(np.array([[LARGEST_SCORE, -LARGEST_SCORE]]))])
    for value in (2 * LARGEST_SCORE, -2 * LARGEST_SCORE):
        with pytest.raises(InvalidArgumentError, match="X: expected values whose scores are at"):
            maker.make([Scores.dense(np.array([[value, 0.0]]))])


counts = st.lists(st.sampled_from([0.0, 1.0, 1.5, 3.5]), min_size=6, max_size=6)


@settings(max_examples=40)
@given(counts, st.sampled_from([1.0, 0.25, -1.0]), st.booleans())
def test_counts_are_damped_and_other_values_stay(values, factor, is_sparse):
    X = np.reshape(values, (2, 3)) * factor
    rows = sparse.csr_array(X) if is_sparse else X
    seen = given_view(rows).of(rows)
    are_counts = X.max() > 1 and all(value >= 1 for value in X.ravel() if value != 0)
    expected = X
    if are_counts:
        expected = [[1 + np.log(value) if value > 1 else value for value in row] for row in X]
    np.testing.assert_allclose(seen.toarray() if is_sparse else seen, expected, rtol=1e-12)
    assert unchanged_view().of(rows) is rows


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_features_are_scaled_by_the_training_rows_and_clipped(seed, is_sparse):
    rng = np.random.default_rng(seed)
    X, Q = rng.integers(-2, 3, (4, 3)).astype(float), 4 * rng.normal(size=(5, 3))
    kind = sparse.csr_array if is_sparse else np.asarray
    view = scaled_view(kind(X))
    for rows, seen in ((X, view.rows), (X, view.of(kind(X))), (Q, view.of(kind(Q)))):
        for column in range(3):
            least, largest = X[:, column].min(), X[:, column].max()
            width = largest - least if largest > least else 1.0
            expected = [min(max((value - least) / width, -1.0), 2.0) for value in rows[:, column]]
            np.testing.assert_allclose(seen[:, column], expected, rtol=1e-12)


def test_a_weighted_view_is_that_of_label_weights_with_a_prior_of_5():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(0.5, (30, 6)).astype(float), (rng.random((30, 3)) < 0.4).astype(np.int32)
    view, weights = weighted_view(X, sparse.csr_array(Y)), LabelWeights(prior=5.0).fit(X, Y)
    np.testing.assert_allclose(view.first, weights.weights_, rtol=1e-12)
    np.testing.assert_allclose(view.of(X), weights.transform(X), rtol=1e-12)
    np.testing.assert_allclose(view.rows, weights.transform(X), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("is_scaled", [True, False])
def test_neighbours_in_a_view_are_the_nearest_training_rows(k, is_scaled):
    rng = np.random.default_rng(k)
    X, Q = rng.random((5, 3)) + 0.1, rng.random((4, 3)) + 0.1
    weights = np.array([0.5, 1.0, 2.0])
    view = View("weighted", False, weights, np.empty(0), weighted_rows(X, weights, False))
    view = scaled_view(X) if is_scaled else view
    A, B = view.of(X), view.of(Q)

    def distance(a, b):
        if is_scaled:
            return ((a - b) ** 2).sum()
        return -(a @ b) / np.sqrt((a @ a) * (b @ b))

    def nearest(b, rows):
        return sorted(rows, key=lambda row: distance(A[row], b))

    assert view.nearest(B, k).ids.tolist() == [nearest(b, range(5))[:k] for b in B]
    others = [nearest(A[row], [*range(row), *range(row + 1, 5)])[:k] for row in range(5)]
    assert view.nearest_others(k).ids.tolist() == others


def test_the_only_row_of_a_view_has_no_neighbour():
    assert scaled_view(np.ones((1, 2))).nearest_others(3).ids.tolist() == [[-1]]


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(0, 3), st.integers(0, 2**16), st.integers(0, 2))
def test_rows_are_dealt_out_evenly(n_rows, width, random_state, repeat):
    row_of = np.repeat(np.arange(n_rows), width)
    fold_of = mixture.row_folds(row_of, random_state, repeat)
    of_row = [{*fold_of[row_of == row]} for row in range(n_rows if width else 0)]
    assert all(len(each) == 1 for each in of_row)
    sizes = [sum(each == {fold} for each in of_row) for fold in range(mixture.N_FOLDS)]
    assert sum(sizes) == len(of_row)
    assert max(sizes) - min(sizes) <= 1


def test_every_repeat_and_seed_deals_anew():
    row_of = np.arange(60)
    dealt = [mixture.row_folds(row_of, seed, repeat) for seed in (0, 1) for repeat in (0, 1)]
    assert len({tuple(each) for each in dealt}) == 4


@pytest.mark.parametrize("n_rows", [300, 299])
@pytest.mark.parametrize("n_few", [20, 19])
@pytest.mark.parametrize("few", [0.0, 1.0])
def test_learning_needs_20_true_and_20_false_of_200_cells_outside_each_fold(n_rows, n_few, few):
    row_of = np.arange(n_rows)
    fold_of = mixture.row_folds(row_of, 0)
    true = np.full(n_rows, 1.0 - few)
    for fold in range(mixture.N_FOLDS):  # half of them in each fold: both others hold n_few
        true[np.flatnonzero(fold_of == fold)[: (n_few + (fold > 0)) // 2]] = few
    outside = [true[fold_of != fold] for fold in range(mixture.N_FOLDS)]
    assert {(each == few).sum() for each in outside} <= {n_few, n_few + 1}
    enough = n_few == 20 and min(map(len, outside)) >= 200
    assert mixture.can_learn(true, row_of, 0) == enough
