"""ML-ARP on the folds of several sets on a device, all folds of a set at once.

``PYTHONPATH=src python -m benchmarks.mlarp_folds --folds DIR --out FILE --seconds 60 emotions …``
needs NumPy and PyTorch alone; ``python -m benchmarks.reductions --export DIR`` makes the folder.
A run that is started again with the same file goes on where it was.
"""

import argparse
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from benchmarks.fold_files import (
    N_FOLDS,
    Bool,
    Float,
    Folds,
    Result,
    append_result,
    min_max,
    read_results,
)
from vicinal._base.posterior import likelihood, posterior, prior
from vicinal.gpu import ProjectionLoss, dense_graph, pick_device
from vicinal.reduction._descent import Walk, descent

K = 5
PAPER, LEARNED = Walk(), Walk(learned=True)


@dataclass(frozen=True)
class Variant:
    """The switches of a search, as :class:`vicinal.reduction.MLARP` has them."""

    walk: Walk = PAPER
    init: str = "noise"
    sample: float | None = None
    scaled: bool = False
    """Whether features are scaled to [0, 1] first; the paper's are as they come."""


VARIANTS = {
    "ml-arp": Variant(),
    "ml-arp, learned step": Variant(LEARNED),
    "ml-arp, restarts": Variant(Walk(restarts=1000, patience=100)),
    "ml-arp, sample 1/2": Variant(sample=0.5),
    "ml-arp, pca": Variant(init="pca"),
    "ml-arp, mddm": Variant(init="mddm"),
    "ml-arp, pca, learned step": Variant(LEARNED, "pca"),
    "ml-arp, pca, learned step, sample 1/2": Variant(LEARNED, "pca", 0.5),
    "ml-arp, min-max": Variant(scaled=True),
    "ml-arp, min-max, pca": Variant(init="pca", scaled=True),
}


def run_fold(
    folder: Path, name: str, fold: int, method: str, seconds: float, device: str | None
) -> Result:
    """Search for `seconds` on the training rows of a fold; test what was found."""
    torch.set_num_threads(1)
    folds = Folds.read(folder, name)
    variant = VARIANTS[method]
    (X, Y), (X_test, Y_test) = folds.train(fold), folds.test(fold)
    if variant.scaled:
        X, X_test = min_max(X, X_test)
    indptr = np.concatenate([[0], np.cumsum(Y.sum(axis=1))])
    loss_of = ProjectionLoss(X, indptr, np.nonzero(Y)[1], Y.shape[1], K, 0.0, device)
    rng = np.random.default_rng(fold)
    first = start_from(variant.init, X, Y, folds.n_components, rng)
    loss_of(first)  # so that kernels are compiled
    starts = itertools.chain([first], (rng.standard_normal(first.shape) for _ in itertools.count()))
    look = None
    if variant.sample is not None:
        size = round(variant.sample * len(X))
        look = partial(_some_rows, loss_of, len(X), size, rng)
    steps = descent(loss_of, lambda: next(starts), variant.walk, rng, look)
    kept, losses, took = follow(steps, seconds)
    path = [(count, loss, test_loss(P, X, Y, X_test, Y_test, device)) for count, loss, P in kept]
    return Result(
        dataset=name,
        method=method,
        fold=fold,
        hamming_loss=path[-1][2],
        seconds=round(took, 2),
        evaluations=len(losses),
        first_loss=losses[0],
        last_loss=losses[-1],
        path=path,
    )


def follow(
    steps: Iterator[tuple[Float, float]], seconds: float
) -> tuple[list[tuple[int, float, Float]], list[float], float]:
    """Take steps for so long; return the best projections after 1, 2, 5, 10, … and all of them."""
    began = time.perf_counter()
    losses, kept = [], []
    for P, loss in steps:
        losses.append(loss)
        took = time.perf_counter() - began
        if str(len(losses)).rstrip("0") in ("1", "2", "5") or took >= seconds:
            kept.append((len(losses), loss, P))
        if took >= seconds:
            return kept, losses, took
    raise RuntimeError("a search without end ended")


def _some_rows(
    loss_of: ProjectionLoss, n: int, size: int, rng: np.random.Generator
) -> ProjectionLoss:
    """Return the loss on rows drawn anew."""
    return loss_of.of_rows(np.sort(rng.choice(n, size, replace=False)))


def start_from(init: str, X: Float, Y: Bool, r: int, rng: np.random.Generator) -> Float:
    """Return a first projection, as :mod:`vicinal.reduction._starts` does."""
    m = X.shape[1]
    if init == "noise":
        return rng.standard_normal((m, r))
    if init == "pca":
        values, vectors = np.linalg.eigh(np.cov(X, rowvar=False))
    else:
        vectors, values, _ = np.linalg.svd((X - X.mean(axis=0)).T @ Y, full_matrices=False)
    P = np.zeros((m, r))
    order = np.argsort(-values)[:r]
    order = order[values[order] > 1e-10 * values.max()]
    P[:, : len(order)] = vectors[:, order] * np.sqrt(m)
    return P


def test_loss(
    P: Float, X: Float, Y: Bool, X_test: Float, Y_test: Bool, device: str | None
) -> float:
    """Return the Hamming loss of ML-kNN on the projected test rows."""
    own, _ = dense_graph(X @ P, None, K, device=pick_device(device))
    near, _ = dense_graph(X @ P, X_test @ P, K, device=pick_device(device))
    votes, votes_test = (Y[ids].sum(axis=1) for ids in (own, near))
    steps = np.arange(K + 1)[:, np.newaxis, np.newaxis]
    with_label = ((votes == steps) & Y).sum(axis=1)
    without_label = ((votes == steps) & ~Y).sum(axis=1)
    n_with = Y.sum(axis=0)
    r = posterior(
        prior(n_with, len(Y), 0.0),
        likelihood(with_label, n_with, 0.0, K + 1),
        likelihood(without_label, len(Y) - n_with, 0.0, K + 1),
    )
    predicted = r[votes_test, np.arange(Y.shape[1])] >= 0.5
    return float(np.mean(predicted != Y_test))


def main() -> None:
    """Run the folds that are not in the file yet, set after set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--folds", type=Path, required=True, help="folder of prepared files")
    parser.add_argument("--out", type=Path, required=True, help="file of results, added to")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each fold's search")
    parser.add_argument("--methods", nargs="+", choices=VARIANTS, default=["ml-arp"])
    parser.add_argument("--at-once", type=int, default=N_FOLDS, help="folds at a time")
    parser.add_argument("--device", default=None)
    options = parser.parse_args()
    done = {result.key for result in read_results(options.out)}
    with ProcessPoolExecutor(options.at_once, get_context("spawn")) as pool:
        for name, method in itertools.product(options.sets, options.methods):
            todo = [fold for fold in range(N_FOLDS) if (name, method, fold) not in done]
            settings = method, options.seconds, options.device
            futures = [pool.submit(run_fold, options.folds, name, f, *settings) for f in todo]
            for future in as_completed(futures):
                append_result(options.out, future.result())
                print(future.result(), flush=True)


if __name__ == "__main__":
    main()
