"""A cluster gives the neighbours of one process, to the bit, also when workers die."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra [cluster]")

import dask
from distributed import KilledWorker
from sklearn.base import clone

import vicinal
from vicinal.cluster import ClusterIndex, ClusterTasks, column_graph, workers
from vicinal.cluster.index import query_blocks
from vicinal.cluster.workers import merge_found
from vicinal.datasets.generated import zipf_rows
from vicinal.errors import InvalidArgumentError
from vicinal.index import InvertedIndex, SegmentedAlgorithm, SegmentedIndex, segment_files
from vicinal.methods._formulas import column_graph as local_column_graph
from vicinal.methods.blend import scoring as blend_scoring

pytestmark = [
    pytest.mark.native,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
METRICS = ["cosine", "dot", "euclidean"]
MEMORY = 2**20


@pytest.fixture(scope="module")
def X():
    X = zipf_rows(3000, 800, 1, 20)
    X.data[::7] = 3.0
    return X


def same(a, b):
    assert np.array_equal(a.ids, b.ids)
    assert np.array_equal(a.values, b.values)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("stored", [True, False])
def test_a_folder(client, X, metric, stored, tmp_path, monkeypatch):
    if stored:
        monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1000)
    options = {"metric": metric, "max_memory": MEMORY, "n_jobs": 1}
    local = SegmentedIndex.build([X[:1000], X[1000:]], tmp_path / "rows", **options)
    local.remove([5, 2999, *range(100, 140)])
    local.add(X[:50])
    index = ClusterIndex(client, tmp_path / "rows", metric, max_memory=MEMORY, block_queries=400)
    assert len(index._source.shards) > 2
    # One task searches all shards whose postings are stored; the rows added since are few.
    assert len(index._groups) == (1 + 1 if stored else len(index._source.shards))
    same(index.query(X[:900], 7), local.query(X[:900], 7))
    same(index.query_self(7), local.query_self(7))


def test_stored_postings_of_another_metric_are_not_used(client, X, tmp_path, monkeypatch):
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    SegmentedIndex.build([X], tmp_path / "rows", "cosine")
    index = ClusterIndex(client, tmp_path / "rows", "euclidean", max_memory=MEMORY)
    same(index.query(X[:50], 7), InvertedIndex(X, "euclidean").query(X[:50], 7))


@pytest.mark.parametrize("n_queries", [0, 1, 255, 300, 10_000, 123_456])
@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_blocks_of_queries(n_queries, at_once):
    """Each query is in one block; blocks shrink; the first round leaves something to share out."""
    blocks = list(query_blocks(n_queries, at_once, 20_000))
    assert [start for start, _ in blocks] + [n_queries] == [0, *(stop for _, stop in blocks)]
    sizes = [stop - start for start, stop in blocks]
    assert sizes == sorted(sizes, reverse=True)
    assert all(256 <= size <= 20_000 for size in sizes[:-1])
    if n_queries == 10_000:
        assert sum(sizes[:at_once]) == pytest.approx(6667, abs=at_once)


def test_a_folder_of_shards(client, X, tmp_path):
    for name, start in (("a", 0), ("b", 1200), ("c", 2000)):
        stop = {"a": 1200, "b": 2000, "c": 3000}[name]
        SegmentedIndex.build([X[start:stop]], tmp_path / "all" / name)
    index = ClusterIndex(client, tmp_path / "all", max_memory=MEMORY)
    wanted = InvertedIndex(X)
    same(index.query(X[:300], 9), wanted.query(X[:300], 9))
    same(index.query_self(4), wanted.query_self(4))


@pytest.mark.parametrize("metric", METRICS)
def test_local_arrays_and_blocks(client, X, metric):
    wanted = InvertedIndex(X, metric)
    blocks = [dask.delayed(X[start : start + 700]) for start in range(0, 3000, 700)]
    for source in (X, blocks):
        index = ClusterIndex(client, source, metric, max_memory=MEMORY, block_queries=500)
        same(index.query(X[:1100], 5), wanted.query(X[:1100], 5))
        same(index.query_self(3), wanted.query_self(3))


def test_estimators(client, X):
    Y = zipf_rows(3000, 20, 2, 3)
    for kind in (vicinal.InstanceKNN, vicinal.MLkNN):
        plain = kind().fit(X[:2000], Y[:2000])
        algorithm = ClusterIndex(client, X[:5], max_memory=MEMORY)
        model = clone(kind(algorithm=algorithm)).fit(X[:2000], Y[:2000])
        assert isinstance(model.search_.index, ClusterIndex)
        assert (model.predict(X[2000:]) != plain.predict(X[2000:])).nnz == 0
        model.partial_fit(X[2000:2100], Y[2000:2100])
        plain.partial_fit(X[2000:2100], Y[2000:2100])
        assert (model.predict(X[2000:]) != plain.predict(X[2000:])).nnz == 0


def test_an_estimator_on_the_rows_of_a_folder(client, X, tmp_path):
    """The workers read the rows themselves; none are sent."""
    Y = zipf_rows(3000, 20, 2, 3)
    SegmentedIndex.build([X], tmp_path / "rows")
    index = ClusterIndex(client, tmp_path / "rows", max_memory=MEMORY)
    model = vicinal.InstanceKNN(algorithm=index).fit(index.X, Y)
    assert model.search_.index is index
    plain = vicinal.InstanceKNN().fit(X, Y)
    assert (model.predict(X[:200]) != plain.predict(X[:200])).nnz == 0


def test_a_blend_whose_views_are_in_a_folder(client, X, tmp_path, monkeypatch):
    """Workers sum up the centroids, search, solve and compare; the answers have the same bits."""
    monkeypatch.setattr(blend_scoring, "LEAST_TASK", 16)
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1000)
    Y = zipf_rows(3000, 300, 2, 3).astype(np.int32)
    plain = vicinal.Blend().fit(X[:800], Y[:800])
    index = SegmentedIndex.build([X[:800]], tmp_path / "rows", postings=False)
    tasks = Counted(client)
    algorithm = SegmentedAlgorithm(MEMORY, index, str(tmp_path / "views"), tasks=tasks)
    model = vicinal.Blend(algorithm=algorithm).fit(index.X, Y[:800])
    assert tasks.functions == {"CentroidRows.lists", "RemoteBlend.listed"}
    tasks.functions.clear()
    same_scores(model, plain, X[800:1000])
    assert tasks.functions == {"RemoteBlend.listed"}
    # The rows that it learns are on this machine.
    for each in (model, plain):
        each.partial_fit(X[1000:1002], Y[1000:1002])
    same_scores(model, plain, X[800:1000])


def same_scores(model, other, Q):
    a, b = model.scores(Q), other.scores(Q)
    assert np.array_equal(a.base, b.base)
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(a.values, name), getattr(b.values, name))


class Counted(ClusterTasks):
    """Remembers which functions ran on workers."""

    def __init__(self, client):
        super().__init__(client)
        self.functions = set()

    def run(self, function, shared, arguments):
        self.functions.add(function.__qualname__)
        return super().run(function, shared, arguments)


def test_a_model_is_saved_without_its_cluster(client, X, tmp_path):
    Y = zipf_rows(3000, 20, 2, 3)
    algorithm = ClusterIndex(client, X[:5])
    model = vicinal.InstanceKNN(algorithm=algorithm).fit(X[:500], Y[:500])
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    assert again.algorithm == "auto"
    assert (again.predict(X[500:600]) != model.predict(X[500:600])).nnz == 0


def test_columns(client, X):
    Y = zipf_rows(3000, 60, 2, 3)
    same(column_graph(client, X, Y, 5, block_columns=150), local_column_graph(X, Y, 5))


def test_merging_is_associative():
    rng = np.random.default_rng(3)
    parts = []
    for first in range(0, 60, 10):
        keys = rng.integers(0, 4, (50, 5)).astype(float)
        places = np.argsort(rng.random((50, 10)), axis=1)[:, :5].astype(np.int32) + first
        places[rng.random((50, 5)) < 0.3] = -1
        order = np.lexsort((places, keys, places < 0), axis=1)
        parts.append(tuple(np.take_along_axis(a, order, axis=1) for a in (places, keys)))
    whole = merge_found(parts)
    tree = merge_found(
        [merge_found(parts[4:]), merge_found([parts[1], parts[3]]), parts[2], parts[0]]
    )
    for row in range(50):
        pairs = [
            (key, place)
            for places, keys in parts
            for place, key in zip(places[row], keys[row], strict=True)
            if place >= 0
        ]
        wanted = [place for _, place in sorted(pairs)[:5]]
        assert whole[0][row].tolist() == wanted + [-1] * (5 - len(wanted))
    assert np.array_equal(whole[0], tree[0])
    found = whole[0] >= 0
    assert np.array_equal(whole[1][found], tree[1][found])


def test_bad_sources_are_named(client, X, tmp_path):
    SegmentedIndex.build([X[:10]], tmp_path / "rows", "dot")
    assert ClusterIndex(client, tmp_path / "rows").metric == "dot"
    with pytest.raises(InvalidArgumentError, match="metric"):
        ClusterIndex(client, tmp_path / "rows", "taxicab")
    with pytest.raises(InvalidArgumentError, match="source"):
        ClusterIndex(client, 3)
    with pytest.raises(InvalidArgumentError, match="written by SegmentedIndex"):
        ClusterIndex(client, tmp_path / "nothing")
    with pytest.raises(InvalidArgumentError, match="one number of features"):
        ClusterIndex(client, [dask.delayed(X[:5]), dask.delayed(X[:5, :7])])
    with pytest.raises(InvalidArgumentError, match="an index in a folder, got one in memory"):
        ClusterIndex(client, SegmentedIndex(X[:10]))
    SegmentedIndex.build([X[:10, :7]], tmp_path / "both" / "a")
    SegmentedIndex.build([X[:10]], tmp_path / "both" / "b")
    with pytest.raises(InvalidArgumentError, match="shards of one number of features"):
        ClusterIndex(client, tmp_path / "both")
    with pytest.raises(InvalidArgumentError, match="one folder that was built and not changed"):
        _ = ClusterIndex(client, X[:10]).X


def test_an_index_that_changed_and_the_blocks_of_an_array(client, X, tmp_path):
    local = SegmentedIndex.build([X[:40]], tmp_path / "rows")
    local.remove([3, 7])
    index = ClusterIndex(client, local)
    same(index.query(X[:5], 4), local.query(X[:5], 4))
    same(index.query_self(3), local.query_self(3))

    class Blocks:
        """As a dask array gives its blocks."""

        def to_delayed(self):
            return np.array([[dask.delayed(X[:20])], [dask.delayed(X[20:40])]], dtype=object)

    index = ClusterIndex(client, Blocks())
    same(index.query(X[:5], 4), InvertedIndex(X[:40]).query(X[:5], 4))
    assert index.query(X[:0], 4).ids.shape == (0, 4)


@pytest.mark.parametrize("kind", ["folder", "arrays"])
def test_workers_killed_during_a_query(client, in_the_middle, X, kind, tmp_path):
    """Blocks are small, so that there are 60 tasks, and a worker dies after its first."""
    wanted = InvertedIndex(X).query(X, 6)
    source = X
    if kind == "folder":
        SegmentedIndex.build([X], tmp_path / "rows")
        source = tmp_path / "rows"
    index = ClusterIndex(client, source, max_memory=MEMORY, block_queries=100)
    worker, victim = min(client.run(os.getpid).items())
    killer = in_the_middle(worker, os.kill, victim, signal.SIGKILL)
    found = index.query(X, 6)
    assert not killer.is_alive()  # the search was still running when the worker died
    same(found, wanted)
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()
    same(index.query_self(3), InvertedIndex(X).query_self(3))


def test_a_worker_that_comes_late_takes_part(cluster, client, X):
    index = ClusterIndex(client, X, max_memory=MEMORY, block_queries=40)
    other = threading.Timer(0.2, lambda: cluster.scale(3))
    other.start()
    same(index.query(X, 6), InvertedIndex(X).query(X, 6))
    other.join()
    client.wait_for_workers(3, timeout=60)
    cluster.scale(2)


def test_an_error_cancels_what_is_under_way(client, X):
    index = ClusterIndex(client, X, max_memory=MEMORY, block_queries=100)
    search = index._search(3)
    starters = index._given_blocks(X, search)
    from vicinal.cluster.workers import in_flight

    results = in_flight(client, starters, 5)
    next(results)
    results.close()
    deadline = time.time() + 30
    while client.processing() and any(client.processing().values()) and time.time() < deadline:
        time.sleep(0.1)
    assert not any(client.processing().values())


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KilledWorker("search", SimpleNamespace(address="tcp://w"), 3), workers.WorkersLostError),
        (MemoryError("9 GB"), MemoryError),
    ],
)
def test_what_too_little_memory_says(error, kind):
    class Failed:
        def result(self):
            raise error

    with pytest.raises(kind, match="max_memory"):
        workers._result(Failed())
