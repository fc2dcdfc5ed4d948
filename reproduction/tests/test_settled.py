"""Runs with given settings, and the number of clusters taken from a curve."""

from dataclasses import replace

import numpy as np
import pytest

from vicinal.methods import BRkNN, LAMLkNN, MLkNN
from vicinal.metrics import evaluate
from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.protocols.chosen_clusters import (
    at_chosen_clusters,
    best_by,
    by_clusters,
    nearest_to_paper,
)
from vicinal_reproduction.protocols.cluster_curve import ClusterCurve
from vicinal_reproduction.protocols.settled_split import Setting, SettledSplit, first_rows
from vicinal_reproduction.protocols.tuned_split import TunedSplit
from vicinal_reproduction.protocols.weka_search import heap_graph
from vicinal_reproduction.specification import Method

pytestmark = pytest.mark.native

METRICS = ("hamming-loss", "average-precision")
KS = {"ml-knn": 3, "laml-knn": 3, "brknn": 2}
METHODS = {
    "ml-knn": Method(lambda seed: MLkNN()),
    "brknn": Method(lambda seed: BRkNN(strict_majority=True)),
}


def settled(**how: object) -> SettledSplit:
    setting = Setting(KS, **how)
    splits = TunedSplit(METRICS, "average-precision")
    return SettledSplit(METRICS, {"small": setting}, splits, "vicinal")


def test_ml_knn_counts_the_neighbours_of_the_heap(make_job, small):
    result, _ = settled(scale=False).run(make_job(METHODS))
    train, test = small.split()
    model = MLkNN(3).fit(train.X, train.Y, graph=heap_graph(train.X, 3))
    scores = model.scores(test.X, graph=heap_graph(train.X, 3, test.X))
    expected = evaluate(test.Y, model.decision_.decide(scores), scores, metrics=METRICS)
    assert result.values["average-precision"][0] == pytest.approx(
        expected["average-precision"], abs=1e-6
    )
    assert result.settings == {"n_neighbors": 3}


def test_brknn_counts_every_row_as_near_as_the_kth(make_job, small):
    _, result = settled(scale=False).run(make_job(METHODS))
    train, test = small.split()
    Y = train.Y.toarray()
    predicted = []
    for query in test.X:
        squares = ((train.X - query) ** 2).sum(axis=1)
        predicted.append(Y[squares <= np.sort(squares)[1]].mean(axis=0) > 0.5)
    expected = float(np.mean(np.array(predicted) != test.Y.toarray()))
    assert result.values["hamming-loss"][0] == pytest.approx(expected, abs=1e-6)


def test_the_first_rows_are_for_training(make_job, small):
    train, test = first_rows(small, 0.25)
    assert np.array_equal(train.X, small.X[:15])
    assert np.array_equal(test.X, small.X[15:])
    rows = settled(first_share=0.25, scale=False).rows(make_job(METHODS))
    assert rows[0].n_rows == 15


def test_features_are_scaled_where_the_setting_says_so(make_job, small):
    job = replace(make_job(METHODS), dataset=replace(small, X=small.X * 7))
    train, _ = settled().rows(job)
    assert train.X.max() == 1.0
    train, _ = settled(scale=False).rows(job)
    assert train.X.max() == 7.0


def test_a_quick_run_looks_at_fewer_rows(make_job):
    protocol = replace(settled(first_share=0.5), at_most=20)
    train, test = protocol.rows(make_job(METHODS))
    assert (train.n_rows, test.n_rows) == (20, 20)
    assert protocol.quick().at_most == 1000


def test_a_curve_has_a_value_for_each_number_of_clusters(make_job):
    methods = {"laml-knn": Method(lambda seed: LAMLkNN()), "ml-knn": METHODS["ml-knn"]}
    laml, ml = ClusterCurve(settled(), clusters=(1, 2, 5)).run(make_job(methods))
    assert list(by_clusters(laml)) == [1, 2, 5]
    assert by_clusters(laml)[1] == by_clusters(ml)[1]  # one cluster is ML-kNN
    assert by_clusters(ml)[1] == by_clusters(ml)[5]
    assert by_clusters(laml)[1] != by_clusters(laml)[5]


@pytest.fixture
def curve() -> Figures:
    """A curve beside the paper's 0.198, 0.170, 0.236, 0.454 and 0.759 on yeast."""
    near = (0.2, 0.17, 0.24, 0.45, 0.75)
    far = (0.2, 0.17, 0.24, 0.45, 0.80)
    names = (
        "hamming-loss",
        "ranking-loss",
        "one-error",
        "coverage-normalised",
        "average-precision",
    )
    values = {
        f"{name} at clusters={clusters}": (value,)
        for clusters, point in ((2, far), (7, near))
        for name, value in zip(names, point, strict=True)
    }
    return Figures((Result("wang2018/curve", "yeast", "laml-knn", values, {"n_neighbors": 4}),))


@pytest.mark.parametrize(
    ("rule", "clusters", "precision"),
    [(nearest_to_paper("wang2018"), 7, 0.75), (best_by("average-precision"), 2, 0.80)],
)
def test_a_rule_chooses_the_point(curve, rule, clusters, precision):
    (made,) = at_chosen_clusters(curve, "wang2018/curve", "laml-knn", rule, "wang2018/made")
    assert (made.experiment, made.data) == ("wang2018/made", "yeast")
    assert made.settings == {"n_neighbors": 4, "n_clusters": clusters}
    assert made.values["average-precision"] == (precision,)
