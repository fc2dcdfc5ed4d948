"""Nested evaluation never sees the rows it is tested on."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vicinal.methods import METHODS
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax
from vicinal.selection import NestedResult, nested, runner, tune
from vicinal.selection import nested as nested_function
from vicinal.selection.stratification import read_splits

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)
nested = partial(nested, preprocess=None)

pytestmark = pytest.mark.native

RNG = np.random.default_rng(11)
X = RNG.random((60, 4)) * [1, 10, 100, 1]
Y = (X[:, :3] > np.median(X[:, :3], axis=0)).astype(int) ^ (RNG.random((60, 3)) < 0.2)
OUTER = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(0, 20))]
GRID = {"n_neighbors": [1, 3, 7]}


def test_the_choice_does_not_depend_on_the_test_rows() -> None:
    other_X, other_Y = X.copy(), Y.copy()
    other_X[40:], other_Y[40:] = 1e6, 1
    options: dict[str, Any] = {
        "outer": OUTER[:1],
        "inner": 3,
        "grid": GRID,
        "preprocess": MinMax(),
    }
    found = nested(["mlknn", "brknn"], X, Y, **options)
    other = nested(["mlknn", "brknn"], other_X, other_Y, **options)
    assert found.chosen == other.chosen
    assert not np.array_equal(found.values, other.values)


def test_tuning_gets_the_training_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__(nested_function.__module__, fromlist=["tune"])
    seen = []

    def watched(methods: Any, rows: Any, labels: Any, *rest: Any, **options: Any) -> Any:
        seen.append((rows, labels))
        return tune(methods, rows, labels, *rest, **options)

    monkeypatch.setattr(module, "tune", watched)
    nested("mlknn", X, Y, outer=OUTER, inner=2, grid=GRID)
    for (rows, labels), (train, _) in zip(seen, OUTER, strict=True):
        assert np.array_equal(rows, X[train])
        assert np.array_equal(labels.toarray(), Y[train])


@pytest.mark.parametrize("conventions", ["vicinal", "sklearn"])
def test_values_are_those_of_the_chosen_setting_on_the_test_rows(conventions: str) -> None:
    methods = ["mlknn", "lpknn"]
    found = nested(methods, X, Y, "micro-f1", OUTER, 3, GRID, conventions=conventions)
    for fold, (train, test) in enumerate(OUTER):
        inner = tune(methods, X[train], Y[train], "micro-f1", 3, GRID, conventions=conventions)
        best = inner.best["micro-f1"]
        assert found.chosen[fold] == best
        model = METHODS[best.method](**best.params).fit(X[train], Y[train])
        expected = evaluate(
            Y[test],
            model.predict(X[test]),
            model.scores(X[test]),
            metrics=found.metrics,
            conventions=conventions,
            train_label_counts=Y[train],
        )
        np.testing.assert_equal(dict(zip(found.metrics, found.values[fold], strict=True)), expected)
    assert found.mean()["micro-f1"] == pytest.approx(
        found.values[:, found.metrics.index("micro-f1")].mean()
    )


def test_a_number_of_outer_folds_is_stratified() -> None:
    found = nested("brknn", X, sparse.csr_array(Y), outer=3, inner=2, grid=GRID, metrics=[])
    splits = read_splits(3, X, sparse.csr_array(Y))
    assert found.values.shape == (3, 1)
    again = nested(
        "brknn", X, Y, outer=[(s.train, s.test) for s in splits], inner=2, grid=GRID, metrics=[]
    )
    assert np.array_equal(found.values, again.values)


def stop_after(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    """Let the user press Ctrl-C when so many pieces of work were done; a tuning here has two."""
    measure, left = runner.measure, [pieces]

    def interrupted(*arguments: Any) -> Any:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return measure(*arguments)

    monkeypatch.setattr(runner, "measure", interrupted)


@pytest.mark.parametrize("pieces", [2, 3])
def test_an_interrupt_gives_the_folds_that_were_finished(
    pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(monkeypatch, pieces)
    found = nested("brknn", X, Y, outer=OUTER, inner=2, grid=GRID)
    assert not found.complete
    assert len(found.chosen) == len(found.values) == 1


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_an_interrupted_run_resumes_with_the_same_results(
    pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(**options: Any) -> NestedResult:
        return nested("brknn", X, Y, outer=OUTER, inner=2, grid=GRID, **options)

    whole, store = run(), tmp_path / "kept"
    for left in (pieces, 4 - pieces, 0):  # no piece is done twice
        with monkeypatch.context() as patch:
            stop_after(patch, left)
            try:
                found = run(store=store)
            except KeyboardInterrupt:  # before the first fold was finished
                assert pieces == left == 1
    assert found.complete
    assert found.chosen == whole.chosen
    assert np.array_equal(found.values, whole.values)
    kept = {file.name for file in store.iterdir() if file.suffix != ".lock"}
    assert kept == {"fold-1.jsonl", "fold-2.jsonl"}


def test_a_store_of_other_rows_or_a_file_is_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"outer": OUTER, "inner": 2, "grid": GRID}
    nested("brknn", X, Y, store=tmp_path / "kept", **options)
    with pytest.raises(ValueError, match="store: expected results of the same rows"):
        nested("brknn", X + 1, Y, store=tmp_path / "kept", **options)
    with pytest.raises(ValueError, match="store: expected a folder, or a new path"):
        nested("brknn", X, Y, store=tmp_path / "kept" / "fold-1.jsonl", **options)


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="Y: expected at least one label"):
        nested("brknn", [], [])


@pytest.mark.parametrize("option", ["cv", "refit", "label_names"])
def test_options_that_make_no_sense_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"no {option} in a nested evaluation"):
        nested("brknn", X, Y, **{option: 1})
