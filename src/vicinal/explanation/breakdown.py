r"""The breakdown of a score into a sum of terms, without names.

A scoring method knows training rows and features only by number; the estimator replaces the numbers
by names (:mod:`vicinal.explanation.values`).

The share of input *i* of a function *f*, compared with a baseline, is its average contribution over
all orders in which the inputs can change from the baseline to their values:

.. math:: \phi_i = \sum_{S \not\ni i} \frac{|S|!\,(d - |S| - 1)!}{d!}
                   \bigl(f(x_{S \cup i}) - f(x_S)\bigr)

In :math:`x_S` the inputs in *S* have their values and the others those of the baseline. The shares
add up to :math:`f(x) - f(\text{baseline})`.

References
----------
L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II (1953).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import Literal, TypeAlias

import numpy as np

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.checks import check_option
from vicinal.errors import InvalidArgumentError

Fact: TypeAlias = int | float | str
"""Additional information on a score: a count, a probability, a name."""
Scale: TypeAlias = Literal["score", "log-odds"]

SCALES = ("score", "log-odds")
LEAST_TERMS = 1e-280
"""Terms that add up to less are not divided by their sum: the quotient might overflow."""
MOST_CANCELLING = 10
"""Terms are rescaled only if the sum of their absolute values is at most this many times the
absolute value of their sum."""
KINDS = ("neighbor", "feature", "input")


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of one kind, in the order in which the method adds them up.

    Parameters
    ----------
    kind : {"neighbor", "feature", "input"}
        What the ids refer to: places of training rows, columns of features, or inputs of a mixture.
    ids : ndarray of int64, shape (t,)
        Numbers of the training rows or features.
    shares : ndarray of float64, shape (t,)
        What each contributes.
    names : tuple of str or None
        Names of the inputs of a mixture; None for neighbours and features.
    """

    kind: str
    ids: Int
    shares: Float
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check that ids, shares and names match."""
        check_option("kind", self.kind, KINDS)
        object.__setattr__(self, "ids", np.asarray(self.ids, dtype=np.int64))
        object.__setattr__(self, "shares", np.asarray(self.shares, dtype=np.float64))
        if self.ids.ndim != 1 or self.ids.shape != self.shares.shape:
            raise InvalidArgumentError(
                "shares", f"one share per id, shape {self.ids.shape}", self.shares.shape
            )
        if self.names is not None and len(self.names) != len(self.ids):
            expected = f"{len(self.ids)} names, one per id"
            raise InvalidArgumentError("names", expected, len(self.names))


@dataclass(frozen=True, eq=False)
class Breakdown:
    """One score of one row as ``base + Σ shares``.

    Parameters
    ----------
    base : float
        The label's score before any part is added.
    terms : tuple of Terms
        The terms of the sum.
    scale : {"score", "log-odds"}
        Whether base and shares add up to the score p itself, or to log(p / (1 − p)).
    facts : mapping of str to int, float or str
        Additional information: votes, prior, likelihoods, cluster.

    Examples
    --------
    >>> near = Terms("neighbor", np.array([4, 9]), np.array([0.25, 0.5]))
    >>> Breakdown(0.125, (near,)).total
    0.875
    """

    base: float
    terms: tuple[Terms, ...] = ()
    scale: Scale = "score"
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the scale."""
        check_option("scale", self.scale, SCALES)

    @property
    def total(self) -> float:
        """The sum of base and shares, added in their order."""
        total = self.base
        for terms in self.terms:
            for share in terms.shares.tolist():
                total += share
        return total

    def times(self, factor: float) -> "Breakdown":
        """Return the breakdown of `factor` times the score, with the same facts."""
        scaled = tuple(replace(terms, shares=factor * terms.shares) for terms in self.terms)
        return replace(self, base=factor * self.base, terms=scaled)

    def plus(self, other: "Breakdown") -> "Breakdown":
        """Return the breakdown of the sum of two scores on the same scale.

        Examples
        --------
        >>> Breakdown(1.0).plus(Breakdown(2.0).times(0.25)).total
        1.5
        """
        check_option("scale", other.scale, (self.scale,))
        return Breakdown(
            self.base + other.base,
            self.terms + other.terms,
            self.scale,
            {**self.facts, **other.facts},
        )

    def splitting(self, share: float) -> tuple[Terms, ...]:
        """Return the terms rescaled to add up to `share`, or no terms if they nearly cancel.

        A mixture uses this to divide the share of an input among the terms of that input. Terms
        that nearly cancel (see ``MOST_CANCELLING``) would become misleadingly large.

        Examples
        --------
        >>> near = Terms("neighbor", np.array([4, 9]), np.array([0.25, 0.75]))
        >>> [terms.shares.tolist() for terms in Breakdown(0.0, (near,)).splitting(-2.0)]
        [[-0.5, -1.5]]
        """
        whole = sum(float(terms.shares.sum()) for terms in self.terms)
        size = sum(float(np.abs(terms.shares).sum()) for terms in self.terms)
        if size < LEAST_TERMS or size > MOST_CANCELLING * abs(whole):
            return ()
        return tuple(replace(terms, shares=terms.shares * (share / whole)) for terms in self.terms)


def vote_breakdowns(
    places: Int,
    carries: Float,
    values: Sequence[float],
    bases: Sequence[float],
    facts: Sequence[Mapping[str, Fact]],
) -> list[Breakdown]:
    r"""Return breakdowns of scores :math:`f(c)` that depend on the number of votes *c* alone.

    Each neighbour with the label gets :math:`(f(c) - f(0)) / c`, its Shapley value for fixed
    neighbours, because all votes count the same. The others get 0.

    Parameters
    ----------
    places : ndarray of int64, shape (k,)
        The neighbours.
    carries : ndarray, shape (k, t)
        1 if a neighbour has a label, else 0.
    values, bases : sequence of float, of length t
        :math:`f(c)` and :math:`f(0)`.
    facts : sequence of mappings, of length t
        Further numbers to show, by name.

    Examples
    --------
    >>> carries = np.array([[1.0], [0.0], [1.0]])
    >>> (one,) = vote_breakdowns(np.array([5, 2, 7]), carries, [0.75], [0.25], [{}])
    >>> one.base, one.terms[0].shares.tolist()
    (0.25, [0.25, 0.0, 0.25])
    """
    return [
        Breakdown(
            float(base),
            (Terms("neighbor", places, column * ((value - base) / max(column.sum(), 1.0))),),
            facts=about,
        )
        for column, value, base, about in zip(carries.T, values, bases, facts, strict=True)
    ]


def weighted_breakdowns(kind: str, ids: Int, weights: Float, values: Float) -> Iterator[Breakdown]:
    r"""Yield breakdowns of weighted means :math:`\sum_a w_a r_a / \sum_a w_a`.

    If all weights are 0, so is the mean.

    Parameters
    ----------
    kind : {"neighbor", "feature", "input"}
        What contributes: a training row, a feature, or an input of the mixture.
    ids : ndarray of int64, shape (k,)
        Numbers of the training rows or features.
    weights : ndarray of float64, shape (k,)
        :math:`w_a`, at least 0.
    values : ndarray of float64, shape (k, t)
        :math:`r_a`: the value that each contributes to each label.

    Examples
    --------
    >>> values = np.array([[1.0], [0.0]])
    >>> (one,) = weighted_breakdowns("neighbor", np.array([3, 1]), np.array([0.6, 0.2]), values)
    >>> one.terms[0].shares.round(4).tolist()
    [0.75, 0.0]
    """
    whole = float(weights.sum())
    for column in values.T:
        shares = np.zeros(len(ids))
        counts = (column != 0) & (whole > 0)  # no share for 0, even at infinite weight
        shares[counts] = column[counts] * weights[counts] / whole
        yield Breakdown(0.0, (Terms(kind, ids, shares),))


def linear_breakdown(base: float, x: Csr, weights: Float, scale: Scale = "score") -> Breakdown:
    r"""Return the breakdown of :math:`b + \sum_f x_f w_f`: one term per non-zero feature.

    Parameters
    ----------
    base : float
        The score without any part.
    x : csr_array, shape (1, m)
        The row.
    weights : ndarray of float64, shape (m,)
        Coefficients of the features.
    scale : {"score", "log-odds"}
        Whether the parts add up to the score or to its log-odds.

    Examples
    --------
    >>> from scipy import sparse
    >>> row = sparse.csr_array(np.array([[0.0, 2.0, 1.0]]))
    >>> linear_breakdown(0.5, row, np.array([9.0, 0.25, -1.0])).total
    0.0
    """
    columns = x.indices.astype(np.int64)
    return Breakdown(base, (Terms("feature", columns, x.data * weights[columns]),), scale)


MOST_INPUTS = 16
"""The largest number of inputs: 65,536 evaluations of the function, 8 MiB of inputs."""


def exact_shapley(
    function: Callable[[Float], Float], inputs: Float, baseline: Float
) -> tuple[float, Float]:
    """Return the value at the baseline and the share of each input.

    Parameters
    ----------
    function : callable
        Maps points, one per row, shape (p, d), to finite values, shape (p,). Called once, with 2^d
        points.
    inputs, baseline : ndarray of float64, shape (d,)
        At most 16 inputs.

    Returns
    -------
    base : float
        The function at `baseline`.
    shares : ndarray of float64, shape (d,)
        ``base + shares.sum()`` is the function at `inputs`.

    Examples
    --------
    Two inputs contribute only together, so each gets half. The third contributes by itself.

    >>> product = lambda points: points[:, 0] * points[:, 1] + 3 * points[:, 2]
    >>> base, shares = exact_shapley(product, np.ones(3), np.zeros(3))
    >>> float(base), shares.round(12).tolist()
    (0.0, [0.5, 0.5, 3.0])
    """
    inputs, baseline = np.asarray(inputs, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    d = len(inputs)
    if inputs.shape != (d,) or baseline.shape != (d,):
        raise InvalidArgumentError(
            "baseline", f"the shape of inputs {inputs.shape}", baseline.shape
        )
    if d > MOST_INPUTS:
        raise InvalidArgumentError("inputs", f"at most {MOST_INPUTS} inputs", d)
    subsets = np.arange(2**d)
    present = (subsets[:, None] >> np.arange(d)) & 1 == 1
    values = np.asarray(function(np.where(present, inputs, baseline)), dtype=np.float64)
    if values.shape != (2**d,) or not np.isfinite(values).all():
        raise InvalidArgumentError("function", f"{2**d} finite values", f"shape {values.shape}")
    sizes = present.sum(axis=1)
    weight_of_size = np.array([1 / (d * comb(d - 1, size)) for size in range(d)])
    shares = np.empty(d)
    for i in range(d):
        without = subsets[~present[:, i]]
        gains = values[without | (1 << i)] - values[without]
        shares[i] = weight_of_size[sizes[without]] @ gains
    return float(values[0]), shares


def shapley_of_maximum(values: Float) -> Float:
    """Return the Shapley values of the maximum of non-negative numbers, compared with 0.

    All numbers share the step from 0 to the smallest; all but the smallest share the next step, and
    so on. Equal values get equal shares.

    References
    ----------
    S. C. Littlechild, G. Owen, "A simple expression for the Shapley value in a special case",
    Management Science 20 (1973).

    Examples
    --------
    >>> shapley_of_maximum(np.array([0.25, 1.0, 0.25])).round(4).tolist()
    [0.0833, 0.8333, 0.0833]
    """
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=0.0) / np.arange(len(values), 0, -1)
    shares = np.empty(len(values))
    shares[order] = np.cumsum(steps)
    return shares


def mixture_breakdown(
    function: Callable[[Float], Float],
    names: Sequence[str],
    inputs: Float,
    baseline: Float,
    breakdowns: Sequence[Breakdown | None] | None = None,
    scale: Scale = "log-odds",
) -> Breakdown:
    """Return the breakdown of a function of a few inputs.

    Parameters
    ----------
    function : callable
        Maps points, one per row, shape (p, d), to values on `scale`, shape (p,).
    names : sequence of str
        Names of the d inputs.
    inputs, baseline : ndarray of float64, shape (d,)
        The inputs of the row, and those that it is compared with (such as their means).
    breakdowns : sequence of Breakdown or None, optional
        The breakdown of each input. The share of an input is divided among its neighbours and
        features in proportion to their own shares; an input without terms, or whose terms nearly
        cancel, remains one term.
    scale : {"score", "log-odds"}
        Whether the parts add up to the score or to its log-odds.

    Notes
    -----
    Calls `function` once, with 2^d points. At most 16 inputs are allowed.

    Examples
    --------
    The second of two inputs counts twice; the first is the sum of two neighbours' votes.

    >>> near = Breakdown(0.0, (Terms("neighbor", np.array([4, 9]), np.array([0.25, 0.75])),))
    >>> both = mixture_breakdown(
    ...     lambda points: points[:, 0] + 2 * points[:, 1] - 1,
    ...     ["kNN", "ridge"],
    ...     np.array([1.0, 0.5]),
    ...     np.zeros(2),
    ...     [near, None],
    ... )
    >>> both.base, both.total, [(terms.kind, terms.shares.tolist()) for terms in both.terms]
    (-1.0, 1.0, [('neighbor', [0.25, 0.75]), ('input', [1.0])])
    """
    if len(names) != len(inputs):
        raise InvalidArgumentError("names", f"{len(inputs)} names, one per input", len(names))
    base, shares = exact_shapley(function, inputs, baseline)
    return divided(base, shares, names, breakdowns, scale)


def divided(
    base: float,
    shares: Float,
    names: Sequence[str],
    breakdowns: Sequence[Breakdown | None] | None,
    scale: Scale = "log-odds",
) -> Breakdown:
    """Return the breakdown of a mixture by the shares of its inputs, each divided by its terms."""
    known = [None] * len(names) if breakdowns is None else breakdowns
    terms: list[Terms] = []
    facts = {}
    for i, (name, share, own) in enumerate(zip(names, shares.tolist(), known, strict=True)):
        facts[name] = share
        split = () if own is None else own.splitting(share)
        terms += split or (Terms("input", np.array([i]), np.array([share]), (name,)),)
    return Breakdown(base, tuple(terms), scale, facts)
