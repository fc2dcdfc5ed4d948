r"""Probabilities that one method is better, and tests for folds that share training rows.

Folds of one data set are not independent: two training sets of a k-fold cross-validation share most
of their rows. The variance of a mean difference over n folds is therefore larger than
:math:`s^2 / n`. Nadeau and Bengio replace 1/n by :math:`1/n + n_{test}/n_{train}`; Corani and
Benavoli use the same correlation :math:`\rho = n_{test} / (n_{test} + n_{train})` in a Bayesian
t-test, whose posterior of the mean difference is a Student distribution:

.. math::

    \mu \sim t_{n-1}\Bigl(\bar x,\; \bigl(\tfrac 1 n + \tfrac{\rho}{1 - \rho}\bigr) s^2\Bigr)

For several data sets, the Bayesian signed-rank test draws weights of the data sets (and of a prior
observation at 0) from a Dirichlet distribution, and compares the weighted shares of pairs whose
mean difference lies below, within and above the region of practical equivalence (rope).

References
----------
C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
G. Corani, A. Benavoli, "A Bayesian approach for comparing cross-validated algorithms on multiple
data sets", Machine Learning 100, 2015.
A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a change: a tutorial for comparing
multiple classifiers through Bayesian analysis", JMLR 18, 2017.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from vicinal._core.arrays import BLOCK_CELLS, Float
from vicinal._core.checks import check_integer, check_real
from vicinal.comparison.score_tables import Better, paired_differences, sign_of
from vicinal.errors import InvalidArgumentError

DRAWS = 50_000


@dataclass(frozen=True)
class Probabilities:
    """How probable it is that the first method is better, equivalent, or worse in practice."""

    first: float
    equivalent: float
    second: float

    @property
    def verdict(self) -> str:
        """The outcome whose probability is above 0.95, or ``"undecided"``."""
        named = {"first": self.first, "equivalent": self.equivalent, "second": self.second}
        best = max(named, key=lambda name: named[name])
        return best if named[best] > 0.95 else "undecided"


class CorrectedTest(NamedTuple):
    """The mean difference, the t statistic and the two-tailed probability."""

    mean: float
    t: float
    p: float


def corrected_t_test(
    first: object, second: object, test_share: float, *, better: Better = "high"
) -> CorrectedTest:
    """Test folds of one data set by the corrected t-test of Nadeau and Bengio.

    Parameters
    ----------
    first, second : array-like, shape (n,)
        A metric of two methods on the same folds, of one or several runs of cross-validation.
    test_share : float
        Share of the rows that a fold tests on: 0.1 for 10-fold cross-validation.
    better : {"high", "low"}
        A positive mean difference favours the first method.

    Examples
    --------
    The differences are 1, 2 and 3: the mean is 2, and t = 2 / sqrt(1/3 + 0.5) instead of
    2 / sqrt(1/3).

    >>> found = corrected_t_test([2, 4, 6], [1, 2, 3], 1 / 3)
    >>> round(found.t, 4), round(found.p, 4)
    (2.1909, 0.1598)
    """
    apart = _differences(first, second, better)
    mean, scale = float(apart.mean()), _scale(apart, test_share)
    if scale == 0:
        return CorrectedTest(mean, 0.0 if mean == 0 else np.inf, 1.0 if mean == 0 else 0.0)
    t = mean / scale
    return CorrectedTest(mean, float(t), float(2 * stats.t.sf(abs(t), len(apart) - 1)))


def correlated_t_test(
    first: object, second: object, test_share: float, rope: float = 0.01, *, better: Better = "high"
) -> Probabilities:
    """Return the probabilities of the Bayesian correlated t-test, for folds of one data set.

    Parameters
    ----------
    first, second, test_share, better
        As for :func:`corrected_t_test`.
    rope : float
        Mean differences of at most this size are equivalent in practice.

    Examples
    --------
    >>> found = correlated_t_test([0.9, 0.92, 0.91, 0.93], [0.5, 0.52, 0.49, 0.5], 0.25)
    >>> found.verdict, round(found.first, 2)
    ('first', 1.0)
    """
    apart = _differences(first, second, better)
    check_real("rope", rope, low=0.0)
    mean, scale = float(apart.mean()), _scale(apart, test_share)
    if scale == 0:
        above, below = float(mean > rope), float(mean < -rope)
    else:
        above = float(stats.t.sf((rope - mean) / scale, len(apart) - 1))
        below = float(stats.t.cdf((-rope - mean) / scale, len(apart) - 1))
    return Probabilities(above, 1 - above - below, below)


def bayesian_signed_rank(
    first: object,
    second: object,
    rope: float = 0.01,
    *,
    better: Better = "high",
    n_draws: int = DRAWS,
    random_state: int = 0,
) -> Probabilities:
    """Return the probabilities of the Bayesian signed-rank test, for several data sets.

    Parameters
    ----------
    first, second : array-like, shape (n,)
        A metric of two methods on the same data sets.
    rope, better
        As for :func:`correlated_t_test`.
    n_draws : int
        Number of draws from the posterior.
    random_state : int
        Seed of the draws.

    Notes
    -----
    The prior is one observation of strength 0.5 at a difference of 0. Memory: 32 MB.

    Examples
    --------
    >>> found = bayesian_signed_rank([0.9, 0.8, 0.7, 0.9], [0.5, 0.4, 0.3, 0.2])
    >>> found.verdict, round(found.first, 2)
    ('first', 1.0)
    """
    apart = np.append(_differences(first, second, better), 0.0)
    check_real("rope", rope, low=0.0)
    rng = np.random.default_rng(check_integer("random_state", random_state, low=0))
    sums = apart[:, None] + apart[None, :]
    above = (sums > 2 * rope).astype(np.float64)
    below = (sums < -2 * rope).astype(np.float64)
    strength = np.append(np.ones(len(apart) - 1), 0.5)
    left, votes = check_integer("n_draws", n_draws, low=1), np.zeros(3)
    while left:
        size = min(left, max(1, BLOCK_CELLS // len(apart) ** 2))
        weights = rng.dirichlet(strength, size)
        shares = [np.einsum("di,ij,dj->d", weights, each, weights) for each in (above, below)]
        three = np.column_stack([shares[0], 1 - shares[0] - shares[1], shares[1]])
        votes += np.bincount(three.argmax(axis=1), minlength=3)
        left -= size
    return Probabilities(*(votes / n_draws).tolist())


def _differences(first: object, second: object, better: Better) -> Float:
    """Return validated paired differences; positive where the first method is better."""
    pair = []
    for name, given in (("first", first), ("second", second)):
        try:
            values: Float = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidArgumentError(name, "numbers", type(given)) from None
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
            expected = "at least two finite numbers"
            raise InvalidArgumentError(name, expected, f"shape {values.shape}")
        pair.append(values)
    if len(pair[0]) != len(pair[1]):
        raise InvalidArgumentError("second", f"{len(pair[0])} numbers", len(pair[1]))
    return sign_of(better) * paired_differences(*pair)


def _scale(apart: Float, test_share: float) -> float:
    """Return the standard deviation of the mean difference, corrected for shared rows."""
    if not 0 < check_real("test_share", test_share) < 1:
        raise InvalidArgumentError("test_share", "a number between 0 and 1", test_share)
    share = 1 / len(apart) + test_share / (1 - test_share)
    return float(np.sqrt(share) * apart.std(ddof=1))
