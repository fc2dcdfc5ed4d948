"""A published split, with the best settings on the test rows per metric, as in some papers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from vicinal.index import build_index
from vicinal.methods.fold import Fold
from vicinal.metrics import metric_info
from vicinal.results import Result, provenance
from vicinal_reproduction.protocols.measuring import (
    Answer,
    make_fold,
    measure,
    rounded,
    training_features,
    widest,
)
from vicinal_reproduction.protocols.one_threshold import one_threshold_answers
from vicinal_reproduction.specification import Job


@dataclass(frozen=True)
class BestOnTest:
    """Evaluate every setting on the test rows and keep the best of each metric.

    The choice uses the test labels, so the figures are optimistic, and they are marked as such.

    Parameters
    ----------
    metrics : tuple of str
    conventions : str
    metric : str
        Distance of the neighbours.
    one_threshold : bool
        Use Mulan's OneThreshold instead of the method's own rule.
    every : int
        Only use every n-th k.
    """

    metrics: tuple[str, ...]
    conventions: str = "mulan"
    metric: str = "euclidean"
    one_threshold: bool = False
    every: int = 1

    def quick(self) -> "BestOnTest":
        """Return the protocol with a fifth of the values of k."""
        return replace(self, every=5)

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method."""
        fold = make_fold(*job.dataset.split(), widest(job.methods), self.metric, scale=False)
        answer = self._one_threshold(fold) if self.one_threshold else None
        for name, whole in job.methods.items():
            method = replace(whole, ks=whole.ks[:: self.every])
            found = list(measure(method, fold, job.seed, self.metrics, self.conventions, answer))
            values, settings = {}, {}
            for metric in self.metrics:
                sign = 1 if metric_info(metric).better == "high" else -1
                at = int(np.argmax([sign * each[metric] for _, each in found]))
                values[metric], settings[metric] = rounded([found[at][1][metric]]), found[at][0]
            yield Result(
                job.experiment,
                job.data,
                name,
                values,
                settings=settings,
                seed=job.seed,
                seconds={"fit and predict": round(sum(each["seconds"] for _, each in found), 3)},
                note="settings best on the test rows" if len(found) > 1 else "",
                provenance=provenance(job.dataset),
            )

    def _one_threshold(self, fold: Fold) -> Answer:
        """Return a function that fits OneThreshold; the neighbours are searched once."""
        rows = training_features(fold)
        own = build_index(rows, self.metric).query(rows, fold.training.graph.k)
        return partial(one_threshold_answers, own=own)
