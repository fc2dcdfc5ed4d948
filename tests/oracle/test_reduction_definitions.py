"""The reductions solve the problems that define them: dense matrices, written out in full."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.cross_decomposition import CCA

from vicinal.reduction import MDDM, OPLS, LabelCCA, _eigen, _projection, mddm

SHAPES = {"tall": (40, 7, 4), "wide": (15, 30, 4), "more labels than features": (40, 3, 6)}


@pytest.fixture(params=SHAPES)
def data(request):
    """Rows whose mean is far from 0, half of the cells 0, and labels that depend on them."""
    n, m, n_labels = SHAPES[request.param]
    rng = np.random.default_rng(3)
    X = np.where(rng.random((n, m)) < 0.5, rng.normal(2.0, 1.0, (n, m)), 0.0)
    Y = (X @ rng.normal(size=(m, n_labels)) + rng.normal(size=(n, n_labels)) > 0).astype(int)
    return X, Y


def in_small_blocks(patch):
    """Compute matrices of labels two columns at a time, and those of sparse rows in four rows."""
    patch.setattr(_projection, "GRAM_ROWS", 4)
    patch.setattr(_eigen, "LARGE_BLOCK_CELLS", 100)


@pytest.fixture(params=["direct", "in blocks", "by products"])
def route(request, monkeypatch):
    """The same answers where every side is taken for large."""
    if request.param == "in blocks":
        in_small_blocks(monkeypatch)
    if request.param == "by products":
        monkeypatch.setattr(_eigen, "SMALL_SIDE", 0)
        monkeypatch.setattr(_eigen, "FEW_LABELS", 0)
        monkeypatch.setattr(mddm, "CROSS_CELLS", 0)
    return request.param


def centred(A):
    return A - A.mean(axis=0)


def penalty(A, share):
    return share * np.trace(A.T @ A) / min(A.shape)


def same_span(A, B):
    """Whether the columns of A and B span the same space."""
    return np.allclose(linalg.subspace_angles(A, B), 0.0, atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_mddm_orthonormal(data, kind, route):
    X, Y = data
    r = 2
    found = MDDM(r).fit(kind(X), kind(Y))
    P = found.projection_
    left, values, _ = np.linalg.svd(centred(X).T @ Y)
    np.testing.assert_allclose(P.T @ P, np.eye(r), atol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(P * left[:, :r], axis=0)), 1.0, atol=1e-10)
    np.testing.assert_allclose(found.strengths_, values[:r] ** 2)
    np.testing.assert_allclose(found.transform(kind(X)), centred(X) @ P, atol=1e-10)


def check_eigen_equation(W, strengths, M, B):
    """Check ``M w = λ B w``, ``WᵀBW = I``, and that no λ that is larger was left out."""
    np.testing.assert_allclose(W.T @ B @ W, np.eye(W.shape[1]), atol=1e-7)
    scale = np.abs(M @ W).max()
    np.testing.assert_allclose(M @ W, B @ W * strengths, atol=1e-7 * scale)
    largest = linalg.eigh(M, B, eigvals_only=True)[::-1][: W.shape[1]]
    np.testing.assert_allclose(strengths, largest, rtol=1e-7)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("center", [True, False])
def test_opls(data, kind, center, route):
    X, Y = data
    found = OPLS(2, regularization=0.01, center=center).fit(kind(X), kind(Y))
    A = centred(X) if center else X
    B = A.T @ A + penalty(A, 0.01) * np.eye(X.shape[1])
    check_eigen_equation(found.projection_, found.strengths_, A.T @ Y @ Y.T @ A, B)
    np.testing.assert_allclose(found.transform(X), A @ found.projection_, atol=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_label_cca(data, kind, route):
    X, Y = data
    found = LabelCCA(2, regularization=0.01).fit(kind(X), kind(Y))
    A, T = centred(X), centred(Y)
    B = A.T @ A + penalty(A, 0.01) * np.eye(A.shape[1])
    C = T.T @ T + penalty(T, 0.01) * np.eye(T.shape[1])
    M = A.T @ T @ np.linalg.solve(C, T.T @ A)
    check_eigen_equation(found.projection_, found.correlations_**2, M, B)
    np.testing.assert_allclose(found.transform(X), A @ found.projection_, atol=1e-8)


def test_small_blocks_are_several(data, monkeypatch):
    """What the route "in blocks" takes: every product has fewer rows or columns than the matrix."""
    X, Y = data
    parts, columns = [], []
    dense, solve = _projection._dense, _eigen.ridge

    def seen_part(product):
        parts.append(product.shape[0])
        return dense(product)

    def seen_columns(rows, penalty):
        regress = solve(rows, penalty)
        return lambda T: columns.append(T.shape[1]) or regress(T)

    in_small_blocks(monkeypatch)
    monkeypatch.setattr(_projection, "_dense", seen_part)
    monkeypatch.setattr(_eigen, "ridge", seen_columns)
    LabelCCA(2, regularization=0.01).fit(sparse.csr_array(X), sparse.csr_array(Y))
    side = min(X.shape)
    assert parts[: -(-side // 4)] == [4] * (side // 4) + [side % 4] * (side % 4 > 0)
    assert len(columns) > 2
    assert sum(columns[:-1]) == Y.shape[1]  # the last product is that of the directions found


def test_mddm_uncorrelated_is_opls_of_centred_rows(data):
    X, Y = data
    A = centred(X)
    found = MDDM(2, "uncorrelated", regularization=0.01).fit(X, Y)
    B = A.T @ A + penalty(A, 0.01) * np.eye(A.shape[1])
    check_eigen_equation(found.projection_, found.strengths_, A.T @ Y @ Y.T @ A, B)
    other = OPLS(2, regularization=0.01).fit(X, Y)
    np.testing.assert_allclose(found.projection_, other.projection_)


def test_cca_spans_what_scikit_learns_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) * [1, 5, 1, 1, 0.1, 1]
    Y = (X @ rng.normal(size=(6, 3)) + rng.normal(size=(200, 3)) > 0).astype(int)
    ours = LabelCCA(2, regularization=1e-12).fit(X, Y)
    theirs = CCA(2, max_iter=10000, tol=1e-14).fit(X, Y)
    assert same_span(ours.transform(X), theirs.transform(X))
    u, v = theirs.transform(X, Y)
    expected = [np.corrcoef(u[:, i], v[:, i])[0, 1] for i in range(2)]
    np.testing.assert_allclose(ours.correlations_, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", [MDDM, OPLS, LabelCCA])
def test_rank_is_what_there_is(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 8))
    y = (X[:, :1] > 0).astype(int)
    Y = np.hstack([y, y, (X[:, 1:2] > 0).astype(int)])  # a label twice: rank 2
    with pytest.warns(UserWarning, match="only have 2 directions"):
        found = kind(n_components=5).fit(X, Y)
    assert found.transform(X).shape == (30, 2)
    assert kind().fit(X, Y).transform(X).shape == (30, 2), "None asks for those there are"


def test_many_labels_need_a_number():
    with pytest.raises(ValueError, match="n_components: expected a number"):
        OPLS().fit(np.eye(2), sparse.csr_array((2, _eigen.FEW_LABELS + 1)))
