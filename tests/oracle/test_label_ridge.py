"""Label ridge and its leave-one-out scores against refitting, one row left out at a time."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import vicinal
from vicinal import LabelRidge
from vicinal.graph import NeighborGraph
from vicinal.methods.label_ridge import RidgeSettings, solver
from vicinal.methods.label_ridge.solver import check_memory
from vicinal.methods.training import Training

pytestmark = pytest.mark.native


def unit(X):
    length = np.sqrt((X * X).sum(axis=1, keepdims=True))
    return X / np.where(length == 0, 1, length)


def linear(X, R, Q, alpha):
    """Solve the normal equations of the primal and score the queries."""
    W = np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ R)
    return Q @ W


def gaussian(X, R, Q, alpha, gamma):
    """Solve the dual with the kernel written as a double loop."""

    def solver(A, B):
        return np.array([[np.exp(-gamma * ((a - b) ** 2).sum()) for b in B] for a in A])

    return solver(Q, X) @ np.linalg.solve(solver(X, X) + alpha * np.eye(len(X)), R)


def left_out(X, Y, fit):
    """Scores of each row from a fit on the other rows; the mean is that of all rows."""
    mean = Y.mean(axis=0)
    scores = []
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        scores.append(mean + fit(X[others], (Y - mean)[others], X[row : row + 1])[0])
    return np.array(scores)


@st.composite
def problems(draw):
    """Few rows with duplicates, empty rows, constant columns and unused labels; both shapes."""
    n, m, n_labels = draw(st.integers(2, 9)), draw(st.integers(1, 9)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.choice([0.0, 0.0, 1.0, 2.0, 0.5, -1.0], size=(n, m))
    Q = rng.choice([0.0, 1.0, -0.5], size=(3, m))
    Y = (rng.random((n, n_labels)) < draw(st.sampled_from([0.0, 0.3, 1.0]))).astype(int)
    if draw(st.booleans()):
        X[0] = X[-1]
    return X, Y, Q


kinds = st.sampled_from([np.asarray, sparse.csr_array])
alphas = st.sampled_from([0.1, 1.0, 10.0])


@given(problems(), alphas, kinds, st.sampled_from(["cosine", "dot", "euclidean"]))
def test_linear(problem, alpha, kind, metric):
    X, Y, Q = problem
    model = LabelRidge(alpha, metric=metric, keep_loo=True).fit(kind(X), Y)
    A, B = (unit(X), unit(Q)) if metric == "cosine" else (X, Q)
    mean = Y.mean(axis=0)
    expected = mean + linear(A, Y - mean, B, alpha)
    np.testing.assert_allclose(model.predict_proba(kind(Q)), expected, rtol=1e-8, atol=1e-10)

    def fit(rows, R, queries):
        return linear(rows, R, queries, alpha)

    loo = model.loo_scores_.toarray()
    np.testing.assert_allclose(loo, left_out(A, Y, fit), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("shape", [(8, 20), (20, 8)])
def test_large_values_are_left_out_as_small_ones_are(shape):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=shape) * 1e3, (rng.random((shape[0], 3)) < 0.4).astype(int)
    model = LabelRidge(metric="dot", keep_loo=True).fit(X, Y)
    expected = left_out(X, Y, lambda rows, R, queries: linear(rows, R, queries, 1.0))
    np.testing.assert_allclose(model.loo_scores_.toarray(), expected, rtol=1e-5)


def test_rows_that_decide_their_own_fit_do_not_see_their_own_labels():
    rng = np.random.default_rng(0)
    X, Y = np.eye(6, 9) * 1e6, (rng.random((6, 3)) < 0.4).astype(int)
    X[4] = X[5] = np.repeat([0.0, 1.0], [6, 3])
    with pytest.warns(UserWarning, match=r"4 of 6 rows decide their own fit, because alpha=1 is"):
        model = LabelRidge(metric="dot", keep_loo=True).fit(X, Y)
    expected = left_out(X, Y, lambda rows, R, queries: linear(rows, R, queries, 1.0))
    np.testing.assert_allclose(expected[:4], np.tile(Y.mean(axis=0), (4, 1)), atol=1e-5)
    np.testing.assert_allclose(model.loo_scores_.toarray(), expected, atol=1e-5)


@given(problems(), alphas, kinds, st.sampled_from([0.1, 1.0]))
def test_gaussian_kernel(problem, alpha, kind, gamma):
    X, Y, Q = problem
    model = LabelRidge(alpha, "rbf", gamma=gamma, keep_loo=True).fit(kind(X), Y)
    mean = Y.mean(axis=0)
    expected = mean + gaussian(X, Y - mean, Q, alpha, gamma)
    np.testing.assert_allclose(model.predict_proba(kind(Q)), expected, rtol=1e-8, atol=1e-9)

    def fit(rows, R, queries):
        return gaussian(rows, R, queries, alpha, gamma)

    np.testing.assert_allclose(
        model.loo_scores_.toarray(), left_out(X, Y, fit), rtol=1e-8, atol=1e-9
    )


def random_problem(n=80, m=40, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, m), density=0.2, format="csr", rng=rng)
    Y = sparse.csr_array((rng.random((n, 7)) < 0.2).astype(np.int32))
    return X, Y, sparse.random_array((20, m), density=0.2, format="csr", rng=rng)


@pytest.mark.parametrize("shape", [(80, 40), (40, 80)])
def test_float32_solves_are_near_float64_ones(monkeypatch, shape):
    X, Y, Q = random_problem(*shape)
    exact = LabelRidge(0.01, keep_loo=True).fit(X, Y)
    monkeypatch.setattr(solver, "FLOAT64_SIZE", 0)
    rough = LabelRidge(0.01, keep_loo=True).fit(X, Y)
    exact_scores, rough_scores = exact.predict_proba(Q), rough.predict_proba(Q)
    assert not np.array_equal(exact_scores, rough_scores)
    np.testing.assert_allclose(rough_scores, exact_scores, atol=1e-6)
    np.testing.assert_allclose(rough.loo_scores_.toarray(), exact.loo_scores_.toarray(), atol=1e-4)


def test_a_float32_solve_is_refined(monkeypatch):
    X, Y, Q = random_problem()
    exact = LabelRidge(1e-3).fit(X, Y).predict_proba(Q)
    monkeypatch.setattr(solver, "FLOAT64_SIZE", 0)
    monkeypatch.setattr(solver, "TOLERATED_RESIDUAL", 0.0)
    refined = LabelRidge(1e-3).fit(X, Y).predict_proba(Q)
    monkeypatch.setattr(solver, "TOLERATED_RESIDUAL", np.inf)
    rough = LabelRidge(1e-3).fit(X, Y).predict_proba(Q)
    assert np.abs(refined - exact).max() < 0.1 * np.abs(rough - exact).max()


@pytest.mark.parametrize(("size", "dtype"), [(20, np.float32), (40, np.float64)])
def test_products_have_the_number_type_they_are_solved_in(monkeypatch, size, dtype):
    monkeypatch.setattr(solver, "FLOAT64_SIZE", size)
    assert solver.product_kernel(random_problem(40, 80)[0]).dtype == dtype
    assert solver.solving_dtype(40) is dtype
    assert solver.solving_dtype(40, 39) is np.float32


def test_float64_up_to_3_000_unknowns_and_4_gib_by_default():
    assert solver.solving_dtype(3_000) is np.float64
    assert solver.solving_dtype(3_001) is np.float32
    assert check_memory(None) == RidgeSettings().max_memory == 4 * 2**30


def test_torch_solves_the_same():
    pytest.importorskip("torch")
    X, Y, Q = random_problem()
    ours = LabelRidge(keep_loo=True).fit(X, Y)
    theirs = LabelRidge(keep_loo=True, backend="torch", device="cpu").fit(X, Y)
    np.testing.assert_allclose(theirs.predict_proba(Q), ours.predict_proba(Q), atol=1e-12)
    np.testing.assert_allclose(theirs.loo_scores_.toarray(), ours.loo_scores_.toarray(), atol=1e-12)


def test_conjugate_gradients_where_memory_is_short(monkeypatch):
    X, Y, Q = random_problem()
    exact = LabelRidge().fit(X, Y).predict_proba(Q)
    monkeypatch.setattr(solver, "TOLERANCE", 1e-9)
    with pytest.warns(UserWarning, match="would exceed max_memory=20000; conjugate gradients"):
        model = LabelRidge(max_memory=20_000, keep_loo=True).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(Q), exact, atol=1e-8)
    mean = Y.toarray().mean(axis=0)
    fold_of = np.arange(80) % solver.RIDGE_FOLDS
    A = unit(X.toarray())
    for fold in range(solver.RIDGE_FOLDS):
        kept = fold_of != fold
        expected = mean + linear(A[kept], Y.toarray()[kept] - mean, A[~kept], 1.0)
        np.testing.assert_allclose(model.loo_scores_.toarray()[~kept], expected, atol=1e-8)


@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e3])
def test_conjugate_gradients_end_with_a_small_residual(factor):
    """For labels of all, some or no rows, and rows of any size."""
    X, Y, _ = random_problem()
    Y = Y.toarray()
    Y[:, 2], Y[:, 5] = 0, 1
    rows, alpha, mean = X * factor, 1e-3 * factor**2, Y.mean(axis=0)
    W = solver.solve_iteratively(rows, sparse.csr_array(Y), mean, alpha)
    A = rows.toarray()
    right = A.T @ (Y - mean)
    residual = np.linalg.norm(right - A.T @ (A @ W) - alpha * W, axis=0)
    assert (residual <= 1e-4 * np.linalg.norm(right, axis=0)).all()
    assert not W[:, [2, 5]].any()


@pytest.mark.parametrize(("n_rows", "step"), [(1, 1), (2, 1), (19, 1), (25, 2), (30, 3)])
def test_the_usual_width_of_a_kernel_is_the_median_distance(n_rows, step, monkeypatch):
    monkeypatch.setattr(solver, "SAMPLED_ROWS", 10)
    rows = np.random.default_rng(0).normal(size=(n_rows, 2)) / 100
    sample = rows[::step]
    squares = [((a - b) ** 2).sum() for place, a in enumerate(sample) for b in sample[:place]]
    expected = 1 / np.median(squares) if squares else 1.0
    assert solver.usual_gamma(rows) == pytest.approx(expected, rel=1e-9)


def test_equal_rows_have_a_kernel_of_width_1():
    assert solver.usual_gamma(np.ones((5, 2))) == 1.0


@pytest.mark.parametrize(
    ("shape", "params", "needed"),
    [
        ((6, 4), {}, 8 * 100 * 4 * 4),
        ((4, 6), {}, 8 * 100 * (3 * 4 + 2 * 6)),
        ((4, 6), {"kernel": "rbf"}, 8 * 100 * 4 * 4),
    ],
)
def test_exactly_the_memory_that_is_asked_for_is_enough(shape, params, needed):
    X = np.random.default_rng(0).random(shape)
    Y = sparse.csr_array(np.eye(shape[0], 100, dtype=np.int32))
    message = rf"at least {needed} bytes for the coefficients of 100 labels"
    with pytest.raises(vicinal.errors.InvalidArgumentError, match=message):
        LabelRidge(max_memory=needed - 1, **params).fit(X, Y)
    LabelRidge(max_memory=needed, **params).fit(X, Y)


def test_a_dense_solve_may_take_all_of_the_memory():
    X, Y, _ = random_problem()
    LabelRidge(max_memory=2 * 40 * 40 * 8).fit(X, Y)
    with pytest.warns(UserWarning, match="a dense solve of 40 unknowns would exceed"):
        LabelRidge(max_memory=2 * 40 * 40 * 8 - 1).fit(X, Y)


def test_numpy_solves_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "vicinal.gpu.mlknn_loss", None)
    X, Y, _ = random_problem()
    LabelRidge().fit(X, Y)


def test_coefficients_that_do_not_fit_are_refused_before_they_are_made():
    X = sparse.csr_array(np.eye(4))
    Y = sparse.csr_array(([1] * 4, ([0, 1, 2, 3], [0, 7, 9, 10**4 - 1])), shape=(4, 10**4))
    with pytest.raises(vicinal.errors.InvalidArgumentError, match=r"1280000 bytes for"):
        LabelRidge(max_memory=10**6).fit(X, Y)


def test_of_several_alphas_the_best_by_leave_one_out_micro_f1():
    X, Y, _ = random_problem(seed=3)
    strengths = [0.03, 0.3, 3.0, 30.0]

    def best_f1(alpha):
        scores = LabelRidge(alpha, keep_loo=True).fit(X, Y).loo_scores_.toarray()
        truth = Y.toarray()
        return max(
            2 * (truth * (scores >= t)).sum() / ((scores >= t).sum() + truth.sum())
            for t in np.unique(scores)
        )

    best, second, third, worst = sorted(strengths, key=best_f1, reverse=True)
    for tried in (strengths, [best, worst], [worst, best], [third, second, worst, best]):
        assert LabelRidge(tried).fit(X, Y).alpha_ == best


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_are_left_out_in_any_order(kind, kernel):
    rng = np.random.default_rng(4)
    X, Y = rng.choice([0.0, 0.5, 1.0, 3.0], size=(30, 5)), (rng.random((30, 3)) < 0.4).astype(int)
    model = LabelRidge(kernel=kernel, keep_loo=True).fit(kind(X), Y)
    nobody = np.empty((30, 0), dtype=np.int32), np.empty((30, 0))
    graph = NeighborGraph(*nobody, model.metric_, n_rows=30)
    training = Training(graph, sparse.csr_array(Y.astype(np.int32)), kind(X))
    every = model.loo_scores_.toarray()
    for rows in (rng.permutation(30), np.array([7, 3, 3]), slice(4, 9)):
        found = model.scoring_.training_scores(training, rows).toarray()
        assert np.array_equal(found, every[rows])


def test_fewer_features_are_those_with_the_largest_squares():
    X, Y, Q = random_problem()
    A, B = unit(X.toarray()), unit(Q.toarray())
    kept = np.sort(np.argsort(-(A * A).sum(axis=0), kind="stable")[:10])
    mean = Y.toarray().mean(axis=0)
    expected = mean + linear(A[:, kept], Y.toarray() - mean, B[:, kept], 1.0)
    model = LabelRidge(max_features=10).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(Q), expected, atol=1e-10)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"max_features": 10}])
def test_saved_and_loaded(tmp_path, params):
    X, Y, Q = random_problem()
    model = LabelRidge([0.3, 1.0], **params).fit(X, Y)
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(Q), model.predict_proba(Q))
    assert (again.predict(Q) != model.predict(Q)).nnz == 0


def test_incremental_learning_equals_a_fit_on_all_rows():
    X, Y, Q = random_problem()
    model = LabelRidge().fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    whole = LabelRidge().fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(Q), whole.predict_proba(Q))
    model.forget(np.arange(10, 30))
    kept = np.r_[0:10, 30:80]
    fewer = LabelRidge().fit(X[kept], Y[kept])
    np.testing.assert_array_equal(model.predict_proba(Q), fewer.predict_proba(Q))
    assert (model.predict(Q) != fewer.predict(Q)).nnz == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, "alpha: expected a number above 0"),
        ({"alpha": []}, "alpha: expected at least one value"),
        ({"alpha": "1"}, "alpha: expected"),
        ({"kernel": "cubic"}, "kernel: expected one of 'rbf'"),
        ({"kernel": "rbf", "gamma": -1}, "gamma: expected a number above 0"),
        ({"max_memory": 0}, "max_memory: expected an integer of at least 1"),
        ({"max_features": 0}, "max_features: expected an integer of at least 1"),
        ({"kernel": "rbf", "max_memory": 102_399}, "max_memory: expected 102400 bytes"),
        ({"backend": "tensorflow"}, "backend: expected one of"),
    ],
)
def test_refuses(params, message):
    X, Y, _ = random_problem()
    with pytest.raises(vicinal.errors.InvalidArgumentError, match=message):
        LabelRidge(**params).fit(X, Y)
