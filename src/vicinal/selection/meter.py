"""Metrics of many predictions of the same rows; common quantities are computed once."""

from functools import cached_property

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal.estimators.fold import Fold
from vicinal.metrics import metric_info
from vicinal.metrics.catalogue import MetricInfo
from vicinal.metrics.conventions import Conventions, check_conventions
from vicinal.metrics.evidence import Evidence
from vicinal.metrics.extreme import inverse_propensities
from vicinal.scores import Scores


class Metrics:
    """Metrics grouped by their input: predicted label sets or a ranking.

    Parameters
    ----------
    names : tuple of str
    conventions : str or Conventions
        Conventions for edge cases, as for :func:`vicinal.metrics.evaluate`.

    Examples
    --------
    >>> Metrics(("one-error", "micro-f1")).labels
    ('micro-f1',)
    """

    def __init__(self, names: tuple[str, ...], conventions: str | Conventions = "vicinal") -> None:
        self.names = names
        self.rules = check_conventions(conventions)
        self.infos = {name: metric_info(name) for name in names}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The metrics of predicted label sets."""
        return tuple(name for name in self.names if self.infos[name].needs == "labels")

    @cached_property
    def scores(self) -> tuple[str, ...]:
        """The ranking metrics."""
        return tuple(name for name in self.names if self.infos[name].needs == "scores")

    def values(self, found: dict[str, float]) -> Float:
        """Return values in the order of the names."""
        return np.array([found[name] for name in self.names])


class Meter:
    """Evaluates predictions of a fold's held-out rows, as :func:`vicinal.metrics.evaluate` does.

    True labels and propensities are read once. All inputs were created by the library, so nothing
    is validated again.
    """

    def __init__(self, fold: Fold, metrics: Metrics, n_jobs: int | None) -> None:
        self.metrics = metrics
        self._truth, self._n_jobs = fold.Y, n_jobs
        self._train = fold.training.Y

    def of_labels(self, labels: Csr) -> dict[str, float]:
        """Return the metrics of predicted sets."""
        evidence = Evidence(self._truth, labels, None, None, self.metrics.rules, self._n_jobs)
        return self._found(evidence, self.metrics.labels)

    def of_scores(self, scores: Scores) -> dict[str, float]:
        """Return the metrics of a ranking."""
        weights, rules = self._weights, self.metrics.rules
        evidence = Evidence(self._truth, None, scores, weights, rules, self._n_jobs)
        return self._found(evidence, self.metrics.scores)

    def _found(self, evidence: Evidence, names: tuple[str, ...]) -> dict[str, float]:
        infos: dict[str, MetricInfo] = self.metrics.infos
        return {name: evidence.value(infos[name]) for name in names}

    @cached_property
    def _weights(self) -> Float | None:
        """Inverse propensities of the fold's training rows, if a metric needs them."""
        if not any(info.needs_counts for info in self.metrics.infos.values()):
            return None
        return inverse_propensities(self._train, None, self._truth.shape[1])
