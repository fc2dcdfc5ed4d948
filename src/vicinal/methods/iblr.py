r"""IBLR-ML: neighbours' labels as features of a logistic regression.

One regression per label on the shares of the neighbours that have *each* label, so that one label
may be evidence for or against another:

.. math::

    \phi_j(x) &= C_x(j) / |N(x)|, \qquad j = 1, \dots, L \\
    p(l) &= \sigma\Big(b_l + \sum_{j=1}^L \alpha_{jl} \, \phi_j(x)\Big), \qquad
    \sigma(z) = 1 / (1 + e^{-z})

with row i excluded from its own neighbours in ``fit``. IBLR-ML+ adds the features of *x* to the
:math:`\phi_j`. A label that all or no training rows have scores 1 or 0.

References
----------
W. Cheng, E. Hüllermeier, "Combining instance-based learning and logistic regression for multilabel
classification", Machine Learning 76 (2009).

For label *l*, with features :math:`f_i` and truth :math:`y_i \in \{0, 1\}`,

.. math::

    \min_{w, b} \; \tfrac12 \lVert w \rVert^2 + C \sum_i \log(1 + e^{z_i}) - y_i z_i, \qquad
    z_i = w \cdot f_i + b,

which is scikit-learn's convention for *C*; an infinite C means no penalty. There is one L-BFGS per
label, but a step of many labels is one sparse product, so that the cost is that of the products.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from vicinal._core.arrays import BLOCK_CELLS, Bool, Csr, Features, Float, Int
from vicinal._core.checks import check_flag, check_real
from vicinal._core.state import State, read_array, read_count, read_plain
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr
from vicinal.decision import Threshold
from vicinal.errors import InvalidArgumentError, ModelFormatError, warn_user
from vicinal.explanation.breakdown import Breakdown, Terms, linear_breakdown
from vicinal.graph import NeighborGraph, neighbor_cardinality, votes
from vicinal.methods._formulas import neighbor_places
from vicinal.methods.fold import VoteScoring
from vicinal.methods.incremental import IncrementalEstimator
from vicinal.methods.registry import FEW_K, Method
from vicinal.methods.training import EveryLabel, Training, check_cells, check_given, read_indicator
from vicinal.scores import Scores

GROUP = 64
"""Maximum number of labels solved together."""
TOLERANCE = 1e-8
"""Largest derivative of the mean loss left at the end."""
MAX_STEPS = 1000
MEMORY = 10
"""Past steps that L-BFGS remembers."""

Objective: TypeAlias = Callable[[Float, Int], tuple[Float, Float]]
"""Maps parameters (one column per function) and function indices to values and gradients."""


def fit_logistic(features: Csr, Y: Csr, C: float, n_jobs: int | None = None) -> tuple[Float, Float]:
    """Return weights (d, L) and intercepts (L,) of one logistic regression per label."""
    n_rows, n_labels = Y.shape
    size = max(1, min(GROUP, BLOCK_CELLS // max(n_rows, 1)))
    by_label = Y.tocsc()
    backwards = features.T.tocsr()

    def solve(start: int) -> tuple[Float, Bool]:
        truth = by_label[:, start : start + size].toarray().astype(np.float64)
        regression = Regression(features, backwards, truth, 1 / (C * n_rows))
        return minimise(regression, regression.start())

    starts = range(0, n_labels, size)
    with ThreadPoolExecutor(thread_count(n_jobs)) as pool:
        solved = list((map if len(starts) == 1 else pool.map)(solve, starts))  # no thread for one
    converged = np.concatenate([np.ones(0, np.bool_), *(done for _, done in solved)])
    unsolved = np.count_nonzero(~converged)
    if unsolved:
        warn_user(
            f"{unsolved} of {len(converged)} logistic regressions did not converge: "
            "scale the features, or lower C",
            ConvergenceWarning,
        )
    nothing = np.empty((features.shape[1] + 1, 0))
    parameters = np.concatenate([nothing, *(columns for columns, _ in solved)], axis=1)
    return np.ascontiguousarray(parameters[:-1]), parameters[-1].copy()


@dataclass(frozen=True, eq=False)
class Regression:
    """The mean loss of some labels, as functions of weights and, in the last row, intercepts."""

    features: Csr
    backwards: Csr
    truth: Float
    penalty: float

    def start(self) -> Float:
        """Return the starting point: the best intercepts without features."""
        parameters = np.zeros((self.features.shape[1] + 1, self.truth.shape[1]))
        share = self.truth.mean(axis=0)
        parameters[-1] = np.log(share) - np.log1p(-share)
        return parameters

    def __call__(self, parameters: Float, labels: Int) -> tuple[Float, Float]:
        """Return losses and gradients of these labels."""
        weights, truth, n_rows = parameters[:-1], self.truth[:, labels], len(self.truth)
        margin = self.features @ np.ascontiguousarray(weights) + parameters[-1]
        small = np.exp(-np.abs(margin))
        losses = np.maximum(margin, 0) + np.log1p(small) - truth * margin
        residual = np.where(margin >= 0, 1, small) / (1 + small) - truth
        gradient = np.empty_like(parameters)
        gradient[:-1] = self.backwards @ residual / n_rows + self.penalty * weights
        gradient[-1] = residual.sum(axis=0) / n_rows
        squares = self.penalty / 2 * np.square(weights).sum(axis=0)
        return losses.sum(axis=0) / n_rows + squares, gradient


def minimise(objective: Objective, start: Float) -> tuple[Float, Bool]:
    """Minimise smooth convex functions, one per column, by L-BFGS.

    J. Nocedal, S. Wright, "Numerical Optimization", 2nd edition, algorithms 7.4 and 7.5.
    """
    at = start
    value, gradient = objective(at, np.arange(at.shape[1]))
    past: deque[tuple[Float, Float, Float]] = deque(maxlen=MEMORY)
    scale = np.ones(at.shape[1])
    active = np.abs(gradient).max(axis=0) > TOLERANCE
    for _ in range(MAX_STEPS):
        if not active.any():
            break
        direction = -_preconditioned(gradient, past, scale)
        direction[:, ~active] = 0
        moved, new_at, value, new_gradient = _step(objective, at, value, gradient, direction)
        step, change = new_at - at, new_gradient - gradient
        curvature = (step * change).sum(axis=0)
        usable = curvature > 0
        inverse = np.divide(1, curvature, out=np.zeros_like(curvature), where=usable)
        np.divide(curvature, np.square(change).sum(axis=0), out=scale, where=usable)
        past.append((step, change, inverse))
        at, gradient = new_at, new_gradient
        active &= moved & (np.abs(gradient).max(axis=0) > TOLERANCE)
    return at, ~active


def _preconditioned(
    gradient: Float, past: deque[tuple[Float, Float, Float]], scale: Float
) -> Float:
    """Return the gradient times the L-BFGS estimate of the inverse Hessian (two-loop recursion)."""
    result = gradient.copy()
    weights = []
    for step, change, inverse in reversed(past):
        weight = inverse * (step * result).sum(axis=0)
        result -= weight * change
        weights.append(weight)
    result *= scale
    for (step, change, inverse), weight in zip(past, reversed(weights), strict=True):
        result += (weight - inverse * (change * result).sum(axis=0)) * step
    return result


def _step(
    objective: Objective, at: Float, value: Float, gradient: Float, direction: Float
) -> tuple[Bool, Float, Float, Float]:
    """Line search along `direction`, halving each column's step until Armijo's rule holds."""
    slope = (gradient * direction).sum(axis=0)
    pending = np.flatnonzero(slope < 0)
    moved = np.zeros(at.shape[1], dtype=np.bool_)
    at, value, gradient = at.copy(), value.copy(), gradient.copy()
    length = 1.0
    for _ in range(40):
        if len(pending) == 0:
            break
        trial = at[:, pending] + length * direction[:, pending]
        trial_value, trial_gradient = objective(trial, pending)
        falls = trial_value <= value[pending] + 1e-4 * length * slope[pending]
        done = pending[falls]
        at[:, done], value[done] = trial[:, falls], trial_value[falls]
        gradient[:, done] = trial_gradient[:, falls]
        moved[done] = True
        pending = pending[~falls]
        length /= 2
    return moved, at, value, gradient


LARGE = 2**27
"""Number of weights above which ``fit`` warns: 1 GiB."""


@dataclass(frozen=True, eq=False)
class IBLRScoring(VoteScoring, EveryLabel):
    r"""The weights of the regressions.

    Memory: 8 bytes per weight, which grows with the square of L. Every label has a weight for every
    other, so scores are dense (:mod:`vicinal.methods.training`).
    """

    k: int
    augment: bool
    weights: Float
    intercepts: Float
    Y: Csr

    @classmethod
    def of_votes(
        cls,
        counts: Csr,
        training: Training,
        k: int,
        C: float = 1.0,
        augment: bool = False,
        n_jobs: int | None = None,
    ) -> Self:
        """Fit the regressions of the labels that have both classes."""
        warn_if_large(training, augment)
        near = training.graph.prefix(min(k, training.graph.k))
        X = check_given(training.X, training.n_rows) if augment else None
        features = regressors(counts, near, X)
        weights = np.zeros((features.shape[1], training.n_labels))
        intercepts = np.zeros(training.n_labels)
        mixed = np.flatnonzero(_varies(_positives(training.Y), training.n_rows))
        weights[:, mixed], intercepts[mixed] = fit_logistic(
            features, training.Y[:, mixed], C, n_jobs
        )
        return cls(k, augment, weights, intercepts, training.Y)

    @cached_property
    def positives(self) -> Int:
        """Number of training rows with each label, shape (L,)."""
        return _positives(self.Y)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`, whose features are `X` (needed if augmented)."""
        n_rows, n_labels = self.Y.shape
        check_cells(graph.n_queries, n_labels)
        near = graph.prefix(min(self.k, graph.k))
        n_features = len(self.weights) - n_labels
        rows = check_given(X, graph.n_queries, n_features) if self.augment else None
        features = regressors(votes(near, self.Y), near, rows)
        probability = expit(features @ self.weights + self.intercepts)
        constant = ~_varies(self.positives, n_rows)
        probability[:, constant] = (self.positives > 0)[constant]
        return Scores.dense(probability, neighbor_cardinality(near, self.Y))

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        r"""Return log-odds: :math:`b_l`, and the weights of a neighbour's labels over :math:`|N|`.

        .. math:: \log\frac{p(l)}{1 - p(l)} = b_l
            + \sum_{a \in N(x)} \frac{1}{|N(x)|} \sum_{j \in Y_a} \alpha_{jl}

        IBLR-ML+ adds a part per feature. A label that all or no rows carry scores its base.
        """
        n_rows, n_labels = self.Y.shape
        places = neighbor_places(graph, self.k)
        own = as_csr(check_given(X, 1, len(self.weights) - n_labels)) if self.augment else None
        found = []
        for label in labels:
            positives = int(self.positives[label])
            if not 0 < positives < n_rows:
                found.append(Breakdown(float(positives > 0), facts={"training_rows": positives}))
                continue
            weights = self.weights[:, label]
            shares = self.Y[places] @ weights[:n_labels] / max(len(places), 1)
            near = Breakdown(
                float(self.intercepts[label]), (Terms("neighbor", places, shares),), "log-odds"
            )
            if own is not None:
                near = near.plus(linear_breakdown(0.0, own, weights[n_labels:], "log-odds"))
            found.append(near)
        return found

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        k, Y = read_count(state, "k"), read_indicator(state, "Y")
        augment, n_labels = read_plain(state, "augment", bool), Y.shape[1]
        weights = read_array(state, "weights", np.float64, (None, n_labels))
        n_features = len(weights) - n_labels
        if n_features < 0 or (n_features > 0 and not augment):
            raise ModelFormatError(f"weights: expected {n_labels} rows, got {len(weights)}")
        return cls(k, augment, weights, read_array(state, "intercepts", np.float64, (n_labels,)), Y)


def regressors(counts: Csr, graph: NeighborGraph, X: Features | None) -> Csr:
    """Return the shares of the neighbours that carry each label, then the features if given."""
    shares = counts.astype(np.float64)
    shares.data /= np.repeat(graph.found, np.diff(counts.indptr))
    if X is None:
        return shares
    own = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    together: Csr = sparse.hstack([shares, own.astype(np.float64)], format="csr")
    return together


def warn_if_large(training: Training, augment: bool) -> None:
    """Warn if the weights take more than 1 GiB."""
    n_labels = training.n_labels
    n_features = training.X.shape[1] if augment and training.X is not None else 0
    n_weights = n_labels * (n_labels + n_features)
    if n_weights > LARGE:
        warn_user(
            f"IBLR fits {n_labels} regressions on {n_labels + n_features} features: its weights "
            f"take {n_weights * 8 / 2**30:.0f} GiB"
        )


def _positives(Y: Csr) -> Int:
    """Return the number of rows with each label."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def _varies(positives: Int, n_rows: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which labels some rows carry and some do not."""
    return (positives > 0) & (positives < n_rows)


@dataclass(eq=False, repr=False)
class IBLR(IncrementalEstimator):
    """IBLR-ML: one logistic regression per label on the labels of the neighbours.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, k.
    C : float
        Inverse strength of the L2 penalty, as in scikit-learn's ``LogisticRegression``;
        ``numpy.inf`` for no penalty.
    augment : bool
        Add the row's own features to the regression (IBLR-ML+). They should be on one scale.

    Notes
    -----
    ``partial_fit`` and ``forget`` update the graph and fit the regressions again from the start, so
    that the model equals one fitted from scratch. That takes as long as ``fit`` without
    its search: one row changes a share of a neighbour's label, and with it every weight a little.

    References
    ----------
    W. Cheng, E. Hüllermeier, "Combining instance-based learning and logistic regression for
    multilabel classification", Machine Learning 76 (2009). The formulas are in
    :mod:`vicinal.methods.iblr`.

    Examples
    --------
    >>> import numpy as np
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> Y = np.array([[1, 1], [1, 1], [0, 1], [0, 1]])
    >>> model = IBLR(n_neighbors=1).fit(X, Y)
    >>> model.predict([[0.4], [10.2]])
    array([[1, 1],
           [0, 1]])
    """

    method = Method(
        name="iblr",
        grid={"C": (0.1, 1.0, 10.0), "n_neighbors": FEW_K},
        cost="slow",
        rule=Threshold(0.5, inclusive=True),
        scoring=(IBLRScoring,),
    )

    n_neighbors: int = 10
    C: float = 1.0
    augment: bool = False

    def _fit_scoring(self, training: Training) -> IBLRScoring:
        """Fit the regressions."""
        return IBLRScoring.fit(training, self.n_neighbors, *self._settings(), self.n_jobs)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[IBLRScoring]:
        """Count the votes once for all k."""
        return IBLRScoring.fit_sweep(training, ks, *self._settings(), self.n_jobs)

    def _settings(self) -> tuple[float, bool]:
        """Return ``C`` and ``augment``, checked."""
        augment = check_flag("augment", self.augment)
        if isinstance(self.C, float) and np.inf == self.C:
            return self.C, augment
        C = check_real("C", self.C)
        if C <= 0:
            raise InvalidArgumentError("C", "a number above 0, or infinity", C)
        return C, augment
