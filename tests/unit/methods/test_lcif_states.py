"""What the LCIF family learned: out as plain values, back to the bit, and not if tampered with."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import vicinal
from vicinal import LCIF, FeatureKNN
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.methods import feature_knn
from vicinal.methods.brknn import BRkNNScoring
from vicinal.methods.feature_knn import ChangedFeatureKNNScoring, FeatureKNNScoring
from vicinal.methods.instance_knn import InstanceKNNScoring, SecondOrderScoring
from vicinal.methods.lcif import LCIFScoring, mix
from vicinal.methods.training import Training
from vicinal.scores import Scores

pytestmark = pytest.mark.native
RNG = np.random.default_rng(1)
X = RNG.random((30, 8)) * (RNG.random((30, 8)) < 0.5)
Y = sparse.csr_array((RNG.random((30, 5)) < 0.4).astype(np.int32))


@pytest.fixture(scope="module")
def training():
    graph = build_index(X, "cosine").query_self(6)
    return Training(
        graph, Y, X, joint=build_index(np.hstack([X, Y.toarray()]), "cosine").query_self(6)
    )


@pytest.fixture(scope="module")
def fitted(training):
    instance, second = InstanceKNNScoring.fit(training, 4), SecondOrderScoring.fit(training, 4)
    feature = FeatureKNNScoring.fit(training, 3)
    return {
        "instance": instance,
        "second": second,
        "feature": feature,
        "lcif": LCIFScoring(instance, feature, 0.3),
        "lcif2": LCIFScoring(second, feature, 0.3),
    }


NAMES = ["instance", "second", "feature", "lcif", "lcif2"]


@pytest.mark.parametrize("name", NAMES)
def test_a_state_comes_back_to_the_bit(fitted, training, name):
    part = fitted[name]
    again = type(part).from_state(part.get_state())
    before, after = (p.scores(training.graph, X) for p in (part, again))
    assert np.array_equal(before.toarray(), after.toarray())
    assert (again.k, again.Y.shape) == (part.k, Y.shape)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_key_is_refused(fitted, name):
    state = fitted[name].get_state()
    for key in state:
        rest = {other: value for other, value in state.items() if other != key}
        with pytest.raises(ModelFormatError):
            type(fitted[name]).from_state(rest)


def changed(matrix, data):
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def wide(matrix):
    return sparse.csr_array(sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], 1))]))


@pytest.mark.parametrize(
    ("name", "key", "tamper"),
    [
        ("instance", "k", lambda k: 0),
        ("instance", "k", lambda k: "4"),
        ("instance", "Y", lambda Y: changed(Y, np.full(Y.nnz, 2, dtype=np.int32))),
        ("instance", "Y", lambda Y: Y.toarray()),
        ("second", "k", lambda k: -1),
        ("second", "rw", wide),
        ("second", "rw", lambda rw: changed(rw, rw.data * np.nan)),
        ("second", "rw", lambda rw: changed(rw, rw.data + 1)),
        ("second", "rw", lambda rw: changed(rw, np.full(rw.nnz, 1.001))),
        ("second", "rw", lambda rw: changed(rw, -rw.data)),
        ("feature", "similarity", wide),
        ("feature", "similarity", lambda s: changed(s, -s.data)),
        ("feature", "similarity", lambda s: changed(s, s.data * np.inf)),
        ("feature", "similarity", lambda s: changed(s, np.full(s.nnz, 1.001))),
        ("feature", "aggregate", lambda a: "sum"),
        ("feature", "aggregate", lambda a: None),
        ("lcif", "mixing", lambda m: 1.5),
        ("lcif", "mixing", lambda m: "0.5"),
        ("lcif", "instance", lambda part: BRkNNScoring(part.k, part.Y)),
        ("lcif", "instance", lambda part: InstanceKNNScoring(part.k, wide(part.Y))),
        ("lcif", "feature", lambda part: {**part, "aggregate": "sum"}),
        ("lcif", "feature", lambda part: None),
    ],
)
def test_a_changed_value_is_refused(fitted, name, key, tamper):
    state = fitted[name].get_state()
    state[key] = tamper(state[key])
    with pytest.raises(ModelFormatError):
        type(fitted[name]).from_state(state)


def test_cosines_and_shares_of_1_are_read_in_spite_of_rounding():
    one = sparse.csr_array(np.array([[1.0, np.nextafter(1.0, 2.0)]]))
    Y = sparse.csr_array(np.array([[1, 0]], dtype=np.int32))
    FeatureKNNScoring.from_state(FeatureKNNScoring(one, "mean", Y).get_state())
    SecondOrderScoring.from_state(SecondOrderScoring(1, one, Y).get_state())


def test_a_stored_zero_is_no_feature_of_a_row(fitted, training):
    row = sparse.csr_array(([0.0, 2.0], [1, 4], [0, 2]), shape=(1, 8))
    (said,) = fitted["feature"].explain(training.graph, [0], row)
    assert said.facts["features"] == 1


FIRST_ROWS = X, np.zeros(0, dtype=np.bool_), Y, np.asarray(Y.sum(axis=0))


def test_a_feature_may_keep_one_label_after_a_change(training):
    for n_kept in (1, 2):
        changed = ChangedFeatureKNNScoring.of(*FIRST_ROWS, n_kept, "mean")
        fitted = FeatureKNNScoring.fit(training, n_kept)
        np.testing.assert_array_equal(changed.similarity.toarray(), fitted.similarity.toarray())


def similarities(scoring):
    return scoring._of_features(np.arange(scoring.n_features)).toarray()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_every_version_keeps_the_similarities_of_its_rows(seed):
    """Old versions and copies are asked again after later changes, also after one was given up."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns, n_labels = 420, int(rng.integers(1, 6)), int(rng.integers(1, 5))
    rows = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.6)
    X = sparse.csr_array(rows) if rng.random() < 0.5 else rows
    Y = sparse.csr_array((rng.random((n_rows, n_labels)) < 0.4).astype(np.int32))
    n_old, gone = int(rng.integers(1, 100)), np.zeros(0, dtype=np.bool_)

    def given(count):
        alive = ~gone if len(gone) else np.ones(count, dtype=np.bool_)
        return X[:count], gone, Y[:count], np.asarray(Y[:count][alive].sum(axis=0)).ravel()

    newest = ChangedFeatureKNNScoring.of(*given(n_old), 2, "mean")
    versions = [newest]
    while n_old < n_rows:
        if rng.random() < 0.3:
            alive = np.flatnonzero(~gone) if len(gone) else np.arange(n_old)
            gone = gone.copy() if len(gone) else np.zeros(n_old, dtype=np.bool_)
            gone[alive[rng.integers(len(alive))]] = len(alive) > 1
        else:
            more = int(min(n_rows - n_old, rng.integers(1, 60)))
            n_old += more
            gone = np.append(gone, np.zeros(more, dtype=np.bool_)) if len(gone) else gone
        before = versions[rng.integers(-2, 0) % len(versions)] if rng.random() < 0.1 else newest
        newest = before.changed(*given(n_old))
        versions.append(deepcopy(newest) if rng.random() < 0.1 else newest)
        some = versions[-2:] if rng.random() < 0.5 else []
        for version in [*some, versions[rng.integers(len(versions))]]:
            np.testing.assert_array_equal(similarities(version), version.similarity.toarray())


def test_what_a_method_needs_is_asked_for(training, fitted):
    bare = Training(training.graph, Y)
    with pytest.raises(InvalidArgumentError, match="joint: expected"):
        SecondOrderScoring.fit(bare, 2)
    with pytest.raises(InvalidArgumentError, match="X: expected"):
        FeatureKNNScoring.fit(bare, 2)
    with pytest.raises(InvalidArgumentError, match="X: expected"):
        fitted["feature"].scores(training.graph)
    with pytest.raises(InvalidArgumentError, match="X: expected 8 features, got 7"):
        fitted["feature"].scores(training.graph, X[:, :7])
    with pytest.raises(InvalidArgumentError, match="neighbors_of: expected"):
        FeatureKNNScoring.fit(training, 2, "row")
    with pytest.raises(InvalidArgumentError, match="aggregate: expected"):
        FeatureKNNScoring.fit(training, 2, "label", "min")


def test_the_joint_graph_must_be_of_the_same_rows(training):
    short = NeighborGraph(np.zeros((2, 1), dtype=np.int32), np.ones((2, 1)), "cosine", 30)
    with pytest.raises(
        InvalidArgumentError, match="joint: expected the leave-one-out graph of 30 rows"
    ):
        Training(training.graph, Y, joint=short)
    with pytest.raises(InvalidArgumentError, match="joint: expected one of 'cosine'"):
        Training(training.graph, Y, joint=build_index(X, "dot").query_self(2))


def test_of_k_rows_in_the_second_order_one_is_the_row_itself():
    """Of the two others, 0.5 and 0.25 alike, k = 2 takes the nearer only, and k = 3 both."""
    Y = sparse.csr_array(np.eye(3, dtype=np.int32))
    ids = np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32)
    joint = NeighborGraph(ids, np.tile([0.5, 0.25], (3, 1)), "cosine", 3)
    training = Training(joint, Y, joint=joint)
    two, three = (SecondOrderScoring.fit(training, k).rw.toarray()[0] for k in (2, 3))
    assert two.tolist() == [1 / 1.5, 0.5 / 1.5, 0.0]
    assert three.tolist() == [1 / 1.75, 0.5 / 1.75, 0.25 / 1.75]


def test_feature_knn_searches_once_for_every_k(training):
    ks = [5, 1, 9]
    for neighbors_of in ("feature", "label"):
        swept = FeatureKNNScoring.fit_sweep(training, ks, neighbors_of)
        for k, state in zip(ks, swept, strict=True):
            alone = FeatureKNNScoring.fit(training, k, neighbors_of)
            assert np.array_equal(state.similarity.toarray(), alone.similarity.toarray())


def test_mix_at_its_ends_is_one_part(fitted, training):
    instance = fitted["instance"].scores(training.graph, X)
    feature = fitted["feature"].scores(training.graph, X)
    assert np.array_equal(mix(instance, feature, 1.0).toarray(), instance.toarray())
    assert np.array_equal(mix(instance, feature, 0.0).toarray(), feature.toarray())
    assert mix(instance, feature, 1.0).values.nnz == instance.values.nnz
    assert mix(instance, feature, 0.0).values.nnz == feature.values.nnz
    assert mix(instance, feature, 0.5).neighbor_cardinality is instance.neighbor_cardinality


def test_mix_takes_scores_that_are_0_where_none_is_stored(fitted, training):
    instance = fitted["instance"].scores(training.graph, X)
    with pytest.raises(InvalidArgumentError, match="scores: expected sparse scores"):
        mix(instance, Scores.dense(np.zeros((30, 5))), 0.5)
    with pytest.raises(InvalidArgumentError, match="scores: expected sparse scores"):
        mix(instance, Scores.sparse(sparse.csr_array((30, 5)), base=np.full(5, 0.1)), 0.5)


@pytest.mark.parametrize("few", [0, 4096])
@pytest.mark.parametrize("make", [FeatureKNN, LCIF])
def test_feature_knn_after_several_changes_is_that_of_a_new_fit(make, few, monkeypatch):
    """However many features a query has."""
    monkeypatch.setattr(feature_knn, "FEW_FEATURES", few)
    rng = np.random.default_rng(4)
    X = rng.random((320, 8)) * (rng.random((320, 8)) < 0.5)
    Y = sparse.csr_array((rng.random((320, 5)) < 0.4).astype(np.int32))
    model = make().fit(X[:300], Y[:300])
    for row in range(300, 304):
        model.partial_fit(X[[row]], Y[[row]])
        model.forget([row - 290])
    kept = np.setdiff1d(np.arange(304), np.arange(10, 14))
    wanted = make().fit(X[kept], Y[kept])
    ours, theirs = model.scores(X[304:]), wanted.scores(X[304:])
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    (said,), want = model.explain(X[304:305]), wanted.explain(X[304:305])
    assert [each.score for each in said.labels] == [each.score for each in want[0].labels]


@pytest.mark.parametrize("make", [FeatureKNN, LCIF])
def test_a_model_that_has_learned_a_row_can_be_saved(make, tmp_path):
    model = make().fit(np.tile(X, (10, 1)), sparse.vstack([Y] * 10)).partial_fit(X[:1], Y[:1])
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(again.scores(X).toarray(), model.scores(X).toarray())


def test_a_changed_state_is_fitted_again_before_it_is_saved(training):
    changed = ChangedFeatureKNNScoring.of(*FIRST_ROWS, 3, "mean")
    fitted = FeatureKNNScoring.fit(training, 3, "feature", "mean")
    assert changed.n_features == 8
    np.testing.assert_array_equal(changed.similarity.toarray(), fitted.similarity.toarray())
    ours, theirs = (each.explain(training.graph, [0, 2], X[:1]) for each in (changed, fitted))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.terms[0].shares, other.terms[0].shares)
        assert one.facts == other.facts
    with pytest.raises(InvalidArgumentError, match="X: expected the features"):
        changed.scores(training.graph)
    with pytest.raises(InvalidArgumentError, match="scoring: expected what as_fitted"):
        changed.get_state()
    with pytest.raises(ModelFormatError, match="unexpected ChangedFeatureKNNScoring"):
        ChangedFeatureKNNScoring.from_state({})


def test_parts_of_other_rows_do_not_fit(training, fitted):
    with pytest.raises(InvalidArgumentError, match="similarity: expected 5 labels, got 4"):
        FeatureKNNScoring(fitted["feature"].similarity[:, :4], "mean", Y)
    other = FeatureKNNScoring(fitted["feature"].similarity, "mean", Y[:3])
    with pytest.raises(InvalidArgumentError, match="feature: expected labels of shape"):
        LCIFScoring(fitted["instance"], other, 0.3)
    with pytest.raises(InvalidArgumentError, match="instance: expected instance kNN of the first"):
        fitted["lcif2"].as_fitted(Y, X)
