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

import numpy as np

from vicinal._core.arrays import Csr, Float
from vicinal.persistence import register
from vicinal.reduction._eigen import LabelDirections, leading_directions
from vicinal.reduction._projection import CentredRows


@dataclass(eq=False, repr=False)
class LabelCCA(LabelDirections):
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

    def _directions(self, rows: CentredRows, labels: Csr, wanted: int) -> tuple[Float, Float]:
        """Return the directions and their correlations."""
        targets = CentredRows(labels)
        gamma_x, gamma_y = (self.regularization * part.mean_strength() for part in (rows, targets))
        found, strengths = leading_directions(rows, targets, gamma_x, wanted, gamma_y)
        return found, np.sqrt(strengths)


register("reduction.LabelCCA", LabelCCA)


@dataclass(eq=False, repr=False)
class OPLS(LabelDirections):
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

    def _directions(self, rows: CentredRows, labels: Csr, wanted: int) -> tuple[Float, Float]:
        """Return the directions and the eigenvalues."""
        targets = CentredRows(labels, center=False)
        penalty = self.regularization * rows.mean_strength()
        return leading_directions(rows, targets, penalty, wanted)


register("reduction.OPLS", OPLS)
