"""A child that was forked while another thread held a lock must not wait for it."""

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import vicinal
from vicinal._core.threads import Beside, ForkLock
from vicinal.index import build_index

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    # What is tested is that it works all the same.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def in_child(work: Any, seconds: int = 20) -> int:
    """Run `work` in a forked child; its exit code: 0 if it returned True in time."""
    child = os.fork()
    if child == 0:  # pragma: no cover
        signal.alarm(seconds)
        try:
            os._exit(0 if work() else 3)
        finally:
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_held_lock_is_open_in_the_child() -> None:
    lock, held, done = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait()

    def take() -> bool:
        with lock:
            return True

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    code = in_child(take)
    done.set()
    thread.join()
    assert code == 0
    assert take()


def test_a_child_predicts_though_the_parent_was_building_the_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 3)), (rng.random((40, 4)) < 0.5).astype(int)
    wanted = vicinal.BRkNN(3, n_jobs=1).fit(X, Y)
    graph = build_index(X, "euclidean").query_self(3)
    model = vicinal.BRkNN(3, n_jobs=1).fit(X, Y, graph=graph)
    assert not model.search_.has_index
    building, forked = threading.Event(), threading.Event()
    parent = os.getpid()

    def slowly(*args: Any) -> Any:
        if os.getpid() == parent:
            building.set()
            forked.wait()
        return build_index(*args)

    monkeypatch.setattr("vicinal.index.training_rows.build_index", slowly)
    thread = threading.Thread(target=model.predict, args=(X,))
    thread.start()
    building.wait()
    answer = wanted.predict(X)
    code = in_child(lambda: np.array_equal(model.predict(X), answer))
    forked.set()
    thread.join()
    assert code == 0


def test_a_child_computes_by_itself_what_a_thread_of_the_parent_computes() -> None:
    done = threading.Event()

    def work() -> int:
        done.wait()
        return 7

    beside = Beside(work)

    def result() -> bool:
        done.set()  # in the child; the thread of the parent still waits
        return not beside.is_ready and beside.result() == 7

    code = in_child(result)
    assert not beside.is_ready
    done.set()
    assert code == 0
    assert beside.result() == 7
