"""Pictures of a tuning hold what they should, and are refused where there is nothing to draw."""

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.dummy import DummyClassifier

import vicinal
from vicinal.decision import PerLabelThreshold
from vicinal.metrics import evaluate
from vicinal.selection import TuningResult, tune
from vicinal.selection.plots import plot_threshold, threshold_curve

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)

pytestmark = pytest.mark.native

RNG = np.random.default_rng(3)
X = RNG.random((60, 4))
Y = (X[:, :3] + RNG.normal(scale=0.2, size=(60, 3)) > 0.5).astype(int)
GRID = {
    "n_neighbors": [1, 3, 5, 9],
    "n_neighbors_instance": [1, 5, 9],
    "n_neighbors_feature": [1, 2],
    "mixing": [0.0, 0.5, 1.0],
}


@pytest.fixture(scope="module")
def found() -> TuningResult:
    return tune(["mlknn", "lcif"], X, Y, cv=3, grid=GRID, metrics=["example-f1", "hamming-loss"])


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    figures: list[Figure] = []
    save = Figure.savefig

    def kept(figure: Figure, *arguments: object, **options: object) -> None:
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    return figures


@pytest.mark.parametrize("metric", ["example-f1", "hamming-loss"])
def test_curves_are_the_best_of_each_k(
    metric: str, found: TuningResult, drawn: list[Figure], tmp_path: Path
) -> None:
    found.plot_neighbors(tmp_path / "k.png", metric)
    assert (tmp_path / "k.png").stat().st_size > 10_000
    lines = drawn[0].axes[0].lines
    curve = next(line for line in lines if line.get_label() == "lcif")
    means = found.table.mean(metric)
    best_of = np.min if metric == "hamming-loss" else np.max
    expected = [
        best_of(
            [
                mean
                for mean, params in zip(means, found.table.params, strict=True)
                if params.get("n_neighbors_instance") == k
            ]
        )
        for k in (1, 5, 9)
    ]
    assert curve.get_ydata() == pytest.approx(expected, abs=0)
    ring = next(line for line in lines if line.get_label() == "chosen")
    best = found.best[metric]
    k = best.params.get("n_neighbors", best.params.get("n_neighbors_instance"))
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (k, best.mean)


def test_cells_of_the_map_are_the_best_of_the_parameter_not_shown(
    found: TuningResult, drawn: list[Figure], tmp_path: Path
) -> None:
    found.plot_mixing(tmp_path / "map.svg")
    left = drawn[0].axes[0].images[0].get_array()
    means = found.table.mean("example-f1")
    cell = [
        mean
        for mean, params in zip(means, found.table.params, strict=True)
        if params.get("mixing") == 0.5 and params["n_neighbors_instance"] == 9
    ]
    assert left is not None
    assert left.shape == (3, 3)
    assert left[1, 2] == max(cell)


def test_the_threshold_curve_is_that_of_fixed_thresholds(
    found: TuningResult, drawn: list[Figure], tmp_path: Path
) -> None:
    model = vicinal.InstanceKNN(5).fit(X, Y)
    graph = vicinal.index.build_index(X, "cosine").query_self(5)
    scores = model.scoring_.scores(graph)
    curve = threshold_curve(scores, model.scoring_.Y, "micro-f1", model.decision_, n_points=7)
    assert curve.chosen == model.decision_.rule.value
    rows = scores.toarray()
    for t, value in zip(curve.thresholds, curve.values, strict=True):
        predicted = rows > t
        predicted[np.arange(60), rows.argmax(axis=1)] = True  # every row gets its best label
        assert value == evaluate(Y, predicted, metrics="micro-f1")["micro-f1"]
    found.plot_threshold(tmp_path / "t.png", "micro-f1")
    assert len(drawn[0].axes[0].lines) == 2  # the curve, and the threshold in use


def test_nothing_to_draw_raises(tmp_path: Path) -> None:
    bare = tune("mlknn", X, Y, cv=2, grid={"smoothing": [0.5, 1.0]}, metrics=[], refit=False)
    with pytest.raises(ValueError, match="settings with different k"):
        bare.plot_neighbors(tmp_path / "k.png")
    with pytest.raises(ValueError, match="settings of lcif"):
        bare.plot_mixing(tmp_path / "m.png")
    with pytest.raises(ValueError, match="a fitted estimator"):
        bare.plot_threshold(tmp_path / "t.png")
    assert not list(tmp_path.iterdir())


def test_settings_without_a_value_are_left_out_of_the_pictures(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    """Macro-AUC has no value where every row has every label: nothing is best."""
    every = np.ones_like(Y)
    found = tune(["mlknn", "lcif"], X, every, cv=2, grid=GRID, metrics=["macro-auc"], refit=False)
    with pytest.raises(ValueError, match="settings with different k"):
        found.plot_neighbors(tmp_path / "k.png", "macro-auc")
    found.plot_neighbors(tmp_path / "k.png")
    assert "chosen" in drawn[0].axes[0].get_legend_handles_labels()[1]


def test_a_rule_of_several_thresholds_has_no_mark(tmp_path: Path, drawn: list[Figure]) -> None:
    model = vicinal.MLkNN(3, threshold=PerLabelThreshold()).fit(X, Y)
    plot_threshold(model, "micro-f1", tmp_path / "t.png")
    assert len(drawn[0].axes[0].lines) == 1


def test_thresholds_of_other_models_are_not_drawn(tmp_path: Path) -> None:
    found = tune("mlknn", X, Y, cv=2, grid={"n_neighbors": [1]}, metrics=[])
    other = dataclasses.replace(found, estimator=DummyClassifier())
    with pytest.raises(ValueError, match="an estimator of vicinal"):
        other.plot_threshold(tmp_path / "t.png")
