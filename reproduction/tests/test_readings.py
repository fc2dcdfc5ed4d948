"""ML-ARP read in other ways: figures of the rows searched, and a search that peeks."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from vicinal.gpu import device_name
from vicinal.methods import MLkNN
from vicinal.metrics import evaluate
from vicinal.reduction import MLARP
from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.protocols.peeking_search import HeldOutMLARP, LossOnOthers, PeekingMLARP
from vicinal_reproduction.protocols.projected_folds import ProjectedFolds
from vicinal_reproduction.protocols.ranks import RANKED
from vicinal_reproduction.specification import Method
from vicinal_reproduction.specs.mlarp import PAPER
from vicinal_reproduction.specs.mlarp_methods import FOUR, NAMES
from vicinal_reproduction.specs.mlarp_readings import RANK_DATA

pytestmark = pytest.mark.native

FOLDS = ProjectedFolds(("hamming-loss",), n_neighbors=3, n_folds=3, components={"small": 4})


def ml_arp(kind: type[MLARP]) -> dict[str, Method]:
    return {"ml-arp": Method(lambda seed: kind(n_neighbors=3, max_iter=15, random_state=seed))}


def test_the_loss_on_other_rows_is_that_of_ml_knn_after_the_projection(small):
    train, test = small.split()
    P = np.random.default_rng(1).normal(size=(8, 3))
    loss = LossOnOthers(train.X, train.Y, 3, 0.0, X_test=test.X, Y_test=test.Y)(P)
    model = MLkNN(3, smoothing=0.0).fit(train.X @ P, train.Y)
    assert loss == pytest.approx(evaluate(test.Y, model.predict(test.X @ P))["hamming-loss"])


def test_a_search_that_peeks_reports_what_it_lowered(small):
    train, test = small.split()
    model = PeekingMLARP(4, 3, max_iter=30, random_state=0).look_at(test.X, test.Y)
    model.fit(train.X, train.Y)
    behind = MLkNN(3, smoothing=0.0).fit(model.transform(train.X), train.Y)
    lost = evaluate(test.Y, behind.predict(model.transform(test.X)))["hamming-loss"]
    assert model.history_[-1] == pytest.approx(lost)
    assert model.history_[-1] < model.history_[0]


def test_folds_show_a_peeking_search_its_test_rows(make_job):
    (peeked,) = FOLDS.run(make_job(ml_arp(PeekingMLARP)))
    (usual,) = FOLDS.run(make_job(ml_arp(MLARP)))
    assert np.mean(peeked.values["hamming-loss"]) < np.mean(usual.values["hamming-loss"])


def test_rows_put_aside_choose_among_the_projections_of_the_search(small):
    train, _ = small.split()
    usual = {"n_components": 4, "n_neighbors": 3, "random_state": 0}
    models = [HeldOutMLARP(max_iter=at, **usual).fit(train.X, train.Y) for at in range(25)]
    aside = [model._aside(model.projection_) for model in models]
    assert aside == sorted(aside, reverse=True)  # more steps can only help there
    assert aside[-1] < aside[0]
    assert models[0]._aside.X_test.shape[0] == 4
    assert models[0]._aside.X.shape[0] == 36


def test_figures_of_the_training_rows_equal_the_loss_of_the_search(make_job, small):
    protocol = replace(FOLDS, on_training_rows=True)
    (result,) = protocol.run(make_job(ml_arp(MLARP)))
    reached = []
    for train, _ in KFold(3, shuffle=True, random_state=1).split(small.X):
        model = MLARP(4, 3, max_iter=15, random_state=1).fit(small.X[train], small.Y[train])
        reached.append(model.history_[-1])
    assert result.values["hamming-loss"] == pytest.approx(reached, abs=1e-6)


def test_a_quick_run_searches_one_fold_for_a_few_seconds(make_job):
    endless = {"ml-arp": Method(lambda seed: MLARP(n_neighbors=3, max_iter=None, max_seconds=1e9))}
    protocol = replace(FOLDS.quick(), at_most_seconds=0.05)
    (result,) = protocol.run(make_job(endless))
    assert len(result.values["hamming-loss"]) == 1
    assert FOLDS.quick().at_most_seconds == 5.0


def test_the_result_of_a_search_is_stored(make_job, small):
    (result,) = FOLDS.run(make_job(ml_arp(MLARP)))
    assert result.values["evaluations"] == (16, 16, 16)
    train, _ = next(KFold(3, shuffle=True, random_state=1).split(small.X))
    model = MLARP(4, 3, max_iter=15, random_state=1).fit(small.X[train], small.Y[train])
    assert result.values["training loss"][0] == pytest.approx(model.history_[-1], abs=1e-6)
    assert "gpu" not in result.provenance


def test_results_name_the_gpu_that_was_searched_on(make_job):
    job = replace(make_job(ml_arp(MLARP)), backend="torch")
    (result,) = FOLDS.run(job)
    assert result.provenance["gpu"] == device_name()
    (plain,) = FOLDS.run(replace(job, methods={"ml-knn": Method(lambda seed: MLkNN(3))}))
    assert "gpu" not in plain.provenance


def test_each_reading_has_ranks_of_its_own():
    def results(experiment, methods, value):
        values = dict.fromkeys(RANKED.values(), (value,))
        return [Result(experiment, data, name, values) for data in FOUR for name in methods]

    usual = [
        *results("ml-arp/folds", NAMES[1:], 0.5),
        *results("ml-arp/folds", NAMES[:1], 0.6),
    ]
    made = PAPER.derive(Figures((*usual, *results("ml-arp/peeking", NAMES[:1], 0.4))))
    figures = Figures(tuple(made))
    metric = "rank of hamming-loss"
    assert figures.values("ml-arp/ranks", RANK_DATA, "ml-arp", metric) == [[8.0]]
    assert figures.values("ml-arp/ranks-peeking", RANK_DATA, "ml-arp", metric) == [[1.0]]
    assert not figures.at("ml-arp/ranks-scaled", RANK_DATA, "ml-arp")  # it was not run
