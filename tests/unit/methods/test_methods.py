"""LPkNN, DML-kNN, LAML-kNN and IBLR as estimators: parameters, blocks, saving."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from vicinal import IBLR, DMLkNN, LAMLkNN, LPkNN, decision, load
from vicinal.index import DenseIndex
from vicinal.methods import METHODS, training

pytestmark = pytest.mark.native

RNG = np.random.default_rng(5)
X = RNG.integers(0, 4, size=(40, 3)).astype(float)
Y = (RNG.random((40, 5)) < 0.35).astype(int)
Q = RNG.integers(0, 4, size=(15, 3)).astype(float)

MODELS = [
    LPkNN(4),
    DMLkNN(4, smoothing=0.5, tolerance=1),
    LAMLkNN(4, n_clusters=3, random_state=0),
    LAMLkNN(4, centers=[[0.0, 0.0, 0.0], [3.0, 3.0, 3.0]]),
    IBLR(4),
    IBLR(4, C=np.inf, augment=True),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("threshold", [None, "cardinality", 0.3])
def test_a_saved_model_says_the_same_to_the_bit(model, threshold, tmp_path):
    model = clone(model).set_params(threshold=threshold).fit(X, Y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(Q), model.predict(Q))
    assert np.array_equal(again.predict_proba(Q), model.predict_proba(Q))
    assert all(map(np.array_equal, again.rank(Q, 3), model.rank(Q, 3)))


# k-means itself starts elsewhere on sparse rows, so clusters are given or none.
@pytest.mark.parametrize("model", [m for m in MODELS if "random_state" not in repr(m)], ids=repr)
def test_sparse_rows_and_labels_give_the_same(model):
    dense = clone(model).fit(X, Y)
    thin = clone(model).fit(sparse.csr_array(X), sparse.csr_array(Y))
    np.testing.assert_allclose(
        thin.scores(sparse.csr_array(Q)).toarray(), dense.predict_proba(Q), rtol=0, atol=1e-9
    )
    assert np.array_equal(thin.predict(sparse.csr_array(Q)).toarray(), dense.predict(Q))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_blocks_and_ready_graphs_give_the_same(model, monkeypatch):
    index = DenseIndex(X)
    ready = clone(model).fit(X, Y, graph=index.query_self(9))
    whole = clone(model).fit(X, Y)
    assert np.array_equal(ready.predict(Q, graph=index.query(Q, 9)), whole.predict(Q))
    scores, labels = whole.predict_proba(Q), whole.predict(Q)
    monkeypatch.setattr(training, "BLOCK_ROWS", 7)
    assert np.array_equal(whole.predict_proba(Q), scores)
    monkeypatch.setattr(training, "LARGE_BLOCK_CELLS", 4)
    assert np.array_equal(whole.predict(Q), labels)
    assert np.array_equal(whole.rank(Q, 5)[1], -np.sort(-scores, axis=1))


@pytest.mark.parametrize("model", [DMLkNN(3), LAMLkNN(3, random_state=0), IBLR(3)], ids=repr)
def test_scores_too_many_to_hold_point_to_rank(model, monkeypatch):
    model = clone(model).fit(X, Y)
    monkeypatch.setattr(training, "DENSE_LIMIT", len(Q) * 5 - 1)
    monkeypatch.setattr(training, "LARGE_BLOCK_CELLS", 20)
    for ask in (model.scores, model.predict_proba):
        with pytest.raises(ValueError, match=r"rank\(X, top\)"):
            ask(Q)
    assert model.rank(Q, 2)[0].shape == (len(Q), 2)
    assert model.predict(Q).shape == (len(Q), 5)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (LPkNN(0), "n_neighbors"),
        (DMLkNN(2.5), "n_neighbors"),
        (DMLkNN(smoothing=-1), "smoothing"),
        (DMLkNN(tolerance=-1), "tolerance"),
        (DMLkNN(tolerance=1.5), "tolerance"),
        (LAMLkNN(n_clusters=0), "n_clusters"),
        (LAMLkNN(smoothing=np.nan), "smoothing"),
        (LAMLkNN(centers=[[0.0, 1.0]]), "centers: expected 3 features"),
        (LAMLkNN(centers=np.empty((0, 3))), "centers: expected at least one"),
        (LAMLkNN(centers=[[np.nan, 1.0, 2.0]]), "centers: expected finite"),
        (IBLR(C=0), "C: expected a number above 0"),
        (IBLR(C=-np.inf), "C"),
        (IBLR(C="1"), "C"),
        (IBLR(augment="yes"), "augment"),
        (METHODS["brknn"](threshold=decision.LabelSets()), "chooses no label sets"),
    ],
)
def test_bad_parameters_are_refused_by_name(model, says):
    with pytest.raises(ValueError, match=says):
        model.fit(X, Y)


def test_any_rule_decides_on_lpknn():
    for rule in (decision.TopS(), decision.TopS(2), decision.Threshold(0.5), "two-pass"):
        labels = LPkNN(4, threshold=rule).fit(X, Y).predict(Q)
        scores = METHODS["brknn"](4, threshold=rule).fit(X, Y).predict(Q)
        assert np.array_equal(labels, scores)


def test_the_same_seed_gives_the_same_clusters():
    models = [LAMLkNN(4, n_clusters=4, random_state=7).fit(X, Y) for _ in range(2)]
    assert np.array_equal(*(model.scoring_.centers for model in models))


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_more_clusters_than_rows():
    rows, labels = np.array([[0.0], [0.0], [5.0]]), np.array([[1], [0], [1]])
    model = LAMLkNN(2, n_clusters=9, random_state=0).fit(rows, labels)
    assert sorted(model.scoring_.centers.ravel()) == [0.0, 5.0]
    assert model.predict_proba(rows).shape == (3, 1)
