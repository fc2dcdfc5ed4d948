"""InstanceKNN, FeatureKNN and LCIF as a user meets them."""

import copy
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import vicinal
from vicinal import LCIF, FeatureKNN, InstanceKNN
from vicinal.decision import CardinalityThreshold, Threshold
from vicinal.decision.never_empty import FittedNeverEmpty
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.index import InvertedIndex

pytestmark = pytest.mark.native
RNG = np.random.default_rng(2)
X = (RNG.random((60, 20)) < 0.2).astype(float)
Y = (RNG.random((60, 7)) < 0.3).astype(int)
Q = (RNG.random((15, 20)) < 0.2).astype(float)
X[3] = 0
Q[0] = 0

MODELS = {
    "instance": InstanceKNN(5),
    "second": InstanceKNN(5, second_order=True),
    "feature": FeatureKNN(4),
    "feature of labels, max": FeatureKNN(4, "label", "max"),
    "lcif": LCIF(5, 3, 0.4),
    "lcif2": LCIF(5, 3, 0.4, True),
}


@pytest.fixture(params=sorted(MODELS))
def model(request):
    return clone(MODELS[request.param])


def test_parameters_and_defaults_are_those_of_the_interface():
    common = {"metric": "cosine", "threshold": None, "never_empty": None, "n_jobs": None}
    common |= {"algorithm": "auto", "recalibrate_at": 0.01}
    own = {"n_neighbors": 15, "second_order": False, "power": 1.0}
    assert InstanceKNN().get_params() == {**own, **common}
    switches = {"neighbors_of": "feature", "aggregate": "kept-mean"}
    assert FeatureKNN().get_params() == {"n_neighbors": 15, **switches, **common}
    counts = {"n_neighbors_instance": 15, "n_neighbors_feature": 15}
    own = {**counts, "mixing": 0.5, "second_order": False, **switches}
    assert LCIF().get_params() == {**own, **common}


def test_dense_and_sparse_rows_and_labels_agree(model):
    dense = clone(model).fit(X, Y)
    thin = clone(model).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert np.array_equal(dense.predict_proba(Q), thin.predict_proba(sparse.csr_array(Q)).toarray())
    assert sparse.issparse(thin.predict(Q))
    assert np.array_equal(dense.predict(Q), thin.predict(Q).toarray())


def test_ready_graphs_replace_the_search(model):
    index = InvertedIndex(X)
    model.fit(X, Y)
    ready = clone(model).fit(X, Y, graph=index.query_self(9))
    assert np.array_equal(ready.predict_proba(Q, graph=index.query(Q, 9)), model.predict_proba(Q))


def test_saved_and_loaded_it_predicts_the_same(model, tmp_path):
    model.fit(sparse.csr_array(X), Y)
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.predict_proba(Q), model.predict_proba(Q))
    assert np.array_equal(again.predict(Q), model.predict(Q))
    assert again.decision_ == model.decision_
    assert np.array_equal(copy.deepcopy(model).predict_proba(Q), model.predict_proba(Q))


@pytest.mark.parametrize("name", ["feature", "lcif"])
def test_similarities_of_other_features_are_refused(name):
    model = clone(MODELS[name]).fit(X, Y)
    state = model.get_state()
    state["X"] = X[:, :19]
    with pytest.raises(
        ModelFormatError, match=r"expected (19 features, got 20|20 features, got 19)"
    ):
        type(model).from_state(state)
    state = model.get_state()
    state["scoring"] = InstanceKNN(5).fit(X, Y).scoring_
    with pytest.raises(
        ModelFormatError, match="scoring: expected feature kNN or LCIF, got InstanceKNNScoring"
    ):
        type(model).from_state(state)


def test_every_row_gets_a_label_whatever_the_threshold(model):
    counts = Y.sum(axis=0)
    for threshold in (None, "cardinality", "two-pass", 0.99, Threshold(2.0)):
        labels = clone(model).set_params(threshold=threshold).fit(X, Y).predict(Q)
        assert labels.sum(axis=1).min() >= 1
        assert np.flatnonzero(labels[0]).tolist() == [counts.argmax()]
    none = clone(model).set_params(threshold=2.0, never_empty=False).fit(X, Y).predict(Q)
    assert none.sum() == 0


def test_the_threshold_keeps_the_number_of_labels(model):
    model.fit(X, Y)
    assert isinstance(model.decision_, FittedNeverEmpty)
    scoring, graph = model.scoring_, model.search_.query_self(max(model.scoring_.k, 1))
    scores = scoring.scores(graph, X)
    t = model.decision_.rule.value
    values = scores.toarray()
    miss = abs((values > t).sum() - Y.sum())
    assert all(miss <= abs((values > s).sum() - Y.sum()) for s in np.unique(values))
    assert model.decision_.rule == CardinalityThreshold().fit(scores, scoring.Y)


def test_feature_knn_builds_no_index(monkeypatch):
    def refuse(*args):
        raise AssertionError("an index was built")

    monkeypatch.setattr("vicinal.index.training_rows.build_index", refuse)
    FeatureKNN(3).fit(X, Y).predict(Q)


def test_second_order_warns_where_labels_are_few():
    few = np.zeros((60, 7), dtype=int)
    few[:, 0] = 1
    many = np.ones((60, 20))
    for model in (InstanceKNN(3, second_order=True), LCIF(3, 3, second_order=True)):
        with pytest.warns(UserWarning, match="rows have 1 labels and 20 features") as caught:
            model.fit(many, few)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, Y)


def test_the_first_neighbour_of_the_second_order_is_the_row_itself():
    first, second = InstanceKNN(1).fit(X, Y), InstanceKNN(1, second_order=True).fit(X, Y)
    assert np.array_equal(first.predict_proba(Q), second.predict_proba(Q))


def test_a_mix_of_one_part_is_that_part():
    instance, feature = InstanceKNN(5).fit(X, Y), FeatureKNN(3).fit(X, Y)
    for mixing, part in ((1.0, instance), (0.0, feature)):
        both = LCIF(5, 3, mixing).fit(X, Y)
        assert np.array_equal(both.predict_proba(Q), part.predict_proba(Q))
        assert np.array_equal(both.predict(Q), part.predict(Q))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (InstanceKNN(0), "n_neighbors"),
        (InstanceKNN(second_order="yes"), "second_order"),
        (InstanceKNN(metric="manhattan"), "metric"),
        (FeatureKNN(0), "n_neighbors"),
        (FeatureKNN(neighbors_of="row"), "neighbors_of"),
        (FeatureKNN(aggregate="sum"), "aggregate"),
        (LCIF(0), "n_neighbors_instance"),
        (LCIF(5, 0), "n_neighbors_feature"),
        (LCIF(mixing=1.1), "mixing"),
        (LCIF(mixing=float("nan")), "mixing"),
        (LCIF(second_order=1), "second_order"),
        (LCIF(threshold="best"), "threshold"),
    ],
)
def test_a_bad_parameter_is_named(model, name):
    with pytest.raises(InvalidArgumentError, match=f"{name}: expected"):
        model.fit(X, Y)


def test_many_labels_cost_no_more_than_those_held(model):
    rng = np.random.default_rng(3)
    n_labels = 200_000
    rows, labels = np.repeat(np.arange(60), 4), rng.integers(0, n_labels, 240)
    wide = sparse.csr_array((np.ones(240), (rows, labels)), shape=(60, n_labels))
    ids, scores = model.fit(sparse.csr_array(X), wide).rank(Q, 3)
    assert ids.shape == (15, 3)
    assert np.all(np.diff(scores, axis=1) <= 0)


def test_power_is_saved(tmp_path, sample):
    model = InstanceKNN(3, power=2.5).fit(sample.X, sample.Y)
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    assert again.scoring_.power == 2.5
    np.testing.assert_array_equal(again.predict(sample.X_test), model.predict(sample.X_test))


def test_power_is_kept_by_small_changes():
    """A model large enough that ``partial_fit`` and ``forget`` revise it instead of refitting."""
    rows = np.random.default_rng(5).random((300, 4))
    labels = (rows > 0.6).astype(int)
    model = InstanceKNN(3, power=2.5).fit(rows[:298], labels[:298])
    model.partial_fit(rows[298:], labels[298:]).forget([0])
    assert model.scoring_.power == 2.5
    fresh = InstanceKNN(3, power=2.5).fit(rows[1:], labels[1:])
    np.testing.assert_array_equal(model.predict_proba(rows), fresh.predict_proba(rows))


@pytest.mark.parametrize("power", [0, -1, float("nan"), "2"])
def test_a_power_that_is_not_positive_is_refused(sample, power):
    with pytest.raises(InvalidArgumentError, match="power: expected"):
        InstanceKNN(3, power=power).fit(sample.X, sample.Y)


def test_power_is_refused_in_the_second_order(sample):
    with pytest.raises(
        InvalidArgumentError, match="power: expected 1, because second_order is set"
    ):
        InstanceKNN(3, second_order=True, power=2.0).fit(sample.X, sample.Y)


@pytest.mark.parametrize("kind", [FeatureKNN, LCIF])
def test_tuning_tries_both_switches_and_begins_with_the_default(kind):
    grid = kind.method.grid
    assert set(grid["neighbors_of"]) == {"feature", "label"}
    assert {"kept-mean", "max"} <= set(grid["aggregate"])
    assert (grid["neighbors_of"][0], grid["aggregate"][0]) == ("feature", "kept-mean")
    assert (kind().neighbors_of, kind().aggregate) == ("feature", "kept-mean")
