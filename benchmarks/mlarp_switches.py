"""ML-ARP's switches beyond its paper, each for the same number of seconds on the same folds.

``python -m benchmarks.mlarp_switches --seconds 15 --folds 3`` prints, for each set and switch, the
loss that was minimised, the Hamming loss on test rows, and the number of steps.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.pipeline import make_pipeline

import vicinal
from benchmarks.fold_files import Folds
from benchmarks.reductions import K, load_folds
from vicinal.reduction import MLARP

SWITCHES: dict[str, dict[str, object]] = {
    "the paper's": {},
    "learned step": {"learned_step": True},
    "restarts": {"restarts": 1000, "patience": 100},
    "sample 1/2": {"sample": 0.5},
    "from PCA": {"init": "pca"},
    "from MDDM": {"init": "mddm"},
    "from PCA, learned step": {"init": "pca", "learned_step": True},
    "from PCA, learned step, sample 1/2": {"init": "pca", "learned_step": True, "sample": 0.5},
}


def run(folds: Folds, fold: int, switches: dict[str, object], seconds: float) -> list[float]:
    """Return the first and last training loss, the test loss and the number of steps."""
    X, Y = folds.train(fold)
    X_test, Y_test = folds.test(fold)
    reduce = MLARP(folds.n_components, K, max_iter=None, max_seconds=seconds, random_state=fold)
    reduce.set_params(**switches)
    model = make_pipeline(reduce, vicinal.MLkNN(K, 0.0)).fit(X, Y.astype(np.int32))
    wrong = np.asarray(model.predict(X_test)) != Y_test
    return [reduce.history_[0], reduce.history_[-1], float(wrong.mean()), float(reduce.n_iter_)]


def main() -> None:
    """Run every switch on every set; print and keep the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["emotions", "yeast", "scene"])
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--out", type=Path, help="file of JSON lines, added to")
    options = parser.parse_args()
    table = Table("set", "switch", "first loss", "last loss", "test loss", "steps")
    for name in options.sets:
        folds = load_folds(name)
        for switch, params in SWITCHES.items():
            found = [run(folds, fold, params, options.seconds) for fold in range(options.folds)]
            means = np.mean(found, axis=0)
            table.add_row(name, switch, *(f"{x:.4f}" for x in means[:3]), f"{means[3]:.0f}")
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([name, switch, *map(float, means)]) + "\n")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
