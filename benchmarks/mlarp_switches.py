"""Extensions of ML-ARP beyond the paper, compared at equal cost on the same folds.

``python -m benchmarks.mlarp_switches --evaluations 150 --folds 2`` prints, for each set and switch,
the loss that was minimised, the Hamming loss on test rows, and the number of steps. The cost is
counted in evaluations on all rows, one on a share s of them as s², so that it does not depend on
what else the machine does.
"""

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import vicinal
from vicinal._core.arrays import Csr, Features, Float
from vicinal.datasets import Dataset
from vicinal.reduction import MLARP
from vicinal.reduction.mlarp import Objective

K, N_FOLDS = 5, 10

SWITCHES: dict[str, dict[str, object]] = {
    "the paper's": {},
    "learned step": {"learned_step": True},
    "restarts": {"restarts": 1000, "patience": 50},
    "sample 1/2": {"sample": 0.5},
    "from PCA": {"init": "pca"},
    "from MDDM": {"init": "mddm"},
    "from PCA, learned step": {"init": "pca", "learned_step": True},
    "from PCA, learned step, sample 1/2": {"init": "pca", "learned_step": True, "sample": 0.5},
}


@dataclass(frozen=True, eq=False)
class Counted(Objective):
    """The loss, which notes what it cost."""

    spent: list[float] = field(default_factory=list)
    n_all: int = 1

    def __call__(self, P: Float) -> float:
        """Return the loss of P."""
        self.spent.append((self.n_rows / self.n_all) ** 2)
        return super().__call__(P)


class Budgeted(MLARP):
    """ML-ARP with a limit on the cost in place of that on time."""

    budget = 0.0

    def _loss(self, rows: Features, labels: Csr) -> Counted:
        self._spent: list[float] = []
        settings = self.n_neighbors, self.smoothing, self.objective, self.n_jobs
        return Counted(rows, labels, *settings, self._spent, int(rows.shape[0]))

    def _out_of_time(self, began: float) -> bool:
        return sum(self._spent) >= self.budget


def run(
    train: Dataset, test: Dataset, seed: int, switches: dict[str, object], budget: float
) -> list[float]:
    """Return the first and last training loss, the test loss and the number of steps."""
    width = 64 if train.n_features < 128 else 128
    reduce = Budgeted(width, K, max_iter=None, max_seconds=0.0, random_state=seed)
    reduce.set_params(**switches)
    reduce.budget = budget
    model = make_pipeline(reduce, vicinal.MLkNN(K, 0.0)).fit(train.X, train.Y)
    loss = vicinal.metrics.hamming_loss(test.Y, model.predict(test.X))
    return [reduce.history_[0], reduce.history_[-1], loss, float(reduce.n_iter_)]


def main() -> None:
    """Run every switch on every set; print and keep the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["emotions", "yeast", "scene"])
    parser.add_argument("--evaluations", type=float, default=150.0)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--out", type=Path, help="file of JSON lines, added to")
    options = parser.parse_args()
    table = Table("set", "switch", "first loss", "last loss", "test loss", "steps")
    for name in options.sets:
        data = vicinal.datasets.load(name)
        splitter = KFold(N_FOLDS, shuffle=True, random_state=0)
        parts = [(data.subset(train), data.subset(test)) for train, test in splitter.split(data.X)][
            : options.folds
        ]
        for switch, params in SWITCHES.items():
            found = [
                run(*part, fold, params, options.evaluations) for fold, part in enumerate(parts)
            ]
            means = np.mean(found, axis=0)
            table.add_row(name, switch, *(f"{x:.4f}" for x in means[:3]), f"{means[3]:.0f}")
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([name, switch, *map(float, means)]) + "\n")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
