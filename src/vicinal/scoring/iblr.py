r"""IBLR-ML: neighbours' labels as features of a logistic regression.

One regression per label on the shares of the neighbours that have *each* label, so that one label
may be evidence for or against another:

.. math::

    \phi_j(x) &= C_x(j) / |N(x)|, \qquad j = 1, \dots, L \\
    p(l) &= \sigma\Big(b_l + \sum_{j=1}^L \alpha_{jl} \, \phi_j(x)\Big), \qquad
    \sigma(z) = 1 / (1 + e^{-z})

with row i excluded from its own neighbours in ``fit``. IBLR-ML+ adds the features of *x* to the
:math:`\phi_j`. A label that all or no training rows have scores 1 or 0.

References
----------
W. Cheng, E. Hüllermeier, "Combining instance-based learning and logistic regression for multilabel
classification", Machine Learning 76 (2009).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse
from scipy.special import expit

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.errors import ModelFormatError
from vicinal._base.state import FieldState, State, read_array, read_count, read_plain
from vicinal._base.validation import as_csr
from vicinal._base.warn import warn_user
from vicinal.explain.breakdown import Breakdown, Terms, linear_breakdown
from vicinal.graph import NeighborGraph, neighbor_cardinality, votes
from vicinal.scores import Scores
from vicinal.scoring.each_k import votes_at_each_k
from vicinal.scoring.every_label import EveryLabel, check_cells
from vicinal.scoring.explaining import nearest
from vicinal.scoring.features import check_given
from vicinal.scoring.logistic import fit_logistic
from vicinal.scoring.reading import read_indicator
from vicinal.scoring.training import Training

LARGE = 2**27
"""Number of weights above which ``fit`` warns: 1 GiB."""


@dataclass(frozen=True, eq=False)
class IBLRScoring(FieldState, EveryLabel):
    r"""The weights of the regressions.

    Parameters
    ----------
    k : int
        Number of neighbours.
    augment : bool
        Whether the features of a row follow the shares (IBLR-ML+).
    weights : ndarray of float64, shape (L, L) or (L + m, L)
        :math:`\alpha_{jl}`, one column per label; 0 for a label that all or no rows carry.
    intercepts : ndarray of float64, shape (L,)
        :math:`b_l`.
    Y : csr_array of int32, shape (n, L)
        Training labels.

    Notes
    -----
    Memory: 8 bytes per weight, which grows with the square of L. Every label has a weight for every
    other, so scores are dense (:mod:`vicinal.scoring.every_label`).

    Examples
    --------
    Rows in pairs of neighbours; a neighbour with the label is right three times in four, one
    without it always. Without a penalty the probabilities are those shares:

    >>> Y = sparse.csr_array(np.array([[1], [1], [1], [0], [0], [0], [0], [1]], dtype=np.int32))
    >>> ids = np.array([[1], [0], [0], [0], [3], [3], [3], [4]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.ones((8, 1)), "euclidean", n_rows=8)
    >>> model = IBLRScoring.fit(Training(graph, Y), k=1, C=np.inf)
    >>> model.scores(graph).toarray().ravel().round(4)
    array([0.75, 0.75, 0.75, 0.75, 0.25, 0.25, 0.25, 0.25])
    """

    k: int
    augment: bool
    weights: Float
    intercepts: Float
    Y: Csr

    @classmethod
    def fit(
        cls,
        training: Training,
        k: int,
        C: float = 1.0,
        augment: bool = False,
        n_jobs: int | None = None,
    ) -> Self:
        """Fit the regressions on the training rows' neighbours, leave-one-out."""
        near = training.graph.prefix(min(k, training.graph.k))
        warn_if_large(training, augment)
        return cls._regressed(training, votes(near, training.Y), near, k, C, augment, n_jobs)

    @classmethod
    def fit_sweep(
        cls,
        training: Training,
        ks: Iterable[int],
        C: float = 1.0,
        augment: bool = False,
        n_jobs: int | None = None,
    ) -> Iterator[Self]:
        """Fit for each k of `ks` (ascending), counting votes once."""
        wanted = list(ks)
        counts_by_k = votes_at_each_k(training.graph, training.Y, wanted)
        for k, counts in zip(wanted, counts_by_k, strict=True):
            near = training.graph.prefix(min(k, training.graph.k))
            yield cls._regressed(training, counts, near, k, C, augment, n_jobs)

    @classmethod
    def _regressed(
        cls,
        training: Training,
        counts: Csr,
        near: NeighborGraph,
        k: int,
        C: float,
        augment: bool,
        n_jobs: int | None,
    ) -> Self:
        """Fit the regressions of the labels that have both classes."""
        X = check_given(training.X, training.n_rows) if augment else None
        features = regressors(counts, near, X)
        weights = np.zeros((features.shape[1], training.n_labels))
        intercepts = np.zeros(training.n_labels)
        mixed = np.flatnonzero(_varies(_positives(training.Y), training.n_rows))
        weights[:, mixed], intercepts[mixed] = fit_logistic(
            features, training.Y[:, mixed], C, n_jobs
        )
        return cls(k, augment, weights, intercepts, training.Y)

    @cached_property
    def positives(self) -> Int:
        """Number of training rows with each label, shape (L,)."""
        return _positives(self.Y)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`, whose features are `X` (needed if augmented)."""
        n_rows, n_labels = self.Y.shape
        check_cells(graph.n_queries, n_labels)
        near = graph.prefix(min(self.k, graph.k))
        n_features = len(self.weights) - n_labels
        rows = check_given(X, graph.n_queries, n_features) if self.augment else None
        features = regressors(votes(near, self.Y), near, rows)
        probability = expit(features @ self.weights + self.intercepts)
        constant = ~_varies(self.positives, n_rows)
        probability[:, constant] = (self.positives > 0)[constant]
        return Scores.dense(probability, neighbor_cardinality(near, self.Y))

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        r"""Return log-odds: :math:`b_l`, and the weights of a neighbour's labels over :math:`|N|`.

        .. math:: \log\frac{p(l)}{1 - p(l)} = b_l
            + \sum_{a \in N(x)} \frac{1}{|N(x)|} \sum_{j \in Y_a} \alpha_{jl}

        IBLR-ML+ adds a part per feature. A label that all or no rows carry scores its base.
        """
        n_rows, n_labels = self.Y.shape
        places = nearest(graph, self.k)
        own = as_csr(check_given(X, 1, len(self.weights) - n_labels)) if self.augment else None
        found = []
        for label in labels:
            positives = int(self.positives[label])
            if not 0 < positives < n_rows:
                found.append(Breakdown(float(positives > 0), facts={"training_rows": positives}))
                continue
            weights = self.weights[:, label]
            shares = self.Y[places] @ weights[:n_labels] / max(len(places), 1)
            near = Breakdown(
                float(self.intercepts[label]), (Terms("neighbor", places, shares),), "log-odds"
            )
            if own is not None:
                near = near.plus(linear_breakdown(0.0, own, weights[n_labels:], "log-odds"))
            found.append(near)
        return found

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        k, Y = read_count(state, "k"), read_indicator(state, "Y")
        augment, n_labels = read_plain(state, "augment", bool), Y.shape[1]
        weights = read_array(state, "weights", np.float64, (None, n_labels))
        n_features = len(weights) - n_labels
        if n_features < 0 or (n_features > 0 and not augment):
            raise ModelFormatError(f"weights: expected {n_labels} rows, got {len(weights)}")
        return cls(k, augment, weights, read_array(state, "intercepts", np.float64, (n_labels,)), Y)


def regressors(counts: Csr, graph: NeighborGraph, X: Features | None) -> Csr:
    """Return the shares of the neighbours that carry each label, then the features if given.

    Examples
    --------
    >>> ids = np.array([[0, 1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.zeros((1, 2)), "euclidean", n_rows=2)
    >>> counts = sparse.csr_array(np.array([[1, 2]], dtype=np.int32))
    >>> regressors(counts, graph, np.array([[7.0]])).toarray()
    array([[0.5, 1. , 7. ]])
    """
    shares = counts.astype(np.float64)
    shares.data /= np.repeat(graph.found, np.diff(counts.indptr))
    if X is None:
        return shares
    own = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    together: Csr = sparse.hstack([shares, own.astype(np.float64)], format="csr")
    return together


def warn_if_large(training: Training, augment: bool) -> None:
    """Warn if the weights take more than 1 GiB."""
    n_labels = training.n_labels
    n_features = training.X.shape[1] if augment and training.X is not None else 0
    n_weights = n_labels * (n_labels + n_features)
    if n_weights > LARGE:
        warn_user(
            f"IBLR fits {n_labels} regressions on {n_labels + n_features} features: its weights "
            f"take {n_weights * 8 / 2**30:.0f} GiB"
        )


def _positives(Y: Csr) -> Int:
    """Return the number of rows with each label."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def _varies(positives: Int, n_rows: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which labels some rows carry and some do not."""
    return (positives > 0) & (positives < n_rows)
