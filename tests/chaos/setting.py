"""Models with known answers, and processes that are watched."""

import os
import signal
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import vicinal

RNG = np.random.default_rng(0)
ROWS = RNG.choice([0.0, 0.0, 0.0, 0.5, 1.0], size=(300, 40))
LABELS = (RNG.random((300, 12)) < 0.2).astype(np.int32)
QUERIES = RNG.choice([0.0, 0.0, 0.5, 1.0], size=(50, 40))


@cache
def models() -> list[Any]:
    """Return two models, sparse, that answer differently."""
    X = sparse.csr_array(ROWS)
    return [vicinal.MLkNN(3).fit(X, LABELS), vicinal.BRkNN(7).fit(X, LABELS[:, ::-1])]


@cache
def answers() -> list[bytes]:
    """Return what each of the two says of the queries."""
    return [answer(model) for model in models()]


def answer(model: Any) -> bytes:
    """Return the scores of the queries, to the bit."""
    return model.scores(sparse.csr_array(QUERIES)).toarray().tobytes()


def check_whole(path: Path) -> int:
    """Return which of the two models is in a file; a fault if neither or a part of one is."""
    return answers().index(answer(vicinal.load(path)))


def child(work: Callable[[], object]) -> int:
    """Start work in a child; its exit code is 0 where nothing is raised."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        work()
        code = 0
    finally:
        os._exit(code)
    raise AssertionError("not reached")


def ended(process: int, seconds: float) -> int | None:
    """Wait for a child; return its status, or None (and end it) if it takes too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return status
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None
