r"""ML-ARP: the linear projection that minimises the error of ML-kNN.

.. math:: \min_{P \in R^{m \times r}} \Theta(P), \qquad
    \Theta(P) = \sum_i \mathrm{HL}\left(y_i, \mathrm{MLkNN}(XP, x_i P)\right)

by reduced variable neighbourhood search: random steps, kept if they help. Row i is never its own
neighbour, but the counts of ML-kNN include all rows. The prediction for a row only depends on how
many of its neighbours have each label, so the number of wrong cells follows from the counts
:math:`c_l[j]` and :math:`c'_l[j]`:

.. math:: \sum_l \sum_j \left[ r_l(j) < \tfrac12 \right] c_l[j]
    + \left[ r_l(j) \ge \tfrac12 \right] c'_l[j]
"""

import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr, Features, Float, Int
from vicinal._core.checks import all_or_nothing, check_flag, check_integer, check_option, check_real
from vicinal._core.posterior import wrong_cells
from vicinal._core.progress import progress
from vicinal._core.threads import one_blas_thread, thread_count, using_threads
from vicinal.decision import Threshold
from vicinal.distances import EUCLIDEAN
from vicinal.errors import InvalidArgumentError, warn_user
from vicinal.graph import NeighborGraph
from vicinal.index import DenseIndex
from vicinal.index._common import BACKENDS, chosen_backend
from vicinal.methods.mlknn import MLkNNScoring
from vicinal.methods.training import Training
from vicinal.metrics import evaluate, metric_info
from vicinal.persistence import register
from vicinal.reduction._eigen import RANK_TOLERANCE
from vicinal.reduction._projection import CentredRows, LinearProjection, positive_first
from vicinal.reduction.mddm import MDDM

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

    `sigma`: initial standard deviation of the entries of a step.
    `learned`: whether σ grows after a successful step and shrinks after an unsuccessful one.
    `restarts`: maximum number of restarts.
    `patience`: number of consecutive unsuccessful steps before a restart.
    """

    sigma: float = 1.0
    learned: bool = False
    restarts: int = 0
    patience: int = 100

    def next_sigma(self, sigma: float, *, helped: bool) -> float:
        """Return the σ of the next step."""
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
    """
    best, lowest = np.empty(0), np.inf
    for n_left in itertools.count(walk.restarts, -1):
        P = start()
        own = walk if n_left else Walk(walk.sigma, walk.learned)  # never ends
        first = P, loss_of(P)
        for P, loss in itertools.chain([first], _one_walk(loss_of, *first, own, rng, look)):
            if loss < lowest or not best.size:
                best, lowest = P, loss
            yield best, lowest


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
    """The loss of a projection; lower is better."""

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
                tables = scoring.with_label, scoring.without_label
                return wrong_cells(*tables, self.smoothing, self.k) / np.prod(self.Y.shape)
            labels = Threshold(0.5, inclusive=True).decide(scoring.scores(graph))
        value = evaluate(self.Y, labels, metrics=self.metric)[self.metric]
        return -value if metric_info(self.metric).better == "high" else value


@dataclass(frozen=True, eq=False)
class DeviceObjective:
    """The same loss with the projection and the search on a device."""

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


def check_objective(name: object) -> str:
    """Return the name of a metric of label sets that can be optimised."""
    info = metric_info(name)
    if info.needs != "labels" or info.better == "none":
        raise InvalidArgumentError(
            "objective", "a metric of predicted labels that can be optimised", repr(name)
        )
    return info.name


STARTS = ("noise", "pca", "mddm")

SQUARE = 2048
"""Maximum number of features or rows for which a square matrix is built: 32 MiB."""


def start_from(init: str, X: Features, Y: Csr, r: int, rng: np.random.Generator) -> Float:
    """Return an initial projection, shape (m, r).

    ``"noise"`` has entries from N(0, 1). The others contain the directions they find, scaled to the
    same mean size, and columns of zeros if there are fewer than r directions.
    """
    m = int(X.shape[1])
    if init == "noise":
        return rng.standard_normal((m, r))
    directions = _principal(X, r) if init == "pca" else _dependent(X, Y, r)
    lengths = np.linalg.norm(directions, axis=0)
    P = np.zeros((m, r))
    P[:, : directions.shape[1]] = directions / np.where(lengths == 0, 1.0, lengths) * np.sqrt(m)
    return P


def _principal(X: Features, r: int) -> Float:
    """Return the directions in which rows vary most, strongest first."""
    rows = CentredRows(X)
    n, m = rows.shape
    wanted = min(r, n, m)
    if m <= SQUARE:
        values, vectors = eigh(rows.gram_of_columns())
        return _strongest(values, vectors, wanted)
    if n <= SQUARE:
        values, left = eigh(rows.gram_of_rows())
        return rows.transposed_dot(_strongest(values, left, wanted))
    operator = LinearOperator(
        (n, m),
        matvec=lambda v: rows.dot(v.ravel()),
        rmatvec=lambda u: rows.transposed_dot(u.ravel()),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(n, m))
    _, strengths, right = svds(operator, wanted, v0=start)
    return _strongest(strengths.astype(np.float64), right.T.astype(np.float64), wanted)


def _strongest(values: Float, vectors: Float, wanted: int) -> Float:
    """Return the vectors of the largest values, descending, without rounding errors."""
    order = np.argsort(-values, kind="stable")[:wanted]
    order = order[values[order] > RANK_TOLERANCE * max(values.max(initial=0.0), 0.0)]
    return positive_first(vectors[:, order]) if len(order) else vectors[:, :0]


def _dependent(X: Features, Y: Csr, r: int) -> Float:
    """Return the directions that depend most on the labels; none if nothing varies."""
    none = np.zeros((int(X.shape[1]), 0))
    if X.shape[0] < 2:
        return none
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer directions than requested are fine
        try:
            return MDDM(min(r, *X.shape, Y.shape[1])).fit(X, Y).projection_
        except InvalidArgumentError:
            return none


@dataclass(eq=False, repr=False)
class MLARP(LinearProjection):
    """Search for the projection that minimises the error of ML-kNN.

    The search ends after `max_iter` evaluations, after `max_seconds`, or when Ctrl-C is pressed,
    and keeps the best projection so far. After Ctrl-C the estimator is fitted and a warning states
    how many evaluations were made.

    Parameters
    ----------
    n_components : int
        Number of output columns; may exceed the number of features.
    n_neighbors : int
        Number of neighbours of the ML-kNN whose loss is minimised.
    smoothing : float
        Smoothing of that ML-kNN; the paper uses none.
    max_iter : int or None
        Number of evaluations after the first; None for no limit other than `max_seconds`.
    max_seconds : float or None
        No evaluation starts later than this.
    random_state : int, numpy Generator or None
        The same seed gives the same projection, unless `max_seconds` ended the search.
    backend : {"numpy", "torch"}
        Whether the loss is evaluated on the CPU or on a GPU (requires the extra ``vicinal[gpu]``;
        if there is no GPU, the CPU is used with a warning).
    objective : str
        A metric of predicted label sets (:data:`vicinal.metrics.METRICS`); if higher is better, its
        sign is reversed.
    sigma : float
        Initial standard deviation of the entries of a step.
    learned_step : bool
        Whether sigma grows after a successful step and shrinks after an unsuccessful one; it is
        stable if one step in five succeeds. Not in the paper.
    init : {"noise", "pca", "mddm"}
        Starting point of the search: noise as in the paper, the principal directions, or those of
        :class:`MDDM`.
    restarts, patience : int
        Number of restarts, and the number of consecutive unsuccessful steps before each. Not in the
        paper; restarts begin with noise.
    sample : int, float or None
        Number (or share) of rows on which a step is tried first; only if it helps there, it is
        evaluated on all rows, and it is kept if it helps there too. The paper mentions this as
        future work.
    n_jobs : int or None
        Number of threads; None for all cores.
    device : str or None
        Device for the backend ``"torch"``; None for the first GPU.

    Attributes
    ----------
    projection_ : ndarray of float64, shape (m, r)
    history_ : ndarray of float64, shape (1 + evaluations after the first,)
        The lowest loss after each evaluation; it never rises.
    n_iter_ : int
        Evaluations after the first.

    Notes
    -----
    Memory: about five matrices of m × r, and the projected rows with their search. Sparse rows are
    not made dense.

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

    _learned = ("history_",)

    n_components: int = 64
    n_neighbors: int = 5
    smoothing: float = 0.0
    max_iter: int | None = 500
    max_seconds: float | None = None
    random_state: object = None
    backend: str = "numpy"
    _: KW_ONLY
    objective: str = "hamming-loss"
    sigma: float = 1.0
    learned_step: bool = False
    init: str = "noise"
    restarts: int = 0
    patience: int = 100
    sample: float | None = None
    n_jobs: int | None = None
    device: str | None = None

    @all_or_nothing
    def fit(self, X: object, Y: object) -> Self:
        """Search for the projection of rows `X` with labels `Y`."""
        began = time.perf_counter()
        self._check_params()
        rows, labels = self._read_both(X, Y)
        loss_of = self._loss(rows, labels)
        rng = _generator(self.random_state)
        first = iter([self.init])

        def start() -> Float:
            return start_from(next(first, "noise"), rows, labels, self.n_components, rng)

        walk = Walk(self.sigma, self.learned_step, self.restarts, self.patience)
        self._follow(descent(loss_of, start, walk, rng, self._look(loss_of, rng)), began)
        self.offset_ = np.zeros(self.n_components)
        return self

    def _loss(self, rows: Features, labels: Csr) -> Objective | DeviceObjective:
        """Return the objective for the selected backend."""
        loss_of = Objective(
            rows, labels, self.n_neighbors, self.smoothing, self.objective, self.n_jobs
        )
        if chosen_backend(self.backend, self.device) == "numpy":
            return loss_of
        return DeviceObjective.of(loss_of, self.device)

    def _look(
        self, loss_of: Objective | DeviceObjective, rng: np.random.Generator
    ) -> Callable[[], Loss] | None:
        """Return a function that creates cheap losses on samples of rows, or None if not used."""
        n_rows = loss_of.n_rows
        size = sample_size(self.sample, n_rows)
        if size >= n_rows:
            return None
        return lambda: loss_of.of_rows(np.sort(rng.choice(n_rows, size, replace=False)))

    def _follow(self, steps: Iterator[tuple[Float, float]], began: float) -> None:
        """Take steps until a limit is reached; keep the best projection."""
        best, loss = next(steps)
        losses = [loss]
        rounds: Iterable[int] = itertools.count()
        if self.max_iter is not None:
            rounds = range(self.max_iter)
        try:
            for _ in progress(rounds, "ML-ARP", total=self.max_iter):
                spent = time.perf_counter() - began
                if self.max_seconds is not None and spent >= self.max_seconds:
                    break
                best, loss = next(steps)
                losses.append(loss)
        except KeyboardInterrupt:
            warn_user(f"interrupted after {len(losses)} evaluations: the best projection is kept")
        self.projection_, self.history_ = best, np.array(losses)

    @property
    def n_iter_(self) -> int:
        """Evaluations after the first."""
        return len(self.history_) - 1

    def plot_history(self, path: str | os.PathLike[str]) -> None:
        """Plot the loss against the evaluations (``.png``, ``.svg`` or ``.pdf``)."""
        check_is_fitted(self)
        # Importing matplotlib takes long, and a fit does not need it.
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 4.0), layout="constrained")
        axes = figure.add_subplot()
        axes.step(range(len(self.history_)), self.history_, where="post")
        axes.set_xlabel("evaluation")
        axes.set_ylabel(f"{self.objective} on the training rows, leave-one-out")
        figure.savefig(path)

    def _check_params(self) -> None:
        """Raise for parameters that ``fit`` would reject."""
        check_integer("n_components", self.n_components, low=1)
        check_integer("n_neighbors", self.n_neighbors, low=1)
        check_real("smoothing", self.smoothing, low=0.0)
        check_real("sigma", self.sigma, low=0.0)
        check_flag("learned_step", self.learned_step)
        check_option("init", self.init, STARTS)
        check_integer("restarts", self.restarts, low=0)
        check_integer("patience", self.patience, low=1)
        sample_size(self.sample, n_rows=1)
        check_option("backend", self.backend, BACKENDS)
        check_objective(self.objective)
        thread_count(self.n_jobs)
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter, low=0)
        if self.max_seconds is not None:
            check_real("max_seconds", self.max_seconds, low=0.0)
        if self.max_iter is None and self.max_seconds is None:
            raise InvalidArgumentError("max_iter, max_seconds", "at least one limit", "neither")


def sample_size(sample: object, n_rows: int) -> int:
    """Return the sample size: all rows if `sample` is None or larger than the number of rows."""
    if sample is None:
        return n_rows
    if isinstance(sample, float | np.floating):
        share = check_real("sample", sample, low=0.0, high=1.0)
        return min(n_rows, max(2, round(share * n_rows)))
    return min(n_rows, check_integer("sample", sample, low=2))


def _generator(random_state: object) -> np.random.Generator:
    """Return the given random generator, or a new one with the given seed."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_integer("random_state", random_state, low=0))


register("reduction.MLARP", MLARP)
