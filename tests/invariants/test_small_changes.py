"""Long sequences of small changes: scores equal a refit to the bit, labels too where they must."""

import numpy as np
import pytest
from every_method import EVERY_METHOD
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.decision.rule import needs_of
from vicinal.estimators import load, revising
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.revising import revises_itself

pytestmark = pytest.mark.native

REVISING = sorted(
    name
    for name, kind in EVERY_METHOD.items()
    if issubclass(kind, IncrementalEstimator) and revises_itself(kind)
)
FEW_NEIGHBORS = {
    "lcif": {"n_neighbors_instance": 2, "n_neighbors_feature": 2},
}
STEPS = ("learn", "learn", "learn", "again", "empty", "forget", "forget", "name", "compact")


@pytest.fixture(autouse=True, scope="module")
def every_change_is_small():
    """Tiny models go the way of large ones, and are compacted often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(revising, "FEWEST_ROWS", 0)
        patch.setattr(revising, "LARGEST_SHARE", 1.0)
        patch.setattr(revising, "FEWEST_EMPTY", 3)
        yield


def make(method, **options):
    return EVERY_METHOD[method](**FEW_NEIGHBORS.get(method, {"n_neighbors": 2}), **options)


def tied_rows(rng, n_rows, n_features=5):
    """Rows full of ties, duplicates and zeros; of tenths, sums tie but for their rounding."""
    values = [[0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 0.6, 0.9], [0.0, 0.0, -0.5, 1.0]][rng.integers(3)]
    return rng.choice(values, size=(n_rows, n_features))


def label_sets(rng, n_rows, names):
    return [[name for name in names if rng.random() < 0.3] for _ in range(n_rows)]


class Changed:
    """A model that changes step by step, and all that it should know."""

    def __init__(self, method, metric, seed, as_sparse, dtype=np.float64):
        self.rng = np.random.default_rng(seed)
        self.kind = sparse.csr_array if as_sparse else np.asarray
        self.make = lambda: make(method, metric=metric)
        self.names = ["a", "b", "c"]
        self.X = tied_rows(self.rng, 8).astype(dtype)
        self.Y = label_sets(self.rng, 8, self.names)
        self.alive = np.arange(8)
        self.model = self.make().fit(self.kind(self.X), self.Y, label_names=self.names)

    def step(self, what):
        rng = self.rng
        if what == "forget":
            count = int(rng.integers(1, 3))
            if len(self.alive) > count + 6:
                gone = rng.choice(self.alive, size=count, replace=False)
                self.alive = np.setdiff1d(self.alive, gone)
                self.model.forget(gone)
        elif what == "compact":
            self.model.compact()
        else:
            rows = tied_rows(rng, int(rng.integers(1, 3)))
            if what == "again":
                rows = self.X[rng.integers(0, len(self.X), size=1)]
            elif what == "empty":
                rows = np.zeros((1, 5))
            elif what == "name":
                self.names = [*self.names, f"new {len(self.names)}"]
            self.learn(rows.astype(self.X.dtype))

    def learn(self, rows):
        Y = label_sets(self.rng, len(rows), self.names)
        if len(self.names) > len(self.model.label_names_):
            Y[0].append(self.names[-1])
        self.alive = np.append(self.alive, np.arange(len(self.X), len(self.X) + len(rows)))
        self.X, self.Y = np.vstack([self.X, rows]), self.Y + Y
        self.model.partial_fit(self.kind(rows), Y)

    def refit(self):
        Y = [self.Y[row] for row in self.alive]
        return self.make().fit(self.kind(self.X[self.alive]), Y, label_names=self.names)

    def check(self):
        model, scratch = self.model, self.refit()
        queries = self.kind(np.vstack([tied_rows(self.rng, 4), np.zeros((1, 5))]))
        assert model.label_names_ == scratch.label_names_
        assert np.array_equal(model.row_ids_, self.alive)
        assert np.array_equal(model.scores(queries).toarray(), scratch.scores(queries).toarray())
        near, fresh = model.neighbor_graph(queries, 3), scratch.neighbor_graph(queries, 3)
        assert np.array_equal(near.ids, np.append(self.alive, -1)[fresh.ids])
        assert np.array_equal(near.values, fresh.values)
        assert np.array_equal(model.graph_.ids, scratch.graph_.ids)
        assert np.array_equal(model.graph_.values, scratch.graph_.values)
        if needs_of(model.decision_rule()).needs_scores:
            model.recalibrate()
        assert model.calibration_.is_current
        assert model.decision_ == scratch.decision_
        decided, wanted = model.predict(queries), scratch.predict(queries)
        assert np.array_equal(decided.toarray(), wanted.toarray())


@pytest.mark.parametrize("method", REVISING)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    as_sparse=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=25),
)
def test_scores_equal_a_refit(method, metric, seed, as_sparse, dtype, steps):
    changed = Changed(method, metric, seed, as_sparse, dtype)
    for number, step in enumerate(steps):
        changed.step(step)
        if number % 6 == 5:
            changed.check()
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
    real = type(model)._revise

    def interrupted(*given):
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_revise", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = model.partial_fit(queries, [["a"]] * 5) if learns else model.forget([0])
    assert vars(model) == before
    assert np.array_equal(model.scores(queries).toarray(), wanted)
    changed.step("learn")
    changed.check()


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
