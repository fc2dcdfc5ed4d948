"""Reduced variable neighbourhood search over matrices: random steps, kept where they help."""

from collections.abc import Callable, Iterator

import numpy as np

from vicinal._base.arrays import Float


def descent(
    loss_of: Callable[[Float], float],
    shape: tuple[int, int],
    sigma: float,
    rng: np.random.Generator,
) -> Iterator[tuple[Float, float]]:
    r"""Yield the best matrix so far and its loss, after each evaluation, without end.

    1. Start from :math:`P \sim N(0, 1)`.
    2. Try :math:`P' = P + \Delta P`; keep it if its loss is lower.
    3. If it was kept, try the same :math:`\Delta P` again, else draw another (:func:`draw_step`).

    Examples
    --------
    The distance from 9 goes down, and never up:

    >>> steps = descent(lambda P: abs(float(P[0, 0]) - 9), (1, 1), 1.0, np.random.default_rng(0))
    >>> losses = [next(steps)[1] for _ in range(30)]
    >>> losses[-1] < losses[0] and losses == sorted(losses, reverse=True)
    True
    """
    best = rng.standard_normal(shape)
    lowest = loss_of(best)
    yield best, lowest
    step = draw_step(shape, sigma, rng)
    while True:
        tried = best + step
        loss = loss_of(tried)
        if loss < lowest:
            best, lowest = tried, loss
        else:
            step = draw_step(shape, sigma, rng)
        yield best, lowest


def draw_step(shape: tuple[int, int], sigma: float, rng: np.random.Generator) -> Float:
    r"""Return :math:`\Delta P`: entries from :math:`N(0, \sigma^2)`, each with probability α.

    The mutation rate α is drawn from U[0, 1] first; the other entries are 0.
    """
    rate = rng.random()
    moved = rng.random(shape) < rate
    return np.where(moved, sigma * rng.standard_normal(shape), 0.0)
