"""Run time of a method on a published split, from rows to predicted labels."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import process_time

from vicinal.results import Result, provenance
from vicinal_reproduction.specification import Job

LONG = 60.0
"""Maximum duration in seconds of a run that is repeated."""


@dataclass(frozen=True)
class Timing:
    """Time search, fit and prediction of each method, without sharing a search.

    Seconds are those of the processor, all threads together: at least what a clock would show on a
    machine at rest, and the same on one that is busy.

    Parameters
    ----------
    repeats : int
        Number of runs, of which the shortest time is kept.
    """

    repeats: int = 3

    def quick(self) -> "Timing":
        """Return the protocol with one run."""
        return replace(self, repeats=1)

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the seconds of each method."""
        train, test = job.dataset.split()
        for name, method in job.methods.items():
            seconds: list[float] = []
            while len(seconds) < self.repeats and max(seconds, default=0.0) < LONG:
                began = process_time()
                with warnings.catch_warnings():
                    # Only the time matters here, not that the second order needs more labels.
                    warnings.simplefilter("ignore", UserWarning)
                    method.make(job.seed).fit(train.X, train.Y).predict(test.X)
                seconds.append(process_time() - began)
            yield Result(
                job.experiment,
                job.data,
                name,
                {"seconds": (round(min(seconds), 4),)},
                seed=job.seed,
                provenance=provenance(job.dataset),
            )
