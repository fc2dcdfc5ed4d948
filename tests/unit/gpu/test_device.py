"""Devices: which is used, what is refused, what is said."""

import copy

import numpy as np
import pytest
import torch
from device_search import dense_graph

from vicinal.errors import InvalidArgumentError
from vicinal.gpu import pick_device
from vicinal.gpu.products import full_float32
from vicinal.index import DenseIndex

pytestmark = pytest.mark.native

X = np.random.default_rng(0).integers(0, 3, size=(60, 4)).astype(float)


def no_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_index_on_a_device_gives_the_same_graph(metric, dtype):
    rows, queries = X.astype(dtype), X[:7] + 0.5
    here = DenseIndex(rows, metric)
    there = DenseIndex(rows, metric, backend="torch", device="cpu")
    assert (here.backend, there.backend) == ("numpy", "torch")
    for one, two in (
        (here.query_self(9), there.query_self(9)),
        (here.query(queries, 9), there.query(queries, 9)),
    ):
        np.testing.assert_array_equal(one.ids, two.ids)
        np.testing.assert_array_equal(one.values, two.values)
        assert (two.metric, two.n_rows) == (metric, 60)


def test_an_index_on_a_device_is_rebuilt_where_it_is():
    index = DenseIndex(X, backend="torch", device="cpu")
    again = copy.copy(index)  # by the same road as a pickle
    assert (again.backend, again.device) == ("torch", "cpu")
    np.testing.assert_array_equal(again.query_self(3).ids, index.query_self(3).ids)


def test_without_cuda_the_cpu_is_used_and_a_warning_says_so(monkeypatch):
    no_cuda(monkeypatch)
    with pytest.warns(UserWarning, match="no CUDA device, so the CPU is used"):
        index = DenseIndex(X, backend="torch")
    assert index.backend == "numpy"
    np.testing.assert_array_equal(index.query_self(3).ids, DenseIndex(X).query_self(3).ids)


@pytest.mark.parametrize("device", ["cuda", "meta", "gpu"])
def test_devices_that_cannot_be(monkeypatch, device):
    no_cuda(monkeypatch)
    with pytest.raises(InvalidArgumentError, match="device"):
        DenseIndex(X, backend="torch", device=device)


def test_the_device_of_another_backend_is_refused():
    with pytest.raises(InvalidArgumentError, match="device"):
        DenseIndex(X, device="cpu")
    with pytest.raises(InvalidArgumentError, match="backend"):
        DenseIndex(X, backend="cupy")


def test_without_a_wish_cuda_where_there_is_one(monkeypatch):
    no_cuda(monkeypatch)
    assert pick_device() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device() == torch.device("cuda")


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"X": [[np.nan]]}, "X"),
        ({"X": [1.0]}, "X"),
        ({"X": [["a"]]}, "X"),
        ({"k": 0}, "k"),
        ({"metric": "manhattan"}, "metric"),
        ({"Q": [[1.0, 2.0]]}, "Q"),
        ({"Q": [[np.inf]]}, "Q"),
    ],
    ids=str,
)
def test_input_that_is_refused(wrong, name):
    with pytest.raises(InvalidArgumentError) as refused:
        dense_graph(**{"X": [[0.0], [1.0]], "k": 1, "device": "cpu"} | wrong)
    assert refused.value.name == name


def test_precision_is_given_back():
    torch.set_float32_matmul_precision("medium")
    try:
        with full_float32():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_kernels_are_refused_where_there_are_none(monkeypatch):
    monkeypatch.setattr("vicinal.gpu.search.KERNELS", None)
    with pytest.raises(InvalidArgumentError, match="fused"):
        dense_graph(X, None, 3, device="cpu", fused=True)
