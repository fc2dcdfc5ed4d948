r"""ADTBoost.MH: one alternating decision tree for all labels, grown by AdaBoost.MH.

The model is a tree of prediction nodes. The root contains all rows. Each round takes a node (the
precondition, rows p) and splits it at a threshold of one feature (the condition, c), which adds two
nodes. A row belongs to every node whose conditions it meets, and its score is the sum over all of
them. The round chooses the pair with the smallest

.. math:: Z = 2 \sum_l \left(\sqrt{W_+^l(p \wedge c) W_-^l(p \wedge c)} +
              \sqrt{W_+^l(p \wedge \neg c) W_-^l(p \wedge \neg c)}\right) + W(\neg p),

where :math:`W(\neg p)` is the weight of the cells outside the node. The new nodes get the
confidences of :mod:`vicinal.baselines._boosting`.

References
----------
F. De Comité, R. Gilleron, M. Tommasi, "Learning multi-label alternating decision trees from texts
and data", MLDM 2003; Y. Freund, L. Mason, "The alternating decision tree learning algorithm", ICML
1999.
"""

import numpy as np

from vicinal._base.arrays import Bool, Csr, Features, Float, Int
from vicinal._base.threads import thread_count
from vicinal._base.validation import check_integer, check_real
from vicinal.baselines._boosting import confidences, half_logistic, signed_distribution, signs
from vicinal.baselines._classifier import WeightedClassifier, row_blocks
from vicinal.baselines._splits import Split, SplitFinder, rows_above
from vicinal.estimators.method import Method


class ADTBoostMH(WeightedClassifier):
    """An alternating decision tree for all labels.

    Parameters
    ----------
    n_rounds : int
        Number of splits, 50 in the ML-kNN paper.
    smoothing : float or None
        The ε of the confidences, relative to the total weight of all cells; None for 1 / (nL).
    n_jobs : int or None
        Number of threads; None for all cores. The model does not depend on it.

    Attributes
    ----------
    parents_ : ndarray of int64, shape (T,)
        The node that each round splits. Round t creates node 2t + 1 from its rows at or below the
        threshold and node 2t + 2 from those above; node 0 is the root.
    features_ : ndarray of int64, shape (T,)
    thresholds_ : ndarray of float64, shape (T,)
    confidences_ : ndarray of float64, shape (2T + 1, L)
        What each node adds to the score of each label.
    z_ : ndarray of float64, shape (T,)
        Z of each round.

    Notes
    -----
    A label is predicted if its score is above 0. Each round searches every existing node, so T
    rounds cost about T² / 2 searches over fewer and fewer rows. Memory: 12 bytes per non-zero value
    of `X`, 8 per row and label, and one per row and node. Fewer rounds are run if nothing is left
    to split.

    Examples
    --------
    One row of four has the label; ε is 1/4. The root scores ½ ln (½ / 1), which balances the
    weights.

    >>> tree = ADTBoostMH(n_rounds=1).fit([[1.0], [2.0], [3.0], [6.0]], [[0], [0], [0], [1]])
    >>> tree.parents_, tree.features_, tree.thresholds_
    (array([0]), array([0]), array([4.5]))
    >>> tree.confidences_[0]
    array([-0.34657359])
    >>> tree.predict([[4.0], [5.0]])
    array([[0],
           [1]])
    """

    method = Method("adtboost", neighbors=None, is_baseline=True)

    parents_: Int
    features_: Int
    thresholds_: Float
    confidences_: Float
    z_: Float

    def __init__(
        self,
        n_rounds: int = 50,
        *,
        smoothing: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    def _learn_weighted(self, X: Features, Y: Csr, weights: Float) -> None:
        """Grow the tree."""
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        smoothing = self._smoothing(float(weights.sum()) * Y.shape[1])
        tree = _Growing(X, Y, weights, smoothing, thread_count(self.n_jobs))
        for _ in range(n_rounds):
            if not tree.grow():
                break
        self.parents_ = np.array(tree.parents, dtype=np.int64)
        self.features_ = np.array([split.feature for split in tree.splits], dtype=np.int64)
        self.thresholds_ = np.array([split.threshold for split in tree.splits], dtype=np.float64)
        self.z_ = np.array([split.z for split in tree.splits], dtype=np.float64)
        self.confidences_ = np.stack(tree.confidences)

    def _smoothing(self, n_cells: float) -> float:
        """Return ε."""
        if self.smoothing is None:
            return 1.0 / n_cells
        return check_real("smoothing", self.smoothing, low=np.finfo(np.float64).tiny)

    def _score(self, X: Features) -> Float:
        """Return f: the sum over the nodes that a row belongs to."""
        scores = np.empty((int(X.shape[0]), self.confidences_.shape[1]))
        for rows in row_blocks(int(X.shape[0]), 2 * len(self.confidences_)):
            above = rows_above(X[rows], self.features_, self.thresholds_)
            scores[rows] = self._nodes(above).astype(np.float64) @ self.confidences_
        return scores

    def _nodes(self, above: Bool) -> Bool:
        """Return for each row and node whether the row belongs to it."""
        inside = np.ones((len(above), len(self.confidences_)), dtype=np.bool_)
        for t, parent in enumerate(self.parents_):
            inside[:, 2 * t + 1] = inside[:, parent] & ~above[:, t]
            inside[:, 2 * t + 2] = inside[:, parent] & above[:, t]
        return inside

    def predict_proba(self, X: object) -> Float:
        """Return 1 / (1 + exp(−2f)), the probability that corresponds to an AdaBoost score f."""
        return half_logistic(self.decision_function(X))


class _Growing:
    """A tree while it is grown, and its training rows."""

    def __init__(
        self, X: Features, Y: Csr, weights: Float, smoothing: float, n_threads: int
    ) -> None:
        self._row_weights = weights
        self._smoothing = smoothing
        self._finder = SplitFinder(X, int(Y.shape[1]), n_threads)
        self._targets = signs(Y)
        self._scores = np.zeros_like(self._targets)
        self._members: list[Bool] = []
        self.parents: list[int] = []
        self.splits: list[Split] = []
        self.confidences: list[Float] = []
        self._add_node(np.ones(len(self._targets), dtype=np.bool_), self._weights())

    def grow(self) -> bool:
        """Split the best node; return whether there was one."""
        signed = self._weights()
        found = self._best(signed)
        if found is None:
            return False
        parent, split = found
        above = self._finder.above(split)
        self.parents.append(parent)
        self.splits.append(split)
        for side in (~above, above):
            self._add_node(self._members[parent] & side, signed)
        return True

    def _best(self, signed: Float) -> tuple[int, Split] | None:
        """Return the node and split with the lowest Z; the oldest node wins ties."""
        best: tuple[int, Split] | None = None
        row_weights = np.abs(signed).sum(axis=1)
        for node, members in enumerate(self._members):
            outside = float(row_weights[~members].sum())
            if best is not None and outside >= best[1].z:
                continue  # no split of so little weight can be better
            inner = self._finder.best(signed, members)
            if inner is not None and (best is None or inner.z + outside < best[1].z):
                best = node, Split(inner.z + outside, inner.feature, inner.threshold)
        return best

    def _add_node(self, members: Bool, signed: Float) -> None:
        """Add a node with these rows and add its confidences to their scores."""
        added = confidences(signed, members, self._smoothing)
        self._scores[members] += added
        self._members.append(members)
        self.confidences.append(added)

    def _weights(self) -> Float:
        """Return the signed weights of cells given the current tree."""
        return signed_distribution(self._targets, self._scores, self._row_weights)
