"""Label ridge, fitted: coefficients that score rows, and leverages that leave training rows out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Self

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, Int, row_ids
from vicinal._core.csr import take_rows
from vicinal._core.state import State, read_array, read_plain, read_value
from vicinal._core.threads import library_threads, on_one_blas_thread, one_blas_thread
from vicinal._core.validation import as_csr, check_features
from vicinal.errors import InvalidArgumentError, ModelFormatError, warn_user
from vicinal.explanation.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph
from vicinal.methods._formulas import best_micro_f1, best_of, best_weighted_micro_f1, sampled_rows
from vicinal.methods.label_ridge.solver import (
    RIDGE_FOLDS,
    Matrix,
    RidgeSettings,
    Solution,
    check_coefficients,
    dense_bytes,
    dense_system,
    gaussian,
    n_unknowns,
    solve_iteratively,
    usual_gamma,
)
from vicinal.methods.training import EveryLabel, Training, check_given, read_indicator
from vicinal.preprocess._base import reweigh, unit_length
from vicinal.scores import Scores


def read_columns(state: Mapping[str, State], n_features: int) -> Int | None:
    """Return the kept columns, rising."""
    if read_value(state, "columns") is None:
        return None
    columns = read_array(state, "columns", np.int64, (None,))
    if len(columns) and (
        columns[0] < 0 or columns[-1] >= n_features or np.any(np.diff(columns) <= 0)
    ):
        raise ModelFormatError(f"columns: expected rising ids below {n_features}")
    return columns


def read_kernel(
    state: Mapping[str, State], shape: tuple[int, int]
) -> tuple[float | None, Features | None]:
    """Return gamma and the rows of a kernel, or None for both."""
    if read_value(state, "gamma") is None:
        return None, None
    gamma = read_plain(state, "gamma", float)
    try:
        rows = check_features(read_value(state, "rows"), "rows")
    except InvalidArgumentError as error:
        raise ModelFormatError(str(error)) from None
    if rows.shape != shape or gamma <= 0:
        raise ModelFormatError(f"rows: expected shape {shape} and a gamma above 0")
    return gamma, rows


def read_weights(state: Mapping[str, State], n_rows: int) -> Float | None:
    """Return the weights of the training rows; models of earlier versions have none."""
    if state.get("weights") is None:
        return None
    weights = read_array(state, "weights", np.float64, (n_rows,))
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ModelFormatError("weights: expected finite numbers above 0")
    return weights


@dataclass(frozen=True, eq=False)
class RowView:
    """How rows enter the regression."""

    is_unit: bool
    columns: Int | None = None

    def of(self, X: Features) -> Features:
        """Return the rows as the regression takes them; float64."""
        rows = unit_rows(X) if self.is_unit else X.astype(np.float64, copy=False)
        return rows if self.columns is None else rows[:, self.columns]


def unit_rows(X: Features) -> Features:
    """Return rows divided by their Euclidean length, in float64; rows of zeros stay."""
    return reweigh(X, lambda stored: unit_length(stored, stored.data.astype(np.float64)))


def strongest_columns(rows: Features, most: int, weights: Float | None = None) -> Int | None:
    """Return the `most` columns with the largest sums of squares, rising; None if there are fewer.

    Of all choices of so many columns they keep the largest part of the rows' squared length. A row
    of weight w counts w times.
    """
    if rows.shape[1] <= most:
        return None
    if isinstance(rows, np.ndarray):
        each = rows if weights is None else rows * weights[:, None]
        energy = np.einsum("ij,ij->j", each, rows)
    else:
        squares = rows.data**2 if weights is None else rows.data**2 * weights[row_ids(rows)]
        energy = np.bincount(rows.indices, squares, minlength=rows.shape[1])
    return np.sort(np.argsort(-energy, kind="stable")[:most]).astype(np.int64)


MOST_LEVERAGE = 1.0 - 1e-9
"""Above this leverage a row decides its own fit: the other rows' influence is lost in rounding."""
KEPT_CELLS = 2**23
"""Most kernel values that are kept from one regularisation to the next: 64 MiB of float64."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What coefficients are multiplied by."""

    view: RowView
    n_features: int
    gamma: float | None
    rows: Features | None

    def of(self, X: Features) -> Features:
        """Return the features of rows as CSR, or their kernel values for all training rows."""
        # Sparse products add in the order of the columns, so that a row's scores depend neither on
        # the rows around it nor on whether it came dense; nor do products of one row at a time.
        stored = as_csr(self.view.of(X))
        if self.gamma is None or self.rows is None:
            return stored
        return gaussian(stored, self.rows, self.gamma)


def fit_of(inputs: Features, coefficients: Matrix) -> Float:
    """Return the fit of rows without the mean."""
    if not isinstance(inputs, np.ndarray):
        return np.asarray(inputs @ coefficients, dtype=np.float64)
    fit = np.empty((len(inputs), coefficients.shape[1]))
    block = np.zeros((PRODUCT_ROWS, inputs.shape[1]), dtype=inputs.dtype)
    for start in range(0, len(inputs), PRODUCT_ROWS):
        some = inputs[start : start + PRODUCT_ROWS]
        block[: len(some)] = some  # what is left of the rows before does not matter
        fit[start : start + len(some)] = (block @ coefficients)[: len(some)]
    return fit


PRODUCT_ROWS = 32
"""Rows that are multiplied together, always as many: the bits of a row's scores then do not depend
on the rows around it."""


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """Some training rows, each scored by a fit on the other rows."""

    places: slice | Int
    inputs: Features
    Y: Csr

    @classmethod
    def of(cls, inputs: Inputs, training: Training, places: slice | Int) -> Self:
        """Return some of the training rows."""
        X = check_given(training.X, training.n_rows, inputs.n_features)
        return cls(places, inputs.of(take_rows(X, places)), take_rows(training.Y, places))

    def scores(self, coefficients: Matrix, leverage: Float, mean: Float) -> Scores:
        """Return the scores by a fit on the other rows; only the mean includes the row itself.

        If the influence of the other rows is lost in rounding, the score is the mean.
        """
        fit = fit_of(self.inputs, coefficients)
        own = self.Y.toarray() - mean
        h = np.minimum(leverage[self.places], MOST_LEVERAGE)[:, None]
        left_out = (fit - h * own) / (1.0 - h)
        left_out[leverage[self.places] > MOST_LEVERAGE] = 0.0
        return Scores.dense(left_out + mean)


def judge(
    inputs: Inputs, training: Training, mean: Float, judged: Int | None
) -> Callable[[Solution], float]:
    """Return a function from a solution to its best micro-F1 on rows that are left out."""
    places = sampled_rows(training.n_rows) if judged is None else judged

    def prepare() -> LeftOutRows:
        return LeftOutRows.of(inputs, training, places)

    is_small = inputs.gamma is None or len(places) * training.n_rows <= KEPT_CELLS
    prepared = cache(prepare) if is_small else prepare

    def micro_f1(solution: Solution) -> float:
        rows = prepared()
        scores = rows.scores(solution.coefficients, solution.leverage, mean)
        if training.weights is None:
            return best_micro_f1(scores, rows.Y)
        return best_weighted_micro_f1(scores, rows.Y, training.weights[places])

    return micro_f1


FEW_UNKNOWNS = 3000
"""Unknowns up to which one thread solves: within 0.6 s, while several would mostly wait."""


@dataclass(frozen=True, eq=False)
class RidgeScoring(EveryLabel):
    """The coefficients of every label."""

    coefficients: Matrix
    mean: Float
    leverage: Float
    alpha: float
    Y: Csr
    view: RowView
    n_features: int
    gamma: float | None = None
    rows: Features | None = None
    fold_coefficients: tuple[Matrix, ...] = field(default=())
    weights: Float | None = None
    micro_f1: float = 0.0

    @property
    def k(self) -> int:
        """No neighbours are used for scoring."""
        return 0

    @property
    def n_alone(self) -> int:
        """How many training rows decide their own fit: their leave-one-out scores are the mean."""
        return int(np.count_nonzero(self.leverage > MOST_LEVERAGE))

    @classmethod
    def fit(
        cls,
        training: Training,
        settings: RidgeSettings,
        *,
        is_unit: bool,
        max_features: int | None = None,
        judged: Int | None = None,
    ) -> Self:
        """Fit for each α of the settings and keep the best."""
        X = check_given(training.X, training.n_rows)
        view, weights = RowView(is_unit), training.weights
        rows = view.of(X)
        if max_features is not None:
            view = RowView(is_unit, strongest_columns(rows, max_features, weights))
            rows = rows if view.columns is None else rows[:, view.columns]
        mean = _label_means(training.Y, weights)
        gamma = None
        if settings.kernel is not None:
            _check_kernel_weights(settings, weights)
            gamma = usual_gamma(rows) if settings.gamma is None else settings.gamma
        check_coefficients(rows, training.n_labels, gamma, settings)
        is_small = n_unknowns(rows, gamma) <= FEW_UNKNOWNS
        with one_blas_thread() if is_small else library_threads():
            return cls._best(rows, training, mean, gamma, settings, view, judged)

    @classmethod
    def _best(
        cls,
        rows: Features,
        training: Training,
        mean: Float,
        gamma: float | None,
        settings: RidgeSettings,
        view: RowView,
        judged: Int | None,
    ) -> Self:
        """Solve for each α of the settings and keep the best."""
        solve = dense_system(rows, training, mean, gamma, settings)
        if solve is None:
            _check_dense_weights(n_unknowns(rows, gamma), settings, training.weights)
            return cls._fit_iteratively(rows, training, mean, settings, view)
        n_features = check_given(training.X, training.n_rows).shape[1]
        kept = None if gamma is None else rows
        value_of = judge(Inputs(view, n_features, gamma, kept), training, mean, judged)
        is_only = len(settings.alphas) == 1

        def fitted(alpha: float) -> tuple[Self, float]:
            solution = solve(alpha)
            good = 0.0 if is_only else value_of(solution)
            parts = (solution.coefficients, mean, solution.leverage, alpha, training.Y)
            more = (view, n_features, gamma, kept)
            return cls(*parts, *more, weights=training.weights, micro_f1=good), good

        best: Self = best_of(settings.alphas, fitted, climbs=settings.climbs)
        if not np.isfinite(best.coefficients).all() or not np.isfinite(best.leverage).all():
            raise InvalidArgumentError(
                "X", "values whose squares are finite numbers", "larger ones"
            )
        return best

    @classmethod
    def _fit_iteratively(
        cls, rows: Features, training: Training, mean: Float, settings: RidgeSettings, view: RowView
    ) -> Self:
        """Fit by conjugate gradients; training scores are those of folds."""
        n_rows, Y = training.n_rows, training.Y
        if settings.kernel is not None:
            raise InvalidArgumentError(
                "max_memory",
                f"{dense_bytes(n_rows)} bytes, which the kernel of {n_rows} rows takes",
                settings.max_memory,
            )
        alpha = settings.alphas[0]
        warn_user(
            f"LabelRidge: a dense solve of {min(rows.shape)} unknowns would exceed max_memory="
            f"{settings.max_memory}; conjugate gradients with alpha={alpha:g} are used, and "
            f"{RIDGE_FOLDS}-fold instead of leave-one-out scores"
        )
        fold_of = np.arange(n_rows) % RIDGE_FOLDS
        without = tuple(
            solve_iteratively(rows[fold_of != fold], Y[fold_of != fold], mean, alpha)
            for fold in range(min(RIDGE_FOLDS, n_rows))
        )
        W = solve_iteratively(rows, Y, mean, alpha)
        columns = 0 if training.X is None else training.X.shape[1]
        parts = (W, mean, np.zeros(n_rows), alpha, Y, view, columns)
        return cls(*parts, fold_coefficients=without)

    @property
    def _inputs(self) -> Inputs:
        """What the coefficients are multiplied by."""
        return Inputs(self.view, self.n_features, self.gamma, self.rows)

    @on_one_blas_thread
    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the rows of `X`; `graph` is not used."""
        given = check_given(X, graph.n_queries, self.n_features)
        return Scores.dense(fit_of(self._inputs.of(given), self.coefficients) + self.mean)

    @on_one_blas_thread
    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Score some of the training rows, each by a fit on the other rows."""
        if self.fold_coefficients:
            X = self.view.of(check_given(training.X, training.n_rows, self.n_features)[rows])
            fold_of = np.arange(training.n_rows)[rows] % len(self.fold_coefficients)
            scores = np.empty((X.shape[0], len(self.mean)))
            for fold, W in enumerate(self.fold_coefficients):
                scores[fold_of == fold] = X[fold_of == fold] @ W + self.mean
            return Scores.dense(scores)
        left_out = LeftOutRows.of(self._inputs, training, rows)
        return left_out.scores(self.coefficients, self.leverage, self.mean)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return each feature's :math:`x_f w_{fl}`, or each training row's term of a kernel."""
        row = as_csr(self.view.of(check_given(X, graph.n_queries, self.n_features)))
        if self.gamma is not None and self.rows is not None:
            kind, used = "neighbor", np.arange(self.rows.shape[0])
            values = gaussian(row, self.rows, self.gamma)[0]
        else:
            kind, used, values = "feature", row.indices.astype(np.int64), row.data
        ids = used
        if kind == "feature" and self.view.columns is not None:
            ids = self.view.columns[used]
        return [
            Breakdown(
                float(self.mean[label]),
                (Terms(kind, ids, values * self.coefficients[used, label]),),
                facts={"alpha": self.alpha},
            )
            for label in labels
        ]

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays."""
        return {
            "coefficients": self.coefficients,
            "mean": self.mean,
            "leverage": self.leverage,
            "alpha": self.alpha,
            "Y": self.Y,
            "is_unit": self.view.is_unit,
            "columns": self.view.columns,
            "n_features": self.n_features,
            "gamma": self.gamma,
            "rows": self.rows,
            "weights": self.weights,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        n_rows, n_labels = Y.shape
        n_features = read_plain(state, "n_features", int)
        columns = read_columns(state, n_features)
        width = n_features if columns is None else len(columns)
        gamma, rows = read_kernel(state, (n_rows, width))
        height = width if gamma is None else n_rows
        return cls(
            read_array(state, "coefficients", np.float64, (height, n_labels)),
            read_array(state, "mean", np.float64, (n_labels,)),
            read_array(state, "leverage", np.float64, (n_rows,)),
            read_plain(state, "alpha", float),
            Y,
            RowView(read_plain(state, "is_unit", bool), columns),
            n_features,
            gamma,
            rows,
            weights=read_weights(state, n_rows),
        )


def _label_means(Y: Csr, weights: Float | None) -> Float:
    """Return the share of rows, or of their weight, that has each label."""
    if weights is None:
        return np.bincount(Y.indices, minlength=Y.shape[1]) / Y.shape[0]
    sums = np.bincount(Y.indices, weights[row_ids(Y)], minlength=Y.shape[1])
    return np.asarray(sums / weights.sum(), dtype=np.float64)


def _check_kernel_weights(settings: RidgeSettings, weights: Float | None) -> None:
    """Refuse weights besides a width that is read from the distances of rows."""
    if weights is not None and settings.gamma is None:
        expected = "a number where sample_weight is given (the median distance has no weights)"
        raise InvalidArgumentError("gamma", expected, None)


def _check_dense_weights(size: int, settings: RidgeSettings, weights: Float | None) -> None:
    """Refuse weights where scores of the training rows would come from folds."""
    if weights is not None:
        expected = (
            f"at least {dense_bytes(size)} bytes where sample_weight is given: the dense solution "
            f"of {size} unknowns (max_features keeps fewer)"
        )
        raise InvalidArgumentError("max_memory", expected, settings.max_memory)
