"""A distance is a value: one defined here takes part in everything."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from every_method import repeatable
from scipy import sparse
from scipy.spatial.distance import cdist

import vicinal
from vicinal import distances
from vicinal.distances import COSINE, DOT, EUCLIDEAN, Distance, get_distance, register_distance
from vicinal.graph import NeighborGraph
from vicinal.index import ApproximateIndex, DenseIndex, InvertedIndex, ReferenceIndex, build_index
from vicinal.methods import METHODS

pytestmark = pytest.mark.native


def _sums_of_differences(rows: Any, query: Any) -> Any:
    return np.abs(rows - query).sum(axis=1)


MANHATTAN = Distance("manhattan", _sums_of_differences)


@pytest.fixture
def manhattan(monkeypatch: pytest.MonkeyPatch) -> Distance:
    monkeypatch.setattr(distances, "_DISTANCES", dict(distances._DISTANCES))
    register_distance(MANHATTAN)
    return MANHATTAN


def test_what_the_three_say_of_themselves() -> None:
    said = [
        (d.name, d.is_similarity, d.is_root, d.is_normalized, d.padding, d.native_code)
        for d in (EUCLIDEAN, COSINE, DOT)
    ]
    assert said == [
        ("euclidean", False, True, False, np.inf, 0),
        ("cosine", True, False, True, 0.0, 1),
        ("dot", True, False, False, 0.0, 2),
    ]
    with pytest.raises(FrozenInstanceError):
        EUCLIDEAN.name = "other"
    assert distances.distance_names() == ("euclidean", "cosine", "dot")


@pytest.mark.parametrize("distance", [EUCLIDEAN, COSINE, DOT])
def test_the_compiled_core_means_the_same_by_its_code(distance: Distance) -> None:
    rng = np.random.default_rng(0)
    X, Q = rng.random((30, 5)), rng.random((8, 5))
    wanted = ReferenceIndex(X, distance.name).query(Q, 7)
    for index in (InvertedIndex(X, distance.name), DenseIndex(X, distance.name)):
        found = index.query(Q, 7)
        assert np.array_equal(found.ids, wanted.ids)
        assert np.array_equal(found.values, wanted.values)
        assert found.distance_kind is distance


def test_distances_as_scikit_learn_has_them() -> None:
    values = np.array([0.25, 2.0])
    assert EUCLIDEAN.as_distances(values).tolist() == [0.25, 2.0]
    assert COSINE.as_distances(values).tolist() == [0.75, -1.0]
    assert DOT.as_distances(values).tolist() == [-0.25, -2.0]


def test_a_name_is_taken_once(manhattan: Distance) -> None:
    register_distance(MANHATTAN)
    with pytest.raises(ValueError, match=r"^distance: .*'manhattan'"):
        register_distance(Distance("manhattan", _sums_of_differences, is_root=True))
    assert get_distance("manhattan") is MANHATTAN


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_new_distance_is_searched(manhattan: Distance, as_sparse: bool) -> None:
    rng = np.random.default_rng(1)
    X, Q = rng.random((40, 4)), rng.random((6, 4))
    index = build_index(sparse.csr_array(X) if as_sparse else X, "manhattan")
    graph = index.query(Q, 5)
    assert isinstance(graph, NeighborGraph)
    full = cdist(Q, X, "cityblock")
    assert np.array_equal(graph.ids, np.argsort(full, axis=1)[:, :5])
    assert np.allclose(graph.distance, np.sort(full, axis=1)[:, :5], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_a_new_distance(manhattan: Distance, method: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(2)
    X, Y = rng.random((40, 4)), (rng.random((40, 5)) < 0.4).astype(int)
    model = repeatable(method, metric="manhattan").fit(X[:30], Y[:30])
    assert model.metric_ == "manhattan"
    assert np.array_equal(
        model.kneighbors(X, 3, return_distance=False),
        np.argsort(cdist(X, X[:30], "cityblock"), axis=1, kind="stable")[:, :3],
    )
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[30:], Y[30:]).forget([2, 35])
        left = np.setdiff1d(np.arange(40), [2, 35])
        scratch = repeatable(method, metric="manhattan").fit(X[left], Y[left])
        if method == "blend":  # rows that were taught keep what they were taught
            model.recalibrate()
        Q = X[:30] if method == "blend" else X
        assert np.array_equal(model.predict_proba(Q), scratch.predict_proba(Q))
    model.save(tmp_path / "model")
    assert np.array_equal(vicinal.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("backend", [InvertedIndex, DenseIndex, ApproximateIndex])
def test_the_compiled_indexes_refuse_what_they_do_not_know(
    manhattan: Distance, backend: Any
) -> None:
    with pytest.raises(ValueError, match=r"^metric: .*(reference|cosine)"):
        backend(np.eye(3), "manhattan")
