"""Every value that tuning reports equals refitting the estimator and evaluating it, to the bit."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vicinal import decision
from vicinal.methods import METHODS
from vicinal.metrics import METRICS, evaluate
from vicinal.selection import TuningResult, tune
from vicinal.selection.stratification import read_splits

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)

pytestmark = [
    pytest.mark.native,
    # The second order warns of rows with few labels; that is not what is tested here.
    pytest.mark.filterwarnings("ignore:rows have"),
]

EVERY_METRIC = [name.replace("@k", "@3") for name in METRICS]

RULES = [None, "two-pass", 0.3, decision.MetricThreshold("micro-f1"), decision.RCut()]

GRIDS: dict[str, dict[str, Any]] = {
    "brknn": {
        "variant": ["base", "a", "b"],
        "strict_majority": [False, True],
        "never_empty": [None, True],
        "n_neighbors": [3, 1, 4, 40],
    },
    "lpknn": {"n_neighbors": [1, 2, 5, 28, 29, 40], "threshold": RULES},
    "mlknn": {"n_neighbors": [2, 7, 40], "smoothing": [0.0, 1, 0.5], "threshold": RULES},
    "dmlknn": {"n_neighbors": [2, 7, 40], "smoothing": [0, 1], "tolerance": [0, 2, 50]},
    "lamlknn": {"n_neighbors": [2, 7, 40], "n_clusters": [1, 3], "smoothing": [0.0, 1.0]},
    "iblr": {"n_neighbors": [2, 40], "C": [0.1, np.inf], "augment": [False, True]},
    "instance-knn": {
        "n_neighbors": [1, 2, 6, 40],
        "second_order": [False, True],
        "threshold": RULES,
        "metric": ["cosine", "euclidean", "dot"],
    },
    "feature-knn": {
        "n_neighbors": [1, 2, 9],
        "neighbors_of": ["feature", "label"],
        "aggregate": ["mean", "max"],
        "threshold": [*RULES, decision.NeverEmpty(decision.MCut())],
    },
    "lcif": {
        "n_neighbors_instance": [1, 5, 40],
        "n_neighbors_feature": [9, 1],
        "mixing": [0, 0.3, 1.0],
        "second_order": [False, True],
        "neighbors_of": ["feature", "label"],
        "aggregate": ["mean", "max"],
    },
}

LCIF_RULES: dict[str, Any] = {
    "n_neighbors_instance": [5, 1],
    "n_neighbors_feature": [2, 1],
    "mixing": [0, 0.3, 1.0],
    "threshold": [None, "two-pass", decision.MetricThreshold("micro-f1"), decision.TopS()],
    "never_empty": [None, False],
    "metric": ["euclidean"],
}


def data(n_rows: int = 36, seed: int = 0) -> tuple[np.ndarray, sparse.csr_array]:
    """Rows full of ties, some of them empty, with rare, frequent and missing labels."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n_rows, 5)) * 2) / 2 * (rng.random((n_rows, 5)) < 0.6)
    X[:2] = 0
    shares = np.array([0.0, 0.1, 0.3, 0.5, 0.9])
    Y = rng.random((n_rows, 5)) < shares
    Y[1, 1] = True
    return X, sparse.csr_array(Y.astype(np.int32))


def assert_equals_refitting(
    found: TuningResult, X: Any, Y: Any, cv: Any, conventions: str = "vicinal"
) -> None:
    """Fit and evaluate every setting on every fold."""
    table = found.table
    assert table.done.all()
    for fold, (train, test) in enumerate(cv):
        X_train, Y_train, X_test, Y_test = X[train], Y[train], X[test], Y[test]
        for row, (method, params) in enumerate(zip(table.methods, table.params, strict=True)):
            model = METHODS[method](**params).fit(X_train, Y_train)
            expected = evaluate(
                Y_test,
                model.predict(X_test),
                model.scores(X_test),
                metrics=table.metrics,
                train_label_counts=Y_train,
                conventions=conventions,
            )
            assert tuple(expected) == table.metrics
            wanted, said = list(expected.values()), f"{method} {params} fold {fold}"
            np.testing.assert_array_equal(table.values[row, fold], wanted, err_msg=said)


def pairs(X: Any, Y: Any, n_folds: int) -> list[tuple[Any, Any]]:
    return [(split.train, split.test) for split in read_splits(n_folds, X, Y)]


@pytest.mark.parametrize("method", GRIDS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_every_setting_equals_refitting(method: str, as_sparse: bool) -> None:
    dense, Y = data(seed=as_sparse)
    X: Any = sparse.csr_array(dense) if as_sparse else dense
    grid = GRIDS[method]
    cv = pairs(X, Y, 2)
    found = tune(method, X, Y, cv=cv, grid=grid, metrics=EVERY_METRIC)
    assert len(found.table) == np.prod([len(values) for values in grid.values()])
    assert_equals_refitting(found, X, Y, cv)


def test_every_rule_of_lcif_equals_refitting() -> None:
    X, Y = data()
    cv = pairs(X, Y, 2)
    found = tune("lcif", X, Y, cv=cv, grid=LCIF_RULES, metrics=EVERY_METRIC)
    assert_equals_refitting(found, X, Y, cv)


@pytest.mark.parametrize("conventions", ["mulan", "sklearn", "meka"])
def test_the_conventions_of_other_systems_are_kept(conventions: str) -> None:
    X, Y = data()
    cv = pairs(X, Y, 2)
    grid = {"n_neighbors": [1, 4], "n_neighbors_instance": [1, 4], "mixing": [0.0, 0.5]}
    methods = ["mlknn", "lcif"]
    found = tune(methods, X, Y, cv=cv, grid=grid, metrics=EVERY_METRIC, conventions=conventions)
    assert_equals_refitting(found, X, Y, cv, conventions)


def test_a_rule_fitted_on_k_fold_scores_equals_refitting() -> None:
    X, Y = data()
    rule = decision.CrossValidated(decision.CardinalityThreshold(), n_folds=3)
    cv = pairs(X, Y, 2)
    found = tune(
        ["instance-knn", "lcif"],
        X,
        Y,
        cv=cv,
        grid={"n_neighbors": [1, 4], "n_neighbors_instance": [1, 4], "threshold": [rule, None]},
        metrics=["micro-f1", "one-error"],
    )
    assert_equals_refitting(found, X, Y, cv)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_switch_and_rule_of_lcif_together_equal_refitting() -> None:
    X, Y = data()
    cv = pairs(X, Y, 2)
    found = tune("lcif", X, Y, cv=cv, grid=GRIDS["lcif"] | LCIF_RULES, metrics=EVERY_METRIC)
    assert_equals_refitting(found, X, Y, cv)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("method", METHODS)
def test_every_setting_of_the_default_grid_equals_refitting(method: str) -> None:
    X, Y = data(n_rows=60)
    cv = pairs(X, Y, 2)
    edge = () if method == "lcif" else ("macro-f1", "example-recall")  # 9,900 settings will do
    found = tune(method, X, Y, cv=cv, edge_metrics=edge)
    assert_equals_refitting(found, X, Y, cv)


def test_every_power_equals_refitting() -> None:
    X, Y = data()
    cv = pairs(X, Y, 2)
    grid = {"n_neighbors": [1, 6, 40], "power": [0.5, 1.0, 3.0]}
    found = tune("instance-knn", X, Y, cv=cv, grid=grid, metrics=EVERY_METRIC)
    assert_equals_refitting(found, X, Y, cv)
