r"""Pairs of methods: signed ranks, bootstrap intervals, and the order of the ML-kNN paper.

Every pair is tested by Wilcoxon's signed-rank test [1]_. With m probabilities sorted,
:math:`p_{(1)} \le \dots \le p_{(m)}`, Holm's corrected probabilities [2]_ are

.. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)}).

A bootstrap interval [3]_ of a mean difference is the central part of the means of samples that are
drawn with replacement, keeping pairs together.

In the order of the ML-kNN paper [4]_, A beats B by a metric if a two-tailed paired t-test with
n − 1 degrees of freedom rejects equality and A is better,

.. math:: t = \frac{\bar d}{s_d / \sqrt n}, \qquad d_i = a_i - b_i.

Each win counts +1 for the winner and −1 for the loser. The sums over all metrics give the order.

References
----------
.. [1] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
.. [2] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
   Statistics 6, 1979.
.. [3] B. Efron, R. J. Tibshirani, "An introduction to the bootstrap", Chapman & Hall, 1993.
.. [4] M.-L. Zhang, Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
   Recognition 40, 2007.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from vicinal._core.arrays import Float
from vicinal._core.checks import check_integer, check_real
from vicinal._core.html import Cells, Tabular
from vicinal.comparison.score_tables import Better, Table, paired_differences, read_table, sign_of
from vicinal.errors import InvalidArgumentError
from vicinal.metrics.catalogue import better_side, metric_info


@dataclass(frozen=True)
class SignedRank:
    """The test of one pair.

    Parameters
    ----------
    first, second : str
        The methods.
    statistic : float
        The smaller of the sums of ranks of positive and negative differences.
    p, p_holm : float
        Two-tailed probability, alone and corrected for all pairs.
    winner : str or None
        The method with the larger rank sum in its favour if `p_holm` is significant, else None.
    """

    first: str
    second: str
    statistic: float
    p: float
    p_holm: float
    winner: str | None


def wilcoxon_holm(
    table: object, alpha: float = 0.05, *, better: Better = "high"
) -> tuple[SignedRank, ...]:
    """Test every pair of methods with the signed-rank test.

    Parameters
    ----------
    table : mapping, frame or array
        Samples × methods, as :func:`read_table` takes it.
    alpha : float
        Significance level for all tests together.
    better : {"high", "low"}
        Whether high or low scores are better.

    Notes
    -----
    Samples on which a pair ties are dropped from its test, as Wilcoxon proposed. SciPy computes the
    probability, exactly for up to 50 differences without ties.

    Examples
    --------
    >>> scores = {"A": [5, 7, 9, 11, 13, 15, 17, 19], "B": [4, 5, 6, 7, 8, 9, 10, 11]}
    >>> wilcoxon_holm(scores)
    (SignedRank(first='A', second='B', statistic=0.0, p=0.0078125, p_holm=0.0078125, winner='A'),)
    """
    check_real("alpha", alpha, 0.0, 1.0)
    sign, known = sign_of(better), read_table(table)
    pairs = list(combinations(range(len(known.methods)), 2))
    tests = [_test(sign * known.values[:, a], sign * known.values[:, b]) for a, b in pairs]
    corrected = holm([p for _, p, _ in tests])
    found = []
    for pair, (statistic, p, side), p_holm in zip(pairs, tests, corrected.tolist(), strict=True):
        first, second = (known.methods[at] for at in pair)
        winner = (first if side > 0 else second) if p_holm < alpha else None
        found.append(SignedRank(first, second, statistic, p, p_holm, winner))
    return tuple(found)


def holm(p: ArrayLike) -> Float:
    """Correct probabilities for multiple testing with Holm's method.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    try:
        given: Float = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError("p", "probabilities between 0 and 1", repr(p)) from None
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise InvalidArgumentError("p", "probabilities between 0 and 1", repr(p))
    order = np.argsort(given, kind="stable")
    factors = np.arange(len(given), 0, -1)
    corrected = np.empty_like(given)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, factors * given[order]))
    return corrected


def _test(first: Float, second: Float) -> tuple[float, float, float]:
    """Return the statistic, the probability, and the sign of the larger rank sum."""
    apart = paired_differences(first, second)
    apart = apart[apart != 0]
    if len(apart) == 0:
        return 0.0, 1.0, 0.0
    tested = stats.wilcoxon(apart)
    side = float(np.sum(np.sign(apart) * stats.rankdata(np.abs(apart))))
    return float(tested.statistic), float(tested.pvalue), side


BLOCK = 1000
"""Number of draws processed together."""


@dataclass(frozen=True)
class MeanDifference:
    """The mean of `first` − `second` over the samples, and its interval."""

    first: str
    second: str
    mean: float
    low: float
    high: float


def mean_differences(
    table: object, *, confidence: float = 0.95, n_resamples: int = 10_000, random_state: int = 0
) -> tuple[MeanDifference, ...]:
    """Return the mean difference of every pair of methods with a bootstrap interval.

    Parameters
    ----------
    table : mapping, frame or array
        Samples × methods, as :func:`read_table` takes it.
    confidence : float
        Share of the draws that the interval contains.
    n_resamples : int
        Number of draws.
    random_state : int
        Seed; every pair uses the same draws, so a result does not depend on the other methods.

    Notes
    -----
    Memory: 16 bytes × 1000 draws × samples.

    Examples
    --------
    >>> mean_differences({"A": [3.0, 2.0, 4.0], "B": [2.0, 1.0, 3.0]})
    (MeanDifference(first='A', second='B', mean=1.0, low=1.0, high=1.0),)
    """
    if not 0 < check_real("confidence", confidence) < 1:
        raise InvalidArgumentError("confidence", "a number between 0 and 1", confidence)
    n_draws = check_integer("n_resamples", n_resamples, low=1)
    seed = check_integer("random_state", random_state, low=0)
    known = read_table(table)
    found = []
    for a, b in combinations(range(len(known.methods)), 2):
        apart = paired_differences(known.values[:, a], known.values[:, b])
        low, high = _interval(apart, confidence, n_draws, seed)
        names = known.methods[a], known.methods[b]
        found.append(MeanDifference(*names, float(apart.mean()), low, high))
    return tuple(found)


def _interval(apart: Float, confidence: float, n_draws: int, seed: int) -> tuple[float, float]:
    """Return the percentiles of the means of the draws."""
    drawn = stats.bootstrap(
        (apart,),
        np.mean,
        n_resamples=n_draws,
        batch=BLOCK,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(drawn.confidence_interval.low), float(drawn.confidence_interval.high)


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
        Significance level.
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
    """Return the mean difference and the two-tailed probability of a paired t-test."""
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
    sign = sign_of(better_side(metric))
    for a, b in combinations(range(len(table.methods)), 2):
        mean, p = paired_t_test(table.values[:, a], table.values[:, b])
        if p < alpha:
            winner, loser = (a, b) if sign * mean > 0 else (b, a)
            yield Win(metric, table.methods[winner], table.methods[loser], p)
