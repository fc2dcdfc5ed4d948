"""Workers that are slow, short of memory or dead: the same answer, or an error that says why."""

import os
import random
import resource
import shutil
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed", reason="needs the extra [cluster]")

from vicinal import Blend
from vicinal.cluster import ClusterIndex, ClusterTasks, WorkersLostError
from vicinal.datasets.generated import zipf_rows
from vicinal.index import InvertedIndex, SegmentedAlgorithm, SegmentedIndex

pytestmark = [
    pytest.mark.native,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
MEMORY = 2**20
STATUS = Path("/proc/self/status")


@pytest.fixture(scope="module")
def X():
    return zipf_rows(3000, 800, 1, 20)


@pytest.fixture
def own_cluster():
    """Return a cluster for tests that may leave workers in any state."""
    from distributed import Client, LocalCluster

    options = {"processes": True, "memory_limit": 0, "dashboard_address": ":0"}
    with LocalCluster(2, threads_per_worker=1, **options) as local, Client(local) as client:
        yield local, client


@pytest.fixture
def index(client, X, tmp_path):
    SegmentedIndex.build([X], tmp_path / "rows", max_memory=MEMORY)
    return ClusterIndex(client, tmp_path / "rows", max_memory=MEMORY, block_queries=100)


def same(a, b):
    assert np.array_equal(a.ids, b.ids)
    assert np.array_equal(a.values, b.values)


def pids(client):
    return sorted(client.run(os.getpid).values())


def test_a_slow_worker(client, in_the_middle, X, index):
    """It stands still for a second in the middle of a search."""
    worker, slow = min(client.run(os.getpid).items())
    standstill = in_the_middle(worker, stop_for_a_while, slow, 1.0)
    found = index.query(X, 6)
    standstill.join(5)
    assert not standstill.is_alive()  # the search was still running when the worker stopped
    same(found, InvertedIndex(X).query(X, 6))


def limit_data(extra):
    """Refuse this process more than so many further bytes; None for as many as it likes."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = hard
    if extra is not None:
        lines = STATUS.read_text().splitlines()
        used = next(int(line.split()[1]) for line in lines if line.startswith("VmData"))
        soft = 1024 * used + extra
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="needs Linux")
def test_workers_short_of_memory(own_cluster):
    """Lists that do not fit are an error that says what to change; then all is well.

    The lists of a task take 90 MB and workers get 32 MB, which is enough for Dask itself.
    """
    _, client = own_cluster
    X = zipf_rows(30_000, 800, 1, 20)
    index = ClusterIndex(client, X)
    wanted = InvertedIndex(X).query(X[:300], 3)
    same(index.query(X[:300], 3), wanted)
    client.run(limit_data, 2**25)
    try:
        with pytest.raises(MemoryError, match="max_memory"):
            index.query(X[:256], 29_000)
    finally:
        client.run(limit_data, None)
    same(index.query(X[300:0:-1], 3), InvertedIndex(X).query(X[300:0:-1], 3))


def kill_when_searching(client, victims):
    """Kill workers once each of them has a task."""
    while not all(client.processing().values()):
        time.sleep(0.01)
    for victim in victims:
        os.kill(victim, signal.SIGKILL)


@pytest.mark.slow
def test_workers_that_die_again_and_again(own_cluster, X, tmp_path):
    """More often than Dask allows, which is here: once."""
    cluster, client = own_cluster
    SegmentedIndex.build([X], tmp_path / "rows", max_memory=MEMORY)
    index = ClusterIndex(client, tmp_path / "rows", max_memory=MEMORY, block_queries=40)
    cluster.scheduler.allowed_failures, allowed = 0, cluster.scheduler.allowed_failures
    killer = threading.Thread(target=kill_when_searching, args=(client, pids(client)))
    killer.start()
    try:
        with pytest.raises(WorkersLostError, match="--memory-limit 0"):
            index.query(sparse.vstack([X] * 20, format="csr"), 6)
    finally:
        killer.join()
        cluster.scheduler.allowed_failures = allowed
    client.wait_for_workers(2, timeout=60)
    same(index.query(X[:300], 6), InvertedIndex(X).query(X[:300], 6))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(8))
def test_many_faults_at_random_moments(own_cluster, X, tmp_path, seed):
    """Workers die, stand still and join while searches run: every answer is the same."""
    cluster, client = own_cluster
    SegmentedIndex.build([X], tmp_path / "rows", max_memory=MEMORY)
    wanted, own = InvertedIndex(X).query(X, 6), InvertedIndex(X).query_self(4)
    Y = zipf_rows(3000, 300, 2, 3).astype(np.int32)
    blend = Blend("mix").fit(X, Y).scores(X[:900])
    rows = SegmentedIndex.open(tmp_path / "rows")
    memory = MEMORY, rows, str(tmp_path / "views")
    cluster.scheduler.allowed_failures = 1000
    chance = random.Random(seed)
    for source in (tmp_path / "rows", X, tmp_path / "rows", X):
        index = ClusterIndex(client, source, max_memory=MEMORY, block_queries=40)
        victim, slow = chance.sample(running(cluster), 2)
        when = [chance.uniform(0, 1) for _ in range(3)]
        faults = [
            threading.Timer(when[0], send, (victim, signal.SIGKILL)),
            threading.Timer(when[1], stop_for_a_while, (slow,)),
            threading.Timer(when[2], cluster.scale, (3,)),
        ]
        for fault in faults:
            fault.start()
        same(index.query(X, 6), wanted)
        same(index.query_self(4), own)
        shutil.rmtree(tmp_path / "views", ignore_errors=True)
        algorithm = SegmentedAlgorithm(*memory, tasks=ClusterTasks(client))
        found = Blend("mix", algorithm=algorithm).fit(rows.X, Y).scores(X[:900])
        assert (found.values != blend.values).nnz == 0
        for fault in faults:
            fault.join()
        cluster.scale(2)


def running(cluster):
    """Return the processes of two workers or more, once there are any.

    They are not asked: one of them may be leaving.
    """
    deadline = time.monotonic() + 60
    while len(found := sorted(each.pid for each in cluster.workers.values() if each.pid)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def send(pid, number):
    with suppress(ProcessLookupError):  # it may have left since
        os.kill(pid, number)


def stop_for_a_while(pid, seconds=0.5):
    send(pid, signal.SIGSTOP)
    time.sleep(seconds)
    send(pid, signal.SIGCONT)
