r"""Wilcoxon's signed-rank test for every pair of methods, with Holm's correction.

With m probabilities sorted, :math:`p_{(1)} \le \dots \le p_{(m)}`, Holm's corrected probabilities
are

.. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)}).

References
----------
F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6, 1979.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option, check_real
from vicinal.comparison.differences import paired_differences
from vicinal.comparison.ranks import Better
from vicinal.comparison.table import read_table


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
    sign = 1.0 if check_option("better", better, ("low", "high")) == "high" else -1.0
    known = read_table(table)
    pairs = list(combinations(range(len(known.methods)), 2))
    tests = [_test(sign * known.values[:, a], sign * known.values[:, b]) for a, b in pairs]
    corrected = holm([p for _, p, _ in tests])
    return tuple(
        SignedRank(
            first=known.methods[a],
            second=known.methods[b],
            statistic=statistic,
            p=p,
            p_holm=float(p_holm),
            winner=known.methods[a if side > 0 else b] if p_holm < alpha else None,
        )
        for (a, b), (statistic, p, side), p_holm in zip(pairs, tests, corrected, strict=True)
    )


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
