"""The papers' rank tests, computed from stored results."""

import numpy as np

from vicinal.comparison import FriedmanNemenyi, friedman_nemenyi
from vicinal.metrics import metric_info
from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.specification import RankTest

FEWEST = 2
"""Minimum number of data sets for a test."""


def rank_test(test: RankTest, figures: Figures) -> tuple[FriedmanNemenyi, list[str]] | None:
    """Return the result of the test and its data sets; None if there are too few."""
    rows, data = [], []
    for name in test.data:
        values = [_mean(test, figures, name, method) for method in test.methods]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            rows.append(known)
            data.append(name)
    if len(data) < FEWEST:
        return None
    table = dict(zip(test.methods, np.array(rows).T.tolist(), strict=True))
    better = metric_info(test.metric).better
    if better == "none":
        return None
    return friedman_nemenyi(table, test.alpha, better=better), data


def _mean(test: RankTest, figures: Figures, data: str, method: str) -> float | None:
    """Return the mean of a method on a data set."""
    for experiment in test.experiments:
        found = figures.values(experiment, data, method, test.metric)
        if found:
            return float(np.mean([np.mean(values) for values in found]))
    return None
