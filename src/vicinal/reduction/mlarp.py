r"""ML-ARP: the linear projection under which ML-kNN itself errs least.

.. math:: \min_{P \in R^{m \times r}} \Theta(P), \qquad
    \Theta(P) = \sum_i \mathrm{HL}\left(y_i, \mathrm{MLkNN}(XP, x_i P)\right)

by reduced variable neighbourhood search (:mod:`vicinal.reduction._descent`); the loss stands in
:mod:`vicinal.reduction._objective`.
"""

import itertools
import os
import time
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import progress
from vicinal._base.threads import thread_count
from vicinal._base.validation import check_integer, check_option, check_real
from vicinal._base.warn import warn_user
from vicinal.persistence import register
from vicinal.reduction._descent import descent
from vicinal.reduction._objective import Objective, check_objective
from vicinal.reduction._plotting import plot_loss
from vicinal.reduction._projection import LinearProjection

BACKENDS = ("numpy",)


class MLARP(LinearProjection):
    """Search for the projection that ML-kNN classifies best with.

    The search can be stopped at any time and has its best projection at hand: after `max_iter`
    evaluations, after `max_seconds`, or by Ctrl-C, after which the estimator is fitted and a
    warning says how far it came.

    Parameters
    ----------
    n_components : int
        Columns out; may be more than came in.
    n_neighbors : int
        Of the ML-kNN whose loss is minimised.
    smoothing : float
        Of that ML-kNN; the paper has none.
    max_iter : int or None
        Evaluations after the first; None for no limit but `max_seconds`.
    max_seconds : float or None
        No evaluation starts later than this.
    random_state : int, numpy Generator or None
        The same seed gives the same projection, unless time was the limit.
    backend : {"numpy"}
        Where the loss is evaluated.
    objective : str
        A metric of predicted label sets (:data:`vicinal.metrics.METRICS`); one where more is better
        counts with the opposite sign.
    sigma : float
        Standard deviation of the entries of a step.
    n_jobs : int or None
        Threads of the search for neighbours; None for all.

    Attributes
    ----------
    projection_ : ndarray of float64, shape (m, r)
    history_ : ndarray of float64, shape (n_iter_ + 1,)
        The lowest loss after each evaluation; it never rises.
    n_iter_ : int
        Evaluations after the first.

    Notes
    -----
    Memory: about five matrices of m × r, and the projected rows with their search. Sparse rows are
    multiplied as they are.

    References
    ----------
    "ML-ARP: Multi-Label Adaptative Random Projection", the paper's Eq. 1 and Section 3.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((40, 6))
    >>> Y = (X[:, :1] > 0.5).astype(int)
    >>> reduce = MLARP(n_components=2, max_iter=50, random_state=0).fit(X, Y)
    >>> reduce.transform(X).shape
    (40, 2)
    >>> bool(reduce.history_[-1] < reduce.history_[0])
    True
    """

    history_: Float
    _learned = ("history_",)

    def __init__(
        self,
        n_components: int = 64,
        n_neighbors: int = 5,
        smoothing: float = 0.0,
        max_iter: int | None = 500,
        max_seconds: float | None = None,
        random_state: object = None,
        backend: str = "numpy",
        *,
        objective: str = "hamming-loss",
        sigma: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.backend = backend
        self.objective = objective
        self.sigma = sigma
        self.n_jobs = n_jobs

    def fit(self, X: object, Y: object) -> Self:
        """Search for the projection of rows `X` with labels `Y`."""
        began = time.perf_counter()
        self._check_params()
        rows, labels = self._read_both(X, Y)
        loss_of = Objective(
            rows, labels, self.n_neighbors, self.smoothing, self.objective, self.n_jobs
        )
        shape = int(rows.shape[1]), self.n_components
        steps = descent(loss_of, shape, self.sigma, _generator(self.random_state))
        self._follow(steps, began)
        self.offset_ = np.zeros(self.n_components)
        return self

    def _follow(self, steps: Iterator[tuple[Float, float]], began: float) -> None:
        """Take steps until a limit is met; keep the last best."""
        best, loss = next(steps)
        losses = [loss]
        rounds: Iterable[int] = itertools.count()
        if self.max_iter is not None:
            rounds = range(self.max_iter)
        try:
            for _ in progress(rounds, "ML-ARP", total=self.max_iter):
                if self._out_of_time(began):
                    break
                best, loss = next(steps)
                losses.append(loss)
        except KeyboardInterrupt:
            warn_user(f"interrupted after {len(losses)} evaluations: the best projection is kept")
        self.projection_, self.history_ = best, np.array(losses)

    def _out_of_time(self, began: float) -> bool:
        """Tell whether the last evaluation ended past `max_seconds`."""
        return self.max_seconds is not None and time.perf_counter() - began >= self.max_seconds

    @property
    def n_iter_(self) -> int:
        """Evaluations after the first."""
        return len(self.history_) - 1

    def plot_history(self, path: str | os.PathLike[str]) -> None:
        """Draw the loss against the evaluations into a file (``.png``, ``.svg``, ``.pdf``)."""
        check_is_fitted(self)
        plot_loss(self.history_, self.objective, path)

    def _check_params(self) -> None:
        """Refuse parameters that no fit would take."""
        check_integer("n_components", self.n_components, low=1)
        check_integer("n_neighbors", self.n_neighbors, low=1)
        check_real("smoothing", self.smoothing, low=0.0)
        check_real("sigma", self.sigma, low=0.0)
        check_option("backend", self.backend, BACKENDS)
        check_objective(self.objective)
        thread_count(self.n_jobs)
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter, low=0)
        if self.max_seconds is not None:
            check_real("max_seconds", self.max_seconds, low=0.0)
        if self.max_iter is None and self.max_seconds is None:
            raise InvalidArgumentError("max_iter, max_seconds", "one limit at least", "neither")


def _generator(random_state: object) -> np.random.Generator:
    """Return the generator of random numbers that a user gave, or the seed of."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_integer("random_state", random_state, low=0))


register("reduction.MLARP", MLARP)
