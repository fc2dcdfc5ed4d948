r"""Orthonormalised partial least squares.

.. math::

    \max_W \operatorname{tr}\left(W^\top X^\top Y Y^\top X W\right)
    \quad\text{s.t.}\quad W^\top (X^\top X + \gamma I) W = I

The projected columns are orthogonal, and together they are the best r columns for predicting the
labels by least squares.

References
----------
J. Arenas-García, K. B. Petersen, L. K. Hansen, "Sparse kernel orthonormalized PLS for feature
extraction in large data sets", NIPS 19 (2006).
"""

from typing import Self

from vicinal._base.arrays import Float
from vicinal._base.fitting import all_or_nothing
from vicinal._base.threads import on_one_blas_thread
from vicinal._base.validation import check_flag
from vicinal.persistence import register
from vicinal.reduction._centred import CentredRows
from vicinal.reduction._components import (
    check_components,
    check_regularization,
    directions_wanted,
    report_found,
)
from vicinal.reduction._directions import leading_directions
from vicinal.reduction._projection import LinearProjection, as_numbers


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

    strengths_: Float
    _learned = ("strengths_",)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        regularization: float = 1e-3,
        center: bool = True,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.center = center

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
