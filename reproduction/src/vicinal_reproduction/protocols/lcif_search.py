"""LCIF and its parts, tuned for each metric by cross-validation on the training rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold

from vicinal._core.arrays import Csr, Float
from vicinal.datasets import Dataset
from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.methods.fold import Fold
from vicinal.methods.training import Training
from vicinal.results import Result, provenance
from vicinal.selection.lcif_grid import lcif_grid
from vicinal_reproduction.protocols.lcif_surface import AXES, Surface
from vicinal_reproduction.protocols.measuring import rounded
from vicinal_reproduction.specification import Job

KS = tuple(range(1, 30, 2))
KS_BEYOND = tuple(range(31, 60, 2))
"""Values of k that the paper tries in addition if the best k is the last of the first ones."""

MIXINGS = tuple(round(0.1 * step, 1) for step in range(11))

AS_PUBLISHED = (("feature", "kept-mean"),)
"""What reproduces the paper's figures: the mean over the features that keep a label."""

AS_WRITTEN = (("feature", "mean"),)
"""The paper's formula: the mean over all features of a row."""

EVERY_SWITCH = (("feature", "mean"), ("label", "mean"), ("feature", "max"), ("label", "max"))


@dataclass(frozen=True)
class LcifSearch:
    """Evaluate the whole grid in each fold from one graph, then test the optimum of each metric.

    Parameters
    ----------
    metrics : tuple of str
    conventions : str
    ks_instance, ks_feature : tuple of int
    ks_beyond : tuple of int
        Tried as well, of either part, where a method is best at the last k.
    mixings : tuple of float
    switches : tuple of (neighbors_of, aggregate)
    threshold : {"two-pass", "cardinality"}
    power : float
        Similarities of rows are raised to it before they weigh.
    n_folds : int
    only : int or None
        Number of folds to run; None for all.
    """

    metrics: tuple[str, ...]
    conventions: str = "mulan"
    ks_instance: tuple[int, ...] = KS
    ks_feature: tuple[int, ...] = KS
    ks_beyond: tuple[int, ...] = ()
    mixings: tuple[float, ...] = MIXINGS
    switches: tuple[tuple[str, str], ...] = AS_PUBLISHED
    threshold: str = "two-pass"
    power: float = 1.0
    n_folds: int = 10
    only: int | None = None

    def quick(self) -> "LcifSearch":
        """Return the protocol with two folds and a third of the grid."""
        few = self.ks_instance[::3], self.ks_feature[::3], self.mixings[::2]
        return replace(
            self, only=2, ks_instance=few[0], ks_feature=few[1], ks_beyond=(), mixings=few[2]
        )

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method."""
        train, test = job.dataset.split()
        began = perf_counter()
        orders = {name: name.endswith("2") for name in job.methods}
        folds = list(self._folds(train, job.seed, second=any(orders.values())))
        surfaces = {
            order: self._surface(folds, order, [name for name in orders if orders[name] == order])
            for order in sorted(set(orders.values()))
        }
        searched = perf_counter() - began
        whole = self._fold(train, test, second=any(orders.values()))
        for name, order in orders.items():
            chosen = {metric: surfaces[order].best(name, metric) for metric in self.metrics}
            yield Result(
                job.experiment,
                job.data,
                name,
                {
                    metric: rounded([self._measure(whole, settings, order, metric)])
                    for metric, settings in chosen.items()
                },
                settings=chosen,
                seed=job.seed,
                seconds={"search": round(searched, 3)},
                provenance=provenance(job.dataset),
            )

    def _folds(self, train: Dataset, seed: int, second: bool) -> Iterator[Fold]:
        """Yield the folds of the training rows."""
        splitter = KFold(self.n_folds, shuffle=True, random_state=seed)
        for rows, held_out in list(splitter.split(np.zeros(train.n_rows)))[: self.only]:
            yield self._fold(train.subset(rows), train.subset(held_out), second)

    def _fold(self, train: Dataset, test: Dataset, second: bool) -> Fold:
        """Return training and test rows with as many neighbours as the grid may need."""
        k = max(self.ks_instance + self.ks_beyond)
        return lcif_fold(train, test, k, second, self.power)

    def _surface(self, folds: Sequence[Fold], second: bool, methods: Sequence[str]) -> Surface:
        """Evaluate the grid, extended if a method is best at its edge."""
        found = self._measured(folds, second, self.ks_instance, self.ks_feature)
        most = {"ks_instance": folds[0].training.n_rows, "ks_feature": folds[0].Y.shape[1]}
        for axis in AXES:
            further = bool(self.ks_beyond) and getattr(found, axis)[-1] < most[axis]
            if further and any(found.ends_at(name, axis) for name in methods):
                asked = {name: getattr(found, name) for name in AXES} | {axis: self.ks_beyond}
                found = found.joined(self._measured(folds, second, **asked), axis)
        return found

    def _measured(
        self,
        folds: Sequence[Fold],
        second: bool,
        ks_instance: tuple[int, ...],
        ks_feature: tuple[int, ...],
    ) -> Surface:
        """Return the metrics of every setting, averaged over folds."""
        grids = [
            [self._grid(fold, second, *switch, ks_instance, ks_feature) for switch in self.switches]
            for fold in folds
        ]
        ks = ks_instance, ks_feature
        return Surface(np.mean(grids, axis=0), self.switches, *ks, self.mixings, self.metrics)

    def _grid(
        self,
        fold: Fold,
        second: bool,
        neighbors_of: str,
        aggregate: str,
        ks_instance: Sequence[int],
        ks_feature: Sequence[int],
    ) -> Float:
        """Return the metrics of one fold: (k, k, share, metric)."""
        return lcif_grid(
            fold,
            ks_instance=ks_instance,
            ks_feature=ks_feature,
            mixings=self.mixings,
            second_order=second,
            neighbors_of=neighbors_of,
            aggregate=aggregate,
            threshold=self.threshold,
            metrics=self.metrics,
            conventions=self.conventions,
        )

    def _measure(self, fold: Fold, settings: Mapping[str, Any], second: bool, metric: str) -> float:
        """Return the metric of one setting, fitted on all training rows, on the test rows."""
        alone = replace(self, mixings=(settings["mixing"],), metrics=(metric,))
        switch = settings["neighbors_of"], settings["aggregate"]
        ks = [settings["n_neighbors_instance"]], [settings["n_neighbors_feature"]]
        return float(alone._grid(fold, second, *switch, *ks)[0, 0, 0, 0])


def lcif_fold(train: Dataset, test: Dataset, k: int, second: bool, power: float = 1.0) -> Fold:
    """Return training and test rows with their neighbours by cosine, and the joint graph.

    Similarities are raised to `power`, which does not change the neighbours.
    """
    index = build_index(train.X, "cosine")
    joint = None
    if second:
        parts = [sparse.csr_array(train.X), train.Y.astype(np.float64)]
        both = cast("Csr", sparse.hstack(parts, format="csr"))
        joint = raised(build_index(both, "cosine").query_self(k), power)
    training = Training(raised(index.query_self(k), power), train.Y, train.X, joint)
    return Fold(training, raised(index.query(test.X, k), power), test.X, test.Y)


def raised(graph: NeighborGraph, power: float) -> NeighborGraph:
    """Return a graph whose similarities are raised to a power; negative ones become 0."""
    if power == 1.0:
        return graph
    return replace(graph, values=np.maximum(graph.similarity, 0.0) ** power)
