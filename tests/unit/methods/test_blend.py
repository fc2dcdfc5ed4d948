"""The blend as a user meets it."""

import copy
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import vicinal
from vicinal import Blend, InstanceKNN, LabelRidge, MLkNN
from vicinal.decision import CardinalityThreshold
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.methods.blend import parts
from vicinal.methods.blend.mixture import ConvexMix, Trees
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
OF_WORDS = ("votes", "local ridge", "centroids")


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


@pytest.mark.parametrize("combine", ["boosting", "mix"])
def test_scores_are_probabilities(combine):
    model = Blend(combine).fit(X[TRAIN], Y[TRAIN])
    assert type(model.scoring_.mixture) is {"boosting": Trees, "mix": ConvexMix}[combine]
    scores = model.predict_proba(X[TEST])
    assert scores.shape == (60, 8)
    assert 0 < scores.min() <= scores.max() <= 1
    # Calibrated: as many labels as the rows have, within what chance allows for 60 rows.
    true = Y[TEST].sum()
    assert abs(scores.sum() - true) < 3 * np.sqrt((scores * (1 - scores)).sum())


def test_its_parts_are_named(fitted):
    views = [f"{kind}, {view}" for view in ("as given", "weighted") for kind in OF_WORDS]
    assert fitted.part_names_ == (*views, "ridge, as given", "ridge, weighted")


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


@pytest.mark.parametrize("combine", ["boosting", "mix"])
def test_saved_and_loaded(tmp_path, combine):
    model = Blend(combine).fit(sparse.csr_array(X[TRAIN]), Y[TRAIN])
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    same(again.predict_proba(X[TEST]), model.predict_proba(X[TEST]))
    same(again.predict(X[TEST]), model.predict(X[TEST]))
    assert again.part_names_ == model.part_names_
    assert again.get_params() == model.get_params()


def test_copied(fitted):
    again = copy.deepcopy(fitted)
    same(again.predict_proba(X[TEST]), fitted.predict_proba(X[TEST]))
    again.partial_fit(X[TEST][:1], Y[TEST][:1])
    assert again.row_ids_[-1] == 200
    assert fitted.row_ids_[-1] == 199


def test_dense_measurements(tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(240, 5)) * [1, 10, 100, 1, 1]
    labels = np.c_[rows[:, 0] ** 2 > 1, rows[:, 1] > 0, (rows[:, 0] > 0) & (rows[:, 2] > 0)]
    labels = labels.astype(int)
    model = Blend().fit(rows[:180], labels[:180])
    assert model.part_names_ == (
        "votes, ranked",
        "local ridge, ranked",
        "ridge, ranked",
        "kernel ridge, ranked",
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
        np.tile(np.eye(30, dtype=int), 4),
    ],
    ids=["no labels", "all labels", "one label in one row", "each label once", "four labels a row"],
)
def test_odd_labels(labels):
    model = Blend().fit(X[:30], labels)
    scores = model.predict_proba(X[30:40])
    assert np.isfinite(scores).all()
    assert model.predict(X[30:40]).shape == (10, labels.shape[1])


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
@pytest.mark.parametrize("dense", [False, True])
def test_few_rows(n_rows, dense):
    rows = X + dense
    model = Blend().fit(rows[:n_rows], Y[:n_rows])
    assert model.predict(rows[:4]).shape == (4, 8)
    model.partial_fit(rows[5:6], Y[5:6])
    same(model.predict(rows[5:6]), Y[5:6])


def test_rows_without_features():
    nothing = np.zeros((2, X.shape[1]))
    model = Blend(never_empty=True).fit(X[TRAIN], Y[TRAIN])
    assert np.isfinite(model.predict_proba(nothing)).all()
    assert (model.predict(nothing).sum(axis=1) >= 1).all()


def test_many_labels_are_no_limit():
    """A label for each pair of words: no warning, every label ranked, nothing dense."""
    rows = sparse.csr_array(X[TRAIN])
    names = [[f"{a} {b}" for a in range(60) for b in range(a, 60) if x[a] * x[b]] for x in X[TRAIN]]
    model = Blend().fit(rows, names)
    assert len(model.label_names_) > 1_000
    ids, scores = model.rank(rows[:2], top=len(model.label_names_))
    assert all(len(set(row)) == len(model.label_names_) for row in ids.tolist())
    assert (np.diff(scores, axis=1) <= 0).all()


def test_little_memory_leaves_the_ridge_out():
    model = Blend(max_memory=1).fit(X[TRAIN], Y[TRAIN])
    assert not [name for name in model.part_names_ if name.startswith("ridge")]
    assert evaluate(Y[TEST], model.predict(X[TEST]))["micro-f1"] > 0.4


def test_negative_sparse_values_have_no_label_weights():
    model = Blend().fit(-X[TRAIN] * (X[TRAIN] > 1), Y[TRAIN])
    assert not [name for name in model.part_names_ if "weighted" in name]


def test_more_features_than_the_ridge_takes_are_seen_through_rows():
    wide = sparse.hstack([sparse.csr_array(X[TRAIN]), sparse.csr_array((200, 3_000))]).tocsr()
    narrow = Blend("mix").fit(sparse.csr_array(X[TRAIN]), Y[TRAIN])
    model = Blend("mix").fit(wide, Y[TRAIN])
    assert model.part_names_ == narrow.part_names_
    np.testing.assert_allclose(
        model.scoring_.left_out(np.arange(9), 10**6).cells,
        narrow.scoring_.left_out(np.arange(9), 10**6).cells,
        atol=2e-4,
    )


def test_rows_stay_without_a_label_where_that_is_right_more_often():
    rng = np.random.default_rng(0)
    rows = rng.random((300, 6))
    labels = sparse.csr_array((rows[:, :2] > 0.8).astype(np.int32))
    found = Blend().fit(rows[:200], labels[:200]).predict(rows[200:])
    filled = Blend(never_empty=True).fit(rows[:200], labels[:200]).predict(rows[200:])
    known, has_label = labels[200:], np.diff(found.indptr) > 0
    assert 0.2 < has_label.mean() < 0.5
    assert np.all(np.diff(filled.indptr) > 0)
    same(found[has_label], filled[has_label])
    assert evaluate(known, found)["micro-f1"] > evaluate(known, filled)["micro-f1"] + 0.2
    always = labels[:200].toarray()
    always[:, 0] |= always.sum(axis=1) == 0
    every = Blend().fit(rows[:200], always).predict(rows[200:])
    assert np.all(every.sum(axis=1) > 0)


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
        ({"combine": "vote"}, "combine: expected one of"),
        ({"combine": "network"}, "combine: expected one of"),
        ({"random_state": -1}, "random_state: expected an integer of at least 0"),
        ({"max_memory": "2G"}, "max_memory: expected an integer"),
        ({"recalibrate_at": "often"}, "recalibrate_at: expected a share of the rows"),
    ],
)
def test_refuses(params, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Blend(**params).fit(X[:20], Y[:20])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mixture", None),
        ("looks", []),
        ("looks", [None]),
        ("ridges", [None]),
        ("plan", [1, 2, 3]),
        ("plan", [1, 2, 3, -4, 0]),
        ("plan", ["a", 2, 3, 4, 0]),
    ],
)
def test_a_damaged_state_is_refused(fitted, key, value):
    state = fitted.scoring_.get_state()
    with pytest.raises(ModelFormatError):
        type(fitted.scoring_).from_state({**state, key: value})


@pytest.mark.parametrize("change", ["looks", "mixture"])
def test_parts_that_do_not_fit_the_rows_are_refused(fitted, change):
    state = fitted.get_state()
    parts = state["scoring"].get_state()
    if change == "looks":
        look = parts["looks"][1].get_state()
        parts["looks"][1] = type(parts["looks"][1]).from_state({**look, "first": np.ones(3)})
    else:
        mixture = parts["mixture"].get_state()
        wider = {"n_columns": mixture["n_columns"] + 1, "line": np.empty(0)}
        parts["mixture"] = Trees.from_state({**mixture, **wider})
    damaged = type(state["scoring"]).from_state(parts)
    with pytest.raises(ModelFormatError, match=change):
        Blend.from_state({**state, "scoring": damaged})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "sideways"}, "kind: expected one of"),
        ({"metric": "sideways"}, "metric"),
        ({"kind": "ranked", "first": np.empty((2, 0))}, "first: expected rising values"),
        ({"kind": "ranked", "first": np.array([[0.0, 1.0], [1.0, 0.0]])}, "first: expected rising"),
    ],
)
def test_damaged_looks_are_refused(fitted, change, says):
    look = fitted.scoring_.views[1].look
    with pytest.raises(ModelFormatError, match=says):
        type(look).from_state({**look.get_state(), **change})


def test_no_rows_have_no_scores(fitted):
    graph = fitted.search_.query(X[:0], 0)
    assert fitted.scoring_.scores(graph, X[:0]).shape == (0, 8)


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


def test_held_out_scores_are_those_of_the_rows_asked_for(fitted):
    training = Training(fitted.search_.query_self(0), fitted.scoring_.Y, X[TRAIN])
    held_out = fitted.scoring_.held_out
    rows = np.array([17, 3, 90])
    same(
        fitted.scoring_.training_scores(training, rows).toarray(),
        held_out.scores.toarray()[np.searchsorted(held_out.rows, rows)],
    )
    changed = copy.deepcopy(fitted).partial_fit(X[TEST][:1], Y[TEST][:1]).scoring_
    assert changed.held_out is None
    assert changed.training_scores(training, rows).shape == (3, 8)


def test_neighbours_are_those_of_the_rows_as_given(fitted):
    distances, ids = fitted.kneighbors(X[TEST][:2])
    assert ids.shape == distances.shape == (2, 50)
    same(fitted.neighbor_graph(X[TEST][:2]).ids, ids)
    assert fitted.kneighbors(n_neighbors=3, return_distance=False).shape == (200, 3)


def test_words_that_a_neighbour_shares_add_up_to_the_similarity(fitted):
    words = sparse.csr_array(X)
    views = Blend().fit({"some": words[TRAIN, :20], "others": words[TRAIN, 20:]}, Y[TRAIN])
    rows = {"some": words[TEST, :20][:3], "others": words[TEST, 20:][:3]}
    for why in [*fitted.explain(X[TEST][:3]), *views.explain(rows)]:
        for neighbor in why.neighbors:
            assert sum(part.share for part in neighbor.shared) == pytest.approx(neighbor.value)


def test_explanations_are_shapley_values_that_add_up_to_the_log_odds(fitted):
    row = X[TEST][:1]
    (found,) = fitted.explain(row, top=3)
    scores = fitted.scores(row).toarray()[0]
    for each in found.labels:
        label = fitted.label_names_.index(each.label)
        total = each.base + sum(part.share for part in each.parts)
        assert total == pytest.approx(np.log(scores[label] / (1 - scores[label])), abs=1e-9)
        assert {"neighbor", "feature"} <= {part.kind for part in each.parts}
        assert set(each.facts) == set(fitted.part_names_)


def test_a_part_that_is_left_out_says_nothing(fitted):
    """Shapley values by the definition: the order in which parts begin to speak, all of them."""
    model = Blend(max_memory=1).fit(-X[TRAIN] * (X[TRAIN] > 1), Y[TRAIN])  # one view, three parts
    scoring = model.scoring_
    rows = sparse.csr_array(-X[TEST][:1] * (X[TEST][:1] > 1))
    listed = scoring.listed(rows)
    cell, n_parts = listed.cells[0], 3
    owner = [0, 0, 1, 1, 2, 2, 0, 0, 0, None]  # neighbours' similarities belong to the votes

    def value(speaking):
        keeps = np.array([part is None or part in speaking for part in owner])
        return scoring.mixture.log_odds(np.where(keeps, cell, 0).astype(np.float32)[None])[0]

    shares = np.zeros(n_parts)
    for order in permutations(range(n_parts)):
        for place, part in enumerate(order):
            shares[part] += (value(order[: place + 1]) - value(order[:place])) / 6
    (found,) = scoring.explain(model.search_.query(rows, 0), [int(listed.labels[0])], rows)
    assert found.base == pytest.approx(value(()))
    assert list(found.facts.values()) == pytest.approx(shares.tolist())


def test_a_label_below_the_candidates_has_no_parts(monkeypatch):
    monkeypatch.setattr(parts, "FEW_LABELS", 2)
    plan = parts.CellPlan(1, 1, 1, 1, every_label=False)
    monkeypatch.setattr(parts.CellPlan, "of", lambda Y: plan)
    model = Blend().fit(X[TRAIN], Y[TRAIN])
    (found,) = model.explain(X[TEST][:1], labels=list(range(8)), top=0)
    below = [each for each in found.labels if each.facts.get("candidate") == "no"]
    assert below
    assert all(each.base == each.score < 1e-6 and not each.parts for each in below)


def test_a_taught_row_is_explained_by_what_was_taught():
    model = Blend().fit(X[TRAIN], Y[TRAIN], label_names=list("abcdefgh"))
    model.partial_fit(X[TEST][:1], [["b", "new"]])
    (found,) = model.explain(X[TEST][:1])
    assert found.predicted == ("b", "new")
    taught = {each.label: each for each in found.labels}
    assert taught["new"].score == taught["b"].score == 1.0
    assert taught["new"].facts == {"as taught": "row 200"}
    assert [(part.kind, part.id, part.share) for part in taught["new"].parts] == [
        ("neighbor", 200, 1.0)
    ]


def test_what_if_leaves_rows_out_of_every_view(fitted):
    (found,) = fitted.explain(X[TEST][:1], what_if=True)
    neighbors = [
        removal
        for each in found.labels
        for removal in each.what_if or []
        if removal.kind == "neighbor"
    ]
    for removal in neighbors[:2]:
        fewer = copy.deepcopy(fitted).set_params(recalibrate_at="never").forget(list(removal.ids))
        score = fewer.scores(X[TEST][:1]).toarray()[0]
        assert np.isclose(score, removal.score, atol=1e-9).any()


@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize(
    "parts", [["votes"], ["ridge"], ["local ridge", "centroids"], ("ridge", "votes")]
)
def test_parts_can_be_chosen(parts, is_dense, tmp_path):
    rows = X + 0.5 if is_dense else sparse.csr_array(X)
    model = Blend(parts=parts).fit(rows[TRAIN], Y[TRAIN])
    kinds = {name.partition(",")[0].replace("kernel ", "") for name in model.part_names_}
    assert kinds == set(parts) - ({"centroids"} if is_dense else set())
    (found,) = model.explain(rows[TEST][:1], top=100)
    for label in found.labels:
        total = label.base + sum(part.share for part in label.parts)
        assert total == pytest.approx(np.log(label.score / (1 - label.score)), abs=1e-6)
    model.partial_fit(rows[TEST][:1], Y[TEST][:1])
    model.save(tmp_path / "model")
    same(vicinal.load(tmp_path / "model").predict(rows[TEST]), model.predict(rows[TEST]))


@pytest.mark.parametrize("parts", [[], ["vote"], "votes", 3, [["votes"]]])
def test_parts_that_there_are_not(parts):
    with pytest.raises(InvalidArgumentError, match="parts: expected 'auto' or some of 'votes'"):
        Blend(parts=parts).fit(X[TRAIN], Y[TRAIN])


def test_parts_that_the_rows_cannot_have():
    with pytest.raises(InvalidArgumentError, match="parts: expected one that these rows can have"):
        Blend(parts=["centroids"]).fit(X[TRAIN] + 0.5, Y[TRAIN])
