"""ML-ARP's switches: other steps, other starts, a sample's first look, another backend."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from vicinal.reduction import MDDM, MLARP
from vicinal.reduction.mlarp import (
    GROWTH,
    SHRINKAGE,
    DeviceObjective,
    Objective,
    Walk,
    descent,
    start_from,
)

pytestmark = pytest.mark.native

RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 7)) * [3.0, 1, 1, 1, 1, 1, 0.1]
Y = (X[:, 1:4] > 0.3).astype(np.int32)
LABELS = sparse.csr_array(Y)

SWITCHES = [
    {"learned_step": True},
    {"init": "pca"},
    {"init": "mddm"},
    {"restarts": 3, "patience": 4},
    {"sample": 0.5},
    {"sample": 30, "learned_step": True, "restarts": 1, "patience": 5, "init": "pca"},
]


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("backend", [{}, {"backend": "torch", "device": "cpu"}], ids=str)
def test_every_switch_falls_never_rises_and_repeats_itself(switches, backend):
    one, two = (
        MLARP(4, max_iter=40, random_state=3, **switches, **backend).fit(X, Y) for _ in range(2)
    )
    assert len(one.history_) == 41
    assert np.all(np.diff(one.history_) <= 0)
    assert one.history_[-1] < one.history_[0]
    np.testing.assert_array_equal(one.projection_, two.projection_)
    whole = Objective(X, LABELS, 5, 0.0)
    assert whole(one.projection_) == one.history_[-1], "the loss is that of all rows"


def scripted(verdicts, tried):
    """Return a loss that gives these verdicts one after the other, and notes what it was asked."""

    def loss_of(P):
        tried.append(P.copy())
        return next(verdicts)

    return loss_of


def test_a_learned_step_grows_and_shrinks():
    tried = []
    verdicts = itertools.chain([5.0, 4.0], itertools.repeat(9.0))
    walk = Walk(sigma=1.0, learned=True)
    start = np.zeros((200, 200))
    steps = descent(scripted(verdicts, tried), lambda: start, walk, np.random.default_rng(0))
    list(itertools.islice(steps, 6))
    # The start, a step that helped, the same step again in vain, then new ones from the second.
    sizes = [_deviation(tried[i] - tried[1]) for i in (3, 4, 5)]
    expected = [GROWTH * SHRINKAGE**n for n in (1, 2, 3)]
    np.testing.assert_allclose(sizes, expected, rtol=0.05)


def _deviation(step):
    return np.std(step[step != 0])


def test_restarts_begin_anew_after_patience_and_keep_the_best():
    tried, starts = [], iter([np.zeros((2, 2)), np.full((2, 2), 100.0), np.full((2, 2), 200.0)])
    verdicts = itertools.chain([5.0, 9, 9, 7.0, 9, 9, 3.0], itertools.repeat(8.0))
    walk = Walk(restarts=2, patience=2)
    steps = descent(scripted(verdicts, tried), lambda: next(starts), walk, np.random.default_rng(0))
    seen = list(itertools.islice(steps, 40))
    assert [loss for _, loss in seen[:7]] == [5.0, 5, 5, 5, 5, 5, 3.0]
    assert [round(float(P[0, 0]), -2) for P in tried[:8]] == [0, 0, 0, 100, 100, 100, 200, 200]
    assert all(loss == 3.0 for _, loss in seen[6:]), "no fourth start"
    np.testing.assert_array_equal(seen[3][0], np.zeros((2, 2)))


def test_a_step_that_fails_on_the_sample_is_not_looked_at_on_all_rows():
    full, cheap = [], []
    looks = itertools.chain([1.0, 2.0, 0.5, 0.7], itertools.repeat(9.0))
    verdicts = iter([5.0, 4.0])

    def loss_of(P):
        full.append(P.copy())
        return next(verdicts)

    steps = descent(
        loss_of,
        lambda: np.zeros((2, 2)),
        Walk(),
        np.random.default_rng(0),
        lambda: scripted(looks, cheap),
    )
    losses = [loss for _, loss in itertools.islice(steps, 6)]
    # Looks: the start at 1, a step at 2 (no), one at 0.5 (yes, and kept), its look anew at 0.7.
    assert losses == [5.0, 5.0, 4.0, 4.0, 4.0, 4.0]
    assert len(full) == 2
    np.testing.assert_array_equal(cheap[2], full[1])


def test_a_promising_step_is_kept_only_if_all_rows_agree():
    looks = itertools.count(0, -1)  # ever better
    losses = [5.0, 6.0, 5.0, 4.0]
    steps = descent(
        scripted(iter(losses), []),
        lambda: np.zeros((2, 2)),
        Walk(),
        np.random.default_rng(0),
        lambda: scripted(looks, []),
    )
    assert [loss for _, loss in itertools.islice(steps, 4)] == [5.0, 5.0, 5.0, 4.0]


@pytest.mark.parametrize("rows", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_a_start_from_principal_components(rows):
    P = start_from("pca", rows, LABELS, 5, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(P, axis=0), np.sqrt(7))
    expected = PCA(5).fit(X).components_.T * np.sqrt(7)
    np.testing.assert_allclose(np.abs(P), np.abs(expected), atol=1e-8)


@pytest.mark.parametrize("limit", [8, 0])
def test_principal_components_of_more_features_than_rows(monkeypatch, limit):
    monkeypatch.setattr("vicinal.reduction.mlarp.SQUARE", limit)
    wide = X[:8].T.copy().T if limit else X  # by the rows' square matrix, or by iteration
    if limit:
        wide = np.hstack([wide, RNG.normal(size=(8, 20))])
    P = start_from("pca", wide, LABELS, 3, np.random.default_rng(0))
    expected = PCA(3).fit(wide).components_.T * np.sqrt(wide.shape[1])
    np.testing.assert_allclose(np.abs(P), np.abs(expected), atol=1e-6)


def test_a_start_from_mddm_has_a_column_a_label_and_zeros():
    P = start_from("mddm", X, LABELS, 5, np.random.default_rng(0))
    expected = MDDM(3).fit(X, Y).projection_ * np.sqrt(7)
    np.testing.assert_allclose(P[:, :3], expected)
    assert not P[:, 3:].any()


@pytest.mark.parametrize("init", ["pca", "mddm"])
@pytest.mark.parametrize("rows", [X[:1], np.ones((5, 7))], ids=["one row", "constant"])
def test_starts_where_nothing_varies(init, rows):
    assert not start_from(init, rows, LABELS[: len(rows)], 2, np.random.default_rng(0)).any()


@pytest.mark.parametrize("rows", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("metric", ["hamming-loss", "micro-f1"])
def test_the_loss_on_a_device_is_that_here(rows, metric):
    here = Objective(rows, LABELS, 5, 0.0, metric)
    there = DeviceObjective.of(here, "cpu")
    some = np.array([3, 4, 8, 20, 21, 40, 41, 60, 80])
    for seed in range(5):
        P = np.random.default_rng(seed).normal(size=(7, 3))
        assert there(P) == here(P)
        assert (
            there.of_rows(some)(P)
            == here.of_rows(some)(P)
            == Objective(X[some], LABELS[some], 5, 0.0, metric)(P)
        )


def test_without_a_gpu_the_search_is_that_of_the_cpu(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.warns(UserWarning, match="no CUDA device"):
        found = MLARP(3, max_iter=5, random_state=0, backend="torch").fit(X, Y)
    np.testing.assert_array_equal(
        found.projection_, MLARP(3, max_iter=5, random_state=0).fit(X, Y).projection_
    )
