r"""Tests against one control method, and effect sizes.

With mean ranks :math:`R_j` of k methods over N samples, each method is compared with the control by

.. math:: z_j = \frac{R_j - R_{control}}{\sqrt{k (k + 1) / 6N}}

The k − 1 probabilities are corrected by Bonferroni–Dunn (times k − 1) or, more powerfully, by Holm.

References
----------
O. J. Dunn, "Multiple comparisons among means", Journal of the American Statistical Association 56,
1961.
J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
N. Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological
Bulletin 114, 1993.
D. S. Kerby, "The simple difference formula: an approach to teaching nonparametric correlation",
Comprehensive Psychology 3, 2014.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from vicinal._core.checks import check_option, check_real
from vicinal.comparison.pairwise import holm
from vicinal.comparison.score_tables import (
    Better,
    paired_differences,
    rank_table,
    read_table,
    sign_of,
)


@dataclass(frozen=True)
class ControlTest:
    """One method against the control.

    Parameters
    ----------
    method : str
        Name of the method.
    rank_difference : float
        Mean rank of the method less that of the control; positive if the control is better.
    p, p_dunn, p_holm : float
        Two-tailed probability: alone, corrected by Bonferroni–Dunn, and by Holm.
    differs : bool
        Whether `p_holm` is below alpha.
    """

    method: str
    rank_difference: float
    p: float
    p_dunn: float
    p_holm: float
    differs: bool


def control_tests(
    table: object, control: str, alpha: float = 0.05, *, better: Better = "high"
) -> tuple[ControlTest, ...]:
    """Compare every method with a control method by mean ranks.

    Parameters
    ----------
    table : mapping, frame or array
        Data sets × methods, as :func:`vicinal.comparison.read_table` takes it.
    control : str
        Name of the control method.
    alpha : float
        Significance level.
    better : {"high", "low"}
        Which values are better.

    Examples
    --------
    >>> scores = {"A": [9, 8, 9, 7, 9, 8], "B": [5, 6, 5, 8, 5, 5], "C": [1, 2, 3, 1, 2, 3]}
    >>> [(test.method, test.differs) for test in control_tests(scores, "A")]
    [('B', False), ('C', True)]
    """
    check_real("alpha", alpha, 0.0, 1.0)
    ranks = rank_table(table, better)
    check_option("control", control, ranks.methods)
    n_samples, n_methods = ranks.values.shape
    means = dict(zip(ranks.methods, ranks.values.mean(axis=0).tolist(), strict=True))
    error = np.sqrt(n_methods * (n_methods + 1) / (6 * n_samples))
    others = [name for name in ranks.methods if name != control]
    apart = [means[name] - means[control] for name in others]
    p = [float(2 * stats.norm.sf(abs(each) / error)) for each in apart]
    return tuple(
        ControlTest(
            name, each, alone, min(1.0, alone * len(others)), float(both), bool(both < alpha)
        )
        for name, each, alone, both in zip(others, apart, p, holm(p), strict=True)
    )


@dataclass(frozen=True)
class EffectSize:
    """How much two methods differ, on paired samples.

    Parameters
    ----------
    first, second : str
        Names of the two methods.
    wins, ties, losses : int
        Samples on which the first method is better, equal, worse.
    cohen_d : float
        Mean difference over the standard deviation of the differences; NaN if that is 0.
    cliff_delta : float
        Share of pairs of samples in which the first is larger, less the share in which it is
        smaller; from −1 to 1.
    rank_biserial : float
        Favourable less unfavourable share of the rank sum of Wilcoxon's test; from −1 to 1.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    cohen_d: float
    cliff_delta: float
    rank_biserial: float


def effect_sizes(table: object, *, better: Better = "high") -> tuple[EffectSize, ...]:
    """Return effect sizes of every pair of methods; positive if the first is better.

    Parameters
    ----------
    table : mapping, frame or array
        Samples × methods, as :func:`vicinal.comparison.read_table` takes it.
    better : {"high", "low"}
        Which values are better.

    Examples
    --------
    The differences are 1, 1 and −2, of ranks 1.5, 1.5 and 3:

    >>> (found,) = effect_sizes({"A": [2, 3, 1], "B": [1, 2, 3]})
    >>> (found.wins, found.losses), found.cohen_d, found.rank_biserial
    ((2, 1), 0.0, 0.0)
    """
    sign, known = sign_of(better), read_table(table)
    found = []
    for a, b in combinations(range(len(known.methods)), 2):
        first, second = sign * known.values[:, a], sign * known.values[:, b]
        apart = paired_differences(first, second)
        spread = float(apart.std(ddof=1))
        signs = np.sign(first[:, None] - second[None, :])
        ranks = stats.rankdata(np.abs(apart[apart != 0]))
        total = float(ranks.sum())
        found.append(
            EffectSize(
                known.methods[a],
                known.methods[b],
                wins=int((apart > 0).sum()),
                ties=int((apart == 0).sum()),
                losses=int((apart < 0).sum()),
                cohen_d=float(apart.mean()) / spread if spread else float("nan"),
                cliff_delta=float(signs.mean()),
                rank_biserial=float(ranks @ np.sign(apart[apart != 0])) / total if total else 0.0,
            )
        )
    return tuple(found)
