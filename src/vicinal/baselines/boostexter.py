r"""BoosTexter: AdaBoost.MH over one-feature stumps with real-valued confidences.

In each round the rows are split once, at a threshold of one feature, for all labels together. The
split with the smallest

.. math:: Z = 2 \sum_{j \in \{0, 1\}} \sum_l \sqrt{W_+^{jl} W_-^{jl}}

is chosen and adds :math:`c_{jl}` (see :mod:`vicinal.baselines._boosting`) to the score of label l
for the rows on side j. On word counts, a split between 0 and 1 corresponds to the paper's test
whether the word occurs.

References
----------
R. E. Schapire, Y. Singer, "BoosTexter: a boosting-based system for text categorization", Machine
Learning 39 (2000).
"""

import numpy as np

from vicinal._base.arrays import Bool, Csr, Features, Float, Int
from vicinal._base.threads import thread_count
from vicinal._base.validation import check_integer
from vicinal.baselines._boosting import confidences, half_logistic, signed_distribution, signs
from vicinal.baselines._classifier import WeightedClassifier, row_blocks
from vicinal.baselines._splits import Split, SplitFinder, rows_above
from vicinal.estimators.method import Method


class BoosTexter(WeightedClassifier):
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

    method = Method("boostexter", neighbors=None, is_baseline=True)

    features_: Int
    thresholds_: Float
    confidences_: Float
    z_: Float

    def __init__(self, n_rounds: int = 500, *, n_jobs: int | None = None) -> None:
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs

    def _learn_weighted(self, X: Features, Y: Csr, weights: Float) -> None:
        """Add stumps one at a time."""
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        finder = SplitFinder(X, int(Y.shape[1]), thread_count(self.n_jobs))
        targets = signs(Y)
        smoothing = 1.0 / (float(weights.sum()) * Y.shape[1])
        everyone = np.ones(len(targets), dtype=np.bool_)
        scores, stumps = np.zeros_like(targets), list[tuple[Split, Float]]()
        for _ in range(n_rounds):
            signed = signed_distribution(targets, scores, weights)
            split = finder.best(signed, everyone) or _unsplit(signed)
            above = finder.above(split)
            added = _both_sides(signed, above, smoothing)
            scores += added[above.astype(np.int64)]
            stumps.append((split, added))
            if split.threshold == np.inf:
                break  # further rounds would find the same stump
        self._keep_stumps(stumps)

    def _keep_stumps(self, stumps: list[tuple[Split, Float]]) -> None:
        """Set the fitted attributes."""
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

    def predict_proba(self, X: object) -> Float:
        """Return 1 / (1 + exp(−2f)), the probability that corresponds to an AdaBoost score f."""
        return half_logistic(self.decision_function(X))


def _both_sides(signed: Float, above: Bool, smoothing: float) -> Float:
    """Return the confidences at and below a threshold and above it, shape (2, L)."""
    return np.stack([confidences(signed, part, smoothing) for part in (~above, above)])


def _unsplit(signed: Float) -> Split:
    """Return the split with all rows on one side."""
    with_label = np.maximum(signed, 0.0).sum(axis=0)
    without = np.maximum(-signed, 0.0).sum(axis=0)
    return Split(float(2 * np.sqrt(with_label * without).sum()), 0, np.inf)
