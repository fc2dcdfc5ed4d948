"""LCIF and its parts, settings by cross-validation on the training rows, an optimum per metric."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold

from vicinal._base.arrays import Csr, Float
from vicinal.datasets import Dataset
from vicinal.estimators import LCIF
from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.metrics import evaluate, metric_info
from vicinal.papers.part import rounded
from vicinal.papers.spec import Job
from vicinal.results import Result, provenance
from vicinal.scoring import Training
from vicinal.selection.fold_data import Fold
from vicinal.selection.lcif_grid import lcif_grid

KS = tuple(range(1, 30, 2))
MIXINGS = tuple(round(0.1 * step, 1) for step in range(11))

INSTANCE, FEATURE, BOTH = "instance", "feature", "both"
PARTS = {
    "instance-knn": INSTANCE,
    "instance-knn-2": INSTANCE,
    "feature-knn": FEATURE,
    "lcif": BOTH,
    "lcif2": BOTH,
}
"""Which part of the grid is a method's own: one share only, or all."""

AS_PUBLISHED = (("feature", "kept-mean"),)
"""What gives the paper's figures: a label's mean over the features that keep it."""

AS_WRITTEN = (("feature", "mean"),)
"""What the paper's formula says: the mean over all features of a row."""

EVERY_SWITCH = (("feature", "mean"), ("label", "mean"), ("feature", "max"), ("label", "max"))


@dataclass(frozen=True)
class LcifSearch:
    """Search the whole grid in each fold from one graph, then measure each metric's optimum.

    Parameters
    ----------
    metrics : tuple of str
    conventions : str
    ks_instance, ks_feature : tuple of int
    mixings : tuple of float
    switches : tuple of (neighbors_of, aggregate)
    threshold : {"two-pass", "cardinality"}
    n_folds : int
    only : int or None
        Run so many folds only.
    """

    metrics: tuple[str, ...]
    conventions: str = "mulan"
    ks_instance: tuple[int, ...] = KS
    ks_feature: tuple[int, ...] = KS
    mixings: tuple[float, ...] = MIXINGS
    switches: tuple[tuple[str, str], ...] = AS_PUBLISHED
    threshold: str = "two-pass"
    n_folds: int = 10
    only: int | None = None

    def quick(self) -> "LcifSearch":
        """Return the protocol with two folds and a third of the grid."""
        few = self.ks_instance[::3], self.ks_feature[::3], self.mixings[::2]
        return replace(self, only=2, ks_instance=few[0], ks_feature=few[1], mixings=few[2])

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method."""
        train, test = job.dataset.split()
        began = perf_counter()
        second = any(name.endswith("2") for name in job.methods)
        first = any(not name.endswith("2") for name in job.methods)
        folds = list(self._folds(train, job.seed, second))
        grids = {order: self._mean_grid(folds, order) for order in _orders(first, second)}
        searched = perf_counter() - began
        graph = build_index(train.X, "cosine").query_self(max(self.ks_instance))
        for name in job.methods:
            values, settings, order = {}, {}, {"second_order": name.endswith("2")}
            for at, metric in enumerate(self.metrics):
                chosen = self._best(grids[name.endswith("2")][..., at], PARTS[name], metric)
                values[metric] = rounded(
                    [self._measure({**chosen, **order}, train, test, graph, metric)]
                )
                settings[metric] = chosen
            yield Result(
                job.experiment,
                job.data,
                name,
                values,
                settings=settings,
                seed=job.seed,
                seconds={"search": round(searched, 3)},
                provenance=provenance(job.dataset),
            )

    def _folds(self, train: Dataset, seed: int, second: bool) -> Iterator[Fold]:
        """Yield the folds of the training rows."""
        splitter = KFold(self.n_folds, shuffle=True, random_state=seed)
        k = max(self.ks_instance)
        for rows, held_out in list(splitter.split(np.zeros(train.n_rows)))[: self.only]:
            yield lcif_fold(train.subset(rows), train.subset(held_out), k, second)

    def _mean_grid(self, folds: Sequence[Fold], second: bool) -> Float:
        """Return every setting's metrics, averaged over folds: (switch, k, k, share, metric)."""
        grids = [
            [
                lcif_grid(
                    fold,
                    ks_instance=self.ks_instance,
                    ks_feature=self.ks_feature,
                    mixings=self.mixings,
                    second_order=second,
                    neighbors_of=neighbors_of,
                    aggregate=aggregate,
                    threshold=self.threshold,
                    metrics=self.metrics,
                    conventions=self.conventions,
                )
                for neighbors_of, aggregate in self.switches
            ]
            for fold in folds
        ]
        mean: Float = np.mean(grids, axis=0)
        return mean

    def _best(self, grid: Float, part: str, metric: str) -> dict[str, Any]:
        """Return the setting with the best value, the first of several."""
        shares = {INSTANCE: (1.0,), FEATURE: (0.0,), BOTH: self.mixings}[part]
        allowed = [at for at, share in enumerate(self.mixings) if share in shares]
        sign = 1 if metric_info(metric).better == "high" else -1
        within = sign * grid[..., allowed]
        switch, first, second, share = np.unravel_index(int(np.argmax(within)), within.shape)
        neighbors_of, aggregate = self.switches[switch]
        return {
            "n_neighbors_instance": self.ks_instance[first],
            "n_neighbors_feature": self.ks_feature[second],
            "mixing": self.mixings[allowed[share]],
            "neighbors_of": neighbors_of,
            "aggregate": aggregate,
        }

    def _measure(
        self,
        settings: Mapping[str, Any],
        train: Dataset,
        test: Dataset,
        graph: NeighborGraph,
        metric: str,
    ) -> float:
        """Fit one setting on the training rows and return its metric on the test rows."""
        model = LCIF(threshold=self.threshold, never_empty=True, **settings)
        predicted = model.fit(train.X, train.Y, graph=graph).predict(test.X)
        found = evaluate(test.Y, predicted, conventions=self.conventions, metrics=[metric])
        return found[metric]


def _orders(first: bool, second: bool) -> list[bool]:
    """Return the orders asked for; True is the second."""
    return [order for order, wanted in ((False, first), (True, second)) if wanted]


def lcif_fold(train: Dataset, test: Dataset, k: int, second: bool) -> Fold:
    """Return training and test rows with their neighbours by cosine, and the joint graph."""
    index = build_index(train.X, "cosine")
    joint = None
    if second:
        parts = [sparse.csr_array(train.X), train.Y.astype(np.float64)]
        both = cast("Csr", sparse.hstack(parts, format="csr"))
        joint = build_index(both, "cosine").query_self(k)
    training = Training(index.query_self(k), train.Y, train.X, joint)
    return Fold(training, index.query(test.X, k), test.X, test.Y)
