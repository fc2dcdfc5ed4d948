"""How long a method takes on a published split, from rows to predicted labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeAlias

from vicinal.datasets import Dataset
from vicinal.papers.spec import Job
from vicinal.results import Result, provenance

Timer: TypeAlias = Callable[[Dataset, Dataset], float]
"""Does something with training and test rows and returns the seconds it took."""


@dataclass(frozen=True)
class Timing:
    """Time each method: search, fit and predict, nothing shared.

    Parameters
    ----------
    repeats : int
        The shortest time of so many is kept: the others were disturbed.
    """

    repeats: int = 3

    def quick(self) -> "Timing":
        """Return the protocol with one run."""
        return replace(self, repeats=1)

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the seconds of each method."""
        train, test = job.dataset.split()
        labels = train.Y.toarray() if train.Y.shape[1] < 2000 else train.Y
        for name, method in job.methods.items():
            seconds = []
            for _ in range(self.repeats):
                began = perf_counter()
                method.make(job.seed).fit(train.X, labels).predict(test.X)
                seconds.append(perf_counter() - began)
                if seconds[-1] > LONG:
                    break
            yield Result(
                job.experiment,
                job.data,
                name,
                {"seconds": (round(min(seconds), 4),)},
                seed=job.seed,
                provenance=provenance(job.dataset),
            )


LONG = 60.0
"""Seconds past which a run is not repeated."""
