"""Files are written, locked and read where ``os.pread`` and ``fcntl`` do not exist, as on Windows.

In a process of its own, because locks are chosen when they are first imported.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.native

CODE = """
import os, sys
sys.modules["fcntl"] = None
for name in ("pread", "fork", "register_at_fork", "O_DIRECTORY"):
    vars(os).pop(name, None)
import threading, time
from pathlib import Path
import numpy as np
from scipy import sparse
import vicinal
from vicinal._core.files import locked
from vicinal.index import SegmentedIndex
from vicinal.results import Result, ResultStore

folder = Path(sys.argv[1])
store = ResultStore(folder / "results.jsonl")
def add(first):
    for seed in range(first, first + 10):
        store.add(Result("compare", "yeast", "mlknn", {"f1": (0.5,)}, seed=seed))
threads = [threading.Thread(target=add, args=(first,)) for first in (0, 10, 20)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert sorted(result.seed for result in store.read()) == list(range(30))
with (folder / "results.jsonl").open("ab") as file:
    file.write(b'{"half": ')
store.add(Result("compare", "yeast", "last", {"f1": (0.5,)}))
assert len(list(store.read())) == 31

inside, together = [], []
def hold(name):
    for _ in range(3):
        with locked(folder / "results.jsonl.lock"):
            inside.append(name)
            time.sleep(0.01)
            together.append(len(inside))
            inside.remove(name)
threads = [threading.Thread(target=hold, args=(name,)) for name in "abc"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert together == [1] * 9, together

X = sparse.csr_array(np.eye(5) + 0.5)
index = SegmentedIndex.build([X], folder / "index")
index.add(X)
again = SegmentedIndex.open(folder / "index")
assert again.n_rows == 10
assert again.query(X, 1).ids.shape == (5, 1)

model = vicinal.BRkNN(1).fit(X, np.eye(5, dtype=int))
for mmap in (True, False):
    model.save(folder / "m")
    assert (vicinal.load(folder / "m", mmap=mmap).predict(X) == model.predict(X)).all()
print("all held")
"""


def test_without_pread_and_fcntl(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.stdout.strip() == "all held", done.stderr
    left = {file.name for file in tmp_path.iterdir()} - {"results.jsonl.lock"}
    assert left == {"results.jsonl", "index", "m"}
