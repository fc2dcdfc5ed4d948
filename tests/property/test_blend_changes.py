"""A blend that learns and forgets equals one whose parts are built afresh, whatever the changes."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readers import readers_of_versions
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import vicinal
from vicinal import Blend
from vicinal._core.progress import stopped_by
from vicinal.methods.blend import global_ridge

pytestmark = pytest.mark.native

N_FEATURES, N_LABELS = 25, 9
NAMES = [f"label{label}" for label in range(N_LABELS)]


def documents(n, seed, dense=False):
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(0).dirichlet(np.full(N_FEATURES, 0.2), size=N_LABELS)
    Y = (rng.random((n, N_LABELS)) < 0.25).astype(np.int32)
    X = rng.poisson((0.2 if dense else 0.02) + (5 if dense else 2) * Y @ topics).astype(float)
    if dense:
        return X + rng.random(X.shape), Y
    return sparse.csr_array(X * rng.uniform(0.5, 1.0, size=(n, 1))), Y


def names_of(Y):
    return [[NAMES[label] for label in np.flatnonzero(row)] for row in Y]


def afresh(model):
    """The same model with parts built from its current rows."""
    version = model._fitted().as_fitted
    scoring = version.scoring.rebuilt(version.rows.X, version.scoring.Y)
    return replace(version, scoring=replace(scoring, taught=version.scoring.taught))


def check_equals_fresh_parts(model, Q):
    version, fresh = model._fitted(), afresh(model)
    ours, theirs = version.scoring.listed(Q), fresh.scoring.listed(Q)
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.labels, theirs.labels)  # the candidates, to the bit
    n_parts = len(version.scoring.names)
    names = version.scoring.names
    for part in range(n_parts):
        a, b = ours.cells[:, 2 * part], theirs.cells[:, 2 * part]
        if names[part].startswith(("votes", "local ridge", "centroids")):
            np.testing.assert_array_equal(a, b, names[part])
        else:
            np.testing.assert_allclose(a, b, atol=1e-6, err_msg=names[part])
    np.testing.assert_array_equal(ours.cells[:, -1], theirs.cells[:, -1])
    np.testing.assert_array_equal(version.scoring.counts, fresh.scoring.counts)


KINDS = ("learn", "learn many", "forget", "relabel", "new", "compact")
changes = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("dense", [False, True])
@given(steps=changes, seed=st.integers(0, 50))
@settings(max_examples=8, deadline=None)
def test_any_changes_equal_parts_built_afresh(dense, steps, seed):
    X, Y = documents(70, seed, dense)
    Q, _ = documents(12, seed + 1, dense)
    model = Blend(combine="mix", recalibrate_at="never").fit(X, names_of(Y))
    assert ("centroids, weighted" in model.part_names_) is not dense
    for number, (kind, pick) in enumerate(steps):
        apply(model, kind, pick, seed + number, dense)
    check_equals_fresh_parts(model, Q)
    saved = model.snapshot()
    ours = model.scores(Q).toarray()
    np.testing.assert_array_equal(saved.scores(Q).toarray(), ours)


def apply(model, kind, pick, seed, dense):
    ids = model.row_ids_
    one = ids[pick % len(ids)]
    place = int(np.searchsorted(ids, one))
    if kind.startswith("learn"):
        X, Y = documents(5 if "many" in kind else 1, seed + 1000, dense)
        model.partial_fit(X, names_of(Y))
    elif kind == "forget" and len(ids) > 2:
        model.forget([one])
    elif kind == "relabel":
        x = model.search_.X[[place]]
        model.forget([one]).partial_fit(x, [[NAMES[pick % N_LABELS]]])
    elif kind == "new":
        X, _ = documents(1, seed + 2000, dense)
        model.partial_fit(X, [[f"new {pick % 3}", NAMES[0]]])
    elif kind == "compact":
        model.compact()


def test_recalibration_equals_a_fresh_fit():
    X, Y = documents(120, 1)
    more, labels = documents(30, 2)
    Q, _ = documents(20, 3)
    model = Blend(recalibrate_at="never").fit(X, Y)
    model.partial_fit(more, labels).forget([3, 7, 121])
    model.recalibrate()
    fresh = Blend().fit(model.search_.X, model.scoring_.Y.toarray())
    np.testing.assert_array_equal(model.scores(Q).toarray(), fresh.scores(Q).toarray())
    np.testing.assert_array_equal(model.predict(Q), fresh.predict(Q))
    assert model.calibration_.is_current


def test_it_recalibrates_by_itself():
    X, Y = documents(100, 1)
    more, labels = documents(12, 2)
    model = Blend(recalibrate_at=0.1).fit(X, Y)
    for row in range(9):
        model.partial_fit(more[[row]], labels[[row]])
    assert model.calibration_.learned == 9
    model.partial_fit(more[[9]], labels[[9]])
    assert model.calibration_.is_current
    assert model.calibration_.n_rows == 110


def test_a_fixed_threshold_does_not_keep_the_mixture_from_growing_old():
    X, Y = documents(100, 1)
    more, labels = documents(1, 2)
    model = Blend(threshold=0.5).fit(X, Y).partial_fit(more, labels)
    assert model.calibration_.learned == 1


@pytest.mark.parametrize("dense", [False, True])
def test_a_correction_counts(dense):
    X, Y = documents(100, 4, dense)
    Q, _ = documents(3, 5, dense)
    model = Blend().fit(X, names_of(Y))
    before = model.predict_names(Q)
    first = model.row_ids_[-1] + 1
    model.partial_fit(Q[[1]], [["never seen", "label3"]])
    assert sorted(model.predict_names(Q)[1]) == ["label3", "never seen"]
    labels, scores = model.rank(Q[[1]], top=3)
    assert {model.label_names_[label] for label in labels[0, :2]} == {"never seen", "label3"}
    assert scores[0, :2].tolist() == [1.0, 1.0]
    assert scores[0, 2] < 0.01
    model.partial_fit(Q[[1]], [["label5"]])  # taught again: the last word counts
    assert model.predict_names(Q)[1] == ["label5"]
    model.forget([first + 1])  # undone: what was taught before
    assert sorted(model.predict_names(Q)[1]) == ["label3", "never seen"]
    model.forget([first])
    assert model.predict_names(Q)[1] == before[1]


def test_a_row_can_be_taught_to_have_no_label():
    X, Y = documents(100, 4)
    Q, _ = documents(1, 5)
    model = Blend(never_empty=True).fit(X, names_of(Y))
    assert model.predict_names(Q)[0]
    assert model.partial_fit(Q, [[]]).predict_names(Q) == [[]]


@pytest.mark.parametrize("threshold", [None, 0.0, "cardinality"])
@pytest.mark.parametrize("labels", [[], ["label5"], ["label0", "label8"]])
def test_scores_of_taught_rows_say_what_predict_says(threshold, labels):
    X, Y = documents(120, 1)
    Q, _ = documents(6, 9)
    model = Blend(threshold=threshold).fit(X, names_of(Y))
    model.partial_fit(Q[[2]], [labels])
    decided = model.decide(model.scores(Q))
    np.testing.assert_array_equal(decided.toarray(), model.predict(Q).toarray())
    assert model.predict_names(Q[[2]]) == [labels]


def test_a_taught_row_without_labels_that_shares_nothing_with_others():
    X, Y = documents(120, 1)
    wide = sparse.csr_array(sparse.hstack([X, sparse.csr_array((120, 1))]))
    alone = sparse.csr_array(np.eye(1, N_FEATURES + 1, N_FEATURES))
    model = Blend("mix").fit(wide, Y).partial_fit(alone, np.zeros((1, N_LABELS), dtype=int))
    assert model.predict(alone).sum() == model.decide(model.scores(alone)).sum() == 0


def test_what_a_failed_change_or_another_copy_taught_does_not_count():
    X, Y = documents(120, 1)
    Q, _ = documents(6, 9)
    model = Blend().fit(X, names_of(Y))
    other = copy.copy(model)
    model.partial_fit(Q[[0]], [["label1"]])
    before = other.predict_names(Q[[0]])
    other.partial_fit(Q[[1]], [["label2"]])  # the same id, another row
    assert other.predict_names(Q[[1]]) == [["label2"]]
    assert model.predict_names(Q[[0]]) == [["label1"]]
    assert before != [["label1"]] or other.predict_names(Q[[0]]) == before


def test_learning_does_not_copy_what_was_taught():
    X, Y = documents(120, 1)
    model = Blend(recalibrate_at="never").fit(X, names_of(Y)).partial_fit(X[[0]], [["label1"]])
    known = model.scoring_.taught
    model.partial_fit(X[[1]], [["label1"]])
    assert model.scoring_.taught is known


def test_what_was_taught_stays_after_recalibration_saving_and_copying(tmp_path):
    X, Y = documents(100, 4)
    Q, _ = documents(2, 5)
    model = Blend().fit(X, names_of(Y)).partial_fit(Q[[0]], [["label8", "label1"]])
    model.recalibrate()
    assert model.predict_names(Q)[0] == ["label1", "label8"]
    assert model.scores(Q).toarray()[0, [1, 8]].tolist() == [1.0, 1.0]  # parts stay below 1
    assert model.taught_rows(Q) == {0: 100}
    model.save(tmp_path / "model")
    loaded = vicinal.load(tmp_path / "model")
    assert loaded.predict_names(Q) == model.predict_names(Q)
    np.testing.assert_array_equal(loaded.scores(Q).toarray(), model.scores(Q).toarray())
    assert loaded.taught_rows(Q) == {0: 100}
    loaded.forget([100])
    model.forget([100])
    assert loaded.taught_rows(Q) == model.taught_rows(Q) == {}
    assert loaded.predict_names(Q) == model.predict_names(Q)


def test_a_row_that_was_taught_is_known_whatever_rows_it_is_transformed_with():
    X, Y = documents(150, 4, dense=True)
    Q, _ = documents(40, 5, dense=True)
    wide = np.random.default_rng(0).normal(size=(N_FEATURES, 60))
    steps = Pipeline([("scale", StandardScaler()), ("turn", PCA(20))]).fit(X @ wide)
    together = steps.transform(Q @ wide)
    alone = np.vstack([steps.transform(row[None]) for row in Q @ wide])
    assert (together != alone).any()  # a product of matrices rounds other than one of a row
    model = Blend().fit(steps.transform(X @ wide), names_of(Y))
    model.partial_fit(together, [[f"own {row}"] for row in range(40)])
    assert model.predict_names(alone) == [[f"own {row}"] for row in range(40)]
    assert model.taught_rows(alone) == {row: 150 + row for row in range(40)}


def test_rows_that_differ_a_little_are_told_apart():
    X, Y = documents(100, 4, dense=True)
    row = np.array([[1e6, 1.0, *X[0, 2:]]])
    model = Blend().fit(X, names_of(Y)).partial_fit(row, [["own"]])
    for column, value in ((1, 1.0 + 1e-5), (1, 0.0), (2, row[0, 2] + 1e-4), (0, 1e6 + 0.01)):
        other = row.copy()
        other[0, column] = value
        assert model.taught_rows(row) == {0: 100}
        assert model.taught_rows(other) == {}


def test_rows_without_features_are_not_told_apart():
    X, Y = documents(100, 4)
    empty = sparse.csr_array((1, N_FEATURES))
    model = Blend().fit(X, names_of(Y))
    rare = int(np.argmin(Y.sum(axis=0)))
    model.partial_fit(empty, [[NAMES[rare]]])
    assert model.predict_proba(empty).toarray()[0, rare] < 0.5  # 1 for a row that was taught


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_readers_of_random_changes_see_one_version_each(dense, seed):
    X, Y = documents(150, seed, dense)
    Q, _ = documents(4, seed + 1, dense)
    model = Blend(recalibrate_at=0.1).fit(X, names_of(Y))

    def answer():
        return model.scores(Q).toarray()[:, :N_LABELS].tobytes()

    with readers_of_versions(model, answer) as versions:
        for number, kind in enumerate(np.random.default_rng(seed).choice(KINDS, size=25).tolist()):
            apply(model, kind, 31 * number, seed + number, dense)
    assert len(versions) > 15
    check_equals_fresh_parts(model, Q)


def test_a_loaded_model_learns_like_the_one_that_was_saved(tmp_path):
    X, Y = documents(90, 6)
    Q, _ = documents(8, 7)
    more, labels = documents(3, 8)
    model = Blend().fit(X, names_of(Y))
    model.save(tmp_path / "model")
    loaded = vicinal.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(more, names_of(labels)).forget([4])
    np.testing.assert_allclose(loaded.scores(Q).toarray(), model.scores(Q).toarray(), atol=1e-9)


def test_more_changes_than_the_list_of_the_ridge_holds(monkeypatch):
    monkeypatch.setattr(global_ridge, "LONGEST_LIST", 32)
    monkeypatch.setattr(global_ridge, "MORE_UPDATES", 4)
    X, Y = documents(80, 6)
    Q, _ = documents(8, 7)
    more, labels = documents(70, 8)
    model = Blend(recalibrate_at="never").fit(X, names_of(Y))
    for row in range(70):
        names = names_of(labels[[row]])
        model.partial_fit(more[[row]], [[*names[0], "new"]] if row == 34 else names)
    model.forget(np.arange(0, 80, 2))
    again = copy.deepcopy(model).scores(Q).toarray()  # while updates may be folded in
    np.testing.assert_allclose(again, model.scores(Q).toarray(), atol=1e-9)
    check_equals_fresh_parts(model, Q)


@pytest.mark.parametrize("n_learned", [63, 64, 100, 130])
def test_a_model_saved_with_many_updates_of_the_ridge_answers_like_one_never_saved(
    n_learned, tmp_path
):
    X, Y = documents(80, 6)
    Q, _ = documents(8, 7)
    more, labels = documents(n_learned + 70, 8)
    model = Blend("mix", recalibrate_at="never").fit(X, names_of(Y))
    for row in range(n_learned):
        model.partial_fit(more[[row]], names_of(labels[[row]]))
    updates = [len(ridge.updates) for ridge in model.scoring_.ridges]
    assert updates
    assert min(updates) >= min(n_learned, global_ridge.LONGEST_LIST)
    model.save(tmp_path / "model")
    loaded = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.scores(Q).toarray(), model.scores(Q).toarray())
    for row in range(n_learned, n_learned + 70):
        for each in (model, loaded):
            each.partial_fit(more[[row]], names_of(labels[[row]]))
    np.testing.assert_array_equal(loaded.scores(Q).toarray(), model.scores(Q).toarray())


@pytest.mark.parametrize("learns", [True, False])
def test_an_interrupted_change_changes_nothing(learns, monkeypatch):
    X, Y = documents(60, 6)
    more, labels = documents(2, 8)
    model = Blend("mix").fit(X, names_of(Y))
    before, expected = dict(vars(model)), model.scores(more).toarray()
    real = Blend._update

    def interrupted(*given):
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Blend, "_update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = model.partial_fit(more, names_of(labels)) if learns else model.forget([0])
    assert {name: vars(model)[name] for name in before} == before
    np.testing.assert_array_equal(model.scores(more).toarray(), expected)
    model.partial_fit(more, names_of(labels))
    check_equals_fresh_parts(model, more)


@pytest.mark.parametrize("learns", [True, False])
def test_a_change_of_many_rows_can_be_stopped_at_any_of_them(learns):
    X, Y = documents(80, 6)
    more, labels = documents(30, 8)
    model = Blend("mix").fit(X, names_of(Y))
    expected, calls = model.scores(more).toarray(), []

    def stop():
        calls.append(1)
        if len(calls) == 20:
            raise TimeoutError

    with stopped_by(stop), pytest.raises(TimeoutError):
        _ = model.partial_fit(more, names_of(labels)) if learns else model.forget(np.arange(30))
    np.testing.assert_array_equal(model.scores(more).toarray(), expected)
    model.partial_fit(more, names_of(labels))
    check_equals_fresh_parts(model, more)
