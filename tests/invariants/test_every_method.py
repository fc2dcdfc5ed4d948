"""What holds for every method, each as a named check run over every method."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_method import EVERY_METHOD
from scipy import sparse

import vicinal
from vicinal.index import build_index
from vicinal.methods import NeighborEstimator
from vicinal.persistence.encoding import encode

pytestmark = pytest.mark.native

Make = Callable[..., NeighborEstimator]

EXACT = 1e-12
ITERATIVE = {"iblr": 1e-3}
"""Methods that stop an iteration at a tolerance, so that the order of columns shows."""


WITHOUT_FOLDS: dict[str, dict[str, Any]] = {}
"""Methods that deal training rows out into folds by their order, and parameters without folds."""

OF_EITHER_FORM: dict[str, dict[str, Any]] = {"local-ridge": {"center": False}}
"""Methods whose defaults differ for sparse and dense rows, and parameters that do not."""


def tolerance(name: str) -> float:
    return ITERATIVE.get(name, EXACT)


def state_digest(model: NeighborEstimator) -> str:
    """Fingerprint of everything a fitted model consists of."""
    plain, arrays = encode(model.get_state())
    digest = hashlib.sha256(repr(plain).encode())
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def dense_scores(model: NeighborEstimator, X: Any, graph: Any = None) -> np.ndarray:
    return model.scores(X, graph=graph).toarray()


def assert_same_answers(a: NeighborEstimator, b: NeighborEstimator, X: Any) -> None:
    assert np.array_equal(dense_scores(a, X), dense_scores(b, X))
    assert np.array_equal(a.predict(X), b.predict(X))


@pytest.fixture(params=EVERY_METHOD)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_order_of_labels_does_not_matter(name: str, make_method: Make, sample: Any) -> None:
    # A row that must get a label gets the first of equally good ones: there the order does matter.
    order = np.array([3, 0, 4, 1, 2])
    plain = make_method(name, never_empty=False).fit(sample.X, sample.Y)
    turned = make_method(name, never_empty=False).fit(sample.X, sample.Y[:, order])
    expected = dense_scores(plain, sample.X_test)[:, order]
    np.testing.assert_allclose(
        dense_scores(turned, sample.X_test), expected, rtol=0, atol=tolerance(name)
    )
    assert np.array_equal(turned.predict(sample.X_test), plain.predict(sample.X_test)[:, order])


def test_order_of_training_rows_does_not_matter(name: str, make_method: Make, sample: Any) -> None:
    order = np.random.default_rng(1).permutation(len(sample.X))
    params = WITHOUT_FOLDS.get(name, {})
    plain = make_method(name, **params).fit(sample.X, sample.Y)
    turned = make_method(name, **params).fit(sample.X[order], sample.Y[order])
    np.testing.assert_allclose(
        dense_scores(turned, sample.X_test),
        dense_scores(plain, sample.X_test),
        rtol=0,
        atol=tolerance(name),
    )
    assert np.array_equal(turned.predict(sample.X_test), plain.predict(sample.X_test))


def test_order_of_queries_does_not_matter(name: str, make_method: Make, sample: Any) -> None:
    model = make_method(name).fit(sample.X, sample.Y)
    back = sample.X_test[::-1]
    assert np.array_equal(dense_scores(model, back)[::-1], dense_scores(model, sample.X_test))
    assert np.array_equal(model.predict(back)[::-1], model.predict(sample.X_test))


def test_duplicate_queries_get_the_same_answer(name: str, make_method: Make, sample: Any) -> None:
    model = make_method(name).fit(sample.X, sample.Y)
    twice = np.repeat(sample.X_test, 2, axis=0)
    scores, labels = dense_scores(model, twice), model.predict(twice)
    assert np.array_equal(scores[::2], scores[1::2])
    assert np.array_equal(labels[::2], labels[1::2])


def test_duplicate_training_rows_are_rows_of_their_own(
    name: str, make_method: Make, sample: Any
) -> None:
    X, Y = np.repeat(sample.X, 3, axis=0), np.repeat(sample.Y, 3, axis=0)
    model = make_method(name).fit(X, Y)
    near = model.neighbor_graph(X[:3], 3)
    assert near.ids.tolist() == [[0, 1, 2]] * 3
    scores = dense_scores(model, sample.X_test)
    assert np.isfinite(scores).all()
    assert model.predict(sample.X_test).shape == (len(sample.X_test), Y.shape[1])


def test_number_of_threads_does_not_matter(name: str, make_method: Make, sample: Any) -> None:
    one, three = (make_method(name, n_jobs=n).fit(sample.X, sample.Y) for n in (1, 3))
    assert_same_answers(one, three, sample.X_test)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_features_are_dense_features(
    name: str, container: Any, make_method: Make, sample: Any
) -> None:
    params = OF_EITHER_FORM.get(name, {})
    dense = make_method(name, **params).fit(sample.X, sample.Y)
    stored = make_method(name, **params).fit(container(sample.X), sample.Y)
    np.testing.assert_allclose(
        dense_scores(stored, container(sample.X_test)),
        dense_scores(dense, sample.X_test),
        rtol=0,
        atol=tolerance(name),
    )
    assert np.array_equal(stored.predict(container(sample.X_test)), dense.predict(sample.X_test))
    assert np.array_equal(stored.predict(sample.X_test), dense.predict(sample.X_test))


def test_sparse_labels_are_dense_labels(name: str, make_method: Make, sample: Any) -> None:
    dense = make_method(name).fit(sample.X, sample.Y)
    stored = make_method(name).fit(sample.X, sparse.csr_array(sample.Y))
    assert np.array_equal(dense_scores(stored, sample.X_test), dense_scores(dense, sample.X_test))
    predicted = stored.predict(sample.X_test)
    assert sparse.issparse(predicted)
    assert np.array_equal(predicted.toarray(), dense.predict(sample.X_test))


def test_prediction_changes_nothing(name: str, make_method: Make, sample: Any) -> None:
    model = make_method(name).fit(sample.X, sample.Y)
    rows = sample.X_test.copy()
    before = state_digest(model), sorted(vars(model))
    first = model.predict(rows)
    model.predict_proba(rows)
    model.rank(rows, 2)
    model.kneighbors(rows, 2)
    model.neighbor_graph(rows, 2)
    assert (state_digest(model), sorted(vars(model))) == before
    assert np.array_equal(rows, sample.X_test)
    assert np.array_equal(model.predict(rows), first)


def test_saved_is_the_same(name: str, make_method: Make, sample: Any, tmp_path: Any) -> None:
    model = make_method(name).fit(sample.X, sample.Y)
    model.save(tmp_path / "model")
    back = vicinal.load(tmp_path / "model")
    assert type(back) is EVERY_METHOD[name]
    assert state_digest(back) == state_digest(model)
    assert_same_answers(back, model, sample.X_test)


def test_explanations_add_up_and_are_named(name: str, make_method: Make, sample: Any) -> None:
    names = [f"row {i}" for i in range(len(sample.X))]
    model = make_method(name).fit(sample.X, sample.Y, row_names=names)
    scores = dense_scores(model, sample.X_test)
    for row, why in enumerate(model.explain(sample.X_test, labels=range(5))):
        for label, one in enumerate(why.labels):
            assert one.score == scores[row, label]
            total = one.base + sum(part.share for part in one.parts)
            assert total == pytest.approx(one.value, abs=EXACT)
            if one.scale == "score":
                assert one.value == one.score
            for part in one.parts:
                assert part.kind != "neighbor" or part.name == names[part.id]


def test_explaining_changes_nothing(name: str, make_method: Make, sample: Any) -> None:
    model = make_method(name).fit(sample.X, sample.Y)
    rows = sample.X_test[:5].copy()
    before = state_digest(model), sorted(vars(model))
    first = model.explain(rows, what_if=True).to_json()
    assert (state_digest(model), sorted(vars(model))) == before
    assert np.array_equal(rows, sample.X_test[:5])
    assert model.explain(rows, what_if=True).to_json() == first


def test_saved_explains_the_same(name: str, make_method: Make, sample: Any, tmp_path: Any) -> None:
    names = [f"row {i}" for i in range(len(sample.X))]
    model = make_method(name).fit(sample.X, sample.Y, row_names=names)
    model.save(tmp_path / "model")
    back = vicinal.load(tmp_path / "model")
    assert isinstance(back, NeighborEstimator)
    rows = sample.X_test[:5]
    assert back.explain(rows).to_json() == model.explain(rows).to_json()


@pytest.mark.parametrize("block", [1, 3])
def test_block_size_does_not_matter(
    name: str, block: int, make_method: Make, sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_method(name).fit(sample.X, sample.Y)
    scores, labels = dense_scores(model, sample.X_test), model.predict(sample.X_test)
    best = model.rank(sample.X_test, 2)
    monkeypatch.setattr("vicinal.methods.training.BLOCK_ROWS", block)
    assert np.array_equal(dense_scores(model, sample.X_test), scores)
    assert np.array_equal(model.predict(sample.X_test), labels)
    for ours, wanted in zip(model.rank(sample.X_test, 2), best, strict=True):
        assert np.array_equal(ours, wanted)


@pytest.mark.parametrize("wider", [0, 5])
def test_a_ready_graph_replaces_the_search(
    name: str, wider: int, make_method: Make, sample: Any
) -> None:
    searched = make_method(name).fit(sample.X, sample.Y)
    index = build_index(sample.X, searched.metric_)
    width = max(4, searched.needed_neighbors()) + wider
    given = make_method(name).fit(sample.X, sample.Y, graph=index.query_self(width))
    near = index.query(sample.X_test, width)
    assert np.array_equal(
        dense_scores(given, sample.X_test, near), dense_scores(searched, sample.X_test)
    )
    assert np.array_equal(given.predict(sample.X_test, graph=near), searched.predict(sample.X_test))
    assert not given.search_.has_index, "no index was built"


def test_labels_that_no_row_or_every_row_carries(name: str, make_method: Make, sample: Any) -> None:
    Y = sample.Y.copy()
    Y[:, 1], Y[:, 3] = 0, 1
    scores = dense_scores(make_method(name).fit(sample.X, Y), sample.X_test)
    assert np.isfinite(scores).all()
    assert (scores[:, 3] >= scores[:, 1]).all()


def test_fewer_rows_than_neighbours(name: str, make_method: Make, sample: Any) -> None:
    model = make_method(name, k=10).fit(sample.X[:4], sample.Y[:4])
    assert np.isfinite(dense_scores(model, sample.X_test)).all()
    assert model.predict(sample.X_test).shape == (len(sample.X_test), 5)
