r"""Feature similarity: how much the features of a row resemble the columns of the labels.

.. math:: s(x, l) = \sum_f x_f \frac{\vec f \cdot \vec l}{\lVert \vec f \rVert \lVert \vec l \rVert}

Feature kNN without a k and without the weights' sum. Of a training row its own share in the
products is left out, not that in the lengths.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.state import FieldState, State, read_array, read_csr
from vicinal._base.validation import as_csr
from vicinal.explain.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring.every_label import EveryLabel
from vicinal.scoring.explaining import said_by
from vicinal.scoring.features import check_given
from vicinal.scoring.reading import read_indicator
from vicinal.scoring.training import Training


@dataclass(frozen=True, eq=False)
class FeatureSimilarityScoring(FieldState, EveryLabel):
    """The cosines of all features and labels that share a row.

    Parameters
    ----------
    similarity : csr_array of float64, shape (m, L)
    lengths : ndarray of float64, shape (m,)
        Of the feature columns; 1 for an empty one.
    Y : csr_array of int32, shape (n, L)

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [0, 1]], dtype=np.int32))
    >>> nobody = NeighborGraph(np.empty((2, 0), dtype=np.int32), np.empty((2, 0)), "dot", 2)
    >>> training = Training(nobody, Y, sparse.csr_array(np.array([[1.0, 0.0], [1.0, 1.0]])))
    >>> fitted = FeatureSimilarityScoring.fit(training)
    >>> fitted.scores(nobody, training.X).toarray().round(4)
    array([[0.7071, 0.7071],
           [0.7071, 1.7071]])
    >>> fitted.training_scores(training, slice(None)).toarray().round(4)
    array([[0.    , 0.7071],
           [0.7071, 0.    ]])
    """

    similarity: Csr
    lengths: Float
    Y: Csr

    @property
    def k(self) -> int:
        """No neighbours are used for scoring."""
        return 0

    @classmethod
    def fit(cls, training: Training) -> Self:
        """Compare every feature with every label."""
        rows = as_csr(check_given(training.X, training.n_rows)).astype(np.float64)
        squares = np.bincount(rows.indices, rows.data**2, minlength=rows.shape[1])
        lengths = np.where(squares > 0, np.sqrt(squares), 1.0)
        products = sparse.csr_array(rows.T @ training.Y.astype(np.float64))
        products.sort_indices()
        by_feature = np.repeat(1.0 / lengths, np.diff(products.indptr))
        products.data *= by_feature * _label_shares(training.Y)[products.indices]
        return cls(products, lengths, training.Y)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the rows of `X`; `graph` is not used."""
        rows = as_csr(check_given(X, graph.n_queries, self.similarity.shape[0]))
        return Scores.dense((rows @ self.similarity).toarray())

    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Score some of the training rows without their own share in the products."""
        X = as_csr(check_given(training.X, training.n_rows, self.similarity.shape[0])[rows])
        own = X.multiply(X) @ (1.0 / self.lengths)
        whole = (X @ self.similarity).toarray()
        return Scores.dense(whole - own[:, None] * (self.Y[rows] * _label_shares(self.Y)).toarray())

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the term of each feature."""
        row = as_csr(check_given(X, graph.n_queries, self.similarity.shape[0]))
        columns = row.indices.astype(np.int64)
        said = said_by(self.similarity, columns, labels)
        return [Breakdown(0.0, (Terms("feature", columns, row.data * each),)) for each in said.T]

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        similarity = read_csr(state, "similarity", (None, Y.shape[1]))
        lengths = read_array(state, "lengths", np.float64, (similarity.shape[0],))
        return cls(similarity, lengths, Y)


def _label_shares(Y: Csr) -> Float:
    """Return 1 over the length of each label's column."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    return 1.0 / np.sqrt(np.maximum(counts, 1))
