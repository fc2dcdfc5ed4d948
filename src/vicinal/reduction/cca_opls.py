r"""Canonical correlation analysis and partial least squares between features and labels.

With X and Y centred, the directions w of the features whose projection correlates most with some
combination of the labels (CCA) [1]_ solve

.. math::

    X^\top Y (Y^\top Y + \gamma_y I)^{-1} Y^\top X \, w = \rho^2 (X^\top X + \gamma_x I) \, w,
    \qquad W^\top (X^\top X + \gamma_x I) W = I

Orthonormalised partial least squares (OPLS) [2]_ solves

.. math::

    \max_W \operatorname{tr}\left(W^\top X^\top Y Y^\top X W\right)
    \quad\text{s.t.}\quad W^\top (X^\top X + \gamma I) W = I

The projected columns are orthogonal, and together they are the best r columns for predicting the
labels by least squares.

References
----------
.. [1] L. Sun, S. Ji, J. Ye, "Canonical correlation analysis for multilabel classification: a
   least-squares formulation, extensions, and analysis", IEEE Transactions on Pattern Analysis and
   Machine Intelligence 33 (2011).
.. [2] J. Arenas-García, K. B. Petersen, L. K. Hansen, "Sparse kernel orthonormalized PLS for
   feature extraction in large data sets", NIPS 19 (2006).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np

from vicinal._core.checks import all_or_nothing, check_flag
from vicinal._core.threads import on_one_blas_thread
from vicinal.persistence import register
from vicinal.reduction._eigen import (
    check_components,
    check_regularization,
    directions_wanted,
    leading_directions,
    report_found,
)
from vicinal.reduction._projection import CentredRows, LinearProjection, as_numbers


@dataclass(eq=False, repr=False)
class LabelCCA(LinearProjection):
    """Project onto the directions that correlate most with the labels.

    Parameters
    ----------
    n_components : int or None
        Number of output columns; None for all directions, at most one per label. If more are
        requested than exist, all existing ones are returned with a warning.
    regularization : float
        The two γ are this value times the mean eigenvalue of XᵀX and of YᵀY.

    Attributes
    ----------
    projection_ : ndarray of float64, shape (m, r)
        The W above.
    correlations_ : ndarray of float64, shape (r,)
        The ρ, descending; at most 1.

    Notes
    -----
    Square matrices are limited to 512 MiB and are built over features, rows or labels, whichever
    are few; beyond that only products with X and Y are used. Sparse rows are not made dense.

    Examples
    --------
    The second feature determines the label, up to its scale:

    >>> X = [[9.0, 0.0], [-9.0, 0.0], [9.0, 2.0], [-9.0, 2.0]]
    >>> reduce = LabelCCA(regularization=1e-9).fit(X, [[0], [0], [1], [1]])
    >>> reduce.correlations_.round(6)
    array([1.])
    >>> reduce.transform(X).ravel().round(6)
    array([-0.5, -0.5,  0.5,  0.5])
    """

    _learned = ("correlations_",)

    n_components: int | None = None
    _: KW_ONLY
    regularization: float = 1e-3

    @all_or_nothing
    @on_one_blas_thread
    def fit(self, X: object, Y: object) -> Self:
        """Find the directions of rows `X` with labels `Y`."""
        self._check_params()
        features, labels = self._read_both(X, Y, at_least=2)
        rows, targets = CentredRows(features), CentredRows(as_numbers(labels))
        wanted = directions_wanted(self.n_components, labels.shape[1])
        gamma_x, gamma_y = (self.regularization * part.mean_strength() for part in (rows, targets))
        found, strengths = leading_directions(rows, targets, gamma_x, wanted, gamma_y)
        report_found(self.n_components, found.shape[1])
        self.projection_, self.correlations_ = found, np.sqrt(strengths)
        self.offset_ = rows.mean @ found
        return self

    def _check_params(self) -> None:
        """Raise for parameters that ``fit`` would reject."""
        check_components(self.n_components)
        check_regularization(self.regularization)


register("reduction.LabelCCA", LabelCCA)


@dataclass(eq=False, repr=False)
class OPLS(LinearProjection):
    """Project onto the columns from which least squares predicts the labels best.

    Parameters
    ----------
    n_components : int or None
        Number of output columns; None for all directions, at most one per label. If more are
        requested than exist, all existing ones are returned with a warning.
    regularization : float
        γ is this value times the mean eigenvalue of the scatter matrix XᵀX.
    center : bool
        Whether to centre X. The centred projection equals that of :class:`~vicinal.reduction.MDDM`
        with ``constraint="uncorrelated"``.

    Attributes
    ----------
    projection_ : ndarray of float64, shape (m, r)
        The W above.
    strengths_ : ndarray of float64, shape (r,)
        The eigenvalues, descending.

    Notes
    -----
    Square matrices are limited to 512 MiB and are built over features, rows or labels, whichever
    are few; beyond that only products with X and Y are used. Sparse rows are not made dense.

    Examples
    --------
    The label follows the second feature; the first varies more:

    >>> X = [[9.0, 0.0], [-9.0, 0.0], [9.0, 2.0], [-9.0, 2.0]]
    >>> reduce = OPLS(n_components=1, regularization=1e-9).fit(X, [[0], [0], [1], [1]])
    >>> reduce.transform(X).ravel().round(6)
    array([-0.5, -0.5,  0.5,  0.5])
    """

    _learned = ("strengths_",)

    n_components: int | None = None
    _: KW_ONLY
    regularization: float = 1e-3
    center: bool = True

    @all_or_nothing
    @on_one_blas_thread
    def fit(self, X: object, Y: object) -> Self:
        """Find the directions of rows `X` with labels `Y`."""
        self._check_params()
        features, labels = self._read_both(X, Y, at_least=2)
        rows = CentredRows(features, center=self.center)
        targets = CentredRows(as_numbers(labels), center=False)
        penalty = self.regularization * rows.mean_strength()
        wanted = directions_wanted(self.n_components, labels.shape[1])
        found, strengths = leading_directions(rows, targets, penalty, wanted)
        report_found(self.n_components, found.shape[1])
        self.projection_, self.strengths_ = found, strengths
        self.offset_ = rows.mean @ found
        return self

    def _check_params(self) -> None:
        """Raise for parameters that ``fit`` would reject."""
        check_components(self.n_components)
        check_regularization(self.regularization)
        check_flag("center", self.center)


register("reduction.OPLS", OPLS)
