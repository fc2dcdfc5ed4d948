"""Binary relevance with support vector machines: one independent classifier per label.

The SVMs are scikit-learn's: LIBLINEAR for the linear kernel, with the hinge loss of the usual SVM,
LIBSVM for the others. A label that no training row has, or that all of them have, needs no
classifier and always scores −1 or +1.

References
----------
R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin, "LIBLINEAR: a library for large linear
classification", JMLR 9 (2008).
"""

from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC, LinearSVC

from vicinal._base.arrays import Bool, Csr, Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer, check_option, check_positive, check_real
from vicinal.baselines._classifier import MultiLabelClassifier
from vicinal.decision import (
    Decision,
    FittedDecision,
    MetricThreshold,
    Threshold,
)
from vicinal.decision.rule import needs_of
from vicinal.estimators.method import Method
from vicinal.scores import Scores

KERNELS = ("linear", "poly", "rbf")


class Scorer(Protocol):
    """The trained model of one label."""

    n_iter_: Any

    def decision_function(self, X: Features) -> Float:
        """Return the score of each row."""


class BinaryRelevanceSVM(MultiLabelClassifier):
    """One support vector machine per label.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"}
    C : float
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

    method = Method("br-svm", neighbors=None, is_baseline=True)

    machines_: list[Scorer]
    decision_: FittedDecision
    n_iter_: int

    def __init__(
        self,
        kernel: str = "linear",
        C: float = 1.0,
        threshold: object = None,
        *,
        degree: int = 3,
        max_iter: int = 10_000,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.threshold = threshold
        self.degree = degree
        self.max_iter = max_iter

    def _learn(self, X: Features, Y: Csr) -> None:
        """Train label by label, then fit the rule."""
        rule, machine = _rule(self.threshold), self._machine()
        X = _narrow(X)
        columns = Y.tocsc()
        targets = (columns[:, [label]].toarray().ravel() != 0 for label in range(Y.shape[1]))
        self.machines_ = [_trained(machine, X, target) for target in targets]
        self.n_iter_ = max(int(np.max(machine.n_iter_)) for machine in self.machines_)
        if isinstance(rule, FittedDecision):
            self.decision_ = rule
        else:
            self.decision_ = rule.fit(Scores.dense(self._score(X)), Y)

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
        rows = _narrow(X)
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


def _narrow(X: Features) -> Features:
    """Return sparse rows with 32-bit indices, which the SVM libraries require."""
    if not isinstance(X, sparse.csr_array) or X.nnz > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array((X.data, indices, indptr), shape=X.shape)


def _rule(threshold: object) -> Decision:
    """Return the rule for the parameter `threshold`."""
    if threshold is None:
        return Threshold(0.0)
    if isinstance(threshold, str) and threshold == "one-threshold":
        return MetricThreshold("micro-f1")
    if isinstance(threshold, Decision) and not isinstance(threshold, type):
        if needs_of(threshold).n_folds is not None:
            raise InvalidArgumentError(
                "threshold", "a rule on scores of the training rows", repr(threshold)
            )
        return threshold
    if isinstance(threshold, int | float | np.integer | np.floating):
        return Threshold(check_real("threshold", threshold))
    raise InvalidArgumentError(
        "threshold", "None, 'one-threshold', a number or a decision", repr(threshold)
    )
