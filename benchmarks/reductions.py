"""Projections in front of ML-kNN, beside the table of the ML-ARP paper.

``python -m benchmarks.reductions --out FILE`` runs what the file does not hold yet and prints the
table; ``--export DIR`` writes the folds for ``benchmarks.mlarp_folds`` instead.
"""

import argparse
import csv
import itertools
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.random_projection import GaussianRandomProjection

import vicinal
from benchmarks.fold_files import N_FOLDS, Bool, Folds, Result, append_result, read_results
from vicinal.reduction import MDDM, MLARP, OPLS, LabelCCA
from vicinal.selection import IterativeStratification

SETS = ("emotions", "yeast", "scene", "enron", "medical", "genbase", "corel5k", "bibtex")
METHODS = ("baseline", "ml-knn", "rp", "pca", "cca", "opls", "mddm", "ml-arp")
K = 5


def load_folds(name: str) -> Folds:
    """Return a set of the catalogue with ten stratified folds (seed 0)."""
    data = vicinal.datasets.load(name)
    X = data.X.toarray() if isinstance(data.X, sparse.csr_array) else np.asarray(data.X)
    splitter = IterativeStratification(N_FOLDS, shuffle=True, random_state=0)
    r = 128 if X.shape[1] >= 128 else 64
    return Folds(name, X, data.Y.toarray().astype(np.bool_), splitter.folds(data.Y), r)


def projection(method: str, folds: Folds, fold: int, seconds: float) -> TransformerMixin | None:
    """Return the transformer in front of ML-kNN, None for none."""
    r, m = folds.n_components, folds.X.shape[1]
    n_train = int((folds.fold_of != fold).sum())
    if method == "rp":
        return GaussianRandomProjection(min(r, m), random_state=fold)
    if method == "pca":
        return PCA(min(r, m, n_train), random_state=fold)
    if method == "ml-arp":
        return MLARP(r, K, 0.0, max_iter=None, max_seconds=seconds, random_state=fold)
    kinds = {"cca": LabelCCA, "opls": OPLS, "mddm": MDDM}
    return kinds[method](r) if method in kinds else None


def predicted(method: str, folds: Folds, fold: int, seconds: float) -> tuple[Bool, Pipeline | None]:
    """Return the labels a method gives the test rows of a fold, and the fitted model."""
    X, Y = folds.train(fold)
    X_test, Y_test = folds.test(fold)
    if method == "baseline":
        return np.broadcast_to(Y.mean(axis=0) >= 0.5, Y_test.shape), None
    first = projection(method, folds, fold, seconds)
    steps = [vicinal.MLkNN(K, smoothing=0.0)] if first is None else [first, vicinal.MLkNN(K, 0.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer directions than columns asked for
        model = make_pipeline(*steps).fit(X, Y.astype(np.int32))
    labels = np.asarray(model.predict(X_test))
    return labels.astype(np.bool_), model


def run(folds: Folds, method: str, fold: int, seconds: float) -> Result:
    """Return the Hamming loss of a method on the test rows of a fold."""
    began = time.perf_counter()
    labels, model = predicted(method, folds, fold, seconds)
    took = time.perf_counter() - began
    loss = float(np.mean(labels != folds.test(fold)[1]))
    if method != "ml-arp" or model is None:
        return Result(folds.name, method, fold, loss, round(took, 2))
    history = model[0].history_
    losses = float(history[0]), float(history[-1])
    return Result(folds.name, method, fold, loss, round(took, 2), len(history), *losses)


def reported(path: Path) -> dict[tuple[str, str], float]:
    """Read what the paper reports, by set and method."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["paper"] == "ml-arp"]
    return {
        (line["dataset"], line["method"]): float(line["value"])
        for line in lines
        if line["table"] == "2"
    }


def reduction_table(results: Iterable[Result], paper: dict[tuple[str, str], float]) -> Table:
    """Return a table of mean Hamming losses, the paper's in brackets."""
    losses: dict[tuple[str, str], list[float]] = defaultdict(list)
    for result in results:
        losses[result.dataset, result.method].append(result.hamming_loss)
    methods = [*METHODS, *sorted({method for _, method in losses} - {*METHODS})]
    table = Table("set", *methods, title="Hamming loss, mean of the folds (paper)")
    for name in SETS:
        cells = [
            _cell(losses.get((name, method), []), paper.get((name, method))) for method in methods
        ]
        table.add_row(name, *cells)
    return table


def _cell(losses: list[float], paper: float | None) -> str:
    ours = f"{np.mean(losses):.4f}" if losses else "–"
    if losses and len(losses) < N_FOLDS:
        ours += f" [{len(losses)}]"
    return ours if paper is None else f"{ours} ({paper:.3f})"


def main() -> None:
    """Run what is missing and print the table, or export the folds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=METHODS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of ML-ARP, a fold")
    parser.add_argument("--out", type=Path, default=Path("build/reductions.jsonl"))
    parser.add_argument("--export", type=Path, help="write the folds into this folder instead")
    parser.add_argument("--reported", type=Path, help="reported.csv with the paper's table")
    options = parser.parse_args()
    if options.export is not None:
        options.export.mkdir(parents=True, exist_ok=True)
        for name in options.sets:
            load_folds(name).write(options.export)
        return
    done = {result.key for result in read_results(options.out)}
    for name in options.sets:
        folds = load_folds(name)
        for method, fold in itertools.product(options.methods, range(N_FOLDS)):
            if (name, method, fold) not in done:
                append_result(options.out, run(folds, method, fold, options.seconds))
    paper = reported(options.reported) if options.reported else {}
    Console(width=160).print(reduction_table(read_results(options.out), paper))


if __name__ == "__main__":
    main()
