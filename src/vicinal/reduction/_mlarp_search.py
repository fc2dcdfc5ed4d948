r"""Reduced variable neighbourhood search over matrices: random steps, kept if they help.

.. math:: \Theta(P) = \sum_i \mathrm{HL}\left(y_i, h_P(x_i)\right)

:math:`h_P` is ML-kNN fitted on the rows of XP; row i is never its own neighbour, but the counts
include all rows. The prediction for a row only depends on how many of its neighbours have each
label, so the number of wrong cells follows from the counts of ML-kNN, :math:`c_l[j]` and
:math:`c'_l[j]`:

.. math:: \sum_l \sum_j \left[ r_l(j) < \tfrac12 \right] c_l[j]
    + \left[ r_l(j) \ge \tfrac12 \right] c'_l[j]
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int
from vicinal._core.threads import one_blas_thread, using_threads
from vicinal.decision import Threshold
from vicinal.distances import EUCLIDEAN
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.index import DenseIndex
from vicinal.methods.mlknn import MLkNNScoring
from vicinal.methods.training import Training
from vicinal.metrics import evaluate, metric_info

if TYPE_CHECKING:
    from vicinal.gpu import ProjectionLoss


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


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of a projection; lower is better.

    Parameters
    ----------
    X : ndarray or csr_array of float64, shape (n, m)
    Y : csr_array of int32, shape (n, L)
    k : int
    smoothing : float
    metric : str
        A metric of predicted label sets; if higher is better, its sign is reversed.
    n_jobs : int or None
    """

    X: Features
    Y: Csr
    k: int
    smoothing: float
    metric: str = "hamming-loss"
    n_jobs: int | None = None

    def __call__(self, P: Float) -> float:
        """Return the loss of the projection P, shape (m, r)."""
        return self.of_graph(self.graph(P))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    def of_rows(self, rows: Int) -> Self:
        """Return the loss on some of the rows only."""
        return replace(self, X=self.X[rows], Y=self.Y[rows])

    def graph(self, P: Float) -> NeighborGraph:
        """Return the leave-one-out graph of the projected rows."""
        with one_blas_thread():  # so that the last bits do not depend on the number of threads
            projected = np.asarray(self.X @ P)
        width = max(1, min(self.k, len(projected) - 1))
        return DenseIndex(projected, n_jobs=self.n_jobs).query_self(width)

    def of_graph(self, graph: NeighborGraph) -> float:
        """Return the loss of ML-kNN on a leave-one-out graph."""
        with using_threads(self.n_jobs):
            scoring = MLkNNScoring.fit(Training(graph, self.Y), self.k, self.smoothing)
            if self.metric == "hamming-loss":
                return wrong_cells(scoring) / (self.Y.shape[0] * self.Y.shape[1])
            labels = Threshold(0.5, inclusive=True).decide(scoring.scores(graph))
        value = evaluate(self.Y, labels, metrics=self.metric)[self.metric]
        return -value if metric_info(self.metric).better == "high" else value


@dataclass(frozen=True, eq=False)
class DeviceObjective:
    """The same loss with the projection and the search on a device.

    The Hamming loss is computed on the device too; other metrics are computed on the CPU from the
    graph.
    """

    here: Objective
    there: "ProjectionLoss"

    @classmethod
    def of(cls, here: Objective, device: str | None) -> Self:
        """Copy rows and labels to a device."""
        from vicinal.gpu import ProjectionLoss, sparse_rows

        X: object = here.X
        if isinstance(here.X, sparse.csr_array):
            X = sparse_rows(here.X.indptr, here.X.indices, here.X.data, here.X.shape, device)
        parts = here.Y.indptr, here.Y.indices, int(here.Y.shape[1])
        return cls(here, ProjectionLoss(X, *parts, here.k, here.smoothing, device))

    def __call__(self, P: Float) -> float:
        """Return the loss of the projection P, shape (m, r)."""
        if self.here.metric == "hamming-loss":
            return self.there(P)
        ids, values = self.there.graph(P)
        return self.here.of_graph(NeighborGraph(ids, values, EUCLIDEAN.name, len(ids)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.here.n_rows

    def of_rows(self, rows: Int) -> Self:
        """Return the loss on some of the rows only."""
        return replace(self, here=self.here.of_rows(rows), there=self.there.of_rows(rows))


def wrong_cells(scoring: MLkNNScoring) -> int:
    """Count the cells of the training labels that ML-kNN gets wrong.

    Examples
    --------
    Both rows with the first label have one vote for it, and so has one of the two rows without it;
    a vote therefore predicts the label, which is wrong once. For the second label a vote carries no
    information; at a posterior of exactly 0.5 it is predicted, which is wrong for the two rows
    without it.

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 1], [1, 1], [0, 0], [0, 0]], dtype=np.int32))
    >>> with_label, without_label = np.array([[0, 2], [1, 1]]), np.array([[1, 1], [1, 1]])
    >>> wrong_cells(MLkNNScoring(1, 0.0, with_label, without_label, Y))
    3
    """
    predicted = scoring.posterior >= 0.5
    missed = scoring.with_label[~predicted].sum()
    return int(missed + scoring.without_label[predicted].sum())


def check_objective(name: object) -> str:
    """Return the name of a metric of label sets that can be optimised."""
    info = metric_info(name)
    if info.needs != "labels" or info.better == "none":
        raise InvalidArgumentError(
            "objective", "a metric of predicted labels that can be optimised", repr(name)
        )
    return info.name
