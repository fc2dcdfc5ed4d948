"""The loss of ML-ARP against the number of evaluations."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vicinal.reduction import MLARP
from vicinal.results import Result, provenance
from vicinal_reproduction.protocols.measuring import rounded
from vicinal_reproduction.specification import Job

METRIC = "training loss"


@dataclass(frozen=True)
class LossCurve:
    """Search several times on all rows and store the lowest loss after given evaluations.

    Parameters
    ----------
    n_components : int
    n_runs : int
    at : tuple of int
        Evaluations after which the loss is stored.
    """

    n_components: int = 64
    n_runs: int = 10
    at: tuple[int, ...] = (0, 5, 10, 20, 50, 100, 150, 200, 250, 300)

    def quick(self) -> "LossCurve":
        """Return the protocol with two short runs."""
        return replace(self, n_runs=2, at=self.at[:4])

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the losses, one value per run."""
        data = job.dataset
        found = [
            MLARP(self.n_components, max_iter=self.at[-1], random_state=1000 * job.seed + run)
            .fit(data.X, data.Y)
            .history_
            for run in range(self.n_runs)
        ]
        values = {
            f"{METRIC} at evaluation={at}": rounded([losses[at] for losses in found])
            for at in self.at
        }
        for name in job.methods:
            yield Result(
                job.experiment,
                job.data,
                name,
                values,
                seed=job.seed,
                provenance=provenance(data),
            )
