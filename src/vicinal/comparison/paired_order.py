r"""The partial order of methods by paired t-tests, and the total order of its sums.

For each metric, A beats B if a two-tailed paired t-test rejects equality and A is better,

.. math:: t = \frac{\bar d}{s_d / \sqrt n}, \qquad d_i = a_i - b_i,

with n − 1 degrees of freedom. Each win counts +1 for the winner and −1 for the loser; the sums over
all metrics give the total order.

References
----------
M.-L. Zhang, Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
Recognition 40, 2007.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
from scipy import stats

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.tabular import Cells, Tabular
from vicinal._base.validation import check_real
from vicinal.comparison.differences import paired_differences
from vicinal.comparison.table import Table, read_table
from vicinal.metrics import metric_info


@dataclass(frozen=True)
class Win:
    """On `metric`, `winner` beats `loser`; `p` is the p-value."""

    metric: str
    winner: str
    loser: str
    p: float


@dataclass(frozen=True)
class PairedOrder(Tabular):
    """The order of methods.

    Parameters
    ----------
    wins : tuple of Win
        By metric as given, then by pair of methods as given.
    scores : mapping of method to int
        Wins minus losses over all metrics, highest first.
    alpha : float
    """

    wins: tuple[Win, ...]
    scores: Mapping[str, int]
    alpha: float

    def __repr__(self) -> str:
        """Summarise the order in one line."""
        said = ", ".join(f"{name} {score:+d}" for name, score in self.scores.items())
        return f"PairedOrder({said}; alpha={self.alpha:g})"

    def cells(self) -> Cells:
        """Return wins minus losses of each method."""
        rows: list[list[object]] = [[name, score] for name, score in self.scores.items()]
        return Cells(["method", "wins − losses"], rows)

    def beats(self, winner: str, loser: str, metric: str) -> bool:
        """Tell whether one method beats another on a metric."""
        return any((w.winner, w.loser, w.metric) == (winner, loser, metric) for w in self.wins)


def paired_order(results: Mapping[str, object], alpha: float = 0.05) -> PairedOrder:
    """Order methods by two-tailed paired t-tests, summed over metrics.

    Parameters
    ----------
    results : mapping of metric to table
        For each metric (named as in ``vicinal.metrics.METRICS``, which states whether high or low
        is better) the scores of the methods, as :func:`read_table` takes them. Samples are folds or
        data sets, the same for all methods of a metric; a method may lack a metric that does not
        apply to it.
    alpha : float
        Significance level.

    Notes
    -----
    If all differences are equal, their variance is 0: the better method wins, or none if the
    differences are 0.

    Examples
    --------
    >>> order = paired_order({
    ...     "hamming-loss": {"A": [0.20, 0.21, 0.19], "B": [0.30, 0.32, 0.29]},
    ...     "micro-f1": {"A": [0.5, 0.6, 0.7], "B": [0.6, 0.5, 0.7]},
    ... })
    >>> dict(order.scores), [(w.metric, w.winner, w.loser) for w in order.wins]
    ({'A': 1, 'B': -1}, [('hamming-loss', 'A', 'B')])
    """
    check_real("alpha", alpha, 0.0, 1.0)
    tables = _tables(results)
    wins = tuple(win for name, table in tables.items() for win in _wins(name, table, alpha))
    scores = {method: 0 for table in tables.values() for method in table.methods}
    for win in wins:
        scores[win.winner] += 1
        scores[win.loser] -= 1
    falling = dict(sorted(scores.items(), key=lambda item: -item[1]))
    return PairedOrder(wins, MappingProxyType(falling), alpha)


def paired_t_test(first: Float, second: Float) -> tuple[float, float]:
    """Return the mean difference and the two-tailed probability of a paired t-test.

    Examples
    --------
    >>> paired_t_test(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    (0.0, 1.0)
    >>> paired_t_test(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    (1.0, 0.0)
    """
    apart = paired_differences(first, second)
    mean, spread = float(apart.mean()), float(apart.std(ddof=1))
    if mean == 0:
        return 0.0, 1.0
    if spread == 0:
        return mean, 0.0
    t = abs(mean) / (spread / np.sqrt(len(apart)))
    return mean, float(2 * stats.t.sf(t, len(apart) - 1))


def _tables(results: Mapping[str, object]) -> dict[str, Table]:
    """Return the table of each metric."""
    if not isinstance(results, Mapping) or not results:
        raise InvalidArgumentError("results", "a mapping of metric to table", repr(results))
    tables = {name: read_table(table, name=f"results[{name!r}]") for name, table in results.items()}
    for name in tables:
        if metric_info(name).better == "none":
            raise InvalidArgumentError("results", "metrics that can be optimised", repr(name))
    return tables


def _wins(metric: str, table: Table, alpha: float) -> Iterator[Win]:
    """Yield the wins on one metric, pair by pair."""
    sign = 1 if metric_info(metric).better == "high" else -1
    for a, b in combinations(range(len(table.methods)), 2):
        mean, p = paired_t_test(table.values[:, a], table.values[:, b])
        if p < alpha:
            winner, loser = (a, b) if sign * mean > 0 else (b, a)
            yield Win(metric, table.methods[winner], table.methods[loser], p)
