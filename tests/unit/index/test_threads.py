"""Several threads, processes, and the user's Ctrl-C."""

import multiprocessing
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from vicinal.index import DenseIndex, InvertedIndex

pytestmark = pytest.mark.native

BACKENDS = [InvertedIndex, DenseIndex]


def rows_of(n=400, m=30):
    rng = np.random.default_rng(5)
    return (rng.random((n, m)) < 0.2) * rng.integers(1, 4, size=(n, m)).astype(np.float64)


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_threads_at_once_get_the_same_answer(backend):
    X = rows_of()
    index = backend(X, "cosine", n_jobs=2)
    expected = index.query_self(9).ids
    with ThreadPoolExecutor(8) as pool:
        for ids in pool.map(lambda _: index.query_self(9).ids, range(16)):
            assert np.array_equal(ids, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_worker_processes_get_the_same_answer(backend):
    X = rows_of()
    index = backend(X, "euclidean", n_jobs=2)
    expected = index.query_self(5).ids
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(index.query_self)(5) for _ in range(2))
    assert all(np.array_equal(graph.ids, expected) for graph in found)


def _answer(index, queue):
    queue.put(index.query_self(5).ids)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_forked_child_can_search(backend):
    index = backend(rows_of(), "euclidean", n_jobs=2)
    expected = index.query_self(5).ids
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_answer, args=(index, queue))
    child.start()
    try:
        assert np.array_equal(queue.get(timeout=60), expected)
    finally:
        child.join(timeout=60)
        child.kill()


LONG_QUERIES = """
import sys, threading, time
import numpy as np
from scipy import sparse
from vicinal.index import DenseIndex, InvertedIndex
rng = np.random.default_rng(0)
X = rng.random((20_000, 60)) * (rng.random((20_000, 60)) < 0.9)
for line in sys.stdin:
    index = eval(line)
    threading.Thread(target=lambda held: time.sleep(60), args=[index], daemon=True).start()
    print("ready", flush=True)
    try:
        while True:
            index.query_self(200)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.fixture(scope="module")
def searching():
    """Start a process that searches in each index it is told of until it is interrupted.

    At its end other threads hold the indexes, and it says nothing of it.
    """
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", LONG_QUERIES]
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        yield child
        _, errors = child.communicate(timeout=60)
        assert (child.returncode, errors) == (0, "")
    finally:
        child.kill()


@pytest.mark.parametrize(
    ("backend", "rows", "metric"),
    [
        ("InvertedIndex", "sparse.csr_array(X)", "cosine"),
        ("InvertedIndex", "sparse.csr_array(X * 1e170)", "cosine"),
        ("DenseIndex", "X", "euclidean"),
        ("DenseIndex", "X * 1e170", "euclidean"),
    ],
)
def test_ctrl_c_stops_a_query(backend, rows, metric, searching):
    searching.stdin.write(f"{backend}({rows}, {metric!r})\n")
    searching.stdin.flush()
    assert searching.stdout.readline() == "ready\n"
    time.sleep(0.3)
    sent = time.monotonic()
    searching.send_signal(signal.SIGINT)
    assert searching.stdout.readline() == "interrupted\n"
    assert time.monotonic() - sent < 5


class Broken(Exception):
    pass


def test_an_error_in_a_worker_reaches_the_caller(monkeypatch):
    index = DenseIndex(rows_of(), n_jobs=2)

    def fail(*_):
        raise Broken

    monkeypatch.setattr(index, "_batch", fail)
    with pytest.raises(Broken):
        index.query_self(3)
