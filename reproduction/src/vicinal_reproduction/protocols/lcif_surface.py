"""Metrics of every setting of LCIF, averaged over folds, and the best setting."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vicinal._core.arrays import Float
from vicinal.metrics import metric_info

INSTANCE, FEATURE, BOTH = "instance", "feature", "both"
PARTS = {
    "instance-knn": INSTANCE,
    "instance-knn-2": INSTANCE,
    "feature-knn": FEATURE,
    "lcif": BOTH,
    "lcif2": BOTH,
}
"""The part of the grid that belongs to each method: one mixing weight or all."""

AXES = {"ks_instance": 1, "ks_feature": 2}
"""The axes that may be extended, and their positions."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Metrics over the grid.

    Parameters
    ----------
    values : ndarray, shape (switches, ks_instance, ks_feature, mixings, metrics)
    switches : tuple of (neighbors_of, aggregate)
    ks_instance, ks_feature : tuple of int
    mixings : tuple of float
    metrics : tuple of str
    """

    values: Float
    switches: tuple[tuple[str, str], ...]
    ks_instance: tuple[int, ...]
    ks_feature: tuple[int, ...]
    mixings: tuple[float, ...]
    metrics: tuple[str, ...]

    def joined(self, beyond: "Surface", axis: str) -> "Surface":
        """Return the surface with the further values of k of `beyond` on one axis."""
        values = np.concatenate([self.values, beyond.values], axis=AXES[axis])
        ks = (*getattr(self, axis), *getattr(beyond, axis))
        return replace(self, values=values, **{axis: ks})

    def ends_at(self, method: str, axis: str) -> bool:
        """Tell whether any metric of a method is best at the last k of an axis."""
        places = [self._best(method, metric) for metric in self.metrics]
        return any(place[AXES[axis]] == self.values.shape[AXES[axis]] - 1 for place in places)

    def best(self, method: str, metric: str) -> dict[str, Any]:
        """Return the setting with the best value, the first of several."""
        switch, first, second, share = self._best(method, metric)
        neighbors_of, aggregate = self.switches[switch]
        return {
            "n_neighbors_instance": self.ks_instance[first],
            "n_neighbors_feature": self.ks_feature[second],
            "mixing": self.mixings[share],
            "neighbors_of": neighbors_of,
            "aggregate": aggregate,
        }

    def _best(self, method: str, metric: str) -> tuple[int, ...]:
        """Return the position of the best value; an irrelevant k is at its first value."""
        shares = {INSTANCE: (1.0,), FEATURE: (0.0,), BOTH: self.mixings}[PARTS[method]]
        allowed = [at for at, share in enumerate(self.mixings) if share in shares]
        sign = 1 if metric_info(metric).better == "high" else -1
        within = sign * self.values[..., allowed, self.metrics.index(metric)]
        *place, share = np.unravel_index(int(np.argmax(within)), within.shape)
        return (*map(int, place), allowed[int(share)])
