"""Seconds and memory of a fit and the scores of all test rows, on a machine that does nothing else.

``python -m benchmarks.quality_times --peers PYTHON bibtex delicious`` measures the blend,
one-vs-rest LinearSVC and XR-Linear in processes of their own, and stores what it finds;
``benchmarks.quality`` writes it into ``docs/evidence/quality.md``. No regularisation is chosen and
no fold is fitted: these are one fit and one prediction, with libraries imported and processes
started. Where labels are many, LinearSVC is fitted on some of them, evenly spaced by how often they
occur, and its seconds are multiplied.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.quality_models import linear_svc_scores
from benchmarks.quality_split import Split, load_split, tfidf
from vicinal import Blend
from vicinal._core.arrays import Csr
from vicinal.results import Result, ResultStore, provenance

STORED = Path(__file__).with_name("quality_results") / "times.jsonl"
MODELS = ("blend", "linear-svc", "xr-linear")
SOME_LABELS = 48
"""Labels that LinearSVC is fitted on where there are more than ``MANY_LABELS``."""
MANY_LABELS = 1000
FEW_ROWS = 60
"""Rows of a first fit, which is not measured."""
PAGE_MB = 4096 / 1e6


class Peak:
    """The largest resident memory of a process and those it started, looked at every 20 ms."""

    def __init__(self, pid: int) -> None:
        self._pid, self._stop = pid, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.start_mb = self.most_mb = _tree_mb(pid)

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.most_mb = max(self.most_mb, _tree_mb(self._pid))

    def __enter__(self) -> "Peak":
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()

    @property
    def growth_mb(self) -> float:
        """What the process grew by, in MB."""
        return self.most_mb - self.start_mb


def _tree_mb(pid: int) -> float:
    """Return the resident memory of a process and those it started."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return pages * PAGE_MB + sum(_tree_mb(int(child)) for child in started)


def blend(split: Split) -> float:
    """Fit and score; return the factor that seconds are multiplied by."""
    Blend().fit(split.X, split.Y).scores(split.X_test)
    return 1.0


def linear_svc(split: Split) -> float:
    """Fit one model per label on all cores, or per label of a sample."""
    X, Q = tfidf(split.X, [split.X_test])
    Y, n_labels = split.Y, split.Y.shape[1]
    if n_labels > MANY_LABELS:
        counts = np.bincount(Y.indices, minlength=n_labels)
        by_count = np.argsort(counts, kind="stable")[counts[np.argsort(counts)] > 0]
        chosen = by_count[np.linspace(0, len(by_count) - 1, SOME_LABELS).astype(np.int64)]
        Y = Csr(Y[:, np.sort(chosen)])
    linear_svc_scores(X, Y, Q, 1.0)
    return n_labels / Y.shape[1]


HERE: dict[str, Callable[[Split], float]] = {"blend": blend, "linear-svc": linear_svc}


def measure_here(name: str, model: str) -> dict[str, float]:
    """Measure a model in this process."""
    split = load_split(name)
    few = replace(split, X=split.X[:FEW_ROWS], Y=split.Y[:FEW_ROWS], X_test=split.X_test[:FEW_ROWS])
    with warnings.catch_warnings(action="ignore"):
        HERE[model](few)  # imports libraries and starts processes
    with Peak(_own_pid()) as peak:
        start = time.perf_counter()
        factor = HERE[model](split)
        seconds = time.perf_counter() - start
    return {"seconds": factor * seconds, "memory_mb": peak.growth_mb, "factor": factor}


def measure_there(name: str, model: str, python: Path) -> dict[str, float]:
    """Measure a model of another environment: its own seconds, and the memory of its process.

    Its process reads the rows from files, so that its memory holds them twice at most.
    """
    split = load_split(name)
    X, Q = tfidf(split.X, [split.X_test])
    with tempfile.TemporaryDirectory() as folder:
        for key, matrix in (("X", X), ("Y", split.Y), ("Q", Q)):
            sparse.save_npz(Path(folder) / f"{key}.npz", sparse.csr_matrix(matrix))
        script = Path(__file__).with_name("quality_peers.py")
        process = subprocess.Popen([python, script, model, folder], stdout=subprocess.DEVNULL)
        with Peak(process.pid) as peak:
            if process.wait() != 0:
                raise RuntimeError(f"{model} failed on {name}")
        seconds = float((Path(folder) / "seconds.txt").read_text())
        start_mb = float((Path(folder) / "memory.txt").read_text())
    return {"seconds": seconds, "memory_mb": peak.most_mb - start_mb, "factor": 1.0}


def _own_pid() -> int:
    return int(Path("/proc/self").resolve().name)


def main() -> None:
    """Measure what is asked for, each model in a process of its own, and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--peers", type=Path, help="Python that has libpecos")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--one", action="store_true", help="measure here and print JSON")
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(measure_here(given.names[0], given.models)))
        return
    store = ResultStore(STORED)
    for name in given.names:
        for model in given.models.split(","):
            if model in HERE:
                command = [sys.executable, "-m", __spec__.name, "--one", "--models", model, name]
                found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            elif given.peers is not None:
                found = measure_there(name, model, given.peers)
            else:
                continue
            values = {key: (float(value),) for key, value in found.items()}
            store.add(Result("times", name, model, values, provenance=provenance()))
            sys.stdout.write(
                f"{name} {model} {found['seconds']:.1f} s, {found['memory_mb']:.0f} MB\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
