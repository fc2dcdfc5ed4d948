"""``n_jobs`` reaches every compiled loop behind an estimator, and changes no answer."""

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from vicinal._core.threads import using_threads
from vicinal.methods import METHODS
from vicinal.reduction import MLARP
from vicinal.selection import tune

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)

pytestmark = pytest.mark.native

BLAS_ALONE = {"label-ridge"}
"""Methods that call no compiled loop of ours where rows are dense."""
SHARED_BLOCKS = {"blend"}
"""Methods whose threads share blocks of rows among them, so that loops within one have one."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of threads, which comes last, of every call of a compiled loop that scores."""
    threads: list[int] = []

    def watched(call: Any) -> Any:
        def counted(*arguments: Any) -> Any:
            threads.append(arguments[-1])
            return call(*arguments)

        return counted

    votes = import_module("vicinal.graph")  # the package has a function of that name
    dml = import_module("vicinal.methods.dmlknn")
    sums = import_module("vicinal.methods._formulas")
    for module, kind, method in ((votes, "VoteTable", "extend"), (dml, "DmlCounts", "count")):
        native = getattr(module, kind)
        body = {method: watched(getattr(native, method))}
        monkeypatch.setattr(module, kind, type(kind, (native,), body))
    monkeypatch.setattr(dml, "FEW_COMPARISONS", -1)  # however few, threads are for many
    monkeypatch.setattr(sums, "row_sums", watched(sums.row_sums))
    local = import_module("vicinal.methods.local_ridge")
    for loop in ("local_ridge_dense", "label_weights"):
        monkeypatch.setattr(local, loop, watched(getattr(local, loop)))
    trees = import_module("vicinal.methods.blend.mixture")
    monkeypatch.setattr(trees, "tree_sums", watched(trees.tree_sums))
    return threads


@pytest.mark.parametrize("name", METHODS)
def test_every_loop_is_told(name: str, make_method: Any, sample: Any, asked: list[int]) -> None:
    answers = []
    for n_jobs in (1, 2, 5):
        asked.clear()
        model = make_method(name, n_jobs=n_jobs).fit(sample.X[:-3], sample.Y[:-3])
        model.predict(sample.X_test)
        if hasattr(model, "partial_fit"):
            model.partial_fit(sample.X[-3:], sample.Y[-3:])
            model.forget([0, 7])
        answers.append(model.scores(sample.X_test).toarray())
        within = {1} if name in SHARED_BLOCKS else set()
        assert set(asked) | within == (set() if name in BLAS_ALONE else {n_jobs} | within)
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


def test_few_comparisons_of_votes_are_made_on_one_thread(
    sample: Any, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = METHODS["dmlknn"](n_jobs=2).fit(sample.X, sample.Y)
    for most, n_threads in ((2**20, 1), (3, 2)):
        monkeypatch.setattr("vicinal.methods.dmlknn.FEW_COMPARISONS", most)
        asked.clear()
        with using_threads(2):
            model.scoring_.matching(model.scoring_.counts)
        assert asked == [n_threads]


def test_tuning_tells_every_loop(sample: Any, asked: list[int]) -> None:
    tables = []
    grid = {"n_neighbors": [2, 4], "n_neighbors_instance": [3], "n_neighbors_feature": [2]}
    for n_jobs in (1, 2, 5):
        asked.clear()
        found = tune("all", sample.X, sample.Y, cv=2, grid=grid, n_jobs=n_jobs, refit=False)
        tables.append(found.table.values)
        assert set(asked) | {1} == {1, n_jobs}  # 1 within the blocks of a blend
    assert np.array_equal(tables[0], tables[1], equal_nan=True)
    assert np.array_equal(tables[0], tables[2], equal_nan=True)


@pytest.mark.parametrize("objective", ["hamming-loss", "micro-f1"])
def test_a_projection_learned_by_votes_tells_them(
    objective: str, sample: Any, asked: list[int]
) -> None:
    model = MLARP(2, max_iter=2, objective=objective, random_state=0, n_jobs=3)
    model.fit(sample.X, sample.Y)
    assert set(asked) == {3}
