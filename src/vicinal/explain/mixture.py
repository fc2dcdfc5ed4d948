"""Explain a mixture of a few scores by the Shapley values of its inputs."""

from collections.abc import Callable, Sequence

import numpy as np

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal.explain.breakdown import Breakdown, Scale, Terms
from vicinal.explain.shapley import exact_shapley


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
    known = [None] * len(names) if breakdowns is None else breakdowns
    terms: list[Terms] = []
    facts = {}
    for i, (name, share, own) in enumerate(zip(names, shares.tolist(), known, strict=True)):
        facts[name] = share
        split = () if own is None else own.splitting(share)
        terms += split or (Terms("input", np.array([i]), np.array([share]), (name,)),)
    return Breakdown(base, tuple(terms), scale, facts)
