"""Rankings: of very many labels beside Omikuji's Bonsai and Parabel, and of every single label.

``python -m benchmarks.quality_many --peers PYTHON`` measures what has no stored result;
``benchmarks.quality`` writes it into ``docs/evidence/quality.md``. Of very many labels, each model
is measured in a process of its own: one fit and the five best labels of every test row. Reading the
data is not measured. Whole rankings are those of the blend and of methods that score every label.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.quality_split import Split, load_split, tfidf
from vicinal import Blend
from vicinal._core.arrays import Csr
from vicinal.methods import METHODS
from vicinal.metrics import evaluate
from vicinal.results import Result, ResultStore, provenance

STORED = Path(__file__).with_name("quality_results") / "many.jsonl"
DATA = ("yso-finna-en",)
MODELS = ("blend", "bonsai", "omikuji")
CUTS = (1, 3, 5)
WHOLE_DATA = ("bibtex", "debtags")
WHOLE_MODELS = ("blend", "mlknn", "lcif", "label-ridge")
WHOLE_METRICS = ("ranking-loss", "coverage", "macro-auc")


def precisions(best: NDArray[np.integer], Y: Csr) -> dict[str, float]:
    """Return P@1, P@3 and P@5 of the best labels of rows, best first.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0, 1, 0, 0]]))
    >>> precisions(np.array([[2, 1, 0, 3, 4]]), Y)["precision@3"].round(3)
    np.float64(0.667)
    """
    hits = np.stack(
        [
            np.isin(best[row], Y.indices[Y.indptr[row] : Y.indptr[row + 1]])
            for row in range(len(best))
        ]
    )
    return {f"precision@{k}": hits[:, :k].mean() for k in CUTS}


def measure_blend(split: Split) -> dict[str, float]:
    """Fit the blend and rank the labels of the test rows, in this process."""
    before_mb = _peak_mb()
    start, used = time.perf_counter(), time.process_time()
    best, _ = Blend().fit(split.X, split.Y).rank(split.X_test, top=max(CUTS))
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - used}
    return precisions(best, split.Y_test) | spent | {"memory_mb": _peak_mb() - before_mb}


def measure_peer(split: Split, model: str, python: Path) -> dict[str, float]:
    """Run a peer in its environment."""
    X, Q = tfidf(split.X, [split.X_test])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for key, matrix in (("X", X), ("Y", split.Y), ("Q", Q)):
            sparse.save_npz(folder / f"{key}.npz", sparse.csr_matrix(matrix), compressed=False)
        script = Path(__file__).with_name("quality_peers.py")
        subprocess.run([python, script, model, name], check=True, capture_output=True)
        scores = sparse.csr_array(sparse.load_npz(folder / "scores.npz"))
        spent: dict[str, float] = json.loads((folder / "spent.json").read_text())
    best = np.full((scores.shape[0], max(CUTS)), -1, dtype=np.int64)
    for row in range(scores.shape[0]):
        here = slice(scores.indptr[row], scores.indptr[row + 1])
        order = np.argsort(-scores.data[here], kind="stable")[: max(CUTS)]
        best[row, : len(order)] = scores.indices[here][order]
    return precisions(best, split.Y_test) | spent


def measure_whole(name: str, model: str) -> dict[str, float]:
    """Return how good the order of all labels is."""
    split = load_split(name)
    method: Any = METHODS[model]
    if model == "blend":
        fitted, Q = method().fit(split.X, split.Y), split.X_test
    else:
        X, Q = tfidf(split.X, [split.X_test])
        fitted = method(metric="cosine").fit(X, split.Y)
    return evaluate(split.Y_test, fitted.predict(Q), fitted.scores(Q), metrics=WHOLE_METRICS)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Measure what has no result yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, help="Python that has omikuji")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--one", action="store_true", help="measure the blend here, print JSON")
    given = parser.parse_args()
    store = ResultStore(STORED)
    done = {(result.data, result.method) for result in store.read()}
    for name in DATA:
        if given.one:
            sys.stdout.write(json.dumps(measure_blend(load_split(name))))
            return
        for model in given.models.split(","):
            if (name, model) in done or (model != "blend" and given.peers is None):
                continue
            if model == "blend":
                own = [sys.executable, "-m", "benchmarks.quality_many", "--one"]
                answer = subprocess.run(own, check=True, stdout=subprocess.PIPE, env=os.environ)
                found = json.loads(answer.stdout)
            else:
                found = measure_peer(load_split(name), model, given.peers)
            values = {key: (float(value),) for key, value in found.items()}
            store.add(Result("many labels", name, model, values, provenance=provenance()))
            sys.stdout.write(f"{name} {model} {found}\n")
            sys.stdout.flush()

    for name in WHOLE_DATA:
        for model in WHOLE_MODELS:
            if (name, model) in done:
                continue
            found = measure_whole(name, model)
            values = {key: (float(value),) for key, value in found.items()}
            store.add(Result("whole rankings", name, model, values, provenance=provenance()))
            sys.stdout.write(f"{name} {model} {found}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
