r"""Global ridge: one linear model of all labels, which learns a row by a rank-one update.

.. math::

    A = \Phi^T \Phi + \lambda I, \quad W = A^{-1} \Phi^T (Y - \bar y), \quad
    f(x, l) = \bar y_l + \phi(x)^T W_l

φ(x) is the row itself, of length one, where features are few; else its kernel with at most
:data:`MOST_UNKNOWNS` training rows of the last fit, the landmarks *Z*:
:math:`\phi(x) = C^{-1} \kappa(Z, x)` with :math:`C C^T = \kappa(Z, Z)`. If all rows are landmarks,
that is kernel ridge regression. Landmarks and :math:`\bar y` are constants of the last fit.

The leave-one-out score of a training row is
:math:`\bar y + (\phi^T W - h (y - \bar y)) / (1 - h)` with :math:`h = \phi^T A^{-1} \phi`.

A row that is learned (sign +1) or forgotten (−1) changes

.. math::

    u = A^{-1} \phi, \quad c = 1 / (1 \pm \phi^T u), \quad
    W' = W \pm c \, u \, (y - \bar y - \phi^T W), \quad A'^{-1} = A^{-1} \mp c \, u u^T

The updates of the inverse are kept as a list and folded in by blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.csr import take_rows
from vicinal._core.state import (
    State,
    damage_if_refused,
    read_array,
    read_count,
    read_plain,
    read_value,
)
from vicinal._core.validation import as_csr, check_features
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation.breakdown import Breakdown, Terms
from vicinal.methods.label_ridge.solver import gram as gram_of
from vicinal.methods.label_ridge.solver import leverages

MOST_UNKNOWNS = 2048
"""Features or landmarks at most: the inverse takes 32 MiB and below a second."""
MOST_KERNEL_ROWS = 8192
"""Rows up to which landmarks are used: their kernel takes 128 MiB."""
MOST_COEFFICIENTS = 4_000_000
"""Unknowns times labels at most: 32 MiB that a change copies."""
LONGEST_LIST = 32
"""Updates after which the inverse is renewed."""
BLOCK_ROWS = 8192
JITTER = 1e-6


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Training rows of the last fit that rows are compared with.

    Parameters
    ----------
    rows : ndarray or csr_array
        In the view.
    width : float
        2σ² of the Gaussian kernel; 0 for the linear one.
    factor : ndarray of float64
        Lower triangle C.
    """

    rows: Features
    width: float
    factor: Float

    @classmethod
    def choose(cls, seen: Features, width: float) -> Self:
        """Return all rows, or some of them in even steps."""
        n_rows = seen.shape[0]
        step = -(-n_rows // MOST_UNKNOWNS)
        rows = take_rows(seen, np.arange(0, n_rows, step))
        return cls(rows, width, _lower(_kernel(rows, rows, width)))

    def of(self, seen: Features) -> Float:
        """Return φ of rows."""
        kernel = _kernel(self.rows, seen, self.width)
        return linalg.solve_triangular(self.factor, kernel, lower=True, check_finite=False).T


def _kernel(a: Features, b: Features, width: float) -> Float:
    if width > 0:
        return np.exp(cdist(_full(a), _full(b), "sqeuclidean") / -width)
    return np.asarray(_full(as_csr(a) @ as_csr(b).T))


def _full(rows: Features) -> Float:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def _product(rows: Features, labels: Csr) -> Float:
    """Return Φᵀ Y as a dense array."""
    if isinstance(rows, np.ndarray):
        return np.asarray((labels.T @ rows).T)
    return np.asarray((rows.T @ labels).toarray())


def _lower(kernel: Float) -> Float:
    kernel[np.diag_indices_from(kernel)] += JITTER * max(1.0, float(kernel.diagonal().max()))
    return linalg.cholesky(kernel, lower=True, overwrite_a=True, check_finite=False)


@dataclass(frozen=True, eq=False)
class GlobalRidge:
    r"""A fitted ridge.

    Parameters
    ----------
    name : str
    view : int
        The view whose rows it takes.
    alpha : float
        The λ of the formula.
    landmarks : Landmarks or None
        None if φ(x) is the row.
    mean : ndarray of float64, shape (L,)
        :math:`\bar y`; 0 for labels that came later.
    weights : ndarray of float64, shape (u, L)
    inverse : ndarray of float64, shape (u, u), or None
        Without the updates; None in a loaded model until it changes.
    updates : tuple of (ndarray, float)
        *u* and ∓c of each change since.
    """

    name: str
    view: int
    alpha: float
    landmarks: Landmarks | None
    mean: Float
    weights: Float
    inverse: Float | None
    updates: tuple[tuple[Float, float], ...] = ()

    @classmethod
    def fit(
        cls,
        name: str,
        view: int,
        alpha: float,
        landmarks: Landmarks | None,
        seen: Features,
        Y: Csr,
    ) -> Self:
        """Solve for all labels."""
        mean = np.asarray(Y.mean(axis=0), dtype=np.float64).ravel()
        bare = cls(name, view, alpha, landmarks, mean, np.empty((0, 0)), None)
        gram, products = bare._sums(seen, Y)
        inverse = _inverse(gram)
        return replace(bare, weights=inverse @ products, inverse=inverse)

    def _sums(self, seen: Features, Y: Csr) -> tuple[Float, Float]:
        """Return A and Φᵀ(Y − ȳ)."""
        gram: Float = np.zeros(())
        products: Float = np.zeros(())
        labels = Y.astype(np.float64)
        for start in range(0, max(seen.shape[0], 1), BLOCK_ROWS):
            some = self.features(seen[start : start + BLOCK_ROWS])
            gram = gram + gram_of(some, np.float64)
            products = products + _product(some, labels[start : start + BLOCK_ROWS])
            products = products - np.outer(np.asarray(some.sum(axis=0)).ravel(), self.mean)
        gram[np.diag_indices_from(gram)] += self.alpha
        return gram, products

    def features(self, seen: Features) -> Features:
        """Return φ of rows: of length one, or compared with the landmarks."""
        return seen if self.landmarks is None else self.landmarks.of(seen)

    def scores(self, phi: Features) -> Float:
        """Return the score of every row and label."""
        return np.ascontiguousarray(self.mean + phi @ self.weights)

    def scores_without(self, phi: Features, Y: Csr) -> Float:
        """Return the scores of training rows with labels `Y` as if each had been left out."""
        share = np.minimum(leverages(phi, self.current_inverse()), 1.0 - 1e-9)[:, None]
        rest = (phi @ self.weights - share * (Y.toarray() - self.mean)) / (1.0 - share)
        return np.ascontiguousarray(self.mean + rest)

    def terms(self, seen: Features, label: int) -> Breakdown | None:
        """Return the terms of a row's features; None for a Gaussian kernel."""
        marks, weights = self.landmarks, self.weights[:, label]
        if marks is not None:
            if marks.width > 0:
                return None
            alphas = linalg.solve_triangular(marks.factor, weights, lower=True, trans=1)
            weights = as_csr(marks.rows).T @ alphas
        row = as_csr(seen)
        columns = row.indices.astype(np.int64)
        shares = row.data * weights[columns]
        return Breakdown(float(self.mean[label]), (Terms("feature", columns, shares),))

    def current_inverse(self) -> Float:
        """Return the inverse with all updates folded in."""
        if self.inverse is None:
            raise RuntimeError("the inverse of a loaded ridge has to be rebuilt first")
        if not self.updates:
            return self.inverse
        left = np.stack([u for u, _ in self.updates], axis=1)
        return self.inverse + (left * [c for _, c in self.updates]) @ left.T

    def changed(self, phi: Features, Y: Csr, sign: int) -> "GlobalRidge":
        """Return the ridge after rows were learned (`sign` 1) or forgotten (−1)."""
        ridge = self._widened(int(Y.shape[1]))
        full, labels = _full(phi), Y.toarray()
        for row in range(full.shape[0]):
            ridge = ridge._after(full[row], labels[row] - ridge.mean, sign)
        return ridge

    def _after(self, x: Float, y: Float, sign: int) -> "GlobalRidge":
        """Return the ridge after one row changed."""
        used = np.flatnonzero(x)
        if self.inverse is None:
            raise RuntimeError("the inverse of a loaded ridge has to be rebuilt first")
        u = x[used] @ self.inverse[used]
        for other, c in self.updates:
            u = u + (c * float(x[used] @ other[used])) * other
        c = 1.0 / (1.0 + sign * float(x[used] @ u[used]))
        rest = y - x[used] @ self.weights[used]
        ridge = replace(
            self,
            weights=self.weights + np.outer((sign * c) * u, rest),
            updates=(*self.updates, (u, -sign * c)),
        )
        if len(ridge.updates) > LONGEST_LIST:
            ridge = replace(ridge, inverse=ridge.current_inverse(), updates=())
        return ridge

    def _widened(self, n_labels: int) -> "GlobalRidge":
        """Return the ridge with further labels, which no row has had yet."""
        more = n_labels - len(self.mean)
        if not more:
            return self
        weights = np.hstack([self.weights, np.zeros((len(self.weights), more))])
        return replace(self, mean=np.append(self.mean, np.zeros(more)), weights=weights)

    def refitted(self, seen: Features, Y: Csr) -> "GlobalRidge":
        """Return the ridge solved afresh, with the same mean and landmarks."""
        bare = self._widened(int(Y.shape[1]))
        gram, products = bare._sums(seen, Y)
        inverse = _inverse(gram)
        return replace(bare, weights=inverse @ products, inverse=inverse, updates=())

    def ready(self, seen: Features, Y: Csr) -> "GlobalRidge":
        """Return the ridge with an inverse, rebuilt from all rows if it was loaded without."""
        if self.inverse is not None:
            return self
        return replace(self, inverse=_inverse(self._sums(seen, Y)[0]), updates=())

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays, without the inverse."""
        marks = self.landmarks
        return {
            "name": self.name,
            "view": self.view,
            "alpha": self.alpha,
            "mean": self.mean,
            "weights": self.weights,
            "landmarks": None if marks is None else marks.rows,
            "width": 0.0 if marks is None else marks.width,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        mean = read_array(state, "mean", np.float64, (None,))
        weights = read_array(state, "weights", np.float64, (None, len(mean)))
        width = read_plain(state, "width", float)
        landmarks = None
        if read_value(state, "landmarks") is not None:
            with damage_if_refused():
                rows = check_features(state.get("landmarks"), "landmarks")
            if width < 0 or rows.shape[0] != len(weights):
                raise ModelFormatError("landmarks: expected as many rows as weights")
            landmarks = Landmarks(rows, width, _lower(_kernel(rows, rows, width)))
        return cls(
            read_plain(state, "name", str),
            read_count(state, "view", low=0),
            read_plain(state, "alpha", float),
            landmarks,
            mean,
            weights,
            None,
        )


def _inverse(gram: Float) -> Float:
    """Return the inverse of a positive definite matrix, of which the lower triangle is read."""
    factor, failed = linalg.lapack.dpotrf(gram.T, lower=False)
    if not failed:
        inverse, failed = linalg.lapack.dpotri(factor, lower=False, overwrite_c=True)
    if failed:
        raise InvalidArgumentError("X", "values whose squares are finite numbers", "larger ones")
    full: Float = inverse.T
    for row in range(len(full)):  # the other triangle is still that of the factor
        full[row, row + 1 :] = full[row + 1 :, row]
    return full
