r"""Support vector machines: Rank-SVM, and one SVM per label (binary relevance).

Rank-SVM [1]_ separates the labels of a row from all others by a large margin:

.. math:: \min_{w, \xi \ge 0} \; \tfrac12 \sum_l \|w_l\|^2 + C \sum_i \frac{1}{|Y_i||\bar Y_i|}
          \sum_{(p, q) \in Y_i \times \bar Y_i} \xi_{ipq}, \qquad
          \langle w_p - w_q, \phi(x_i) \rangle \ge 1 - \xi_{ipq}.

Its dual has a variable :math:`0 \le \alpha_{ipq} \le C / (|Y_i||\bar Y_i|)` for each pair and is
solved by coordinate ascent, with an exact line search in one variable at a time (``RankDual`` of
the compiled core), until the duality gap, which bounds the distance of the objective from its
optimum, is small. The paper's biases :math:`b_l` are not separate variables: the constant of the
kernel, coef0, gives each label a bias, so that the dual has no equality constraints. Rows without
labels or with all labels have no pairs and do not contribute.

The scores rank the labels. The threshold of each row is learned in a second step: for a training
row, it is the one with the fewest labels on the wrong side,

.. math:: t(x) = \arg\min_t \; |\{k \in Y : f_k(x) \le t\}| + |\{k \notin Y : f_k(x) \ge t\}|.

The best values of t form an interval between two adjacent scores, and its midpoint is used. If
there are several such intervals, the widest is taken (the lowest of equally wide ones). Below the
lowest and above the highest score the interval counts as 1 wide, the margin of Rank-SVM. A
least-squares fit, :math:`t(x) \approx a \cdot f(x) + b`, predicts the threshold of new rows.

The SVMs of binary relevance are scikit-learn's: LIBLINEAR [2]_ for the linear kernel, with the
hinge loss of the usual SVM, LIBSVM for the others. A label that no training row has, or that all of
them have, needs no classifier and always scores −1 or +1.

References
----------
.. [1] A. Elisseeff, J. Weston, "A kernel method for multi-labelled classification", NIPS 2001.
.. [2] R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin, "LIBLINEAR: a library for large
   linear classification", JMLR 9 (2008).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from vicinal._core.arrays import Bool, Csr, Features, Float, Int
from vicinal._core.checks import check_integer, check_option, check_positive, check_real
from vicinal._core.csr import short_indices
from vicinal._core.threads import on_one_blas_thread
from vicinal._core.validation import csr_parts
from vicinal._native import RankDual
from vicinal.baselines._classifier import MultiLabelClassifier, row_blocks
from vicinal.decision import Decision, FittedDecision, MetricThreshold, Threshold
from vicinal.decision.rule import needs_of
from vicinal.errors import InvalidArgumentError, warn_user
from vicinal.methods._arguments import given_rule
from vicinal.methods.registry import Method
from vicinal.scores import Scores

KERNELS = ("linear", "poly", "rbf")
KERNEL_LIMIT = 2**28
"""Maximum number of cells of a kernel matrix: 2 GiB of float64, 16,384 rows."""


@dataclass(frozen=True)
class Kernel:
    """(γ x·x' + coef0)^degree, or exp(−γ ‖x − x'‖²)."""

    kind: str
    degree: int
    gamma: float
    coef0: float

    def __call__(self, left: Features, right: Features) -> Float:
        """Return the kernel of each row of `left` with each of `right`."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(left, right)
        if not np.isfinite(values).all():
            expected = f"features whose {self.kind} kernel is finite (scale them, or lower gamma)"
            raise InvalidArgumentError("X", expected, "numbers too large")
        return values

    def _values(self, left: Features, right: Features) -> Float:
        """Return the kernel, infinite if numbers are too large."""
        products = _products(left, right)
        if self.kind == "rbf":
            squares = _squares(left)[:, None] + _squares(right)[None, :] - 2 * products
            rbf: Float = np.exp(-self.gamma * np.maximum(squares, 0.0))
            return rbf
        poly: Float = (self.gamma * products + self.coef0) ** self.degree
        return poly


def resolve_kernel(
    kind: object, degree: object, gamma: object, coef0: object, X: Features
) -> Kernel:
    """Return the kernel for validated parameters; γ ``"scale"`` makes γ‖x‖² 1 on average."""
    kind = check_option("kernel", kind, KERNELS)
    power = check_integer("degree", degree, low=1) if kind == "poly" else 1
    constant = check_real("coef0", coef0, low=0.0)
    if isinstance(gamma, str):
        check_option("gamma", gamma, ("scale",))
        mean = float(_squares(X).mean())
        return Kernel(kind, power, 1.0 / mean if mean > 0 else 1.0, constant)
    return Kernel(kind, power, check_real("gamma", gamma, low=0.0), constant)


def check_kernel_rows(n_rows: int) -> None:
    """Raise if the kernel matrix of `n_rows` rows would take more than 2 GiB."""
    if n_rows * n_rows > KERNEL_LIMIT:
        most = int(np.sqrt(KERNEL_LIMIT))
        raise InvalidArgumentError(
            "X", f"at most {most} rows (the method needs a rows × rows kernel matrix)", n_rows
        )


def _products(left: Features, right: Features) -> Float:
    """Return x·x' for all pairs of rows."""
    products = left @ right.T
    if sparse.issparse(products):
        return cast("Float", cast("Csr", products).toarray())
    return cast("Float", np.asarray(products))


def _squares(X: Features) -> Float:
    """Return ‖x‖² of each row."""
    squared = X.multiply(X) if isinstance(X, sparse.csr_array) else X * X
    return cast("Float", np.asarray(squared.sum(axis=1)).ravel())


@dataclass(frozen=True, eq=False)
class SetSize:
    """A threshold that is linear in the scores of a row."""

    slopes: Float
    intercept: float

    @classmethod
    def fit(cls, scores: Float, has_label: Bool) -> Self:
        """Fit on training rows; among equally good fits, the one with the smallest coefficients."""
        wanted = best_cuts(scores, has_label)
        design = np.column_stack([scores, np.ones(len(scores))])
        solution = np.linalg.lstsq(design, wanted, rcond=None)[0].astype(np.float64)
        return cls(solution[:-1], float(solution[-1]))

    def thresholds(self, scores: Float) -> Float:
        """Return t(x) of each row."""
        cuts: Float = scores @ self.slopes + self.intercept
        return cuts


def best_cuts(scores: Float, has_label: Bool) -> Float:
    """Return the t(x) of each row with the fewest errors."""
    order = np.argsort(scores, axis=1, kind="stable")
    ascending = np.take_along_axis(scores, order, axis=1)
    is_true = np.take_along_axis(has_label, order, axis=1)
    mistakes = _mistakes(is_true)
    low = np.column_stack([ascending[:, :1] - 1.0, ascending])
    high = np.column_stack([ascending, ascending[:, -1:] + 1.0])
    width = np.where(high > low, high - low, -np.inf)  # no threshold fits between equal scores
    mistakes = np.where(high > low, mistakes, np.iinfo(np.int64).max)
    fewest = mistakes == mistakes.min(axis=1, keepdims=True)
    at = np.where(fewest, width, -np.inf).argmax(axis=1)
    rows = np.arange(len(scores))
    middle: Float = low[rows, at] / 2 + high[rows, at] / 2
    return middle


def _mistakes(is_true: Bool) -> Int:
    """Return the errors of a threshold below all scores, above the first, and so on."""
    start = np.zeros((len(is_true), 1), dtype=np.int64)
    missed = np.concatenate([start, np.cumsum(is_true, axis=1)], axis=1)
    let_go = np.concatenate([start, np.cumsum(~is_true, axis=1)], axis=1)
    wrong: Int = missed + let_go[:, -1:] - let_go
    return wrong


SWEEPS_A_LOOK = 5
"""Sweeps over all rows between two computations of the duality gap, which cost about one sweep."""


@dataclass(eq=False, repr=False)
class RankSVM(MultiLabelClassifier):
    """A support vector machine that ranks labels, with a learned threshold per row.

    Parameters
    ----------
    C : float
        Cost of margin violations, divided among the pairs of a row.
    kernel : {"poly", "linear", "rbf"}
        Kernel of the SVM.
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

    method = Method("rank-svm", neighbors=None)

    C: float = 1.0
    kernel: str = "poly"
    degree: int = 8
    _: KW_ONLY
    gamma: float | str = "scale"
    coef0: float = 1.0
    tol: float = 1e-2
    max_iter: int = 1000

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
        warn_user(
            f"RankSVM did not converge: after max_iter={self.max_iter} sweeps the duality gap is "
            f"{self.duality_gap_ / primal:.2g} of the objective; scale the features, lower C "
            "or raise max_iter",
            ConvergenceWarning,
        )
        return scores

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


class Scorer(Protocol):
    """The trained model of one label."""

    n_iter_: Any

    def decision_function(self, X: Features) -> Float:
        """Return the score of each row."""


@dataclass(eq=False, repr=False)
class BinaryRelevanceSVM(MultiLabelClassifier):
    """One support vector machine per label.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"}
        Kernel of the SVM.
    C : float
        Penalty of errors, as in scikit-learn.
    threshold : None, "one-threshold", float or decision object
        None: labels with a score above 0 are predicted, the SVM's own rule. ``"one-threshold"``:
        one threshold for all labels that maximises micro-F1 on the training rows (Mulan's
        OneThreshold). Other rules of :mod:`vicinal.decision` are also fitted on the scores of the
        training rows, computed by the SVMs trained on them. K-fold scores are not supported.
    degree : int
        Of the polynomial kernel.
    max_iter : int
        Of the linear solver.

    Attributes
    ----------
    machines_ : list
        One a label.
    decision_ : object
        The fitted rule.
    n_iter_ : int
        Of the slowest machine.

    Notes
    -----
    Memory: 8 m bytes per label (linear), or the support vectors.

    Examples
    --------
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> model = BinaryRelevanceSVM(C=10.0).fit(X, [[0, 1], [0, 1], [1, 1], [1, 1]])
    >>> model.predict([[-1.0], [6.0]])
    array([[0, 1],
           [1, 1]])
    """

    method = Method("br-svm", neighbors=None)

    kernel: str = "linear"
    C: float = 1.0
    threshold: object = None
    _: KW_ONLY
    degree: int = 3
    max_iter: int = 10_000

    def _learn(self, X: Features, Y: Csr) -> None:
        """Train label by label, then fit the rule."""
        rule, machine = _rule(self.threshold), self._machine()
        X = short_indices(X)
        columns = Y.tocsc()
        targets = (columns[:, [label]].toarray().ravel() != 0 for label in range(Y.shape[1]))
        self.machines_ = [_trained(machine, X, target) for target in targets]
        self.n_iter_ = max(int(np.max(machine.n_iter_)) for machine in self.machines_)
        fitted: FittedDecision | None = rule if isinstance(rule, FittedDecision) else None
        self.decision_ = fitted or rule.fit(Scores.dense(self._score(X)), Y)

    def _machine(self) -> LinearSVC | SVC:
        """Return an untrained SVM with validated parameters."""
        kernel = check_option("kernel", self.kernel, KERNELS)
        cost = check_positive("C", self.C)
        most = check_integer("max_iter", self.max_iter, low=1)
        degree = check_integer("degree", self.degree, low=1)
        if kernel == "linear":
            return LinearSVC(C=cost, loss="hinge", random_state=0, max_iter=most)
        return SVC(C=cost, kernel=kernel, degree=degree)

    def _score(self, X: Features) -> Float:
        """Return the decision values of the SVMs."""
        rows = short_indices(X)
        return np.column_stack([machine.decision_function(rows) for machine in self.machines_])

    def decide(self, scores: Scores) -> Csr:
        """Return the label sets by the fitted rule."""
        return self.decision_.decide(scores)


def _trained(machine: LinearSVC | SVC, X: Features, target: Bool) -> Scorer:
    """Return an SVM trained on one label."""
    if target.all() or not target.any():
        return _Constant(1.0 if target.all() else -1.0)
    trained: Scorer = clone(machine).fit(X, target)
    return trained


class _Constant:
    """The same score for every row."""

    n_iter_ = 1

    def __init__(self, score: float) -> None:
        self._score = score

    def decision_function(self, X: Features) -> Float:
        """Return the score of each row."""
        return np.full(int(X.shape[0]), self._score)


def _rule(threshold: object) -> Decision:
    """Return the rule for the parameter `threshold`."""
    if threshold is None:
        return Threshold(0.0)
    if isinstance(threshold, str) and threshold == "one-threshold":
        return MetricThreshold("micro-f1")
    rule = None if isinstance(threshold, str) else given_rule(threshold)
    if rule is None:
        expected = "None, 'one-threshold', a number or a decision"
        raise InvalidArgumentError("threshold", expected, repr(threshold))
    if needs_of(rule).n_folds is not None:
        raise InvalidArgumentError(
            "threshold", "a rule on scores of the training rows", repr(threshold)
        )
    return rule
