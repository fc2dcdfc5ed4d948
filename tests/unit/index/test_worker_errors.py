"""An error in compiled search reaches Python, and the index can be used on."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS"),
    pytest.mark.skipif(
        "asan" in os.environ.get("LD_PRELOAD", ""), reason="ASan ends a process out of memory"
    ),
]

# One arena and a fixed threshold: memory that is freed goes back, and limits mean the same again.
MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}

# With k = n, a query under way needs at least 16 bytes per row in compiled code, and afterwards
# NumPy needs 8 bytes per neighbour. With two queries the first is more, even if the threads take
# turns. So of limits that rise in small steps, some stop the search in compiled code. That an error
# of each thread comes through is tested in native/tests/common/test_parallel.cpp.
SHORT_OF_MEMORY = """
import json, resource
import numpy as np
from scipy import sparse
from vicinal.index import InvertedIndex

def virtual_bytes():
    with open("/proc/self/statm") as status:
        return int(status.read().split()[0]) * resource.getpagesize()

n, rng = 200_000, np.random.default_rng(0)
X = sparse.csr_array((rng.choice({values}, 2 * n), rng.integers(0, 9, 2 * n), np.arange(n + 1) * 2))
X.sum_duplicates()
index = InvertedIndex(X, "cosine", n_jobs=2)
Q = X[:2]
wanted = index.query(Q, 5).ids
_, hard = resource.getrlimit(resource.RLIMIT_AS)
outcomes = []
for extra in range(2 * n * 12, 100 << 20, 1 << 18):  # the answer itself, and more
    resource.setrlimit(resource.RLIMIT_AS, (virtual_bytes() + extra, hard))
    try:
        index.query(Q, n)
        outcomes.append("answered")
    except (MemoryError, RuntimeError) as error:
        outcomes.append(str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    if not np.array_equal(index.query(Q, 5).ids, wanted):
        outcomes.append("broken")
    if outcomes[-1] == "answered":
        break
print(json.dumps(outcomes))
"""


@pytest.mark.parametrize("values", ["[1.0]", "[1.0, 0.3, 2.5]"], ids=["binary", "weighted"])
def test_a_worker_out_of_memory_raises_and_leaves_the_index_usable(values):
    child = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY.format(values=values)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **MALLOC},
    )
    assert child.returncode == 0, child.stderr
    outcomes = json.loads(child.stdout)
    assert "broken" not in outcomes
    assert outcomes[-1] == "answered"
    assert "std::bad_alloc" in outcomes
