"""Rank-SVM against a general solver, its optimality conditions, and problems solved by hand."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize
from sklearn.exceptions import ConvergenceWarning

from vicinal.baselines import RankSVM
from vicinal.baselines.svm import Kernel, SetSize, best_cuts, check_kernel_rows
from vicinal.metrics import ranking_loss

pytestmark = pytest.mark.native


def f_of(model, X):
    """The scores without the threshold of the row."""
    return model.kernel_(np.asarray(X, dtype=float), model.X_) @ model.weights_


def pairs_of(Y):
    """(row, label it has, label it has not) of every pair."""
    return [
        (i, p, q)
        for i, labels in enumerate(Y)
        for p in np.flatnonzero(labels)
        for q in np.flatnonzero(1 - labels)
    ]


def dual_by_solver(K, Y, cost):
    """The dual's optimum and f of the rows, by SLSQP over the pairs themselves."""
    pairs = pairs_of(Y)
    bounds = np.array([cost / (Y[i].sum() * (1 - Y[i]).sum()) for i, _, _ in pairs])

    def weights(alpha):
        b = np.zeros(Y.shape)
        for a, (i, p, q) in zip(alpha, pairs, strict=True):
            b[i, p] += a
            b[i, q] -= a
        return b

    def negative_dual(alpha):
        b = weights(alpha)
        return 0.5 * np.sum(b * (K @ b)) - alpha.sum()

    def slope(alpha):
        f = K @ weights(alpha)
        return np.array([f[i, p] - f[i, q] - 1 for i, p, q in pairs])

    found = minimize(
        negative_dual,
        bounds / 2,
        jac=slope,
        bounds=Bounds(0, bounds),
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    return -found.fun, K @ weights(found.x)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(14, 3))
    Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(14, 4)) > 0).astype(int)
    Y[0], Y[1] = 0, 1  # rows without pairs
    return X, Y


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_dual_optimum_is_that_of_a_general_solver(small, kernel, C):
    X, Y = small
    model = RankSVM(C=C, kernel=kernel, degree=2, tol=1e-8, max_iter=100_000).fit(X, Y)
    K = model.kernel_(X, X)
    optimum, f = dual_by_solver(K, Y, C)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert 0 <= model.duality_gap_ + 1e-9 <= 1e-7 * (1 + optimum)
    np.testing.assert_allclose(f_of(model, X), f, atol=2e-3)


def test_the_decision_function_is_cut_at_a_threshold_linear_in_the_scores(small):
    model = RankSVM(degree=2).fit(*small)
    f = f_of(model, small[0])
    wanted = best_cuts(f, small[1] == 1)
    design = np.column_stack([f, np.ones(len(f))])
    t = design @ np.linalg.pinv(design) @ wanted
    np.testing.assert_allclose(model.decision_function(small[0]), f - t[:, None], atol=1e-9)


def test_the_gap_is_primal_less_dual(small):
    X, Y = small
    model = RankSVM(C=2.0, kernel="linear", gamma=1.0, tol=0.1).fit(X, Y)
    f = (X @ X.T + 1) @ model.weights_
    losses = {(i, p, q): max(0.0, 1 - (f[i, p] - f[i, q])) for i, p, q in pairs_of(Y)}
    shares = [loss / (Y[i].sum() * (1 - Y[i]).sum()) for (i, _, _), loss in losses.items()]
    primal = 0.5 * np.sum(model.weights_ * f) + 2.0 * sum(shares)
    assert model.objective_ + model.duality_gap_ == pytest.approx(primal)


def test_two_rows_by_hand():
    # x = ±1, no constant: the margin f_0 − f_1 = 2wx, w = w_0 = −w_1, must be 1 at x = 1.
    X, Y = [[1.0], [-1.0]], [[1, 0], [0, 1]]
    model = RankSVM(C=100.0, kernel="linear", gamma=1.0, coef0=0.0, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(f_of(model, [[1.0], [3.0]]), [[0.5, -0.5], [1.5, -1.5]])
    np.testing.assert_allclose(model.decision_function([[3.0]]), [[1.5, -1.5]])  # t = 0
    assert model.objective_ == pytest.approx(0.25)  # ½ (¼ + ¼)


def test_separable_rankings_are_learned_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    f = X @ rng.normal(size=(5, 4))
    Y = (f > np.sort(f, axis=1)[:, [1]]).astype(int)  # the two best labels
    model = RankSVM(C=1e3, kernel="linear", max_iter=20_000).fit(X, Y)
    assert ranking_loss(Y, model.scores(X)) == 0.0


def test_rows_without_pairs_change_nothing_but_the_set_size(small):
    X, Y = small
    with_them = RankSVM(gamma=0.2, tol=1e-8, max_iter=50_000, degree=2).fit(X, Y)
    without = RankSVM(gamma=0.2, tol=1e-8, max_iter=50_000, degree=2).fit(X[2:], Y[2:])
    np.testing.assert_allclose(f_of(with_them, X), f_of(without, X), atol=1e-3)
    assert not with_them.weights_[:2].any()


@pytest.mark.parametrize("Y", [[[0, 0], [0, 0]], [[1, 1], [1, 1]], [[1], [0]]])
def test_no_pairs_at_all(Y):
    model = RankSVM().fit([[1.0], [2.0]], Y)
    assert not f_of(model, [[5.0]]).any()
    expected = [[0, 0]] if Y[0] == [0, 0] else [[1, 1]]
    if len(Y[0]) == 2:
        np.testing.assert_array_equal(model.predict([[5.0]]), expected)


def test_one_row_at_the_origin_without_a_constant():
    model = RankSVM(coef0=0.0).fit([[0.0], [0.0]], [[1, 0], [1, 0]])
    assert not f_of(model, [[4.0]]).any()


def test_an_unreached_duality_gap_warns(small):
    with pytest.warns(ConvergenceWarning, match="duality gap") as told:
        RankSVM(C=1e6, max_iter=1, tol=1e-12).fit(*small)
    assert told[0].filename == __file__


def test_too_many_rows_are_refused():
    check_kernel_rows(16_384)
    with pytest.raises(ValueError, match="at most 16384 rows"):
        check_kernel_rows(16_385)


def test_a_kernel_that_overflows_is_refused():
    X, Y = np.array([[1e60, 0.0], [0.0, 1.0]]), [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="kernel is finite"):
        RankSVM(gamma=1.0).fit(X, Y)
    model = RankSVM(gamma=1.0).fit(X / 1e60, Y)
    with pytest.raises(ValueError, match="kernel is finite"):
        model.predict(X)


@pytest.mark.parametrize(
    "bad",
    [
        {"C": 0.0},
        {"C": -1.0},
        {"kernel": "cubic"},
        {"degree": 0},
        {"gamma": "auto"},
        {"gamma": -1.0},
        {"coef0": -1.0},
        {"tol": -1.0},
        {"max_iter": 0},
    ],
)
def test_parameters_are_checked(small, bad):
    with pytest.raises(ValueError, match=f"^{next(iter(bad))}: expected"):
        RankSVM(**bad).fit(*small)


def test_rbf_kernel_is_its_definition():
    left, right = np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([[1.0, 1.0]])
    found = Kernel("rbf", 1, 0.5, 0.0)(left, right)
    np.testing.assert_allclose(found, np.exp(-0.5 * np.array([[1.0], [2.0]])))


def mistakes(scores, labels, t):
    return np.sum((scores <= t) & (labels == 1)) + np.sum((scores >= t) & (labels == 0))


def test_cuts_make_the_fewest_mistakes():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 5, size=(300, 4)).astype(float)
    Y = rng.integers(0, 2, size=(300, 4))
    cuts = best_cuts(scores, Y == 1)
    everywhere = np.arange(-0.5, 5.0, 1.0)
    for row, labels, t in zip(scores, Y, cuts, strict=True):
        assert mistakes(row, labels, t) == min(mistakes(row, labels, u) for u in everywhere)


def test_a_cut_that_is_linear_in_the_scores_is_found():
    # Two labels; the row's own cut is always midway between its two scores: t = (f_0 + f_1) / 2.
    scores = np.array([[0.0, 4.0], [1.0, 9.0], [5.0, 2.0], [3.0, 1.0]])
    rule = SetSize.fit(scores, scores == scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(rule.slopes, [0.5, 0.5])
    np.testing.assert_allclose(rule.thresholds(np.array([[10.0, 0.0]])), [5.0])
