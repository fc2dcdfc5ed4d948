"""On a GPU, where there is one: kernels give the definition's neighbours, whatever the rows."""

import numpy as np
import pytest
import torch
from device_search import dense_graph

from vicinal.gpu import ProjectionLoss
from vicinal.gpu.search import KERNELS
from vicinal.index.reference import reference_query_self

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def rows_of(kind, n=9000, m=24):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    if kind == "ties":
        X = rng.choice([0.1, 0.3, 0.7], size=(n, m))
    if kind == "duplicates":
        X = X[rng.integers(n // 3, size=n)]
    if kind == "scales":
        X *= 10.0 ** rng.integers(-4, 4, size=(n, 1))
    return X


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("kind", ["plain", "ties", "duplicates", "scales"])
@pytest.mark.parametrize("fused", [False, None] if KERNELS is None else [False, True])
def test_graph(kind, metric, fused):
    X = rows_of(kind)
    ids, values = dense_graph(X, None, 6, metric, "cuda", fused=fused)
    expected = reference_query_self(X, 6, metric)
    np.testing.assert_array_equal(ids, expected.ids)
    np.testing.assert_array_equal(values, expected.values)


def test_loss_here_and_there():
    rng = np.random.default_rng(1)
    X, P = rng.normal(size=(6000, 9)), rng.normal(size=(9, 16)).round(2)
    indptr, indices = np.arange(6001), rng.integers(0, 5, size=6000)
    here, there = (
        ProjectionLoss(X.round(2), indptr, indices, 5, device=device) for device in ("cpu", "cuda")
    )
    assert here(P) == pytest.approx(there(P), abs=1e-4)
