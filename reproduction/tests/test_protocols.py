"""The protocols on a small data set, against figures computed here by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold

from vicinal.baselines import LabelFrequency
from vicinal.methods import LCIF, BRkNN, MLkNN
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax
from vicinal_reproduction.protocols.best_on_test import BestOnTest
from vicinal_reproduction.protocols.cluster_counts import cluster_means
from vicinal_reproduction.protocols.extreme_timing import ExtremeTiming
from vicinal_reproduction.protocols.folds import Folds
from vicinal_reproduction.protocols.lcif_search import EVERY_SWITCH, LcifSearch
from vicinal_reproduction.protocols.loss_curve import LossCurve
from vicinal_reproduction.protocols.projected_folds import ProjectedFolds
from vicinal_reproduction.protocols.timing import Timing
from vicinal_reproduction.protocols.tuned_split import TunedSplit
from vicinal_reproduction.specification import Method
from vicinal_reproduction.specs.feremans2017 import EXTREME_STEPS

pytestmark = pytest.mark.native

METRICS = ("hamming-loss", "average-precision")


def test_folds_average_over_k_in_each_fold(make_job, small):
    job = make_job({"brknn": Method(lambda seed: BRkNN(), (1, 3))}, seed=5)
    protocol = Folds(METRICS, n_folds=3, scale=True, kept_by_k=("hamming-loss",))
    (result,) = protocol.run(job)
    expected = []
    for train, test in KFold(3, shuffle=True, random_state=5).split(small.X):
        scaler = MinMax().fit(small.X[train])
        X, Q = scaler.transform(small.X[train]), scaler.transform(small.X[test])
        losses = [
            evaluate(small.Y[test], BRkNN(k).fit(X, small.Y[train]).predict(Q))["hamming-loss"]
            for k in (1, 3)
        ]
        expected.append(losses)
    assert result.values["hamming-loss"] == pytest.approx(np.mean(expected, axis=1), abs=1e-6)
    assert result.values["hamming-loss at k=3"] == pytest.approx(np.array(expected)[:, 1], abs=1e-6)
    assert result.seed == 5
    assert len(next(protocol.quick().run(job)).values["hamming-loss"]) == 2


def test_a_tuned_split_chooses_on_the_training_rows_alone(make_job, small):
    method = Method(lambda seed: MLkNN(), (1, 4, 9))
    job = make_job({"ml-knn": method})
    protocol = TunedSplit(METRICS, "average-precision", n_folds=3)
    chosen, best = protocol.run(job)
    assert (chosen.experiment, best.experiment) == ("test/one", "test/one-best")
    # Other test labels change the figures, not the choice.
    turned = small.Y.toarray()
    turned[small.test] = 1 - turned[small.test]
    other, _ = protocol.run(replace(job, dataset=replace(small, Y=turned)))
    assert other.settings == chosen.settings
    assert other.values != chosen.values
    assert best.values["average-precision"][0] >= chosen.values["average-precision"][0]


def test_a_random_split_depends_on_the_seed(small):
    protocol = TunedSplit(METRICS, "average-precision", random_split=("small",))
    rows = [protocol.split("small", small, seed) for seed in (1, 1, 2)]
    assert np.array_equal(rows[0][0].X, rows[1][0].X)
    assert not np.array_equal(rows[0][0].X, rows[2][0].X)
    assert rows[0][0].n_rows == 40
    assert rows[0][1].n_rows == 20


def test_best_on_test_is_the_best_of_each_metric_and_says_so(make_job, small):
    job = make_job({"ml-knn": Method(lambda seed: MLkNN(), (1, 3, 5))})
    (result,) = BestOnTest(("hamming-loss", "micro-f1"), conventions="vicinal").run(job)
    train, test = small.split()
    every = [evaluate(test.Y, MLkNN(k).fit(train.X, train.Y).predict(test.X)) for k in (1, 3, 5)]
    assert result.values["hamming-loss"][0] == pytest.approx(
        min(each["hamming-loss"] for each in every), abs=1e-6
    )
    assert result.values["micro-f1"][0] == pytest.approx(
        max(each["micro-f1"] for each in every), abs=1e-6
    )
    assert "best on the test rows" in result.note


def test_the_parts_of_lcif_are_its_ends(make_job, small):
    methods = {
        name: Method(lambda seed: LCIF()) for name in ("instance-knn", "feature-knn", "lcif")
    }
    protocol = LcifSearch(
        ("example-f1",), ks_instance=(1, 3), ks_feature=(1, 2), mixings=(0.0, 0.5, 1.0), n_folds=3
    )
    found = {result.method: result for result in protocol.run(make_job(methods))}
    assert found["instance-knn"].settings["example-f1"]["mixing"] == 1.0
    assert found["feature-knn"].settings["example-f1"]["mixing"] == 0.0
    settings = found["lcif"].settings["example-f1"]
    train, test = small.split()
    model = LCIF(threshold="two-pass", never_empty=True, **settings).fit(train.X, train.Y)
    expected = evaluate(test.Y, model.predict(test.X), conventions="mulan")["example-f1"]
    assert found["lcif"].values["example-f1"][0] == pytest.approx(expected, abs=1e-6)


def test_switches_are_part_of_the_grid(make_job):
    protocol = LcifSearch(
        ("example-f1",),
        ks_instance=(1,),
        ks_feature=(2,),
        mixings=(0.0,),
        n_folds=2,
        switches=EVERY_SWITCH,
    )
    (result,) = protocol.run(make_job({"lcif": Method(lambda seed: LCIF())}))
    settings = result.settings["example-f1"]
    assert (settings["neighbors_of"], settings["aggregate"]) in EVERY_SWITCH


def test_projected_folds_project_and_pass_methods_without_a_projection(make_job):
    methods = {
        "pca": Method(lambda seed: PCA(random_state=seed)),
        "ml-knn": Method(lambda seed: MLkNN(5, smoothing=0.0)),
        "baseline": Method(lambda seed: LabelFrequency()),
    }
    protocol = ProjectedFolds(METRICS, n_folds=3, components={"small": 2})
    found = {result.method: result for result in protocol.run(make_job(methods))}
    assert all(len(each.values["hamming-loss"]) == 3 for each in found.values())
    assert found["pca"].settings["r"] == 2
    assert found["pca"].values != found["ml-knn"].values


def test_timing_keeps_seconds(make_job):
    (result,) = Timing(repeats=2).run(make_job({"ml-knn": Method(lambda seed: MLkNN(3))}))
    assert 0 < result.values["seconds"][0] < 60


def test_cluster_means_count_neighbours_with_the_label(small):
    means = cluster_means(small, 2, 3, seed=0)
    assert means.shape == (2, 2, 4)
    assert 0 <= means.min() <= means.max() <= 3


def test_a_loss_curve_never_rises(make_job):
    job = make_job({"ml-arp": Method(lambda seed: None)})
    (result,) = LossCurve(n_components=2, n_runs=2, at=(0, 3, 6)).run(job)
    losses = [result.values[f"training loss at evaluation={at}"] for at in (0, 3, 6)]
    assert all(len(each) == 2 for each in losses)
    assert np.all(np.diff(np.array(losses), axis=0) <= 0)


def test_extreme_timing_takes_its_four_steps(make_job, small):
    sparse_rows = replace(small, X=sparse.csr_array(small.X))
    job = replace(make_job({}), dataset=sparse_rows)
    steps = [result.method for result in ExtremeTiming(n_neighbors=3).run(job)]
    assert steps == list(EXTREME_STEPS)
