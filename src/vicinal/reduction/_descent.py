"""Reduced variable neighbourhood search over matrices: random steps, kept if they help."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Float

Loss = Callable[[Float], float]

GROWTH = 1.5
"""Factor for σ after a successful step, if σ is learned."""

SHRINKAGE = GROWTH**-0.25
"""Factor for σ after an unsuccessful step; σ is stable if one step in five succeeds."""


@dataclass(frozen=True)
class Walk:
    """Parameters of the search; those of the paper by default.

    Parameters
    ----------
    sigma : float
        Initial standard deviation of the entries of a step.
    learned : bool
        Whether σ grows after a successful step and shrinks after an unsuccessful one.
    restarts : int
        Maximum number of restarts.
    patience : int
        Number of consecutive unsuccessful steps before a restart.
    """

    sigma: float = 1.0
    learned: bool = False
    restarts: int = 0
    patience: int = 100

    def next_sigma(self, sigma: float, *, helped: bool) -> float:
        """Return the σ of the next step.

        Examples
        --------
        >>> walk = Walk(learned=True)
        >>> sigma = walk.next_sigma(1.0, helped=True)
        >>> for _ in range(4):
        ...     sigma = walk.next_sigma(sigma, helped=False)
        >>> round(sigma, 12)
        1.0
        """
        if not self.learned:
            return sigma
        return sigma * (GROWTH if helped else SHRINKAGE)


def descent(
    loss_of: Loss,
    start: Callable[[], Float],
    walk: Walk,
    rng: np.random.Generator,
    look: Callable[[], Loss] | None = None,
) -> Iterator[tuple[Float, float]]:
    r"""Yield the best matrix so far and its loss after each step, indefinitely.

    1. Start from :math:`P` = `start()`.
    2. Try :math:`P' = P + \Delta P`; keep it if its loss is lower.
    3. If it was kept, try the same :math:`\Delta P` again, else draw another (:func:`draw_step`).

    `look()` returns a cheaper loss, on different rows each time. A step that does not lower it is
    rejected; a step that does is kept only if the true loss is lower too.

    Examples
    --------
    The distance from 9 goes down, and never up:

    >>> rng = np.random.default_rng(0)
    >>> start = lambda: np.zeros((1, 1))
    >>> steps = descent(lambda P: abs(float(P[0, 0]) - 9), start, Walk(), rng)
    >>> losses = [next(steps)[1] for _ in range(30)]
    >>> losses[-1] < losses[0] and losses == sorted(losses, reverse=True)
    True
    """
    best, lowest = _first(loss_of, start)
    yield best, lowest
    anew = walk.restarts
    steps = _one_walk(loss_of, best, lowest, walk, rng, look)
    while True:
        for P, loss in steps:
            if loss < lowest:
                best, lowest = P, loss
            yield best, lowest
        # The patience is exhausted, which only happens while restarts are left.
        anew -= 1
        P, loss = _first(loss_of, start)
        if loss < lowest:
            best, lowest = P, loss
        yield best, lowest
        steps = _one_walk(loss_of, P, loss, walk if anew else _endless(walk), rng, look)


def _first(loss_of: Loss, start: Callable[[], Float]) -> tuple[Float, float]:
    P = start()
    return P, loss_of(P)


def _endless(walk: Walk) -> Walk:
    """Return the parameters of a walk that never ends."""
    return Walk(walk.sigma, walk.learned)


def _one_walk(
    loss_of: Loss,
    best: Float,
    lowest: float,
    walk: Walk,
    rng: np.random.Generator,
    look: Callable[[], Loss] | None,
) -> Iterator[tuple[Float, float]]:
    """Yield the state of one walk after each step, until its patience is exhausted."""
    glance = _Glance(look, best)
    sigma, in_vain = walk.sigma, 0
    step = draw_step(best.shape, sigma, rng)
    while not walk.restarts or in_vain < walk.patience:
        tried = best + step
        loss = loss_of(tried) if glance.promises(tried) else np.inf
        helped = loss < lowest
        sigma = walk.next_sigma(sigma, helped=helped)
        in_vain = 0 if helped else in_vain + 1
        if helped:
            best, lowest = tried, loss
            glance = _Glance(look, best)
        else:
            step = draw_step(best.shape, sigma, rng)
        yield best, lowest


class _Glance:
    """A cheap loss and its value for the best matrix, which a step must improve on."""

    def __init__(self, look: Callable[[], Loss] | None, best: Float) -> None:
        self._loss_of = None if look is None else look()
        self._lowest = np.inf if self._loss_of is None else self._loss_of(best)

    def promises(self, tried: Float) -> bool:
        """Tell whether a full evaluation is worthwhile."""
        return self._loss_of is None or self._loss_of(tried) < self._lowest


def draw_step(shape: tuple[int, ...], sigma: float, rng: np.random.Generator) -> Float:
    r"""Return :math:`\Delta P`: entries from :math:`N(0, \sigma^2)`, each with probability α.

    The mutation rate α is drawn from U[0, 1] first; the other entries are 0.
    """
    rate = rng.random()
    moved = rng.random(shape) < rate
    return np.where(moved, sigma * rng.standard_normal(shape), 0.0)
