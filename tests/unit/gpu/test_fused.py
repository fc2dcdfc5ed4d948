"""What surrounds the kernels: thresholds, room, what is certain. Stand-ins do the kernels' work."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from vicinal.gpu import DenseSearch
from vicinal.gpu import search as device_search
from vicinal.gpu.search import Pairs
from vicinal.index.reference import reference_query, reference_query_self


class StandIn:
    """A kernel in plain PyTorch: called as ``kernel[grid](…)``."""

    def __init__(self, work):
        self.work = work
        self.calls = 0

    def __getitem__(self, grid):
        def call(*arguments, **options):
            self.calls += 1
            self.work(*arguments, **options)

        return call


def scores(q_high, q_low, x_high, x_low, biases):
    q, ql, x, xl = (part.float() for part in (q_high, q_low, x_high, x_low))
    return q @ x.T + q @ xl.T + ql @ x.T - biases


def best_of_tiles(qh, ql, xh, xl, biases, sizes, errors, best, *_, ROWS, **__):
    low = scores(qh, ql, xh, xl, biases) - 3 * errors[:, None] * sizes
    best.copy_(low.reshape(len(low), -1, ROWS).amax(dim=2).T)


def collect(
    qh, ql, xh, xl, biases, sizes, errors, thresholds, own, counts, ids, high, *_, **options
):
    reach = scores(qh, ql, xh, xl, biases) + errors[:, None] * sizes
    for i, row in enumerate(reach):
        kept = torch.nonzero(row >= thresholds[i])[:, 0]
        kept = kept[kept != own[i]].flip(0)  # in no particular order
        counts[i] = len(kept)
        kept = kept[: options["ROOM"]]
        ids[i, : len(kept)] = kept.int()
        high[i, : len(kept)] = row[kept]


def squared_distances(rows, queries, ids, sums, *_, **__):
    sums.zero_()
    for j in range(rows.shape[1]):
        difference = queries[:, j, None].double() - rows[:, j][ids].double()
        sums += difference * difference


@pytest.fixture
def kernels(monkeypatch):
    """Put stand-ins in the place of the kernels, and make tiles small."""
    made = SimpleNamespace(
        **{work.__name__: StandIn(work) for work in (best_of_tiles, collect, squared_distances)}
    )
    monkeypatch.setattr(device_search, "KERNELS", made)
    monkeypatch.setattr(device_search, "QUERIES", 32)
    monkeypatch.setattr(device_search, "ROWS", 8)
    return made


def rows_of(kind, n=900, m=6):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, m))
    if kind == "ties":
        X = rng.integers(0, 3, size=(n, m)).astype(float)
    if kind == "duplicates":
        X = X[rng.integers(n // 3, size=n)]
    if kind == "constant":
        X = np.full((n, m), 0.7)
    if kind == "far":
        X += 1e6
    return X


@pytest.mark.parametrize("kind", ["plain", "ties", "duplicates", "constant", "far"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_the_graph_is_the_definition(kernels, kind, metric):
    X = rows_of(kind)
    search = DenseSearch.of(X, metric, "cpu", fused=True)
    ids, values = search.self_graph(4)
    expected = reference_query_self(X, 4, metric)
    np.testing.assert_array_equal(ids, expected.ids)
    np.testing.assert_array_equal(values, expected.values)
    assert kernels.collect.calls == kernels.best_of_tiles.calls == 1


@pytest.mark.parametrize("chunk", [50, 10**6])
def test_queries_of_their_own_and_chunks(kernels, monkeypatch, chunk):
    monkeypatch.setattr(device_search, "CHUNK", chunk)
    X = rows_of("plain")
    Q = X[:120] + 0.1
    Q[5] *= 1e7  # beyond float16
    Q[6] *= 1e30
    ids, _ = DenseSearch.of(X, device="cpu", fused=True).graph(Q, 4)
    np.testing.assert_array_equal(ids, reference_query(X, Q, 4).ids)
    assert kernels.collect.calls == -(-len(Q) // chunk)


def test_plain_rows_are_certain_at_once(kernels):
    X = torch.from_numpy(rows_of("plain"))
    search = DenseSearch(X, fused=True)
    own = torch.arange(len(X))
    sure, (ids, _) = search._attempt(X, own, 4, 16, 0)
    assert bool(sure.all())
    np.testing.assert_array_equal(ids.numpy(), reference_query_self(X.numpy(), 4).ids)


def test_what_finds_no_room_is_not_certain(kernels, monkeypatch):
    monkeypatch.setattr(device_search, "room_for", lambda k: 16)
    X = torch.from_numpy(rows_of("plain"))
    search = DenseSearch(X, fused=True)
    sure, _ = search._attempt(X, torch.arange(len(X)), 4, 16, 0)
    assert 0 <= int(sure.sum()) < len(X)
    np.testing.assert_array_equal(search.self_graph(4)[0], reference_query_self(X.numpy(), 4).ids)


def test_too_few_tiles_are_left_to_plain_products(kernels):
    X = rows_of("plain", n=300)
    ids, _ = DenseSearch.of(X, device="cpu", fused=True).self_graph(4)
    np.testing.assert_array_equal(ids, reference_query_self(X, 4).ids)
    assert kernels.collect.calls == 0


def test_pairs_hold_22_bits_and_padding_scores_nothing():
    rows = torch.randn((5, 3), generator=torch.Generator().manual_seed(0)) * 100
    pairs = Pairs.of(rows, torch.ones(5), torch.ones(5), block=4)
    assert pairs.high.shape == pairs.low.shape == (8, 16)
    both = pairs.high.double() + pairs.low.double()
    assert bool(((both[:5, :3] - rows).abs() <= rows.abs() * 2.0**-22 + 2.0**-25).all())
    assert not both[5:].any()
    assert not both[:, 3:].any()
    assert pairs.biases[5:].tolist() == [np.inf] * 3
