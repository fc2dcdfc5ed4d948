"""Examples of functions that other tests reach only on the way."""

import numpy as np
from scipy import sparse

from vicinal.distances import given_distance
from vicinal.errors import did_you_mean
from vicinal.graph import NeighborGraph, cardinality_of, given_metric, metric_of_rows, votes
from vicinal.results import full_text, run_provenance


def test_given_distance():
    assert (given_distance("similarity:jaccard").is_similarity, given_distance("cosine")) == (
        True,
        None,
    )


def test_did_you_mean():
    assert did_you_mean("sports", ["sport", "music"]) == "did you mean 'sport'?"


def test_given_metric():
    assert (
        given_metric("hops", False),
        given_metric("cosine", True),
        given_metric("cosine", False),
    ) == ("distance:hops", "similarity:cosine", "distance:cosine")
    assert given_metric("euclidean", False) == "euclidean"


def test_cardinality_of():
    ids = np.array([[2, 0], [1, -1]], dtype=np.int32)
    graph = NeighborGraph(ids, np.zeros((2, 2)), "cosine", n_rows=3)
    Y = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]]))
    np.testing.assert_equal(cardinality_of(votes(graph, Y), graph), np.array([1.5, 1.0]))


def test_metric_of_rows():
    graph = NeighborGraph(np.array([[1], [0]]), np.array([[5.0], [5.0]]), "euclidean", 2)
    assert metric_of_rows(graph, np.array([[0.0, 0.0], [3.0, 4.0]])) == "euclidean"
    assert metric_of_rows(graph, np.array([[0.0, 0.0], [3.0, 3.0]])) == "distance:euclidean"


def test_run_provenance(monkeypatch):
    folder = "/home/someone/secret project"
    words = [f"{folder}/vicinal", "compare", f"{folder}/a b.csv", f"--store={folder}/r"]
    words += ["~/x/y.csv"]
    monkeypatch.setattr("sys.argv", [*words, "C:\\Users\\me\\z.csv", "data/w.csv", "m:Class"])
    command = "vicinal compare 'a b.csv' --store=r y.csv z.csv data/w.csv m:Class"
    assert run_provenance()["command"] == command


def test_full_text():
    assert (
        " ".join(full_text([np.array([0.1, 0.12345678901234])]).split())
        == "[array([0.1 , 0.12345678901234])]"
    )
