"""A loaded model that is given its neighbour graph learns without a search."""

import copy

import numpy as np
import pytest

from vicinal import InstanceKNN, MLkNN, load, save
from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows


def data(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (rows, 5)).astype(float), rng.integers(0, 2, (rows, 3))


def test_a_given_graph_saves_the_search_and_changes_nothing(tmp_path, monkeypatch) -> None:
    X, Y = data(40)
    model = MLkNN(3).fit(X[:30], Y[:30])
    model.partial_fit(X[30:31], Y[30:31])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.known_graph() is None
    graph = model.known_graph()
    assert np.array_equal(graph.ids, loaded.training_graph().ids)
    assert np.array_equal(graph.values, loaded.training_graph().values)
    loaded.use_graph(graph)
    monkeypatch.setattr(TrainingRows, "query_self", None)  # a search would fail
    loaded.partial_fit(X[31:32], Y[31:32]).forget([2])
    model.partial_fit(X[31:32], Y[31:32]).forget([2])
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_graph_of_another_model_is_refused() -> None:
    X, Y = data(20)
    model = MLkNN(3).fit(X, Y)
    graph = model.training_graph()
    with pytest.raises(ValueError, match="graph: expected 20 queries"):
        model.use_graph(MLkNN(3).fit(X[:10], Y[:10]).training_graph())
    with pytest.raises(ValueError, match="graph: expected metric euclidean"):
        model.use_graph(NeighborGraph(graph.ids, graph.values, "cosine", 20))
    with pytest.raises(ValueError, match="graph: expected at least 3 neighbours"):
        model.use_graph(NeighborGraph(graph.ids[:, :2], graph.values[:, :2], "euclidean", 20))


def test_a_model_with_names_of_rows_is_copied_after_it_learned() -> None:
    model = InstanceKNN(1).fit([[0.0, 1.0], [1.0, 0.0]], [["a"], ["b"]], row_names=["r", "s"])
    model.partial_fit([[1.0, 1.0]], [["a"]], row_names=["t"])
    for again in (copy.deepcopy(model), copy.deepcopy(copy.deepcopy(model))):
        assert again.row_names_ == ("r", "s", "t")
        again.partial_fit([[2.0, 1.0]], [["b"]], row_names=["u"])
        assert again.row_names_ == ("r", "s", "t", "u")
    assert model.row_names_ == ("r", "s", "t")
    assert model.label_dtype_ == "int32"
