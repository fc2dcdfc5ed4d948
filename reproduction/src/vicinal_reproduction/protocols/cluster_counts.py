"""The number of neighbours with a label, per cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from vicinal._core.arrays import Float
from vicinal.datasets import Dataset
from vicinal.graph import votes
from vicinal.index import build_index
from vicinal.methods.lamlknn import find_centers, nearest_center
from vicinal.results import Result, provenance
from vicinal_reproduction.figures.reported import Reported, reported
from vicinal_reproduction.protocols.measuring import rounded
from vicinal_reproduction.specification import Job

SIDES = ("with", "without")
COUNT_OF = "mean neighbour count of "


@dataclass(frozen=True)
class ClusterCounts:
    """Mean number of neighbours that have a label, per cluster and label.

    Clusters have no order, so they are matched one to one with the paper's clusters to minimise the
    sum of absolute differences.

    Parameters
    ----------
    paper, table : str
        Location of the paper's averages.
    n_clusters : int
    n_neighbors : int
    """

    paper: str
    table: str
    n_clusters: int = 5
    n_neighbors: int = 10

    def quick(self) -> "ClusterCounts":
        """Return the protocol itself, as it only takes a second."""
        return self

    def run(self, job: Job) -> Iterator[Result]:
        """Yield, for each cluster and side, the averages of all labels."""
        ours = cluster_means(job.dataset, self.n_clusters, self.n_neighbors, job.seed)
        names = self._label_names(job.dataset.label_names)
        theirs = self._theirs(names)
        apart = np.abs(theirs[:, None] - ours[None]).sum(axis=(2, 3))
        _, order = linear_sum_assignment(apart)
        for at, cluster in enumerate(order):
            for side, means in zip(SIDES, ours[cluster], strict=True):
                values = {
                    f"{COUNT_OF}{label}": rounded([mean])
                    for label, mean in zip(names, means, strict=True)
                }
                yield Result(
                    job.experiment,
                    job.data,
                    f"cluster {at + 1}, rows {side} the label",
                    values,
                    settings={"k": self.n_neighbors},
                    seed=job.seed,
                    provenance=provenance(job.dataset),
                )

    def _cells(self) -> list[Reported]:
        """Return the cells of the paper's table."""
        place = (self.paper, self.table)
        return [each for each in reported() if (each.paper, each.table) == place]

    def _label_names(self, full: Sequence[str]) -> list[str]:
        """Return the names that the paper shortens the labels to."""
        short = dict.fromkeys(each.metric.removeprefix(COUNT_OF) for each in self._cells())
        return [next(name for name in short if each.lower().startswith(name)) for each in full]

    def _theirs(self, names: list[str]) -> Float:
        """Return the paper's averages, shape (clusters, 2, labels)."""
        found = np.zeros((self.n_clusters, 2, len(names)))
        for each in self._cells():
            _, cluster, _, side, *_ = each.method.replace(",", "").split()
            label = names.index(each.metric.removeprefix(COUNT_OF))
            found[int(cluster) - 1, SIDES.index(side), label] = each.value
        return found


def cluster_means(data: Dataset, n_clusters: int, k: int, seed: int) -> Float:
    """Return the mean votes of rows with and without each label, shape (clusters, 2, labels)."""
    graph = build_index(data.X, "euclidean").query_self(k)
    counts = votes(graph, data.Y).toarray()
    truth = data.Y.toarray() > 0
    cluster = nearest_center(data.X, find_centers(data.X, n_clusters, seed))
    means = np.zeros((n_clusters, 2, data.n_labels))
    for at in range(n_clusters):
        rows = cluster == at
        for side, chosen in enumerate((truth, ~truth)):
            weight = (chosen & rows[:, None]).astype(np.float64)
            means[at, side] = (counts * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
    return means
