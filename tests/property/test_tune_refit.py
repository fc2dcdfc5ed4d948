"""Tuning equals refitting on the smallest and oddest data: one row, one label, ties, empty rows."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.methods import METHODS
from vicinal.metrics import evaluate
from vicinal.selection import tune

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)

pytestmark = [
    pytest.mark.native,
    pytest.mark.filterwarnings("ignore:rows have"),
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),  # k-means on equal rows
]

NAMES = ["example-f1", "macro-recall", "hamming-loss", "ranking-loss", "micro-auc", "psp@1"]

OTHERS: dict[str, dict[str, list[Any]]] = {
    "brknn": {"variant": ["base", "b", "a"]},
    "lpknn": {"threshold": [None, "cardinality"]},
    "mlknn": {"smoothing": [1.0, 0.0]},
    "dmlknn": {"tolerance": [0, 1]},
    "lamlknn": {"n_clusters": [2, 1]},
    "iblr": {"C": [1.0]},
    "instance-knn": {"second_order": [False, True]},
    "feature-knn": {
        "aggregate": ["mean", "max", "kept-mean"],
        "neighbors_of": ["label", "feature"],
    },
    "label-ridge": {"alpha": [1.0, 0.1]},
    "local-ridge": {"alpha": [0.3, 2.0], "center": [None, True]},
    "lcif": {"mixing": [0.0, 0.4, 1.0], "second_order": [False, True], "threshold": [None, 0.1]},
}


Case = tuple[str, Any, Any, list[tuple[Any, Any]], list[int]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n_rows, n_labels = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    often = draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X: Any = rng.choice([0.0, 0.0, 1.0, 0.5, -1.0], size=(n_rows, 2))
    Y: Any = (rng.random((n_rows, n_labels)) < often).astype(np.int64)
    if draw(st.booleans()):
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    part = np.array(draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)))
    part[:2] = True, False
    pair = np.flatnonzero(part), np.flatnonzero(~part)
    ks = draw(st.lists(st.integers(1, n_rows + 1), min_size=1, max_size=3, unique=True))
    return draw(st.sampled_from(sorted(OTHERS))), X, Y, [pair, pair[::-1]], ks


@given(cases())
@settings(max_examples=60, deadline=None)
def test_tuning_equals_refitting(
    case: tuple[str, Any, Any, list[tuple[Any, Any]], list[int]],
) -> None:
    method, X, Y, cv, ks = case
    k_name = "n_neighbors_instance" if method == "lcif" else "n_neighbors"
    grid = {**OTHERS[method]} if method == "label-ridge" else {k_name: ks, **OTHERS[method]}
    table = tune(method, X, Y, cv=cv, grid=grid, metrics=NAMES, refit=False).table
    assert table.done.all()
    for row, params in enumerate(table.params):
        for fold, (train, test) in enumerate(cv):
            model = METHODS[method](**params).fit(X[train], Y[train])
            expected = evaluate(
                Y[test],
                model.predict(X[test]),
                model.scores(X[test]),
                metrics=table.metrics,
                train_label_counts=Y[train],
            )
            assert tuple(expected) == table.metrics
            wanted, said = list(expected.values()), f"{method} {params}"
            np.testing.assert_array_equal(table.values[row, fold], wanted, err_msg=said)
