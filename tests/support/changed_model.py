"""A model that learns and forgets step by step, compared with a refit."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from every_method import EVERY_METHOD, INCREMENTAL
from scipy import sparse

from vicinal.decision.rule import needs_of
from vicinal.methods import incremental
from vicinal.methods.incremental import updates_itself

REVISING = [name for name in INCREMENTAL if updates_itself(EVERY_METHOD[name])]
FEW_NEIGHBORS = {
    "lcif": {"n_neighbors_instance": 2, "n_neighbors_feature": 2},
    "lamlknn": {
        "n_neighbors": 2,
        "centers": np.array([[0.5] * 5, [0.9, 0.0, 0.0, 0.9, 0.0], [0.0, 0.5, 0.5, 0.0, 0.9]]),
    },
}
STEPS = (
    *("learn", "learn", "learn", "again", "empty", "forget", "forget", "name", "compact"),
    "prepare",
)


@contextmanager
def every_change_is_small() -> Iterator[None]:
    """Tiny models go the way of large ones, and are compacted often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental, "FEWEST_ROWS", 0)
        patch.setattr(incremental, "LARGEST_SHARE", 1.0)
        patch.setattr(incremental, "FEWEST_EMPTY", 3)
        yield


def make(method, **options):
    few = FEW_NEIGHBORS.get(method, {"n_neighbors": 2})
    return EVERY_METHOD[method](**{**few, **options})


def tied_rows(rng, n_rows, n_features=5, counts=False):
    """Rows full of ties, duplicates and zeros; of tenths, sums tie but for their rounding."""
    values = [[0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 0.6, 0.9], [0.0, 0.0, -0.5, 1.0]][rng.integers(3)]
    return rng.choice([0.0, 1.0, 1.0, 2.0] if counts else values, size=(n_rows, n_features))


def label_sets(rng, n_rows, names):
    return [[name for name in names if rng.random() < 0.3] for _ in range(n_rows)]


class Changed:
    """A model that changes step by step, and all that it should know.

    Rows are of whole numbers if `counts` is true.
    """

    def __init__(self, method, metric, seed, as_sparse, dtype=np.float64, counts=False, **options):
        self.rng = np.random.default_rng(seed)
        self.counts = counts
        self.kind = sparse.csr_array if as_sparse else np.asarray
        self.make = lambda: make(method, metric=metric, **options)
        self.names = ["a", "b", "c"]
        self.X = tied_rows(self.rng, 8, counts=counts).astype(dtype)
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
        elif what in ("compact", "prepare"):
            getattr(self.model, what)()
        else:
            rows = tied_rows(rng, int(rng.integers(1, 3)), counts=self.counts)
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
        assert np.array_equal(model.training_graph().ids, scratch.training_graph().ids)
        assert np.array_equal(model.training_graph().values, scratch.training_graph().values)
        if needs_of(model.decision_rule()).needs_scores:
            model.recalibrate()
        assert model.calibration_.is_current
        assert model.decision_ == scratch.decision_
        decided, wanted = model.predict(queries), scratch.predict(queries)
        assert np.array_equal(decided.toarray(), wanted.toarray())
