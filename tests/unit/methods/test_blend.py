"""The blend as a user meets it."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import vicinal
from vicinal import Blend, InstanceKNN, LabelRidge, MLkNN
from vicinal.decision import CardinalityThreshold
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.methods.blend import plan
from vicinal.methods.blend.mixture import ConvexMix, Trees
from vicinal.methods.blend.network import Network
from vicinal.methods.blend.parts import Part
from vicinal.methods.instance_knn import InstanceKNNScoring
from vicinal.methods.training import Training
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native


def documents(n=260, n_words=60, n_labels=8, seed=0):
    """Rows of word counts whose labels each prefer some words, and some other labels."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.1), size=n_labels)
    Y = (rng.random((n, n_labels)) < 0.2).astype(np.int64)
    Y[:, 1] |= Y[:, 0] & (rng.random(n) < 0.7)
    words = np.full(n_words, 1 / n_words)
    X = np.array([rng.poisson(6 * (0.3 * words + y @ topics)) for y in Y], dtype=float)
    return X, Y


X, Y = documents()
TRAIN, TEST = slice(0, 200), slice(200, None)


def same(a, b):
    np.testing.assert_array_equal(
        a.toarray() if sparse.issparse(a) else a, b.toarray() if sparse.issparse(b) else b
    )


@pytest.fixture(scope="module")
def fitted():
    return Blend().fit(X[TRAIN], Y[TRAIN])


def test_is_better_than_its_parts(fitted):
    def micro_f1(model):
        return evaluate(Y[TEST], model.predict(X[TEST]))["micro-f1"]

    votes = max(micro_f1(InstanceKNN(k, power=2.0).fit(X[TRAIN], Y[TRAIN])) for k in (10, 40))
    assert micro_f1(fitted) > votes
    assert micro_f1(fitted) > micro_f1(MLkNN().fit(X[TRAIN], Y[TRAIN]))
    assert micro_f1(fitted) > micro_f1(LabelRidge().fit(X[TRAIN], Y[TRAIN])) - 0.02


@pytest.mark.parametrize("combine", ["boosting", "network", "mix"])
def test_scores_are_probabilities(combine):
    model = Blend(combine=combine).fit(X[TRAIN], Y[TRAIN])
    kinds = {"boosting": Trees, "network": Network, "mix": ConvexMix}
    assert type(model.scoring_.mixture) is kinds[combine]
    scores = model.predict_proba(X[TEST])
    assert scores.shape == (60, 8)
    assert 0 < scores.min() <= scores.max() <= 1
    # Calibrated: as many labels as the rows have, within what chance allows for 60 rows.
    true = Y[TEST].sum()
    assert abs(scores.sum() - true) < 3 * np.sqrt((scores * (1 - scores)).sum())


def test_repeats_itself(fitted):
    again = Blend().fit(X[TRAIN], Y[TRAIN])
    same(again.predict_proba(X[TEST]), fitted.predict_proba(X[TEST]))
    assert again.decision_ == fitted.decision_


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_nothing(fitted, n_jobs):
    model = Blend(n_jobs=n_jobs).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(
        model.predict_proba(X[TEST]), fitted.predict_proba(X[TEST]), rtol=1e-6
    )


def test_sparse_rows_and_labels_give_the_same(fitted):
    model = Blend().fit(sparse.csr_array(X[TRAIN]), sparse.csr_array(Y[TRAIN]))
    found = model.predict_proba(sparse.csr_array(X[TEST]))
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), fitted.predict_proba(X[TEST]), atol=1e-6)


def test_rows_are_scored_one_by_one_as_together(fitted):
    one_by_one = np.vstack([fitted.predict_proba(row[None]) for row in X[TEST][:9]])
    np.testing.assert_allclose(one_by_one, fitted.predict_proba(X[TEST][:9]), rtol=1e-9)


@pytest.mark.parametrize("combine", ["boosting", "network", "mix"])
def test_saved_and_loaded(tmp_path, combine):
    model = Blend(combine=combine).fit(sparse.csr_array(X[TRAIN]), Y[TRAIN])
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    same(again.predict_proba(X[TEST]), model.predict_proba(X[TEST]))
    same(again.predict(X[TEST]), model.predict(X[TEST]))
    assert again.part_names_ == model.part_names_
    assert again.get_params() == model.get_params()


def test_copied(fitted):
    again = copy.deepcopy(fitted)
    same(again.predict_proba(X[TEST]), fitted.predict_proba(X[TEST]))


def test_incremental_learning_equals_a_fit_on_all_rows(fitted):
    model = Blend().fit(X[:150], Y[:150]).partial_fit(X[150:230], Y[150:230])
    model.forget(np.arange(200, 230))
    same(model.predict_proba(X[TEST]), fitted.predict_proba(X[TEST]))
    same(model.predict(X[TEST]), fitted.predict(X[TEST]))


def test_a_loaded_model_learns_further(tmp_path, fitted):
    Blend().fit(X[:150], Y[:150]).save(tmp_path / "model")
    model = vicinal.load(tmp_path / "model").partial_fit(X[150:200], Y[150:200])
    same(model.predict_proba(X[TEST]), fitted.predict_proba(X[TEST]))


def test_a_ready_graph_replaces_the_search(fitted):
    index = vicinal.index.DenseIndex(X[TRAIN], "cosine")
    model = Blend().fit(X[TRAIN], Y[TRAIN], graph=index.query_self(40))
    graph = index.query(X[TEST], 40)
    same(model.predict_proba(X[TEST], graph=graph), fitted.predict_proba(X[TEST]))


def test_estimators_can_be_mixed(tmp_path):
    parts = [InstanceKNN(10, power=2.0), LabelRidge(1.0), MLkNN(7, metric="cosine")]
    model = Blend(parts).fit(X[TRAIN], Y[TRAIN])
    assert model.part_names_ == ("InstanceKNN 1", "LabelRidge 2", "MLkNN 3")
    alone = InstanceKNN(10, power=2.0).fit(X[TRAIN], Y[TRAIN])

    def precision(estimator):
        return evaluate(Y[TEST], scores=estimator.scores(X[TEST]))["average-precision"]

    assert precision(model) > precision(alone)
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    same(again.predict_proba(X[TEST]), model.predict_proba(X[TEST]))
    assert [repr(part) for part in again.parts] == [repr(part) for part in parts]
    same(
        again.partial_fit(X[TEST], Y[TEST]).predict_proba(X[:9]),
        Blend(parts).fit(X, Y).predict_proba(X[:9]),
    )


def test_dense_measurements(tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(240, 5)) * [1, 10, 100, 1, 1]
    labels = np.c_[rows[:, 0] ** 2 > 1, rows[:, 1] > 0, (rows[:, 0] > 0) & (rows[:, 2] > 0)]
    labels = labels.astype(int)
    model = Blend().fit(rows[:180], labels[:180])
    assert model.part_names_ == (
        "votes, as given",
        "votes, scaled",
        "ridge, scaled",
        "ridge, kernel",
        "co-occurrence",
    )

    def micro_f1(estimator):
        return evaluate(labels[180:], estimator.predict(rows[180:]))["micro-f1"]

    for other in (MLkNN(), LabelRidge(metric="dot")):
        assert micro_f1(model) > micro_f1(
            make_pipeline(MinMax(), other).fit(rows[:180], labels[:180])
        )
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    same(again.predict_proba(rows[180:]), model.predict_proba(rows[180:]))


@pytest.mark.parametrize(
    "labels",
    [
        np.zeros((30, 3), dtype=int),
        np.ones((30, 3), dtype=int),
        np.eye(30, 1, dtype=int),
        np.eye(30, dtype=int),
    ],
    ids=["no labels", "all labels", "one label in one row", "each label once"],
)
def test_odd_labels(labels):
    model = Blend().fit(X[:30], labels)
    scores = model.predict_proba(X[30:40])
    assert np.isfinite(scores).all()
    assert model.predict(X[30:40]).shape == (10, labels.shape[1])


def test_a_cell_holds_the_logarithm_of_the_labels_share(fitted):
    """Of rows, where half a row with and half a row without every label are added."""
    share = (Y[TRAIN].sum(axis=0) + 0.5) / (len(Y[TRAIN]) + 1)
    np.testing.assert_allclose(fitted.scoring_.maker.log_prior, np.log(share), rtol=1e-12)


def test_parts_speak_of_rows_as_their_view_shows_them(fitted):
    state = fitted.scoring_
    graph = fitted.neighbor_graph(X[TEST])
    said = state.part_scores(graph, X[TEST])
    assert len(said) == len(state.names)
    assert [part.view for part in state.parts] == [0, 1, 0, 1, 1]  # similarity: of weighted rows
    for part, scores in zip(state.parts, said, strict=False):
        view = state.views[part.view]
        rows = view.of(X[TEST])
        near = graph if view.rows is None or not part.scoring.k else view.nearest(rows, 40)
        alone = part.scoring.scores(near, rows)
        np.testing.assert_allclose(scores.toarray(), alone.toarray(), rtol=1e-12, atol=1e-15)
    votes = [
        Part(str(k), view, InstanceKNNScoring(k, state.Y)) for view, k in ((0, 5), (1, 30), (1, 2))
    ]
    fewer = replace(state, parts=tuple(votes), co_occurrence=None)
    for part, scores in zip(votes, fewer.part_scores(graph, X[TEST]), strict=True):
        near = state.views[1].nearest(state.views[1].of(X[TEST]), 40) if part.view else graph
        same(scores.toarray(), part.scoring.scores(near).toarray())
    last_ridge = state.names.index("ridge, weighted")
    spread = state.co_occurrence.scores(said[last_ridge].toarray())
    np.testing.assert_allclose(said[-1].toarray(), spread, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
def test_few_rows(n_rows):
    model = Blend().fit(X[:n_rows], Y[:n_rows])
    assert model.predict(X[:4]).shape == (4, 8)


def test_rows_without_features(fitted):
    nothing = np.zeros((2, X.shape[1]))
    assert np.isfinite(fitted.predict_proba(nothing)).all()
    assert (fitted.predict(nothing).sum(axis=1) >= 1).all()


def test_little_memory_leaves_parts_out():
    with pytest.warns(UserWarning, match=r"Blend: the ridge is left out, because of max_memory=1"):
        model = Blend(max_memory=1).fit(X[TRAIN], Y[TRAIN])
    assert model.part_names_ == ("votes, as given", "votes, weighted", "feature similarity")
    assert evaluate(Y[TEST], model.predict(X[TEST]))["micro-f1"] > 0.4


def test_some_memory_leaves_features_out():
    with pytest.warns(UserWarning, match=r"the ridge uses the \d+ of 60 features"):
        model = Blend(max_memory=2**15).fit(X[TRAIN], Y[TRAIN])
    assert "ridge, weighted" in model.part_names_


def test_many_labels_leave_votes_only(monkeypatch):
    monkeypatch.setattr(plan, "MANY_LABELS", 7)
    with pytest.warns(UserWarning, match="only votes of neighbours are used"):
        model = Blend().fit(X[TRAIN], Y[TRAIN])
    assert model.part_names_ == ("votes, as given", "votes, weighted")
    assert evaluate(Y[TEST], model.predict(X[TEST]))["micro-f1"] > 0.4


def test_negative_sparse_values_leave_weights_out():
    with pytest.warns(UserWarning, match="label weights are left out"):
        model = Blend().fit(-X[TRAIN] * (X[TRAIN] > 1), Y[TRAIN])
    assert model.part_names_ == ("votes, as given", "ridge, as given", "co-occurrence")


def test_other_thresholds(fitted):
    model = Blend(threshold=CardinalityThreshold(), never_empty=False).fit(X[TRAIN], Y[TRAIN])
    held_out = model.scoring_.held_out
    predicted = model.decision_.decide(held_out.scores).sum()
    assert abs(predicted - Y[TRAIN].sum()) <= 2
    fixed = Blend(threshold=0.5, never_empty=False).fit(X[TRAIN], Y[TRAIN])
    same(fixed.predict(X[TEST]), (fitted.predict_proba(X[TEST]) > 0.5).astype(int))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"parts": "all"}, "parts: expected one of 'auto'"),
        ({"parts": []}, "parts: expected 'auto' or a list of vicinal estimators"),
        ({"parts": [3]}, "parts: expected 'auto' or a list of vicinal estimators"),
        ({"combine": "vote"}, "combine: expected one of"),
        ({"random_state": -1}, "random_state: expected an integer of at least 0"),
        ({"max_memory": "2G"}, "max_memory: expected an integer"),
    ],
)
def test_refuses(params, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Blend(**params).fit(X[:20], Y[:20])


DAMAGED = [
    "InstanceKNN",
    {"type": "os.system", "params": {}},
    {"type": "LabelRidge"},
    {"type": "LabelRidge", "params": {"nonsense": 1}},
]


def test_a_damaged_part_is_refused(tmp_path):
    model = Blend([InstanceKNN(3), LabelRidge()]).fit(X[TRAIN], Y[TRAIN])
    state = model.get_state()
    for part in DAMAGED:
        params = {**state["params"], "parts": [part]}
        with pytest.raises(ModelFormatError, match="parts: "):
            Blend.from_state({**state, "params": params})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("width", 0),
        ("scale", np.zeros(6)),
        ("center", np.zeros(2)),
        ("mixture", None),
        ("parts", []),
        ("views", []),
        ("log_prior", np.zeros(3)),
    ],
)
def test_a_damaged_state_is_refused(fitted, key, value):
    state = fitted.scoring_.get_state()
    with pytest.raises(ModelFormatError):
        type(fitted.scoring_).from_state({**state, key: value})


def test_damaged_parts_are_refused(fitted):
    state = fitted.scoring_.get_state()
    first, *others = state["parts"]
    short = InstanceKNNScoring(first.scoring.k, first.scoring.Y[:9])
    for damaged in (replace(first, view=2), replace(first, scoring=short), first.scoring):
        with pytest.raises(ModelFormatError, match="parts: "):
            type(fitted.scoring_).from_state({**state, "parts": [damaged, *others]})


def test_no_rows_have_no_scores(fitted):
    graph = fitted.neighbor_graph(X[TEST]).some(slice(0, 0))
    assert fitted.scoring_.scores(graph, X[:0]).shape == (0, 8)


def test_a_blend_without_neighbours_is_saved_and_loaded(tmp_path):
    model = Blend([LabelRidge()], combine="mix").fit(X[TRAIN], Y[TRAIN])
    assert model.scoring_.k == 0
    model.save(tmp_path / "model")
    same(vicinal.load(tmp_path / "model").predict(X[TEST]), model.predict(X[TEST]))


def test_trees_that_run_in_circles_are_refused(fitted):
    state = fitted.scoring_.mixture.get_state()
    inner = int(np.flatnonzero(state["feature"] >= 0)[0])
    for key in ("left", "right"):
        damaged = state[key].copy()
        damaged[inner] = inner
        with pytest.raises(ModelFormatError, match="later nodes"):
            type(fitted.scoring_.mixture).from_state({**state, key: damaged})


@pytest.mark.parametrize("n_copies", [2, 4, 8])
def test_a_small_table_does_not_get_every_label(n_copies):
    """With few cells boosting cannot split: the mixture is then the convex one."""
    X = np.tile(np.eye(6), (n_copies, 1))
    sets = [["a"], ["b"], ["c"], ["d"], ["a", "b"], ["c", "d"]] * n_copies
    model = Blend(random_state=0).fit(X, sets)
    assert type(model.scoring_.mixture) is ConvexMix
    assert model.predict_names(np.eye(6)) == sets[:6]


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("MOST_PRODUCTS", "feature similarity is left out.*co-occurrence is left out"),
        ("MOST_UNKNOWNS", "the Gaussian kernel is left out for a linear ridge"),
    ],
)
def test_parts_that_would_take_too_long_are_left_out_and_said(limit, says, monkeypatch):
    monkeypatch.setattr(plan, limit, 1)
    rows = X[TRAIN] if limit == "MOST_PRODUCTS" else X[TRAIN] + 1  # the second are dense
    found = plan.make_plan(rows, sparse.csr_array(Y[TRAIN]), 3, 2**30)
    with pytest.warns(UserWarning, match=says):
        found.warn()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "sideways"}, "kind: expected one of"),
        ({"first": np.zeros(1)}, "first: expected"),
        ({"rows": np.full((2, 2), np.nan)}, "rows: "),
    ],
)
def test_damaged_views_are_refused(fitted, change, says):
    view = next(each for each in fitted.scoring_.views if each.rows is not None)
    with pytest.raises(ModelFormatError, match=says):
        type(view).from_state({**view.get_state(), **change})


def test_rows_the_mixture_was_not_trained_on_have_no_held_out_scores(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    again = vicinal.load(tmp_path / "m")
    training = Training(fitted.training_graph(), fitted.scoring_.Y, X[TRAIN])
    with pytest.raises(InvalidArgumentError, match="model: expected"):
        again.scoring_.training_scores(training, slice(None))


def test_a_label_that_is_no_candidate_has_a_score_of_0_and_no_parts(monkeypatch):
    monkeypatch.setattr(plan, "MOST_WIDTH", 2)
    model = Blend().fit(X[TRAIN], Y[TRAIN])
    (found,) = model.explain(X[TEST][:1], labels=list(range(8)), top=0)
    scores = model.scores(X[TEST][:1]).toarray()[0]
    absent = [each for each in found.labels if each.score == 0]
    assert len(absent) == np.count_nonzero(scores == 0) == 6
    assert all(each.base == 0 and not each.parts for each in absent)
