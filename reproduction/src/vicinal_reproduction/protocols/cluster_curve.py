"""Metrics on the test rows against the number of clusters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vicinal.methods import LAMLkNN
from vicinal.methods.fold import Fold
from vicinal.results import Result, provenance
from vicinal_reproduction.protocols.measuring import answers, dense, rounded, training_features
from vicinal_reproduction.protocols.settled_split import SettledSplit, weka_fold
from vicinal_reproduction.protocols.weka_clusters import weka_centers
from vicinal_reproduction.specification import Job, Method

SETTING = "clusters"


@dataclass(frozen=True)
class ClusterCurve:
    """Evaluate each method for each number of clusters, with fixed k and split.

    Parameters
    ----------
    split : SettledSplit
        Data, scaling, number of neighbours, metrics.
    clusters : tuple of int
    """

    split: SettledSplit
    clusters: tuple[int, ...] = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)

    def quick(self) -> "ClusterCurve":
        """Return the protocol with three numbers of clusters and fewer rows."""
        return replace(self, split=self.split.quick(), clusters=self.clusters[:3])

    def run(self, job: Job) -> Iterator[Result]:
        """Yield each method's values, one per number of clusters."""
        ks = self.split.settings[job.data].ks
        rows = self.split.rows(job)
        parts = {k: weka_fold(*rows, k) for k in {ks[name] for name in job.methods}}
        for name, method in job.methods.items():
            found = self._measured(method, parts[ks[name]], job.seed, ks[name])
            yield Result(
                job.experiment,
                job.data,
                name,
                {
                    f"{metric} at {SETTING}={clusters}": rounded([value])
                    for clusters, values in found.items()
                    for metric, value in values.items()
                },
                settings={"n_neighbors": ks[name]},
                seed=job.seed,
                provenance=provenance(job.dataset),
            )

    def _measured(
        self, method: Method, fold: Fold, seed: int, k: int
    ) -> Mapping[int, dict[str, float]]:
        """Return the metrics for each number of clusters."""
        found: dict[int, dict[str, float]] = {}
        rows = dense(training_features(fold))
        for clusters in self.clusters:
            estimator = method.make(seed).set_params(n_neighbors=k)
            if isinstance(estimator, LAMLkNN):
                estimator.set_params(centers=weka_centers(rows, clusters))
            elif found:  # the same whatever the number of clusters
                found[clusters] = found[self.clusters[0]]
                continue
            found[clusters] = self.split.measured(fold.Y, *answers(estimator, fold))
        return found
