"""A mixture of a few scores, explained by Shapley values of its inputs."""

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
        Points as rows, shape (p, d), to values on `scale`, shape (p,).
    names : sequence of str
        What the d inputs are called.
    inputs, baseline : ndarray of float64, shape (d,)
        The inputs of the row, and those it is compared with (such as their means).
    breakdowns : sequence of Breakdown or None, optional
        What each input consists of. Its share is then passed on to its neighbours and features in
        proportion to their own shares; an input without parts, or whose parts nearly cancel, keeps
        its share.
    scale : {"score", "log-odds"}

    Notes
    -----
    Calls `function` once, with 2^d points; at most 16 inputs.

    Examples
    --------
    Of two inputs the second counts twice; the first comes from two neighbours.

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
        raise InvalidArgumentError("names", f"{len(inputs)} names", len(names))
    base, shares = exact_shapley(function, inputs, baseline)
    known = [None] * len(names) if breakdowns is None else breakdowns
    terms: list[Terms] = []
    facts = {}
    for i, (name, share, own) in enumerate(zip(names, shares.tolist(), known, strict=True)):
        facts[name] = share
        split = () if own is None else own.splitting(share)
        terms += split or (Terms("input", np.array([i]), np.array([share]), (name,)),)
    return Breakdown(base, tuple(terms), scale, facts)
