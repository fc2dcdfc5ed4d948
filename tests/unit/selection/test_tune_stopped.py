"""A tuning that is stopped: the best so far, and going on from a file."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vicinal.selection import TuningResult, runner, tune

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)

pytestmark = pytest.mark.native

RNG = np.random.default_rng(5)
X, Y = RNG.random((40, 3)), (RNG.random((40, 3)) < 0.4).astype(int)
METHODS = ["brknn", "lcif", "lamlknn"]
GRID = {
    "n_neighbors": [1, 3, 9],
    "n_neighbors_instance": [1, 4],
    "n_clusters": [1, 2],
    "mixing": [0, 0.5],
}


def run(**options: Any) -> TuningResult:
    return tune(METHODS, X, Y, cv=3, grid=GRID, **options)


def stop_after(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    """Let the user press Ctrl-C when so many pieces of work were done."""
    measure, done = runner.measure, []

    def interrupted(*arguments: Any) -> Any:
        if len(done) == pieces:
            raise KeyboardInterrupt
        done.append(1)
        return measure(*arguments)

    monkeypatch.setattr(runner, "measure", interrupted)


def assert_same(a: TuningResult, b: TuningResult) -> None:
    assert a.table.methods == b.table.methods
    assert a.table.params == b.table.params
    assert np.array_equal(a.table.values, b.table.values, equal_nan=True)
    assert np.array_equal(a.table.done, b.table.done)
    assert a.best == b.best
    assert np.array_equal(a.estimator.predict(X), b.estimator.predict(X))


@pytest.mark.parametrize("pieces", [1, 3, 4, 8])
def test_an_interrupted_run_resumes_with_the_same_results(
    pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run()
    with monkeypatch.context() as stopped:
        stop_after(stopped, pieces)
        part = run(store=tmp_path / "kept")
    assert not part.complete
    assert part.table.done.sum() < whole.table.done.sum()
    with monkeypatch.context() as rest:
        stop_after(rest, 9 - pieces)  # three methods on three folds: no piece is done twice
        resumed = run(store=tmp_path / "kept")
    assert resumed.complete
    assert_same(resumed, whole)
    with monkeypatch.context() as nothing:
        stop_after(nothing, 0)
        assert_same(run(store=tmp_path / "kept"), whole)


def test_an_interrupt_returns_the_best_of_the_settings_with_most_folds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = run()
    stop_after(monkeypatch, 4)  # all three methods on one fold, brknn on two
    found = run()
    assert not found.complete
    assert {best.method for best in found.best.values()} == {"brknn"}
    rows = [row for row, method in enumerate(whole.table.methods) if method == "brknn"]
    means = whole.table.of("example-f1")[rows][:, :2].mean(axis=1)
    assert found.best["example-f1"].mean == means.max()
    assert found.best["example-f1"].params == whole.table.params[rows[int(means.argmax())]]
    assert type(found.estimator).__name__ == "BRkNN"


def test_the_bar_counts_settings_including_stored_ones(tmp_path: Path, bars: list[Any]) -> None:
    run(store=tmp_path / "kept")
    whole, moves = [bar for bar in bars if bar.description == "Tuning"], 3 * (3 + 4 + 6)
    assert [bar.total for bar in whole] == [moves]
    assert sum(whole[0].moves) == moves
    assert len(whole[0].moves) > 9
    assert "Searching" in {bar.description for bar in bars}
    bars.clear()
    run(store=tmp_path / "kept", refit=False)
    assert [(bar.description, bar.moves) for bar in bars] == [("Tuning", [3, 4, 6] * 3)]
    bars.clear()
    run(progress=False)
    assert bars == []


def test_an_interrupt_before_anything_was_measured_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        run()


def test_the_edge_rule_and_refinement_resume_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    rows = rng.random((150, 2)) + 0.1
    noise = (rng.random((150, 3)) < [0.6, 0.2, 0.3]).astype(int)

    def searched(**options: Any) -> TuningResult:
        return tune("instance-knn", rows, noise, "micro-auc", 2, metrics=[], fast=True, **options)

    whole = searched()
    assert max(params["n_neighbors"] for params in whole.table.params) == 59
    with monkeypatch.context() as stopped:
        stop_after(stopped, 5)
        assert not searched(store=tmp_path / "kept").complete
    resumed = searched(store=tmp_path / "kept")
    assert resumed.table.params == whole.table.params
    assert np.array_equal(resumed.table.values, whole.table.values, equal_nan=True)


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    whole = run(store=kept)
    content = kept.read_bytes()
    kept.write_bytes(content[:-20])
    assert_same(run(store=kept), whole)
    assert kept.read_bytes() == content


def test_results_of_other_rows_are_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    run(store=kept)
    with pytest.raises(ValueError, match="store: expected results of the same rows"):
        tune(METHODS, X + 1, Y, cv=3, grid=GRID, store=kept)
    with pytest.raises(ValueError, match="store: expected results of the same rows"):
        tune(METHODS, X, Y, cv=4, grid=GRID, store=kept)


def test_stored_values_of_another_grid_or_metric_are_not_reused(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    tune("brknn", X, Y, cv=3, grid={"n_neighbors": [1, 2]}, store=kept)
    for grid, metrics in (({"n_neighbors": [1, 3]}, None), ({"n_neighbors": [1, 2]}, ["coverage"])):
        options: dict[str, Any] = {"cv": 3, "grid": grid, "metrics": metrics}
        got, fresh = tune("brknn", X, Y, store=kept, **options), tune("brknn", X, Y, **options)
        assert np.array_equal(got.table.values, fresh.table.values, equal_nan=True)


FOREIGN = ["hello\n", "hello", '{"a": 1}\n', '{"a": 1}', "[]\n", '{"work": "w", "values": 1}\n']


@pytest.mark.parametrize("content", FOREIGN)
def test_a_file_of_something_else_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text(content)
    with pytest.raises(ValueError, match="results of a tuning"):
        run(store=tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == content


def test_tasks_without_a_digest_are_rejected(tmp_path: Path) -> None:
    run(store=tmp_path / "kept")
    pieces = (tmp_path / "kept").read_text().splitlines(keepends=True)[1:]
    (tmp_path / "kept").write_text("".join(pieces))
    with pytest.raises(ValueError, match="line 1: expected 'tuning of' first"):
        run(store=tmp_path / "kept")


def test_damage_in_the_middle_raises(tmp_path: Path) -> None:
    run(store=tmp_path / "kept")
    lines = (tmp_path / "kept").read_text().splitlines()
    lines[2] = lines[2][:-3]
    (tmp_path / "kept").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="line 3: expected results of a tuning"):
        run(store=tmp_path / "kept")


@pytest.mark.parametrize("method", ["mlknn", "lcif", "sklearn.neighbors:KNeighborsClassifier"])
def test_results_are_stored_as_they_are_computed(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt in the middle of a fold keeps the settings of that fold."""
    measure = runner.measure
    grid = {"n_neighbors": [1, 3, 9]}
    if method == "lcif":
        grid = {"n_neighbors_instance": [1, 4, 6], "mixing": [0, 0.5]}

    def interrupted(*arguments: Any) -> Any:
        for number, group in enumerate(measure(*arguments)):
            if number == 2:
                raise KeyboardInterrupt
            yield group

    asked: list[int] = []

    def counted(grid: Any, positions: Any, *rest: Any) -> Any:
        asked.append(len(positions))
        return measure(grid, positions, *rest)

    kept = tmp_path / "kept"
    with monkeypatch.context() as patch:
        patch.setattr(runner, "measure", interrupted)
        assert not tune(method, X, Y, cv=2, grid=grid, store=kept, refit=False).complete
    monkeypatch.setattr(runner, "measure", counted)
    resumed = tune(method, X, Y, cv=2, grid=grid, store=kept, refit=False)
    whole = tune(method, X, Y, cv=2, grid=grid, refit=False)
    each = 2 if method == "lcif" else 1  # settings that are scored together
    assert asked[0] == each  # two of three groups of the first fold were stored
    assert np.array_equal(resumed.table.values, whole.table.values)
