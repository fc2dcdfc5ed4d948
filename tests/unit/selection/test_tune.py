"""What tune promises besides exact values: choice, ties, refitting, errors, the edge rule."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.methods import METHODS
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax, TfIdf
from vicinal.selection import TuningTable, nested, tune
from vicinal.selection.stratification import read_splits

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)
nested = partial(nested, preprocess=None)

pytestmark = pytest.mark.native


def make(n_rows: int = 60, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 4)) * [1, 10, 100, 1]
    Y = (X @ rng.normal(size=(4, 3)) / 30 + rng.normal(scale=0.3, size=(n_rows, 3)) > 0).astype(int)
    return X, Y


def test_the_best_setting_is_that_of_a_plain_search() -> None:
    X, Y = make()
    ks = [1, 3, 5, 9]
    cv = [(s.train, s.test) for s in read_splits(3, X, sparse.csr_array(Y))]
    found = tune("mlknn", X, Y, "hamming-loss", cv, {"n_neighbors": ks})
    losses = {
        k: np.mean(
            [
                evaluate(Y[test], vicinal.MLkNN(k).fit(X[train], Y[train]).predict(X[test]))[
                    "hamming-loss"
                ]
                for train, test in cv
            ]
        )
        for k in ks
    }
    best = found.best["hamming-loss"]
    assert best.params["n_neighbors"] == min(losses, key=lambda k: losses[k])
    assert best.mean == pytest.approx(min(losses.values()), abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_the_estimator_is_fitted_on_all_rows_with_the_best_setting(method: str) -> None:
    X, Y = make()
    axes: dict[str, dict[str, list[object]]] = {
        "lcif": {"n_neighbors_instance": [2, 5]},
        "label-ridge": {"alpha": [0.5, 2.0]},
        "blend": {"combine": ["mix", "boosting"]},
    }
    grid = axes.get(method, {"n_neighbors": [2, 5]})
    found = tune(method, X, Y, "micro-f1", 3, grid, metrics=["micro-f1"])
    best = found.best["micro-f1"]
    expected = METHODS[method](**best.params).fit(X, Y)
    assert type(found.estimator) is METHODS[method]
    assert found.estimator.n_jobs is None
    got = found.estimator.scores(X).toarray()
    assert np.array_equal(got, expected.scores(X).toarray())
    assert np.array_equal(found.estimator.predict(X), expected.predict(X))


def test_every_method_at_once_shares_the_folds() -> None:
    X, Y = make(30)
    one = {"n_neighbors": [3], "n_neighbors_instance": [3], "n_neighbors_feature": [2]}
    together = tune("all", X, Y, cv=2, grid=one)
    assert tuple(dict.fromkeys(together.table.methods)) == tuple(METHODS)
    alone = tune("iblr", X, Y, cv=2, grid={"n_neighbors": [3]})
    row = together.table.methods.index("iblr")
    assert np.array_equal(together.table.values[row], alone.table.values[0], equal_nan=True)


def test_values_may_come_as_an_array() -> None:
    X, Y = make(20)
    found = tune("mlknn", X, Y, cv=2, grid={"n_neighbors": np.arange(1, 4)}, metrics=[])
    assert found.table.params == ({"n_neighbors": 1}, {"n_neighbors": 2}, {"n_neighbors": 3})
    assert type(found.table.params[0]["n_neighbors"]) is int


def test_of_equal_settings_the_first_wins() -> None:
    X, Y = make(20)
    found = tune("brknn", X, Y, cv=2, grid={"n_neighbors": [50, 40, 30]})  # all see every row
    assert {best.params["n_neighbors"] for best in found.best.values()} == {50}


def test_a_nan_metric_is_never_best() -> None:
    X, Y = make(20)
    Y[:, :] = 1
    found = tune("mlknn", X, Y, cv=2, grid={"n_neighbors": [1, 2]}, metrics="all")
    assert np.isnan(found.table.mean("macro-auc")).all()
    assert "macro-auc" not in found.best
    assert found.best["example-f1"].mean == 1.0


def test_a_nan_value_never_wins() -> None:
    values = np.array([[[np.nan], [0.9]], [[0.1], [0.2]]])
    settings = ({"n_neighbors": 1}, {"n_neighbors": 2})
    done = np.ones((2, 2), dtype=np.bool_)
    table = TuningTable(("mlknn",) * 2, settings, ("micro-f1",), values, done)
    assert table.best_row("micro-f1") == 1


def noise(n: int = 150, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Labels that features tell nothing of: the more neighbours the better."""
    rng = np.random.default_rng(seed)
    return rng.random((n, 2)) + 0.1, (rng.random((n, 3)) < [0.6, 0.2, 0.3]).astype(int)


def test_the_edge_rule_extends_the_grid_if_the_last_value_is_best() -> None:
    X, Y = noise()
    found = tune("instance-knn", X, Y, "micro-auc", 2, metrics=["micro-auc"])
    ks = [params["n_neighbors"] for params in found.table.params]
    assert ks == list(range(1, 60, 2))
    assert found.best["micro-auc"].params["n_neighbors"] >= 29
    never = tune("instance-knn", X, Y, "micro-auc", 2, metrics=[], edge_metrics=[])
    assert [params["n_neighbors"] for params in never.table.params] == list(range(1, 30, 2))
    assert never.best["micro-auc"].params["n_neighbors"] == 29
    given = tune("instance-knn", X, Y, "micro-auc", 2, {"n_neighbors": [27, 29]}, metrics=[])
    assert len(given.table) == 2


def test_the_edge_rule_makes_only_that_axis_longer() -> None:
    X, Y = noise(90, seed=6)
    switches = {"neighbors_of": "feature", "aggregate": "mean"}
    table = tune("lcif", X, Y, "micro-auc", 2, metrics=[], params=switches).table
    k, other = "n_neighbors_instance", "n_neighbors_feature"
    inside = [row for row, params in enumerate(table.params) if params[k] <= 29]
    assert len(inside) == 11 * 15 * 15
    best = table.best_row("micro-auc", among=inside)
    assert best is not None
    assert (table.params[best][k], table.params[best][other]) == (29, 3)
    ends = {name: max(params[name] for params in table.params) for name in (k, other, "mixing")}
    assert ends == {k: 59, other: 29, "mixing": 1.0}
    assert len(table) == 2 * len(inside)


def test_the_edge_rule_does_nothing_inside() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 40) + np.linspace(0, 0.01, 80)[:, None]
    Y = np.array([[1, 0], [0, 1]] * 40)
    found = tune("instance-knn", X, Y, cv=2, metrics=[])
    assert found.best["example-f1"].params["n_neighbors"] == 1
    assert len(found.table) == 15


def test_fast_tries_part_of_the_grid_and_the_values_around_its_best() -> None:
    X, Y = make()
    grid = {"n_neighbors": list(range(1, 31))}
    whole = tune("mlknn", X, Y, cv=3, grid=grid)
    fast = tune("mlknn", X, Y, cv=3, grid=grid, fast=True)
    ks = {params["n_neighbors"] for params in fast.table.params}
    assert {1, 4, 7, 28, 30} <= ks
    assert len(ks) < 18
    best = fast.best["example-f1"].params["n_neighbors"]
    assert {max(best - 1, 1), min(best + 1, 30)} <= ks
    for row, params in enumerate(fast.table.params):
        full = whole.table.params.index(params)
        assert np.array_equal(fast.table.values[row], whole.table.values[full], equal_nan=True)


def test_preprocessing_is_fitted_once_or_in_each_fold() -> None:
    X, Y = make()
    cv = [(s.train, s.test) for s in read_splits(3, X, sparse.csr_array(Y))]
    options: dict[str, Any] = {"cv": cv, "grid": {"n_neighbors": [3]}, "preprocess": MinMax()}
    once, each = tune("mlknn", X, Y, **options), tune("mlknn", X, Y, per_fold=True, **options)
    for found, per_fold in ((once, False), (each, True)):
        for fold, (train, test) in enumerate(cv):
            scaler = MinMax().fit(X[train] if per_fold else X)
            model = vicinal.MLkNN(3).fit(scaler.transform(X[train]), Y[train])
            rows = scaler.transform(X[test])
            expected = evaluate(Y[test], model.predict(rows), metrics=["example-f1"])["example-f1"]
            assert found.table.of("example-f1")[0, fold] == expected
        assert np.array_equal(
            found.estimator.predict(X),
            vicinal.MLkNN(3).fit(MinMax().fit_transform(X), Y).predict(MinMax().fit_transform(X)),
        )


def test_features_are_scaled_by_default_as_comparisons_scale_them() -> None:
    X, Y = make()
    cv = [(s.train, s.test) for s in read_splits(3, X, sparse.csr_array(Y))]
    found = vicinal.tune("mlknn", X, Y, cv=cv, grid={"n_neighbors": [3]}, per_fold=True)
    compared = vicinal.compare({"one": (X, Y)}, {"mlknn": vicinal.MLkNN(3)}, folds=cv)
    assert found.preprocess == ("MinMax()",)
    assert found.table.of("example-f1")[0].tolist() == pytest.approx(
        list(compared[0].values["example-f1"])
    )
    plain = tune("mlknn", X, Y, cv=cv, grid={"n_neighbors": [3]})
    assert not np.allclose(found.table.of("example-f1"), plain.table.of("example-f1"))


def test_second_order_and_texts_in_each_fold() -> None:
    texts = ["red apple", "green apple", "red car", "green car"] * 5
    names = [["fruit"], ["fruit"], ["machine"], ["machine"]] * 5
    steps = [vicinal.preprocess.TextVectorizer(weighting="counts"), TfIdf()]
    found = tune(
        "instance-knn",
        texts,
        names,
        cv=2,
        grid={"n_neighbors": [1, 3], "second_order": [True]},
        preprocess=steps,
        per_fold=True,
    )
    assert found.best["example-f1"].mean == 1.0
    assert found.estimator is not None
    assert found.estimator[-1].label_names_ == ("fruit", "machine")


def test_the_table_is_written_whole(tmp_path: Path) -> None:
    X, Y = make(20)
    found = tune("brknn", X, Y, cv=2, grid={"n_neighbors": [1, 2]}, metrics=["micro-f1"])
    found.table.to_csv(tmp_path / "table.csv")
    found.table.to_json(tmp_path / "table.json")
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0] == "method,n_neighbors,metric,mean,std,fold 1,fold 2"
    assert len(lines) == 1 + 2 * 2
    records = json.loads((tmp_path / "table.json").read_text())
    values = found.table.of("micro-f1")[1]
    assert records[2]["params"] == {"n_neighbors": 2}
    assert records[2]["folds"] == values.tolist()
    assert float(lines[3].split(",")[3]) == values.mean()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": "knn"}, "methods: expected a method .*or module:Class, got .knn"),
        ({"methods": []}, "at least one method"),
        ({"methods": ["mlknn", 3]}, "methods: expected names of methods, got 3"),
        ({"metric": "micro-f2"}, "did you mean 'micro-f1'"),
        ({"metric": "cardinality"}, "a metric that can be optimised"),
        ({"metrics": "micro-f1"}, "metrics: expected 'all', or a sequence of names"),
        ({"edge_metrics": ["empty-share"]}, "a metric that can be optimised"),
        ({"grid": {"mixing": [0.5]}}, "grid: expected parameters of mlknn .*got 'mixing'"),
        ({"grid": {"n_jobs": [1]}}, "grid: expected parameters of mlknn"),
        ({"grid": {"n_neighbors": 5}}, "a sequence of values, got 5"),
        ({"grid": {"n_neighbors": []}}, "at least one value"),
        ({"grid": {"n_neighbors": [3, np.int64(3)]}}, "different values"),
        ({"grid": {"smoothing": [1, 1.0]}}, "different values"),
        ({"grid": {"n_neighbors": [3, 0]}}, "n_neighbors: expected an integer of at least 1"),
        ({"grid": {"smoothing": [1, -1]}}, "smoothing: expected a finite number between 0"),
        ({"grid": {"threshold": ["best"]}}, "threshold: expected None, 'cardinality'"),
        ({"grid": {"lcif": {"mixing": [1]}}}, "one of the selected methods .mlknn., got 'lcif'"),
        ({"grid": {"mlknn": {"mixing": [1]}}}, "grid: expected parameters of mlknn"),
        ({"grid": [1]}, "grid: expected a mapping"),
        ({"params": {"variant": "a"}}, "params: expected parameters of mlknn"),
        ({"params": {"smoothing": 1}, "grid": {"smoothing": [0]}}, "that are not in the grid"),
        ({"cv": 1}, "cv: expected an integer of at least 2"),
        ({"fast": 3}, "fast: expected True or False"),
        ({"refit": "no"}, "refit: expected True or False"),
        ({"progress": "bar"}, "progress: expected True or False"),
        ({"random_state": -1}, "random_state"),
        ({"preprocess": 3}, "preprocess: expected transformers"),
        ({"preprocess": "scaled"}, "preprocess: expected steps among"),
    ],
)
def test_bad_arguments_are_refused_before_the_work(arguments: Any, message: str) -> None:
    X, Y = make(20)
    with pytest.raises(ValueError, match=message):
        tune(**{"methods": "mlknn", "X": X, "Y": Y, "progress": False, **arguments})


def test_nothing_is_refitted_where_no_setting_has_a_value() -> None:
    X, Y = make(20)
    Y[:, :] = 1
    found = tune("mlknn", X, Y, cv=2, metric="macro-auc", grid={"n_neighbors": [1, 2]})
    assert found.estimator is None
    assert "macro-auc" not in found.best
    with pytest.raises(ValueError, match="a metric that some setting has a value of"):
        nested("mlknn", X, Y, metric="macro-auc", outer=2, grid={"n_neighbors": [1, 2]})


def test_tables_are_not_ordered_by_what_is_neither_good_nor_bad() -> None:
    values = np.ones((1, 1, 1))
    table = TuningTable(("mlknn",), ({"n_neighbors": 1},), ("cardinality",), values, values > 0)
    with pytest.raises(ValueError, match="a metric that can be optimised"):
        table.best_row("cardinality")


def test_only_the_metrics_that_are_asked_for_are_computed() -> None:
    X, Y = make(30)
    one = tune("mlknn", X, Y, "micro-f1", 2, {"n_neighbors": [1, 2]})
    assert one.table.metrics == ("micro-f1",)
    two = tune("mlknn", X, Y, "micro-f1", 2, {"n_neighbors": [1, 2]}, metrics=["one-error"])
    assert two.table.metrics == ("one-error", "micro-f1")
    every = tune("mlknn", X, Y, "micro-f1", 2, {"n_neighbors": [1, 2]}, metrics="all")
    assert len(every.table.metrics) > 20
    assert np.array_equal(every.table.of("micro-f1"), one.table.of("micro-f1"))


def test_deviations_divide_by_one_less_than_the_folds() -> None:
    X, Y = make(40)
    found = tune("brknn", X, Y, cv=4, grid={"n_neighbors": [3]})
    folds = found.table.of("example-f1")[0]
    assert found.best["example-f1"].std == pytest.approx(np.std(folds, ddof=1))
    outer = nested("brknn", X, Y, outer=3, inner=2, grid={"n_neighbors": [3]}, metrics=["micro-f1"])
    column = outer.values[:, outer.metrics.index("micro-f1")]
    assert outer.std()["micro-f1"] == pytest.approx(np.std(column, ddof=1))
