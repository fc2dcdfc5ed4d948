r"""Global ridge: one linear model of all labels, which learns a row by a rank-one update.

.. math::

    A = \Phi^T \Phi + \lambda I, \quad W = A^{-1} \Phi^T (Y - \bar y), \quad
    f(x, l) = \bar y_l + \phi(x)^T W_l

φ(x) is the row itself, scaled to length one; of many features, the strongest ones of the last fit.
Where rows are few, or dense, φ(x) is its kernel with at most :data:`MOST_UNKNOWNS` training
rows of the last fit, the landmarks *Z*: :math:`\phi(x) = C^{-1} \kappa(Z, x)` with
:math:`C C^T = \kappa(Z, Z)`. If all rows are landmarks, that is kernel ridge regression. Features,
landmarks and :math:`\bar y` are constants of the last fit.

The leave-one-out score of a training row is
:math:`\bar y + (\phi^T W - h (y - \bar y)) / (1 - h)` with :math:`h = \phi^T A^{-1} \phi`.

A row that is learned (sign +1) or forgotten (−1) changes

.. math::

    u = A^{-1} \phi, \quad c = 1 / (1 \pm \phi^T u), \quad
    W' = W \pm c \, u \, (y - \bar y - \phi^T W), \quad A'^{-1} = A^{-1} \mp c \, u u^T

The updates are kept as a list of *u*, :math:`\mp c` and :math:`\pm c (y - \bar y - \phi^T W)`, and
folded in by blocks, a part with each of the lessons that follow.
"""

import ctypes
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Self, TypeAlias

import numpy as np
from scipy import linalg
from scipy.linalg import cython_lapack
from scipy.spatial.distance import cdist

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.csr import GrowingArray, bare_csr, checked_csr, full_rows, take_rows
from vicinal._core.progress import may_stop
from vicinal._core.state import (
    State,
    damage_if_refused,
    read_array,
    read_count,
    read_plain,
    read_value,
)
from vicinal._core.threads import in_threads
from vicinal._core.validation import as_csr, check_features
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation.breakdown import Breakdown, Terms
from vicinal.methods.label_ridge.ridge_scoring import read_columns, strongest_columns
from vicinal.methods.label_ridge.solver import gram as gram_of
from vicinal.methods.label_ridge.solver import leverages

MOST_UNKNOWNS = 2048
"""Features or landmarks at most: the inverse takes 32 MiB and below a second."""
MOST_KERNEL_ROWS = 8192
"""Dense rows up to which there are landmarks: their kernel takes 128 MiB."""
MOST_COEFFICIENTS = 16_000_000
"""Unknowns times labels at most: 128 MiB."""
LONGEST_LIST = 64
"""Updates that are folded in together."""
MORE_UPDATES = 64
"""Updates during which they are folded in, a part with each, so that no lesson takes long."""
BLOCK_ROWS = 8192
ROWS_PER_TASK = 256
"""Rows that one thread multiplies at a time."""
JITTER = 1e-6


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Training rows of the last fit that rows are compared with."""

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

    def unfolded(self, weights: Float) -> Float:
        """Return weights of the unknowns as weights of features, for the linear kernel."""
        alphas = linalg.solve_triangular(self.factor, weights, lower=True, trans=1)
        found: Float = as_csr(self.rows).T @ alphas
        return found


@dataclass(frozen=True, eq=False)
class KeptFeatures:
    """The features of the last fit that a ridge takes."""

    kept: Int
    n_features: int
    place_of: Int32 = field(init=False, repr=False)

    @classmethod
    def strongest(cls, seen: Features) -> Self:
        """Return the features with the largest sums of squares."""
        n_features = int(seen.shape[1])
        kept = strongest_columns(seen, MOST_UNKNOWNS)
        return cls(np.arange(n_features) if kept is None else kept, n_features)

    def __post_init__(self) -> None:
        """Note the place of every feature; −1 for those that are left out."""
        place_of = np.full(self.n_features, -1, dtype=np.int32)
        place_of[self.kept] = np.arange(len(self.kept))
        object.__setattr__(self, "place_of", place_of)

    def of(self, seen: Features) -> Csr:
        """Return φ of rows."""
        rows = as_csr(seen)
        places = self.place_of[rows.indices]
        is_kept = places >= 0
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(is_kept)])
        shape = (int(rows.shape[0]), len(self.kept))
        return checked_csr(rows.data[is_kept], places[is_kept], before[rows.indptr], shape)

    def spread(self, weights: Float) -> Float:
        """Return weights of the unknowns as weights of all features."""
        every = np.zeros(self.n_features)
        every[self.kept] = weights
        return every


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
class Updates:
    """Changes since the weights and the inverse were computed."""

    left: Float
    factor: Float
    right: Float
    rooms: tuple[GrowingArray, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Leave spare memory out of pickles."""
        return Updates, (self.left, self.factor, self.right)

    @classmethod
    def none(cls, n_unknowns: int, n_labels: int) -> Self:
        """Return no change."""
        return cls(np.empty((0, n_unknowns)), np.empty(0), np.empty((0, n_labels)))

    def __len__(self) -> int:
        """Return the number of changes."""
        return len(self.factor)

    def and_then(self, u: Float, factor: float, right: Float) -> "Updates":
        """Return these changes and one more."""
        known, count = (self.left, self.factor, self.right), len(self)
        rooms = self.rooms or tuple(GrowingArray(each) for each in known)
        fresh = u[None], np.array([factor]), right[None]
        rooms = tuple(room.extended(count, new) for room, new in zip(rooms, fresh, strict=True))
        left, factors, rights = (room.head(count + 1) for room in rooms)
        return Updates(left, factors, rights, rooms)

    def before(self, last: int) -> "Updates":
        """Return the first changes."""
        return Updates(self.left[:last], self.factor[:last], self.right[:last])

    def after(self, first: int) -> "Updates":
        """Return the changes without the first ones."""
        return Updates(self.left[first:], self.factor[first:], self.right[first:])


class Folding:
    """The first updates of a ridge, of which each lesson that follows folds in a part.

    A thread beside the lessons would take their core, or Python's lock, for some milliseconds.
    Versions that share this write the same numbers.
    """

    def __init__(self, ridge: "GlobalRidge", inverse: Float) -> None:
        self._before, self._updates = (inverse, ridge.weights), ridge.updates.before(LONGEST_LIST)
        self._after = tuple(map(_room_like, self._before, ridge.spare))
        self._spare: Spare = [inverse], [ridge.weights]

    def fold(self, part: int) -> None:
        """Fold in one of :data:`MORE_UPDATES` parts."""
        updates, n_rows = self._updates, len(self._after[0])
        rows = slice(n_rows * part // MORE_UPDATES, n_rows * (part + 1) // MORE_UPDATES)
        left = updates.left[:, rows].T
        changes = (left * updates.factor) @ updates.left, left @ updates.right
        for before, after, change in zip(self._before, self._after, changes, strict=True):
            np.add(before[rows], change, out=after[rows])

    def taken(self, ridge: "GlobalRidge") -> "GlobalRidge":
        """Return a later ridge with the folded matrices."""
        inverse, weights = self._after
        folded = replace(ridge, inverse=inverse, weights=_wider(weights, len(ridge.mean)))
        updates = ridge.updates.after(LONGEST_LIST)
        return replace(folded, updates=updates, folding=None, spare=self._spare)


Spare: TypeAlias = tuple[list[Float], list[Float]]
"""The inverse and the weights of an earlier version, one or none: memory for the next ones."""


def _room_like(matrix: Float, spare: list[Float]) -> Float:
    """Return memory for a matrix of the same shape: that of an earlier version, if nobody has it.

    The system takes milliseconds to give fresh memory, two megabytes at a time.
    """
    with suppress(IndexError):
        taken = [spare.pop()]  # versions share the list: one of them gets it
        fits = taken[0].shape == matrix.shape and taken[0].flags.owndata
        if fits and _references(taken) == ALONE:
            return taken[0]
    return np.empty_like(matrix)


def _references(matrix: list[Float]) -> int:
    """Return how many references there are to the matrix in a list; a view of it has one."""
    return sys.getrefcount(matrix[0])


ALONE = _references([np.empty(0)])


def _wider(matrix: Float, n_columns: int) -> Float:
    """Return a matrix with columns of zeros after its own, itself if it has so many."""
    more = n_columns - matrix.shape[1]
    return np.hstack([matrix, np.zeros((len(matrix), more))]) if more else matrix


@dataclass(frozen=True, eq=False)
class GlobalRidge:
    r"""A fitted ridge."""

    name: str
    view: int
    alpha: float
    basis: "Landmarks | KeptFeatures | None"
    mean: Float
    weights: Float
    inverse: Float | None
    updates: Updates
    folding: Folding | None = None
    spare: Spare = field(default_factory=lambda: ([], []))

    def __getstate__(self) -> dict[str, object]:
        """Leave out spare memory and what is being folded in: it is part of the updates too."""
        return {**vars(self), "folding": None, "spare": ([], [])}

    @classmethod
    def fit(
        cls,
        name: str,
        view: int,
        alpha: float,
        basis: "Landmarks | KeptFeatures | None",
        seen: Features,
        Y: Csr,
    ) -> Self:
        """Solve for all labels."""
        mean = np.asarray(Y.mean(axis=0), dtype=np.float64).ravel()
        bare = cls(name, view, alpha, basis, mean, np.empty((0, 0)), None, Updates.none(0, 0))
        return bare._solved(seen, Y)

    def _solved(self, seen: Features, Y: Csr) -> Self:
        """Return the ridge solved for all labels, with the same mean and basis."""
        gram, products = self._sums(seen, Y)
        inverse = _inverse(gram)
        none = Updates.none(len(inverse), len(self.mean))
        return replace(self, weights=inverse @ products, inverse=inverse, updates=none)

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
        return seen if self.basis is None else self.basis.of(seen)

    def scores(self, phi: Features) -> Float:
        """Return the score of every row and label."""
        return np.ascontiguousarray(self.mean + self._products(phi))

    def _products(self, phi: Features) -> Float:
        """Return φᵀW of rows."""
        n_rows, updates = int(phi.shape[0]), self.updates

        def some(start: int) -> Float:
            rows = phi if n_rows <= ROWS_PER_TASK else phi[start : start + ROWS_PER_TASK]
            found: Float = rows @ self.weights
            if len(updates):  # SciPy would copy all updates for its product with their transpose
                found += (full_rows(rows) @ updates.left.T) @ updates.right
            return found

        if n_rows <= ROWS_PER_TASK:
            return some(0)
        return np.concatenate(in_threads(some, range(0, n_rows, ROWS_PER_TASK)))

    def scores_without(self, phi: Features, Y: Csr) -> Float:
        """Return the scores of training rows with labels `Y` as if each had been left out."""
        share = np.minimum(leverages(phi, self.current_inverse()), 1.0 - 1e-9)[:, None]
        rest = self._products(phi) - share * (Y.toarray() - self.mean)
        rest /= 1.0 - share
        rest += self.mean
        return rest

    def terms(self, seen: Features, label: int) -> Breakdown | None:
        """Return the terms of a row's features; None for a Gaussian kernel."""
        weights = self.weights[:, label] + self.updates.right[:, label] @ self.updates.left
        row = as_csr(seen)
        if isinstance(self.basis, Landmarks):
            if self.basis.width > 0:
                return None
            weights = self.basis.unfolded(weights)
        elif self.basis is not None:
            weights = self.basis.spread(weights)
        columns = row.indices.astype(np.int64)
        shares = row.data * weights[columns]
        return Breakdown(float(self.mean[label]), (Terms("feature", columns, shares),))

    def current_inverse(self) -> Float:
        """Return the inverse with all updates folded in."""
        if self.inverse is None:
            raise RuntimeError("the inverse of a loaded ridge has to be rebuilt first")
        if not len(self.updates):
            return self.inverse
        left, factor = self.updates.left, self.updates.factor
        folded: Float = (left.T * factor) @ left
        folded += self.inverse
        return folded

    def current_weights(self) -> Float:
        """Return the weights with all updates folded in."""
        if not len(self.updates):
            return self.weights
        folded: Float = self.updates.left.T @ self.updates.right
        folded += self.weights
        return folded

    def changed(self, phi: Features, Y: Csr, sign: int) -> "GlobalRidge":
        """Return the ridge after rows were learned (`sign` 1) or forgotten (−1)."""
        ridge = self._widened(int(Y.shape[1]))
        full, labels = _full(phi), Y.toarray()
        for row in range(full.shape[0]):
            may_stop()
            ridge = ridge._after(full[row], labels[row] - ridge.mean, sign)
        return ridge

    def _after(self, x: Float, y: Float, sign: int) -> "GlobalRidge":
        """Return the ridge after one row changed."""
        used = np.flatnonzero(x)
        if self.inverse is None:
            raise RuntimeError("the inverse of a loaded ridge has to be rebuilt first")
        values, updates = x[used], self.updates
        of_updates = updates.left[:, used] @ values
        u = _row_times(x, used, self.inverse) + (updates.factor * of_updates) @ updates.left
        c = 1.0 / (1.0 + sign * float(values @ u[used]))
        rest = y - _row_times(x, used, self.weights) - of_updates @ updates.right
        ridge = replace(self, updates=updates.and_then(u, -sign * c, (sign * c) * rest))
        n_more = len(ridge.updates) - LONGEST_LIST
        if n_more <= 0:
            return ridge
        folding = ridge.folding or Folding(ridge, self.inverse)
        for part in range(n_more) if ridge.folding is None else (n_more - 1,):
            folding.fold(part)
        ridge = replace(ridge, folding=folding)
        return folding.taken(ridge) if n_more >= MORE_UPDATES else ridge

    def _widened(self, n_labels: int) -> "GlobalRidge":
        """Return the ridge with further labels, which no row has had yet."""
        more = n_labels - len(self.mean)
        if not more:
            return self
        left, factor, right = self.updates.left, self.updates.factor, self.updates.right
        updates = Updates(left, factor, _wider(right, n_labels))
        mean = np.append(self.mean, np.zeros(more))
        return replace(self, mean=mean, weights=_wider(self.weights, n_labels), updates=updates)

    def refitted(self, seen: Features, Y: Csr) -> "GlobalRidge":
        """Return the ridge solved afresh, with the same mean and basis."""
        return self._widened(int(Y.shape[1]))._solved(seen, Y)

    def ready(self, seen: Features, Y: Csr) -> "GlobalRidge":
        """Return the ridge with an inverse, rebuilt from all rows if it was loaded without."""
        if self.inverse is not None:
            return self
        return replace(self, inverse=_inverse(self._sums(seen, Y)[0]))

    def with_room(self) -> "GlobalRidge":
        """Return the same ridge with memory that updates are folded into, which was used once."""
        if self.inverse is None:
            return self
        spare: Spare = ([np.empty_like(self.inverse)], [np.empty_like(self.weights)])
        for (room,) in spare:
            room.fill(0.0)
        return replace(self, spare=spare)

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays.

        The inverse is left out if nothing changed since the fit, because the rows give the same
        one. After changes they give another one in the last digits, which decide between labels
        that score the same.
        """
        basis = self.basis
        marks = basis if isinstance(basis, Landmarks) else None
        state: dict[str, State] = {
            "name": self.name,
            "view": self.view,
            "alpha": self.alpha,
            "mean": self.mean,
            "weights": self.current_weights(),
            "landmarks": None if marks is None else marks.rows,
            "width": 0.0 if marks is None else marks.width,
            "columns": basis.kept if isinstance(basis, KeptFeatures) else None,
            "n_features": basis.n_features if isinstance(basis, KeptFeatures) else 0,
        }
        if self.inverse is not None and len(self.updates):
            left, factor, right = self.updates.left, self.updates.factor, self.updates.right
            state |= {"inverse": self.inverse, "weights before": self.weights}
            state |= {"left": left, "factor": factor, "right": right}
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        mean = read_array(state, "mean", np.float64, (None,))
        weights = read_array(state, "weights", np.float64, (None, len(mean)))
        size, inverse, updates = len(weights), None, Updates.none(*weights.shape)
        if "inverse" in state:
            inverse = read_array(state, "inverse", np.float64, (size, size))
            weights = read_array(state, "weights before", np.float64, weights.shape)
            factor = read_array(state, "factor", np.float64, (None,))
            left = read_array(state, "left", np.float64, (len(factor), size))
            right = read_array(state, "right", np.float64, (len(factor), len(mean)))
            updates = Updates(left, factor, right)
        return cls(
            read_plain(state, "name", str),
            read_count(state, "view", low=0),
            read_plain(state, "alpha", float),
            _read_basis(state, size),
            mean,
            weights,
            inverse,
            updates,
        )


def _row_times(x: Float, used: Int, matrix: Float) -> Float:
    """Return the product of a row, of which some values are used, and a matrix."""
    row: Features = x[None]
    if 2 * len(used) <= len(x):  # a sparse product copies no rows of the matrix
        starts = np.array([0, len(used)], dtype=np.int32)
        row = bare_csr(x[used], used.astype(np.int32), starts, (1, len(x)))
    return np.asarray(row @ matrix).ravel()


def _read_basis(state: Mapping[str, State], n_unknowns: int) -> "Landmarks | KeptFeatures | None":
    """Return the landmarks or columns of a stored ridge, checked."""
    if read_value(state, "columns") is not None:
        n_features = read_count(state, "n_features", low=0)
        kept = read_columns(state, n_features)
        if kept is None or len(kept) != n_unknowns:
            raise ModelFormatError("columns: expected as many as weights")
        return KeptFeatures(kept, n_features)
    width = read_plain(state, "width", float)
    if read_value(state, "landmarks") is None:
        return None
    with damage_if_refused():
        rows = check_features(state.get("landmarks"), "landmarks")
    if width < 0 or rows.shape[0] != n_unknowns:
        raise ModelFormatError("landmarks: expected as many rows as weights")
    return Landmarks(rows, width, _lower(_kernel(rows, rows, width)))


def _inverse(gram: Float) -> Float:
    """Return the inverse of a positive definite matrix, of which the lower triangle is read."""
    full, size, failed = gram.copy(), ctypes.c_int(len(gram)), ctypes.c_int()
    for name in ("dpotrf", "dpotri"):  # for LAPACK, which reads by columns, the triangle is "U"
        _lapack(name)(b"U", size, full.ctypes.data, size, failed)
        if failed.value:
            raise InvalidArgumentError(
                "X", "values whose squares are finite numbers", "larger ones"
            )
    for row in range(len(full)):  # the other triangle is still that of the argument
        full[row, row + 1 :] = full[row + 1 :, row]
    return full


@cache
def _lapack(name: str) -> Callable[..., None]:
    """Return a function of SciPy's LAPACK for a triangle of a matrix.

    SciPy's own wrappers stop all other threads of Python until they return, for a tenth of a second
    with 2,000 unknowns. Functions called through ctypes do not.
    """
    capsule, api = vars(cython_lapack)["__pyx_capi__"][name], ctypes.pythonapi
    kind = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    integer = ctypes.POINTER(ctypes.c_int)
    triangle = (ctypes.c_char_p, integer, ctypes.c_void_p, integer, integer)
    return ctypes.CFUNCTYPE(None, *triangle)(address(capsule, kind(capsule)))
