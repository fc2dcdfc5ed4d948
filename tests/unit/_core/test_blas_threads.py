"""What a fit finds does not depend on the number of BLAS threads, and no such thread busy-waits."""

from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vicinal import Blend, LabelRidge
from vicinal._core.threads import one_blas_thread
from vicinal.baselines import RankSVM
from vicinal.methods.blend import global_ridge
from vicinal.methods.label_ridge import ridge_scoring, solver
from vicinal.reduction import MDDM, OPLS, LabelCCA


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 150))
    return X, (X[:, :12] + rng.normal(size=(400, 12)) > 0.8).astype(np.int32)


def bits(make, rows, threads):
    X, Y = rows
    with threadpool_limits(threads, user_api="blas"):
        model = make().fit(X, Y)
        found = model.decision_function(X) if hasattr(model, "decision_function") else None
        return (model.transform(X) if found is None else found).tobytes()


@pytest.mark.parametrize(
    "make",
    [
        MDDM,
        lambda: MDDM(constraint="uncorrelated"),
        OPLS,
        LabelCCA,
        lambda: RankSVM(kernel="rbf", max_iter=20, tol=0.5),
    ],
)
def test_the_same_bits_whatever_the_threads(make, rows):
    assert len({bits(make, rows, threads) for threads in (1, 2, 4)}) == 1


def blas_threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


@pytest.fixture
def limits(monkeypatch):
    """The number of BLAS threads at every factorisation and every score."""
    seen = []

    def watched(module, name):
        inner = getattr(module, name)

        def outer(*given, **named):
            seen.extend(blas_threads())
            return inner(*given, **named)

        monkeypatch.setattr(module, name, outer)

    watched(global_ridge, "_inverse")
    watched(global_ridge, "_lower")
    watched(global_ridge, "_kernel")
    watched(global_ridge, "leverages")
    watched(solver, "inverse")
    watched(ridge_scoring, "fit_of")
    with threadpool_limits(2, user_api="blas"):
        yield seen


@pytest.mark.parametrize("make", [Blend, LabelRidge, lambda: LabelRidge(kernel="rbf")])
def test_no_thread_of_blas_waits_in_a_loop(make, rows, limits):
    X, Y = rows
    if make is Blend:
        X = X[:, :20]  # few columns are measurements, whose ridge has a kernel
    model = make().fit(X, Y)
    assert limits
    assert set(limits) == {1}
    limits.clear()
    model.predict(X[:5])
    if isinstance(model, Blend):
        model.partial_fit(X[:1], Y[:1])
        model.forget([400])
    assert set(limits) == {1}
    assert set(blas_threads()) == {2}


def test_large_systems_are_solved_by_all_threads(monkeypatch, rows, limits):
    monkeypatch.setattr(ridge_scoring, "FEW_UNKNOWNS", 100)
    LabelRidge(n_jobs=2).fit(*rows)
    assert 2 in limits


def test_the_limit_ends_with_the_last_thread_within():
    with threadpool_limits(2, user_api="blas"), ExitStack() as first, ExitStack() as second:
        first.enter_context(one_blas_thread())
        second.enter_context(one_blas_thread())
        first.close()
        assert set(blas_threads()) == {1}
        second.close()
        assert set(blas_threads()) == {2}
