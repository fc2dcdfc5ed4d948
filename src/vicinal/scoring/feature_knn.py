r"""Feature kNN: the labels most similar to the features of a row.

A feature *f* and a label *y* are compared by their columns over the training rows:

.. math::

    sim_{FL}(f, y) &= \frac{\vec f \cdot \vec y}{\lVert \vec f \rVert \lVert \vec y \rVert} \\
    \mathrm{conf}_{FL}(x, y) &= \frac{\sum_j x_j \cdot sim_{FL}(f_j, y)}{\sum_j x_j}

Each feature keeps only its k most similar labels; the numerator runs over the features *j* that
keep *y*, the denominator over all features of *x*. Two switches deviate from the paper's text:

- ``neighbors_of="label"``: each label keeps its k most similar features instead;
- ``aggregate="max"``: the largest :math:`sim_{FL}(f_j, y)` of the features *x* has, 0 if none;
  ``aggregate="kept-mean"``: the mean over only the features that keep *y*, 0 if none does. This one
  reproduces the paper's figures; its formula does not.

The search takes place in ``fit`` and includes all rows; a prediction is one sparse product.
Features are expected to be in [0, 1]; then scores are too. Negative values of *x* and negative
similarities are ignored; a row without a positive value scores 0 for all labels.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-B.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Features, Float
from vicinal._base.checked_csr import with_values
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State, read_csr, read_plain
from vicinal._base.validation import as_csr, check_option
from vicinal.explain.breakdown import Breakdown, Terms
from vicinal.explain.shapley import shapley_of_maximum
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring.column_graph import column_graph, kept_similarities
from vicinal.scoring.explaining import said_by
from vicinal.scoring.features import check_given
from vicinal.scoring.reading import read_indicator
from vicinal.scoring.row_sums import combined_rows
from vicinal.scoring.training import Training

NEIGHBORS_OF = ("feature", "label")
AGGREGATES = ("mean", "max", "kept-mean")


@dataclass(frozen=True, eq=False)
class FeatureKNNScoring:
    """The k largest similarities of features and labels.

    Parameters
    ----------
    similarity : csr_array of float64, shape (m, L)
        :math:`sim_{FL}`, at most k entries per feature (or label), all above 0.
    aggregate : {"mean", "max", "kept-mean"}
    Y : csr_array of int32, shape (n, L)
        Training labels.

    Examples
    --------
    The first feature occurs where the first label does; the second in one row of two with either
    label, and of two labels equally near it keeps the first. A row with both features gets the mean
    of the similarities 1 and 1/2.

    >>> from scipy import sparse
    >>> X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.int32))
    >>> no_one = NeighborGraph(np.empty((4, 0), dtype=np.int32), np.empty((4, 0)), "cosine", 4)
    >>> fitted = FeatureKNNScoring.fit(Training(no_one, Y, X), k=1)
    >>> fitted.similarity.toarray().round(4)
    array([[1. , 0. ],
           [0.5, 0. ]])
    >>> fitted.scores(no_one, np.array([[1.0, 1.0]])).toarray().round(4)
    array([[0.75, 0.  ]])
    """

    similarity: Csr
    aggregate: str
    Y: Csr

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        check_option("aggregate", self.aggregate, AGGREGATES)
        if self.similarity.shape[1] != self.Y.shape[1]:
            raise InvalidArgumentError(
                "similarity", f"{self.Y.shape[1]} labels", self.similarity.shape[1]
            )

    @property
    def k(self) -> int:
        """No neighbours are used for scoring."""
        return 0

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self.similarity.shape[0])

    @classmethod
    def fit(
        cls,
        training: Training,
        k: int,
        neighbors_of: str = "feature",
        aggregate: str = "mean",
        n_jobs: int | None = None,
    ) -> Self:
        """Find the k labels most similar to each feature, or the k features to each label."""
        return next(cls.fit_sweep(training, [k], neighbors_of, aggregate, n_jobs))

    @classmethod
    def fit_sweep(
        cls,
        training: Training,
        ks: Iterable[int],
        neighbors_of: str = "feature",
        aggregate: str = "mean",
        n_jobs: int | None = None,
    ) -> Iterator[Self]:
        """Fit for each k of `ks`, searching once."""
        if training.X is None:
            raise InvalidArgumentError("X", "the features of the training rows", None)
        wanted = list(ks)
        of_label = check_option("neighbors_of", neighbors_of, NEIGHBORS_OF) == "label"
        A, B = (training.Y, training.X) if of_label else (training.X, training.Y)
        graph = column_graph(A, B, max(wanted), n_jobs)
        for k in wanted:
            kept = kept_similarities(graph.prefix(min(k, graph.k)))
            yield cls(kept.T.tocsr() if of_label else kept, aggregate, training.Y)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the rows of `X`; `graph` is not used."""
        if X is None:
            raise InvalidArgumentError("X", "the features of the rows to score", None)
        rows = as_csr(X)
        sums = combined_rows(rows, self.similarity, self.aggregate)
        if self.aggregate == "mean":
            return Scores.sparse(sums.means())
        if self.aggregate == "kept-mean":
            keeps = with_values(self.similarity, np.ones(self.similarity.nnz))
            weights = combined_rows(rows, keeps, "mean").values  # of the same structure
            return Scores.sparse(with_values(sums.values, sums.values.data / weights.data))
        return Scores.sparse(sums.values)

    def settled(self, Y: Csr, X: Features) -> Self:
        """Return the state for the same rows at other places, whose labels are `Y`."""
        return replace(self, Y=Y)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        r"""Return :math:`x_j sim_{FL}(f_j, y) / \sum_j x_j` for each feature that keeps the label.

        For ``aggregate="max"`` the parts are the features' Shapley values.
        """
        row = as_csr(check_given(X, 1, self.n_features))
        has = row.data > 0
        columns, x = row.indices[has].astype(np.int64), row.data[has].astype(np.float64)
        similarities = said_by(self.similarity, columns, labels)
        found = []
        for similarity in similarities.T:
            kept = similarity > 0
            terms = Terms("feature", columns[kept], self._shares(x, similarity)[kept])
            found.append(
                Breakdown(
                    0.0, (terms,), facts={"features": len(x), "features_kept": len(terms.ids)}
                )
            )
        return found

    def _shares(self, x: Float, similarity: Float) -> Float:
        """Return the share of each feature of a row in the score of a label."""
        if self.aggregate == "max":
            return shapley_of_maximum(similarity)
        whole = x[similarity > 0].sum() if self.aggregate == "kept-mean" else x.sum()
        return x * similarity / (whole or 1.0)

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays."""
        return {"similarity": self.similarity, "aggregate": self.aggregate, "Y": self.Y}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        similarity = read_csr(state, "similarity", (None, Y.shape[1]))
        if similarity.nnz and not 0 < similarity.data.min() <= similarity.data.max() < 1 + 1e-9:
            raise ModelFormatError("similarity: expected cosines above 0")
        aggregate = read_plain(state, "aggregate", str)
        try:
            return cls(similarity.astype(np.float64, copy=False), aggregate, Y)
        except InvalidArgumentError as error:
            raise ModelFormatError(str(error)) from None
