r"""Rank-SVM: large margins between the labels of a row and all other labels.

.. math:: \min_{w, \xi \ge 0} \; \tfrac12 \sum_l \|w_l\|^2 + C \sum_i \frac{1}{|Y_i||\bar Y_i|}
          \sum_{(p, q) \in Y_i \times \bar Y_i} \xi_{ipq}, \qquad
          \langle w_p - w_q, \phi(x_i) \rangle \ge 1 - \xi_{ipq}.

Its dual has a variable :math:`0 \le \alpha_{ipq} \le C / (|Y_i||\bar Y_i|)` for each pair and is
solved by coordinate ascent, with an exact line search in one variable at a time
(``native/include/vicinal/learn/rank_dual.hpp``), until the duality gap, which bounds the distance
of the objective from its optimum, is small. The scores rank the labels; the threshold of each row
is learned in a second step (:mod:`vicinal.baselines._set_size`).

The paper's biases :math:`b_l` are not separate variables: the constant of the kernel, coef0, gives
each label a bias, so that the dual has no equality constraints. Rows without labels or with all
labels have no pairs and do not contribute.

References
----------
A. Elisseeff, J. Weston, "A kernel method for multi-labelled classification", NIPS 2001.
"""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vicinal._base.arrays import Bool, Csr, Features, Float
from vicinal._base.threads import on_one_blas_thread
from vicinal._base.validation import check_integer, check_positive, check_real, csr_parts
from vicinal._base.warn import warn_user
from vicinal._native import RankDual
from vicinal.baselines._classifier import MultiLabelClassifier, row_blocks
from vicinal.baselines._kernels import Kernel, check_kernel_rows, resolve_kernel
from vicinal.baselines._set_size import SetSize
from vicinal.estimators.method import Method

SWEEPS_A_LOOK = 5
"""Sweeps over all rows between two computations of the duality gap, which cost about one sweep."""


class RankSVM(MultiLabelClassifier):
    """A support vector machine that ranks labels, with a learned threshold per row.

    Parameters
    ----------
    C : float
        Cost of margin violations, divided among the pairs of a row.
    kernel : {"poly", "linear", "rbf"}
    degree : int
        Degree of the polynomial kernel, 8 in the ML-kNN paper.
    gamma : float or "scale"
        The kernel is (γ x·x' + coef0)^degree; ``"scale"`` makes γ‖x‖² 1 on average.
    coef0 : float
        The constant of the kernel; if it is 0, labels have no bias.
    tol : float
        The duality gap at which to stop, relative to the primal objective.
    max_iter : int
        Maximum number of sweeps over all rows; a warning is issued if the gap is not reached.

    Attributes
    ----------
    X_ : ndarray or csr_array, shape (n, m)
        The training rows.
    weights_ : ndarray of float64, shape (n, L)
        f_l(x) = Σᵢ weights_[i, l] K(xᵢ, x).
    set_size_ : object
        Predicts the threshold of a row from its scores.
    objective_ : float
        Value of the dual objective.
    duality_gap_ : float
    n_iter_ : int

    Notes
    -----
    ``decision_function`` is f(x) − t(x), where t(x) is the threshold of the row: it is positive for
    predicted labels. A sweep costs up to n² L.

    Memory: 8 n² bytes for the kernel matrix, at most 2 GiB (16,384 rows), and 8 bytes for each pair
    of a true and another label of each row.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = RankSVM(C=100.0, kernel="linear").fit(X, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> model.predict([[-1.0], [4.0]])
    array([[1, 0],
           [0, 1]])
    """

    method = Method("rank-svm", neighbors=None, is_baseline=True)

    X_: Features
    weights_: Float
    set_size_: SetSize
    kernel_: Kernel
    objective_: float
    duality_gap_: float
    n_iter_: int

    def __init__(
        self,
        C: float = 1.0,
        kernel: str = "poly",
        degree: int = 8,
        *,
        gamma: float | str = "scale",
        coef0: float = 1.0,
        tol: float = 1e-2,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    @on_one_blas_thread
    def _learn(self, X: Features, Y: Csr) -> None:
        """Solve the dual, then learn the thresholds."""
        cost = check_positive("C", self.C)
        tol = check_real("tol", self.tol, low=0.0)
        max_iter = check_integer("max_iter", self.max_iter, low=1)
        check_kernel_rows(int(X.shape[0]))
        self.kernel_ = resolve_kernel(self.kernel, self.degree, self.gamma, self.coef0, X)
        self.X_ = X
        matrix = np.ascontiguousarray(self.kernel_(X, X))
        scores = self._solve(matrix, Y, cost, tol, max_iter)
        self.set_size_ = SetSize.fit(scores, Y.toarray() != 0)

    def _solve(self, matrix: Float, Y: Csr, cost: float, tol: float, max_iter: int) -> Float:
        """Run coordinate ascent until the gap is small; return the scores of the training rows."""
        dual = RankDual(matrix, *csr_parts(Y), int(Y.shape[1]), cost)
        has_label = Y.toarray() != 0
        rng = np.random.default_rng(0)  # only determines the order in which rows are visited
        for self.n_iter_ in range(1, max_iter + 1):
            dual.sweep(rng.permutation(len(matrix)))
            if self.n_iter_ % SWEEPS_A_LOOK and self.n_iter_ < max_iter:
                continue
            self.weights_ = dual.weights()
            scores: Float = matrix @ self.weights_
            norms = float((self.weights_ * scores).sum())
            primal = norms / 2 + cost * float(_pair_losses(scores, has_label).sum())
            self.objective_ = dual.total() - norms / 2
            self.duality_gap_ = primal - self.objective_
            if self.duality_gap_ <= tol * primal:
                return scores
        self._warn(primal)
        return scores

    def _warn(self, primal: float) -> None:
        """Warn that the gap was not reached."""
        warn_user(
            f"RankSVM did not converge: after max_iter={self.max_iter} sweeps the duality gap is "
            f"{self.duality_gap_ / primal:.2g} of the objective; scale the features, lower C "
            "or raise max_iter",
            ConvergenceWarning,
        )

    @on_one_blas_thread
    def _score(self, X: Features) -> Float:
        """Return f − t, computed in blocks of rows."""
        scores = np.empty((int(X.shape[0]), self.weights_.shape[1]))
        for rows in row_blocks(int(X.shape[0]), int(self.X_.shape[0])):
            scores[rows] = self.kernel_(X[rows], self.X_) @ self.weights_
        scores -= self.set_size_.thresholds(scores)[:, None]
        return scores


def _pair_losses(scores: Float, has_label: Bool) -> Float:
    """Return for each row the mean over its pairs of max(0, 1 − (f_p − f_q)); 0 without pairs."""
    losses = np.zeros(len(scores))
    for i, (row, true) in enumerate(zip(scores, has_label, strict=True)):
        if true.any() and not true.all():
            losses[i] = np.maximum(0.0, 1.0 - row[true][:, None] + row[~true][None, :]).mean()
    return losses
