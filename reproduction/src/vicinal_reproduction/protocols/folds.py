"""Cross-validation of every k of a method at once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import KFold

from vicinal.results import Result, provenance
from vicinal_reproduction.protocols.measuring import make_fold, measure, rounded, widest
from vicinal_reproduction.specification import Job


@dataclass(frozen=True)
class Folds:
    """Evaluate each method in each fold, averaged over the method's values of k.

    Parameters
    ----------
    metrics : tuple of str
    n_folds : int
        Folds are drawn at random with the seed.
    scale : bool
        Whether features are scaled to [0, 1] by the training rows of the fold.
    metric : str
        Distance of the neighbours.
    kept_by_k : tuple of str
        Metrics that are also stored for each k, as ``"<metric> at k=<k>"``.
    only : int or None
        Run only this many folds.
    """

    metrics: tuple[str, ...]
    n_folds: int = 10
    scale: bool = False
    metric: str = "euclidean"
    kept_by_k: tuple[str, ...] = ()
    only: int | None = None

    def quick(self) -> "Folds":
        """Return the protocol with two folds."""
        return replace(self, only=2)

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method, one value per fold."""
        found: dict[str, dict[str, list[float]]] = {name: {} for name in job.methods}
        seconds = dict.fromkeys(job.methods, 0.0)
        splitter = KFold(self.n_folds, shuffle=True, random_state=job.seed)
        folds = list(splitter.split(np.zeros(job.dataset.n_rows)))[: self.only]
        for train, test in folds:
            rows = job.dataset.subset(train), job.dataset.subset(test)
            fold = make_fold(*rows, widest(job.methods), self.metric, self.scale)
            for name, method in job.methods.items():
                by_setting = list(measure(method, fold, job.seed, self.metrics))
                for key, value in self._fold_values(by_setting).items():
                    found[name].setdefault(key, []).append(value)
                seconds[name] += sum(values["seconds"] for _, values in by_setting)
        for name, values in found.items():
            yield Result(
                job.experiment,
                job.data,
                name,
                {metric: rounded(each) for metric, each in values.items()},
                settings={"k": list(job.methods[name].ks), "folds": len(folds)},
                seed=job.seed,
                seconds={"fit and predict": round(seconds[name], 3)},
                provenance=provenance(job.dataset),
            )

    def _fold_values(
        self, by_setting: list[tuple[dict[str, int], dict[str, float]]]
    ) -> dict[str, float]:
        """Return the mean of each metric over the settings, and the values stored for each k."""
        values = {
            metric: float(np.mean([found[metric] for _, found in by_setting]))
            for metric in self.metrics
        }
        for metric in self.kept_by_k:
            for settings, found in by_setting:
                values[f"{metric} at k={settings['n_neighbors']}"] = found[metric]
        return values
