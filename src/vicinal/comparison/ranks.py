"""Ranks of methods on each sample: 1 for the best, mean ranks for ties."""

from typing import Literal, TypeAlias

from scipy import stats

from vicinal._base.arrays import Float
from vicinal._base.validation import check_option
from vicinal.comparison.table import Table, read_table

Better: TypeAlias = Literal["low", "high"]


def rank_table(table: object, better: Better = "high") -> Table:
    """Rank the methods on each sample, 1 for the best; ties get their mean rank.

    Parameters
    ----------
    table : mapping, frame or array
        As :func:`read_table` takes it.
    better : {"high", "low"}
        Whether high or low scores are better; ``vicinal.metrics.metric_info(name).better`` gives it
        for a metric.

    Examples
    --------
    >>> rank_table({"A": [0.9, 0.5], "B": [0.8, 0.5], "C": [0.1, 0.7]}).values
    array([[1. , 2. , 3. ],
           [2.5, 2.5, 1. ]])
    """
    known = read_table(table)
    sign = -1.0 if check_option("better", better, ("low", "high")) == "high" else 1.0
    ranks: Float = stats.rankdata(sign * known.values, axis=1)
    return Table(ranks, known.methods)
