"""The user's Ctrl-C stops a grid."""

import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.native

LONG_GRID = """
import numpy as np
from scipy import sparse
from vicinal.index import build_index
from vicinal.methods import Training
from vicinal.methods.fold import Fold
from vicinal.selection.lcif_grid import lcif_grid
rng = np.random.default_rng(0)
X = rng.random((3000, 20)) * (rng.random((3000, 20)) < 0.5)
Y = sparse.csr_array((rng.random((3000, 80)) < 0.1).astype(np.int32))
index = build_index(X[:2500], "cosine")
training = Training(index.query_self(30), Y[:2500], X[:2500])
fold = Fold(training, index.query(X[2500:], 30), X[2500:], Y[2500:])
ks = list(range(1, 31))
print("ready", flush=True)
try:
    while True:
        lcif_grid(fold, ks_instance=ks, ks_feature=ks, mixings=np.linspace(0, 1, 101),
                  metrics=["micro-f1"])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_stops_a_grid() -> None:
    command = [sys.executable, "-c", LONG_GRID]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            rest, _ = child.communicate(timeout=60)
            assert rest == "interrupted\n"
            assert time.monotonic() - sent < 10
        finally:
            child.kill()
