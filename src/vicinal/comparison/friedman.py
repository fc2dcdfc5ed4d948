r"""Whether methods differ at all (Friedman), and which of them (Nemenyi).

With :math:`R_j` the mean rank of method j of k over N samples (Demšar 2006),

.. math::
    \chi^2_F = \frac{12 N}{k (k + 1)} \Bigl[\sum_j R_j^2 - \frac{k (k + 1)^2}{4}\Bigr], \qquad
    F_F = \frac{(N - 1) \chi^2_F}{N (k - 1) - \chi^2_F}, \qquad
    CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

where :math:`q_\alpha` is the quantile of the studentized range, divided by :math:`\sqrt 2`.

Where all samples rank the methods alike, :math:`F_F` is infinite and its distribution says nothing.
The probability of that is known exactly: were all methods alike, each of the N − 1 further samples
would repeat the ranks of the first with probability 1 / M, with M the number of ways to order them
(k! without ties), so :math:`p = M^{-(N - 1)}`.

References
----------
J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
R. L. Iman, J. M. Davenport, "Approximations of the critical region of the Friedman statistic",
Communications in Statistics 9, 1980.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, factorial, prod
from types import MappingProxyType

import numpy as np
from scipy import stats

from vicinal._core.arrays import Float
from vicinal._core.checks import check_flag, check_integer, check_real
from vicinal._core.html import Cells, Tabular
from vicinal.comparison.score_tables import Better, rank_table
from vicinal.errors import InvalidArgumentError, warn_user


def groups_within(mean_ranks: Mapping[str, float], apart: float) -> tuple[tuple[str, ...], ...]:
    """Return the largest groups whose mean ranks all lie less than `apart` from each other."""
    names = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    ranks = [mean_ranks[name] for name in names]
    groups = []
    reached = 0
    for start, rank in enumerate(ranks):
        end = sum(other - rank < apart for other in ranks)
        if end > reached and end - start > 1:
            groups.append(tuple(names[start:end]))
        reached = max(reached, end)
    return tuple(groups)


@dataclass(frozen=True)
class FriedmanNemenyi(Tabular):
    """The results of the two tests.

    Parameters
    ----------
    mean_ranks : mapping of method to float
        Best (lowest) first.
    n_samples : int
        Number of data sets or folds.
    alpha : float
        Significance level.
    chi2, p_chi2 : float
        Friedman's statistic and its p-value.
    f, p_f : float
        The same by Iman and Davenport, which is less conservative and preferable. Where all samples
        rank the methods alike, `f` is infinite and `p_f` the exact probability of such agreement.
    critical_difference : float
        Two methods differ significantly (Nemenyi, at `alpha`) if their mean ranks differ by more.
    groups : tuple of tuples of str
        Largest groups of methods that cannot be told apart at this significance level, best first;
        single methods are not listed.
    """

    mean_ranks: Mapping[str, float]
    n_samples: int
    alpha: float
    chi2: float
    p_chi2: float
    f: float
    p_f: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]

    def cells(self) -> Cells:
        """Return the mean rank of each method, and the groups that cannot be told apart."""
        rows: list[list[object]] = [
            [name, rank, ", ".join(str(g + 1) for g, of in enumerate(self.groups) if name in of)]
            for name, rank in self.mean_ranks.items()
        ]
        return Cells(["method", "mean rank", "groups"], rows)

    @property
    def least_p(self) -> float:
        """The smallest possible `p_f` with this number of samples: that of complete agreement."""
        return float(factorial(len(self.mean_ranks)) ** -(self.n_samples - 1))

    @property
    def needed_samples(self) -> int:
        """The smallest number of samples with which Nemenyi's test can tell any methods apart."""
        n_methods = len(self.mean_ranks)
        unit = critical_difference(n_methods, 1, self.alpha)
        return max(1, ceil((unit / (n_methods - 1)) ** 2))

    @property
    def rejected(self) -> bool:
        """Whether the methods differ at all; if not, the groups are not meaningful."""
        return self.p_f < self.alpha

    def differ(self, first: str, second: str) -> bool:
        """Tell whether two methods differ by the Nemenyi test."""
        apart = abs(self.mean_ranks[first] - self.mean_ranks[second])
        return apart >= self.critical_difference


def friedman_nemenyi(
    table: object, alpha: float = 0.05, *, better: Better = "high", correct_ties: bool = False
) -> FriedmanNemenyi:
    """Test whether methods differ, by their ranks over data sets.

    Parameters
    ----------
    table : mapping, frame or array
        Data sets × methods, as :func:`read_table` takes it.
    alpha : float
        Significance level.
    better : {"high", "low"}
        Whether high or low scores are better.
    correct_ties : bool
        Whether to correct the statistic for ties, as SciPy does. The formula above and most papers
        do not.

    Warns if there are so few samples that even complete agreement would not be significant.

    Examples
    --------
    >>> found = friedman_nemenyi({"A": [9, 8, 9, 7], "B": [5, 6, 5, 8], "C": [1, 2, 3, 1]})
    >>> dict(found.mean_ranks), found.chi2, round(found.f, 3)
    ({'A': 1.25, 'B': 1.75, 'C': 3.0}, 6.5, 13.0)
    >>> round(found.critical_difference, 3), found.groups
    (1.657, (('A', 'B'), ('B', 'C')))
    """
    found = rank_tests(table, alpha, better=better, correct_ties=correct_ties)
    if found.least_p >= alpha:
        warn_user(
            f"{found.n_samples} samples of {len(found.mean_ranks)} methods are too few for a test "
            f"at alpha = {alpha:g}: even if all samples agreed, p would be {found.least_p:.2g}"
        )
    return found


def rank_tests(
    table: object, alpha: float, *, better: Better = "high", correct_ties: bool = False
) -> FriedmanNemenyi:
    """Return what :func:`friedman_nemenyi` does, without its warning, for reports that say it."""
    check_real("alpha", alpha, 0.0, 1.0)
    ranks = rank_table(table, better)
    n_samples, n_methods = ranks.values.shape
    chi2 = _chi2(ranks.values, check_flag("correct_ties", correct_ties))
    rest = n_samples * (n_methods - 1) - chi2
    f = (n_samples - 1) * chi2 / rest if rest > 1e-9 else np.inf
    means = ranks.values.mean(axis=0)
    order = np.argsort(means, kind="stable")
    mean_ranks = {ranks.methods[j]: float(means[j]) for j in order}
    apart = critical_difference(n_methods, n_samples, alpha)
    return FriedmanNemenyi(
        mean_ranks=MappingProxyType(mean_ranks),
        n_samples=n_samples,
        alpha=alpha,
        chi2=chi2,
        p_chi2=float(stats.chi2.sf(chi2, n_methods - 1)),
        f=float(f),
        p_f=_p_of_agreement(ranks.values)
        if np.isinf(f)
        else float(stats.f.sf(f, n_methods - 1, (n_methods - 1) * (n_samples - 1))),
        critical_difference=apart,
        groups=groups_within(mean_ranks, apart),
    )


def critical_difference(n_methods: int, n_samples: int, alpha: float = 0.05) -> float:
    """Return the smallest significant difference of two mean ranks (Nemenyi).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 14, alpha=0.1), 2)
    (1.25, 1.12)
    """
    check_integer("n_methods", n_methods, low=2)
    check_integer("n_samples", n_samples, low=1)
    if not 0 < check_real("alpha", alpha) < 1:
        raise InvalidArgumentError("alpha", "a number between 0 and 1", alpha)
    q = float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_samples)))


def _p_of_agreement(ranks: Float) -> float:
    """Return the exact probability that all samples have the ranks of the first."""
    n_samples, n_methods = ranks.shape
    _, ties = np.unique(ranks[0], return_counts=True)
    orders = factorial(n_methods) / prod(factorial(int(count)) for count in ties)
    return float(orders ** -(n_samples - 1))


def _chi2(ranks: Float, correct_ties: bool) -> float:
    """Return Friedman's statistic; 0 if all methods tie on every sample."""
    n_samples, n_methods = ranks.shape
    middle = (n_methods + 1) / 2
    between = n_samples * np.sum((ranks.mean(axis=0) - middle) ** 2)
    # Without ties the ranks 1..k of a row have this variance (divisor k − 1), with ties less.
    within = n_methods * (n_methods + 1) / 12
    if correct_ties:
        within = float(np.sum((ranks - middle) ** 2)) / (n_samples * (n_methods - 1))
    return float(between / within) if within > 0 else 0.0
