"""Long sequences of small changes: scores equal a refit to the bit, labels too where they must."""

import numpy as np
import pytest
from changed_model import REVISING, STEPS, Changed, every_change_is_small, tied_rows
from every_method import EVERY_METHOD
from hypothesis import given, settings
from hypothesis import strategies as st
from readers import readers_of_versions

from vicinal.methods import load
from vicinal.methods.feature_knn import ChangedFeatureKNNScoring

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True, scope="module")
def small_changes():
    """Tiny models go the way of large ones."""
    with every_change_is_small():
        yield


@pytest.mark.parametrize("method", REVISING)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    as_sparse=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    counts=st.booleans(),
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=25),
)
def test_scores_equal_a_refit(method, metric, seed, as_sparse, dtype, counts, steps):
    changed = Changed(method, metric, seed, as_sparse, dtype, counts)
    for number, step in enumerate(steps):
        changed.step(step)
        if number % 6 == 5:
            changed.check()
    changed.check()


@pytest.mark.parametrize("method", REVISING)
@pytest.mark.parametrize("seed", range(3))
def test_readers_of_random_changes_see_one_version_each(method, seed):
    changed = Changed(method, "cosine", seed, as_sparse=seed != 1)
    model, queries = changed.model, changed.kind(tied_rows(changed.rng, 6))

    def answer():
        return model.scores(queries).toarray()[:, :3].tobytes()  # the labels of the first version

    with readers_of_versions(model, answer) as versions:
        for step in changed.rng.choice(STEPS, size=40).tolist():
            changed.step(step)
    assert len(versions) > 4
    changed.check()


@pytest.mark.parametrize("method", REVISING)
def test_saved_and_copied_models_hold_no_trace_of_forgotten_rows(method, tmp_path):
    changed = Changed(method, "cosine", 5, as_sparse=True)
    for step in ("learn", "forget", "learn", "forget"):
        changed.step(step)
    model = changed.model
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.search_.X.shape[0] == len(changed.alive)
    queries = changed.kind(tied_rows(changed.rng, 5))
    wanted = model.scores(queries).toarray()
    assert np.array_equal(again.scores(queries).toarray(), wanted)
    twin = model.snapshot()
    changed.step("learn")
    assert np.array_equal(twin.scores(queries).toarray(), wanted)
    twin.partial_fit(changed.kind(changed.X[:2]), changed.Y[:2])
    changed.check()


@pytest.mark.parametrize("method", REVISING)
@pytest.mark.parametrize("learns", [True, False])
def test_an_interrupted_change_changes_nothing(method, learns, monkeypatch):
    changed = Changed(method, "cosine", 1, as_sparse=True)
    changed.step("learn")
    model, queries = changed.model, changed.kind(tied_rows(changed.rng, 5))
    before, wanted = dict(vars(model)), model.scores(queries).toarray()
    real = type(model)._update

    def interrupted(*given):
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = model.partial_fit(queries, [["a"]] * 5) if learns else model.forget([0])
    assert vars(model) == before
    assert np.array_equal(model.scores(queries).toarray(), wanted)
    changed.step("learn")
    changed.check()


@pytest.mark.parametrize("method", REVISING)
@pytest.mark.parametrize("as_sparse", [True, False])
def test_a_prepared_model_learns_its_first_row_without_copying_the_others(
    method, as_sparse, monkeypatch
):
    changed = Changed(method, "cosine", 2, as_sparse=as_sparse)
    model = changed.model.prepare()
    prepared = rows_of(model)
    built = ChangedFeatureKNNScoring.of
    monkeypatch.setattr(ChangedFeatureKNNScoring, "of", None)
    changed.step("learn")
    monkeypatch.setattr(ChangedFeatureKNNScoring, "of", built)
    learned = rows_of(model)
    assert prepared.keys() == learned.keys()
    assert all(np.shares_memory(prepared[name], learned[name]) for name in prepared)
    changed.check()
    before = rows_of(model)
    model.prepare()  # there is room left: nothing moves
    assert all(np.shares_memory(each, before[name]) for name, each in rows_of(model).items())


def rows_of(model):
    """Return the arrays with the rows of a model, and of the views of a blend."""
    views = getattr(model.scoring_, "views", ())
    searched = [model.search_, *(view.rows for view in views)]
    found = {}
    for number, rows in enumerate(searched):
        X = rows.X
        parts = {"X": X} if isinstance(X, np.ndarray) else {"X": X.data, "columns": X.indices}
        found |= {(number, name): values for name, values in parts.items()}
        found[number, "ids"] = rows.place_ids
    return found


def test_other_parameters_hold_from_the_next_change_on():
    changed = Changed("mlknn", "cosine", 3, as_sparse=True)
    changed.step("learn")
    changed.model.set_params(n_neighbors=3, smoothing=0.5)
    changed.make = lambda: EVERY_METHOD["mlknn"](n_neighbors=3, smoothing=0.5, metric="cosine")
    changed.step("learn")
    changed.check()
    changed.step("forget")
    changed.check()


def test_rows_of_another_number_type_stay_exact():
    changed = Changed("mlknn", "cosine", 3, as_sparse=True, dtype=np.float32)
    changed.X = changed.X.astype(np.float64)
    changed.learn(tied_rows(changed.rng, 2) + 1e-9)
    changed.learn(tied_rows(changed.rng, 1) + 1e-9)
    changed.check()


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # of k-means, equal rows
@pytest.mark.parametrize("method", ["iblr", "lamlknn"])
@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    as_sparse=st.booleans(),
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=8),
)
def test_methods_that_fit_again_equal_a_refit_to_the_bit(method, seed, as_sparse, steps):
    """IBLR's regressions, and the clusters of LAML-kNN where no centres are given."""
    options = {"centers": None, "random_state": 0} if method == "lamlknn" else {"augment": True}
    changed = Changed(method, "cosine", seed, as_sparse, **options)
    for step in steps:
        changed.step(step)
    changed.check()


def test_rows_change_between_clusters_of_given_centers():
    """Rows of one cluster come and go; the tables of the others stay."""
    changed = Changed("lamlknn", "euclidean", 2, as_sparse=False)
    changed.learn(np.tile([0.0, 0.5, 0.5, 0.0, 0.9], (3, 1)))
    before = changed.model.scoring_.with_label + changed.model.scoring_.without_label
    changed.learn(np.array([[0.0, 0.5, 0.5, 0.0, 1.0]]))
    after = changed.model.scoring_.with_label + changed.model.scoring_.without_label
    assert (after.sum(axis=(1, 2)) - before.sum(axis=(1, 2))).tolist() == [0, 0, len(changed.names)]
    changed.check()
