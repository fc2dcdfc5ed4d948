"""What the methods have learned: saved and read again to the bit, refused where it is damaged."""

import sys

import numpy as np
import pytest
from scipy import sparse

from vicinal import DMLkNN
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.graph import NeighborGraph
from vicinal.index import DenseIndex
from vicinal.methods import METHODS, dmlknn, iblr, training
from vicinal.methods.brknn import BRkNNScoring
from vicinal.methods.dmlknn import DMLkNNScoring
from vicinal.methods.iblr import IBLRScoring
from vicinal.methods.lamlknn import LAMLkNNScoring
from vicinal.methods.local_ridge import LocalRidgeScoring
from vicinal.methods.lpknn import LPkNNScoring
from vicinal.methods.mlknn import MLkNNScoring
from vicinal.methods.training import Scoring, Training

pytestmark = pytest.mark.native

RNG = np.random.default_rng(0)
X = RNG.random((20, 3))
Y = sparse.csr_array((RNG.random((20, 4)) < 0.4).astype(np.int32))
GRAPH = DenseIndex(X).query_self(5)
TRAINING = Training(GRAPH, Y, X)
CENTERS = X[:3].copy()

FITTED = {
    "brknn": BRkNNScoring.fit(TRAINING, 5),
    "lpknn": LPkNNScoring.fit(TRAINING, 5),
    "mlknn": MLkNNScoring.fit(TRAINING, 5, 1.0),
    "dmlknn": DMLkNNScoring.fit(TRAINING, 5, 1.0, 1),
    "dmlknn, tolerance 0": DMLkNNScoring.fit(TRAINING, 5, 0.0, 0),
    "lamlknn": LAMLkNNScoring.fit(TRAINING, 5, 1.0, CENTERS),
    "local-ridge": LocalRidgeScoring.fit(TRAINING, 5, 0.5, True),
    "iblr": IBLRScoring.fit(TRAINING, 5),
    "iblr+": IBLRScoring.fit(TRAINING, 5, augment=True),
}


@pytest.mark.parametrize("name", FITTED)
def test_a_state_scores_the_same_to_the_bit(name):
    fitted = FITTED[name]
    assert isinstance(fitted, Scoring)
    again = type(fitted).from_state(fitted.get_state())
    ours, theirs = again.scores(GRAPH, X), fitted.scores(GRAPH, X)
    assert np.array_equal(ours.toarray(), theirs.toarray())
    assert np.array_equal(ours.base, theirs.base)
    assert np.array_equal(ours.neighbor_cardinality, theirs.neighbor_cardinality)


@pytest.mark.parametrize("name", FITTED)
def test_a_state_without_a_part_is_refused(name):
    fitted = FITTED[name]
    for key in fitted.get_state():
        state = fitted.get_state()
        del state[key]
        with pytest.raises(ModelFormatError, match=key):
            type(fitted).from_state(state)


def changed(array, where, value):
    copy = array.copy()
    copy[where] = value
    return copy


DML = FITTED["dmlknn"].counts
TABLE = FITTED["mlknn"].with_label
LOCAL = FITTED["lamlknn"].with_label
DAMAGE = [
    *[(name, "k", 0) for name in FITTED],
    *[(name, "k", "5") for name in FITTED],
    *[(name, "Y", 2 * Y) for name in FITTED],
    *[(name, "Y", Y.toarray()) for name in FITTED],
    *[(name, "smoothing", value) for name in ("mlknn", "dmlknn", "lamlknn") for value in (-1.0,)],
    *[(name, "smoothing", np.inf) for name in ("mlknn", "dmlknn", "lamlknn")],
    ("mlknn", "with_label", TABLE + 1),
    ("mlknn", "with_label", changed(changed(TABLE, (0, 0), -1), (0, 1), TABLE[0, :2].sum() + 1)),
    ("mlknn", "with_label", TABLE[:, :-1]),
    ("mlknn", "without_label", TABLE.astype(float)),
    ("dmlknn", "tolerance", -1),
    ("dmlknn", "counts", DML[:-1]),
    ("dmlknn", "counts", DML * 6),
    ("dmlknn", "counts", DML * 0.5),
    ("dmlknn", "counts", -DML),
    ("lamlknn", "centers", np.full_like(CENTERS, np.nan)),
    ("lamlknn", "centers", np.empty((0, 3))),
    ("lamlknn", "with_label", LOCAL + 1),
    ("lamlknn", "with_label", LOCAL[:2]),
    ("lamlknn", "with_label", LOCAL[::-1]),  # adds up over all clusters, but not in each
    *[("local-ridge", "alpha", value) for value in (0.0, -1.0, np.nan, np.inf, "1", None)],
    ("local-ridge", "center", "yes"),
    *[("local-ridge", "X", value) for value in (X[1:], np.full_like(X, np.nan), "rows")],
    ("iblr", "augment", 1),
    ("iblr", "weights", np.zeros((5, 4))),
    ("iblr", "weights", np.zeros((3, 4))),
    ("iblr", "weights", np.full((4, 4), np.nan)),
    ("iblr", "intercepts", np.zeros(3)),
]


@pytest.mark.parametrize(("name", "key", "value"), DAMAGE)
def test_a_damaged_state_is_refused(name, key, value):
    fitted = FITTED[name]
    with pytest.raises(ModelFormatError, match=key):
        type(fitted).from_state({**fitted.get_state(), key: value})


@pytest.mark.parametrize("name", ["lamlknn", "iblr+"])
def test_features_are_asked_for(name):
    fitted = FITTED[name]
    for given in (None, X[:, :2], X[1:]):
        with pytest.raises(InvalidArgumentError, match="X: expected features of shape"):
            fitted.scores(GRAPH, given)
    bare = Training(GRAPH, Y)
    with pytest.raises(InvalidArgumentError, match="X: expected features"):
        LAMLkNNScoring.fit(bare, 5, 1.0, CENTERS)
    with pytest.raises(InvalidArgumentError, match="X: expected features"):
        IBLRScoring.fit(bare, 5, augment=True)


@pytest.mark.parametrize("name", ["dmlknn", "lamlknn", "iblr"])
def test_too_many_scores_at_once_are_refused(name, monkeypatch):
    monkeypatch.setattr(training, "DENSE_LIMIT", 20 * 4 - 1)
    with pytest.raises(InvalidArgumentError, match="20 rows × 4 labels"):
        FITTED[name].scores(GRAPH, X)
    assert FITTED[name].scores(GRAPH.queries(0, 19), X[:19]).shape == (19, 4)
    monkeypatch.setattr(training, "DENSE_LIMIT", 20 * 4)
    assert FITTED[name].scores(GRAPH, X).shape == (20, 4)


def test_rows_are_scored_at_least_one_at_a_time():
    assert training.rows_at_once(n_labels=2**25, most=100) == 1
    assert training.rows_at_once(n_labels=2**24, most=100) == 1
    assert training.rows_at_once(n_labels=1, most=2**25) == 2**24
    assert training.rows_at_once(n_labels=0, most=100) == 100


def test_local_ridge_needs_its_rows():
    fitted = FITTED["local-ridge"]
    with pytest.raises(InvalidArgumentError, match="X: expected the features of the training rows"):
        LocalRidgeScoring.fit(Training(GRAPH, Y), 5)
    bare = LocalRidgeScoring.from_state({**fitted.get_state(), "X": None})
    assert bare.scores(GRAPH.queries(0, 0)).shape == (0, 4)
    with pytest.raises(InvalidArgumentError, match="X: expected the features of the training rows"):
        bare.scores(GRAPH)
    with pytest.raises(InvalidArgumentError, match="X: expected 20 rows, got 19"):
        LocalRidgeScoring(5, Y, X[1:]).scores(GRAPH)


def test_what_costs_much_warns(monkeypatch):
    monkeypatch.setattr(dmlknn, "SLOW", 10)
    said = rf"20 queries would take up to {20 * DML.nnz:.0e} ".replace("+", r"\+")
    with pytest.warns(UserWarning, match=said) as caught:
        DMLkNN(5).fit(X, Y)
    assert caught[0].filename == __file__
    monkeypatch.setattr(iblr, "LARGE", 4 * 4)
    IBLRScoring.fit(TRAINING, 5)
    with pytest.warns(UserWarning, match="4 regressions on 7 features"):
        IBLRScoring.fit(TRAINING, 5, augment=True)


@pytest.mark.parametrize("tolerance", [0, 3, 4, 10**12])
def test_dml_votes_may_differ_by_more_than_there_are_labels(tolerance):
    labels = Y[:, :2]
    fitted = DMLkNNScoring.fit(Training(DenseIndex(X).query_self(9), labels), 9, 1.0, tolerance)
    votes, true = fitted.counts.toarray(), labels.toarray()
    assert np.ptp(votes[:, 0]) > 4
    for found, has_label in zip(fitted.matching(fitted.counts), (1, 0), strict=True):
        for query, label in np.ndindex(20, 2):
            same = votes[:, label] == votes[query, label]
            near = abs(votes[:, 1 - label] - votes[query, 1 - label]) <= tolerance
            assert found[query, label] == (same & near & (true[:, label] == has_label)).sum()


def test_weights_above_1_gib_are_announced():
    def training(n_labels):
        nobody = NeighborGraph(np.empty((1, 0), dtype=np.int32), np.empty((1, 0)), "cosine", 1)
        return Training(nobody, sparse.csr_array((1, n_labels), dtype=np.int32))

    iblr.warn_if_large(training(11_585), augment=False)
    with pytest.warns(UserWarning, match="11586 features: its weights take 1 GiB"):
        iblr.warn_if_large(training(11_586), augment=False)
    with pytest.warns(UserWarning, match="32768 features: its weights take 8 GiB"):
        iblr.warn_if_large(training(2**15), augment=False)


def read_attributes(model):
    """Read every fitted attribute; return how many functions were called, in Python and in C."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    sys.setprofile(count)
    try:
        for name in names:
            getattr(model, name, None)
    finally:
        sys.setprofile(None)
    return calls


def cached(model):
    """Return the names of what is stored in the fitted state and in its parts."""
    state = model._version
    parts = (state, state.scoring, state.rows, state.decision)
    return [sorted(vars(part)) for part in parts if hasattr(part, "__dict__")]


@pytest.mark.parametrize("name", METHODS)
def test_no_attribute_of_a_fitted_model_computes(name, make_method):
    calls = set()
    for n_rows in (60, 240):
        rng = np.random.default_rng(0)
        X = rng.random((n_rows, 6)) * (rng.random((n_rows, 6)) < 0.4)
        model = make_method(name).fit(X, rng.random((n_rows, 5)) < 0.4)
        if hasattr(model, "partial_fit"):
            model.partial_fit(X[:1], [[1, 0, 0, 1, 0]])
        before = cached(model)
        calls.add(read_attributes(model))
        assert cached(model) == before
    assert len(calls) == 1, "the work does not depend on the number of rows"
