"""Mean ranks of methods over data sets for each metric, computed from stored results."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from vicinal._core.arrays import Float
from vicinal.metrics import metric_info
from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures

RANKED = {
    "accuracy": "example-accuracy",
    "average-precision": "average-precision",
    "coverage": "coverage",
    "f1": "example-f1",
    "hamming-loss": "hamming-loss",
    "jaccard-loss": "jaccard-loss",
    "one-error": "one-error",
    "precision": "example-precision",
    "ranking-loss": "ranking-loss",
    "recall": "example-recall",
    "subset-accuracy": "subset-accuracy",
}
"""The eleven measures of the ML-ARP paper, interpreted as example-based metrics."""


def mean_ranks(
    figures: Figures,
    sources: Sequence[str],
    data: Sequence[str],
    methods: Sequence[str],
    experiment: str,
    name: str,
) -> list[Result]:
    """Rank methods on each data set by each metric, and average; nothing where any is missing.

    Parameters
    ----------
    figures : Figures
    sources : sequence of str
        Experiments; the first that has a method's results counts.
    data, methods : sequence of str
    experiment, name : str
        Of the results made: their experiment and their data.
    """
    rows = []
    for metric in RANKED.values():
        values = [
            [_mean(figures, sources, each, method, metric) for method in methods] for each in data
        ]
        if any(value is None for row in values for value in row):
            return []
        sign = 1 if metric_info(metric).better == "low" else -1
        rows.append(np.mean(rankdata(sign * np.array(values, dtype=np.float64), axis=1), axis=0))
    ranks = np.array(rows)
    return [
        Result(experiment, name, method, _values(ranks, at)) for at, method in enumerate(methods)
    ]


def _values(ranks: Float, at: int) -> dict[str, tuple[float, ...]]:
    """Return a method's row of the table: its mean ranks, their mean, and its mean position."""
    places = rankdata(ranks, axis=1)
    values: dict[str, tuple[float, ...]] = {
        f"rank of {name}": (float(row[at]),) for name, row in zip(RANKED, ranks, strict=True)
    }
    values["mean of the eleven ranks"] = (float(ranks[:, at].mean()),)
    values["global rank"] = (float(places[:, at].mean()),)
    return values


def _mean(
    figures: Figures, sources: Sequence[str], data: str, method: str, metric: str
) -> float | None:
    """Return a method's mean on a data set, rounded as in tables, which decides ties."""
    for source in sources:
        found = figures.values(source, data, method, metric)
        if found:
            return round(float(np.mean([np.mean(values) for values in found])), 6)
    return None
