r"""BoosTexter and ADTBoost.MH: AdaBoost.MH with real-valued confidences.

A cell is a pair of row and label, :math:`Y_i[l] = \pm 1`. Given the scores f so far, its weight is

.. math:: D(i, l) \propto w_i \exp(-Y_i[l]\, f_l(x_i)), \qquad \sum_{i,l} D(i, l) = 1,

where :math:`w_i` is the weight of the row, 1 by default: a row of weight w counts as w equal rows.
For a subset of the rows, let :math:`W_+^l` be the total weight of the rows that have label l and
:math:`W_-^l` the weight of those that do not. The score of the label in this subset [1]_,

.. math:: c_l = \tfrac12 \ln \frac{W_+^l + \varepsilon}{W_-^l + \varepsilon}, \qquad
          \varepsilon = \frac{1}{nL}, \quad n = \sum_i w_i,

minimises the loss up to ε and stays finite if all rows of the subset agree.

BoosTexter [2]_ splits all rows in each round, at a threshold of one feature, for all labels
together. It chooses the split with the smallest

.. math:: Z = 2 \sum_{j \in \{0, 1\}} \sum_l \sqrt{W_+^{jl} W_-^{jl}}.

On word counts, a split between 0 and 1 corresponds to the paper's test whether the word occurs.

ADTBoost.MH [3]_ grows a tree of prediction nodes. The root contains all rows. Each round splits a
node (the precondition p) at a threshold of one feature (the condition c), which adds two nodes. A
row belongs to every node whose conditions it meets, and its score is the sum over them. The round
chooses the pair with the smallest

.. math:: Z = 2 \sum_l \left(\sqrt{W_+^l(p \wedge c) W_-^l(p \wedge c)} +
              \sqrt{W_+^l(p \wedge \neg c) W_-^l(p \wedge \neg c)}\right) + W(\neg p),

where :math:`W(\neg p)` is the weight of the cells outside the node.

References
----------
.. [1] R. E. Schapire, Y. Singer, "Improved boosting algorithms using confidence-rated predictions",
   Machine Learning 37 (1999).
.. [2] R. E. Schapire, Y. Singer, "BoosTexter: a boosting-based system for text categorization",
   Machine Learning 39 (2000).
.. [3] F. De Comité, R. Gilleron, M. Tommasi, "Learning multi-label alternating decision trees from
   texts and data", MLDM 2003; Y. Freund, L. Mason, "The alternating decision tree learning
   algorithm", ICML 1999.
"""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Bool, Csr, Features, Float, Int
from vicinal._core.checks import check_integer, check_real
from vicinal._core.threads import thread_count
from vicinal._native import SplitSearch
from vicinal.baselines._classifier import WeightedClassifier, row_blocks
from vicinal.decision._cells import midway
from vicinal.methods.registry import Method

GRAIN_BITS = 51
"""Weights are multiples of 2⁻⁵¹: sums up to 4 are exact in float64, whatever their order."""


def signs(Y: Csr) -> Float:
    """Return +1 if a row has a label, −1 otherwise. Memory: 8 bytes per row and label."""
    dense: Float = 2.0 * Y.toarray() - 1.0
    return dense


def signed_distribution(targets: Float, scores: Float, row_weights: Float) -> Float:
    """Return Y · D: the weight of each cell, with the sign of its target."""
    loss = -targets * scores
    weights = np.exp(loss - loss.max())
    weights /= exact_total(weights, row_weights)
    # Rounded before and after: whole weights give what so many equal rows give.
    grains = np.rint(np.rint(np.ldexp(weights, GRAIN_BITS)) * row_weights[:, None])
    exact: Float = targets * np.ldexp(grains, -GRAIN_BITS)
    return exact


def exact_total(weights: Float, row_weights: Float) -> float:
    """Return Σ w D over all cells, each at most 1, the same in whatever order they are added.

    Each weight is cut into two whole numbers below 2²⁷, whose sums are exact. A sum that depends on
    the order would let a row of weight 2 break a tie otherwise than two equal rows.
    """
    scaled = np.ldexp(weights, 26)
    high = np.rint(scaled)
    low = np.rint(np.ldexp(scaled - high, 27))
    sums = [float((part * row_weights[:, None]).sum()) for part in (high, low)]
    return math.ldexp(sums[0] + math.ldexp(sums[1], -27), -26)


def confidences(signed: Float, members: Bool, smoothing: float) -> Float:
    """Return the confidence c of each label for the marked rows."""
    part = signed[members]
    with_label = np.maximum(part, 0.0).sum(axis=0)
    without = np.maximum(-part, 0.0).sum(axis=0)
    ratio: Float = 0.5 * np.log((with_label + smoothing) / (without + smoothing))
    return ratio


def half_logistic(scores: Float) -> Float:
    """Return 1 / (1 + exp(−2f)), the probability that corresponds to an AdaBoost score f."""
    odds: Float = 0.5 * (1.0 + np.tanh(scores))
    return odds


class BoostedClassifier(WeightedClassifier):
    """Base class of both methods."""

    def predict_proba(self, X: object) -> Float:
        """Return 1 / (1 + exp(−2f)), the probability that corresponds to an AdaBoost score f."""
        return half_logistic(self.decision_function(X))


@dataclass(frozen=True)
class FeatureSplit:
    """A split of the rows by a threshold on one feature."""

    z: float
    feature: int
    threshold: float


class SplitFinder:
    """Finds splits of the training rows, which are sorted by each feature once.

    Memory: 12 bytes per non-zero value of `X`, in addition to a copy of the values by column.
    """

    def __init__(self, X: Features, n_labels: int, n_threads: int) -> None:
        self._columns = sparse.csc_array(X)
        self._n_threads = n_threads
        n_rows, n_features = self._columns.shape
        feature_of = np.repeat(np.arange(n_features), np.diff(self._columns.indptr))
        order = np.lexsort((self._columns.data, feature_of))
        self._search = SplitSearch(
            self._columns.indptr.astype(np.int64),
            self._columns.indices[order].astype(np.int32),
            self._columns.data[order].astype(np.float64),
            int(n_rows),
            n_labels,
        )

    def best(self, signed_weights: Float, members: Bool) -> FeatureSplit | None:
        """Return the split of the marked rows with the lowest Z; None if they are all identical.

        `signed_weights` (n, L) are positive if the row has the label, and exact (see
        :func:`signed_distribution`). If Z is equal, the first feature and then the lowest threshold
        win.
        """
        z, feature, below, above = self._search.best(
            signed_weights, members.astype(np.uint8), self._n_threads
        )
        if feature < 0:
            return None
        threshold = midway(np.array(above), np.array(below))
        return FeatureSplit(z, feature, float(threshold))

    def above(self, split: FeatureSplit) -> Bool:
        """Return which rows are above the threshold."""
        column = self._columns[:, [split.feature]].toarray().ravel()
        higher: Bool = column > split.threshold
        return higher


def rows_above(X: Features, features: Int, thresholds: Float) -> Bool:
    """Return for each row and split (n, T) whether the row is above the threshold."""
    columns = X[:, features]
    values = columns.toarray() if isinstance(columns, sparse.csr_array) else columns
    higher: Bool = values > thresholds
    return higher


@dataclass(eq=False, repr=False)
class BoosTexter(BoostedClassifier):
    """Boosted one-feature stumps (real AdaBoost.MH).

    Parameters
    ----------
    n_rounds : int
        Number of stumps, 500 in the ML-kNN paper.
    n_jobs : int or None
        Number of threads; None for all cores. The model does not depend on it.

    Attributes
    ----------
    features_ : ndarray of int64, shape (T,)
        The feature of each stump.
    thresholds_ : ndarray of float64, shape (T,)
    confidences_ : ndarray of float64, shape (T, 2, L)
        What a stump adds to the score of each label, at and below its threshold and above it.
    z_ : ndarray of float64, shape (T,)
        Z of each round: the training Hamming loss is at most their product (up to ε).

    Notes
    -----
    A label is predicted if its score is above 0. Each round takes one step per label and non-zero
    value of `X`, and one square root per label and distinct value. Memory: 12 bytes per non-zero
    value of `X`, 8 per row and label. If all rows are identical, there is a single stump without a
    threshold (inf), which gives the label frequencies.

    Examples
    --------
    One row of four has the label, the one with the highest value; ε is 1/4.

    >>> model = BoosTexter(n_rounds=1).fit([[1.0], [2.0], [3.0], [6.0]], [[0], [0], [0], [1]])
    >>> model.thresholds_
    array([4.5])
    >>> model.confidences_[0].ravel()  # ½ ln (¼ / 1) and ½ ln (½ / ¼)
    array([-0.69314718,  0.34657359])
    >>> model.predict([[4.0], [5.0]])
    array([[0],
           [1]])
    """

    method = Method("boostexter", neighbors=None)

    n_rounds: int = 500
    _: KW_ONLY
    n_jobs: int | None = None

    def _learn_weighted(self, X: Features, Y: Csr, weights: Float) -> None:
        """Add stumps one at a time."""
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        finder = SplitFinder(X, int(Y.shape[1]), thread_count(self.n_jobs))
        targets = signs(Y)
        smoothing = 1.0 / (float(weights.sum()) * Y.shape[1])
        everyone = np.ones(len(targets), dtype=np.bool_)
        scores, stumps = np.zeros_like(targets), list[tuple[FeatureSplit, Float]]()
        for _ in range(n_rounds):
            signed = signed_distribution(targets, scores, weights)
            split = finder.best(signed, everyone) or _unsplit(signed)
            above = finder.above(split)
            sides = [confidences(signed, part, smoothing) for part in (~above, above)]
            added = np.stack(sides)
            scores += added[above.astype(np.int64)]
            stumps.append((split, added))
            if split.threshold == np.inf:
                break  # further rounds would find the same stump
        self.features_ = np.array([split.feature for split, _ in stumps], dtype=np.int64)
        self.thresholds_ = np.array([split.threshold for split, _ in stumps])
        self.z_ = np.array([split.z for split, _ in stumps])
        self.confidences_ = np.stack([added for _, added in stumps])

    def _score(self, X: Features) -> Float:
        """Return f: the sum over all stumps."""
        at_or_below, above = self.confidences_[:, 0], self.confidences_[:, 1]
        scores = np.tile(at_or_below.sum(axis=0), (int(X.shape[0]), 1))
        for rows in row_blocks(int(X.shape[0]), len(self.features_)):
            higher = rows_above(X[rows], self.features_, self.thresholds_)
            scores[rows] += higher.astype(np.float64) @ (above - at_or_below)
        return scores


def _unsplit(signed: Float) -> FeatureSplit:
    """Return the split with all rows on one side."""
    with_label = np.maximum(signed, 0.0).sum(axis=0)
    without = np.maximum(-signed, 0.0).sum(axis=0)
    return FeatureSplit(float(2 * np.sqrt(with_label * without).sum()), 0, np.inf)


@dataclass(eq=False, repr=False)
class ADTBoostMH(BoostedClassifier):
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

    method = Method("adtboost", neighbors=None)

    n_rounds: int = 50
    _: KW_ONLY
    smoothing: float | None = None
    n_jobs: int | None = None

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
        self.splits: list[FeatureSplit] = []
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

    def _best(self, signed: Float) -> tuple[int, FeatureSplit] | None:
        """Return the node and split with the lowest Z; the oldest node wins ties."""
        best: tuple[int, FeatureSplit] | None = None
        row_weights = np.abs(signed).sum(axis=1)
        for node, members in enumerate(self._members):
            outside = float(row_weights[~members].sum())
            if best is not None and outside >= best[1].z:
                continue  # no split of so little weight can be better
            inner = self._finder.best(signed, members)
            if inner is not None and (best is None or inner.z + outside < best[1].z):
                best = node, FeatureSplit(inner.z + outside, inner.feature, inner.threshold)
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
