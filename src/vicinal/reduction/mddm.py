r"""MDDM: the projection that depends most on the labels.

With linear kernels, the dependence (Hilbert–Schmidt) of projected rows and labels is

.. math:: \operatorname{tr}\left(P^\top X^\top H \, Y Y^\top H X P\right)

where H is the centring matrix. Under :math:`P^\top P = I` the best P are the left singular vectors
of :math:`(HX)^\top Y`; under :math:`P^\top X^\top H X P = I` (uncorrelated components) they solve
the generalised eigenproblem of :mod:`vicinal.reduction._eigen`.

References
----------
Y. Zhang, Z.-H. Zhou, "Multilabel dimensionality reduction via dependence maximization", ACM
Transactions on Knowledge Discovery from Data 4 (2010).
"""

from dataclasses import KW_ONLY, dataclass
from typing import cast

import numpy as np
from scipy.linalg import svd
from scipy.sparse.linalg import LinearOperator, svds

from vicinal._core.arrays import Csr, Float
from vicinal._core.checks import check_option
from vicinal.persistence import register
from vicinal.reduction._eigen import RANK_TOLERANCE, LabelDirections, leading_directions
from vicinal.reduction._projection import CentredRows, positive_first

CONSTRAINTS = ("orthonormal", "uncorrelated")

CROSS_CELLS = 2**23
"""Maximum number of cells of an m × L matrix: 64 MiB of float64."""


@dataclass(eq=False, repr=False)
class MDDM(LabelDirections):
    """Project onto the directions that depend most on the labels.

    Parameters
    ----------
    n_components : int or None
        Number of output columns; None for all directions, at most one per label. If more are
        requested than exist, all existing ones are returned with a warning.
    constraint : {"orthonormal", "uncorrelated"}
        Orthonormal directions, or orthonormal projected columns.
    regularization : float
        Only for ``"uncorrelated"``: γ is this value times the mean eigenvalue of the features'
        scatter matrix, and is added to its diagonal.

    Attributes
    ----------
    projection_ : ndarray of float64, shape (m, r)
    strengths_ : ndarray of float64, shape (r,)
        The dependence each direction adds: squared singular values, or eigenvalues; descending.

    Notes
    -----
    No m × m matrix is built if m is large, and an m × L matrix only up to 64 MiB or if the
    requested directions take as much; beyond that only products with X and Y are used. Sparse rows
    are not made dense. ``transform`` subtracts the mean, as scikit-learn's PCA does.

    Examples
    --------
    The label follows the second feature; the first is noise:

    >>> X = [[1.0, 0.0], [-1.0, 0.0], [1.0, 2.0], [-1.0, 2.0]]
    >>> reduce = MDDM(n_components=1).fit(X, [[0], [0], [1], [1]])
    >>> reduce.projection_
    array([[0.],
           [1.]])
    >>> reduce.transform(X).ravel()
    array([-1., -1.,  1.,  1.])
    """

    _learned = ("strengths_",)

    n_components: int | None = None
    constraint: str = "orthonormal"
    _: KW_ONLY
    regularization: float = 1e-3

    def _directions(self, rows: CentredRows, labels: Csr, wanted: int) -> tuple[Float, Float]:
        """Return the directions and what each adds."""
        if self.constraint == "orthonormal":
            n_features, n_labels = rows.shape[1], int(labels.shape[1])
            if n_features * n_labels <= CROSS_CELLS or wanted >= min(n_features, n_labels):
                left, values, _ = svd(rows.transposed_dot(labels), full_matrices=False)
            else:
                left, values = _singular_by_products(rows, labels, wanted)
            order = np.argsort(-values, kind="stable")[:wanted]
            order = order[values[order] > RANK_TOLERANCE * values.max(initial=0.0)]
            return positive_first(left[:, order]), values[order] ** 2
        targets = CentredRows(labels, center=False)
        penalty = self.regularization * rows.mean_strength()
        return leading_directions(rows, targets, penalty, wanted)

    def _check_params(self) -> None:
        """Raise for parameters that ``fit`` would reject."""
        check_option("constraint", self.constraint, CONSTRAINTS)
        super()._check_params()


def _singular_by_products(rows: CentredRows, Y: Csr, n_directions: int) -> tuple[Float, Float]:
    """Return the same without the m × L matrix."""
    shape = rows.shape[1], int(Y.shape[1])
    operator = LinearOperator(
        shape,
        matvec=lambda v: rows.transposed_dot(np.asarray(Y @ v.ravel())),
        rmatvec=lambda u: np.asarray(Y.T @ rows.dot(u.ravel())),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(shape))
    left, values, _ = svds(operator, n_directions, v0=start)
    return cast("Float", left), cast("Float", values)


register("reduction.MDDM", MDDM)
