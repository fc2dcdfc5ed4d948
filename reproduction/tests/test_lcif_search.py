"""The search for LCIF's settings: its edges, its weights, against definitions written here."""

from dataclasses import replace

import numpy as np
import pytest

from vicinal.methods import LCIF
from vicinal.metrics import evaluate
from vicinal_reproduction.protocols.lcif_search import LcifSearch, lcif_fold, raised
from vicinal_reproduction.protocols.lcif_surface import Surface
from vicinal_reproduction.specification import Method

pytestmark = pytest.mark.native

GRID = {"ks_instance": (1, 3), "ks_feature": (1, 2), "mixings": (0.0, 0.5, 1.0)}


def method():
    return Method(lambda seed: LCIF())


def surface(values):
    """A surface of two switches, two k of either part, three shares and one metric."""
    switches = ("feature", "mean"), ("label", "max")
    return Surface(np.asarray(values), switches, *GRID.values(), metrics=("hamming-loss",))


@pytest.fixture
def flat():
    return np.ones((2, 2, 2, 3, 1))


def test_a_part_looks_at_its_own_share_alone(flat):
    flat[1, 0, 1, 0] = 0.5  # feature kNN alone
    flat[0, 1, 0, 2] = 0.4  # instance kNN alone
    flat[1, 1, 1, 1] = 0.3  # both
    found = surface(flat)
    assert found.best("feature-knn", "hamming-loss") == {
        "n_neighbors_instance": 1,
        "n_neighbors_feature": 2,
        "mixing": 0.0,
        "neighbors_of": "label",
        "aggregate": "max",
    }
    assert found.best("instance-knn", "hamming-loss")["n_neighbors_instance"] == 3
    assert found.best("lcif", "hamming-loss")["mixing"] == 0.5


def test_the_edge_is_the_last_k_of_an_axis(flat):
    flat[0, 1, 0, 2] = 0.5
    found = surface(flat)
    assert found.ends_at("instance-knn", "ks_instance")
    assert not found.ends_at("instance-knn", "ks_feature")  # which does not matter to it
    assert not found.ends_at("feature-knn", "ks_instance")


def test_joined_surfaces_know_the_further_k(flat):
    better = surface(flat / 2)
    found = surface(flat).joined(replace(better, ks_feature=(5, 7)), "ks_feature")
    assert found.values.shape == (2, 2, 4, 3, 1)
    assert found.best("lcif", "hamming-loss")["n_neighbors_feature"] == 5


class Recorder(LcifSearch):
    """Writes down what is measured."""

    def _measured(self, folds, second, ks_instance, ks_feature):
        self.asked.append((ks_instance, ks_feature))
        return super()._measured(folds, second, ks_instance, ks_feature)


def recorder(**changes):
    made = Recorder(("example-f1",), **{**GRID, "n_folds": 2, **changes})
    object.__setattr__(made, "asked", [])
    return made


def test_only_an_axis_that_ends_at_its_best_grows(make_job, monkeypatch):
    job = make_job({"lcif": method()})
    for edge in ("ks_instance", "ks_feature"):
        monkeypatch.setattr(Surface, "ends_at", lambda self, name, axis, edge=edge: axis == edge)
        search = recorder(ks_beyond=(3,) if edge == "ks_feature" else (5, 7))
        list(search.run(job))
        further = search.asked[1]
        assert len(search.asked) == 2
        assert further == (((5, 7), (1, 2)) if edge == "ks_instance" else ((1, 3), (3,)))


def test_no_axis_grows_beyond_its_limit_or_without_the_edge_rule(make_job, monkeypatch):
    monkeypatch.setattr(Surface, "ends_at", lambda self, name, axis: True)
    unasked = recorder()
    list(unasked.run(make_job({"lcif": method()})))
    assert len(unasked.asked) == 1
    every_label = recorder(ks_feature=(1, 4), ks_beyond=(5,))  # of four labels
    list(every_label.run(make_job({"feature-knn": method()})))
    assert [asked[1] for asked in every_label.asked] == [(1, 4), (1, 4)]


def test_the_second_order_is_measured_as_the_estimator_has_it(make_job, small):
    (result,) = LcifSearch(("micro-f1",), **GRID, n_folds=3).run(make_job({"lcif2": method()}))
    settings = result.settings["micro-f1"]
    train, test = small.split()
    model = LCIF(threshold="two-pass", second_order=True, **settings).fit(train.X, train.Y)
    expected = evaluate(test.Y, model.predict(test.X), conventions="mulan")["micro-f1"]
    assert result.values["micro-f1"][0] == pytest.approx(expected, abs=1e-6)


def test_raised_similarities_do_not_change_neighbours(small):
    train, test = small.split()
    plain, squared = (lcif_fold(train, test, 5, True, power) for power in (1.0, 2.0))
    for one, other in (
        (plain.graph, squared.graph),
        (plain.training.graph, squared.training.graph),
        (plain.training.joint, squared.training.joint),
    ):
        assert np.array_equal(one.ids, other.ids)
        assert np.allclose(one.similarity**2, other.similarity)
        assert raised(one, 1.0) is one
