"""Feature kNN after rows were added or removed: similarities are computed on demand.

Adding or removing a row changes the length of its labels' columns, and therefore the similarities
of every feature that shares a row with one of these labels. So all similarities are dropped; those
of a feature are computed when a row with this feature is first scored, and kept until the next
change. They are bit-identical to those of a new fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from vicinal._base.arrays import Bool, Csr, Features, Float, Int, Int32
from vicinal._base.checked_csr import adopted, checked_csr
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State
from vicinal._base.threads import thread_count
from vicinal._base.validation import as_csr, csr_parts
from vicinal._native import column_search
from vicinal.distances import COSINE
from vicinal.explain.breakdown import Breakdown
from vicinal.graph import NeighborGraph
from vicinal.graph.neighbor_graph import no_neighbors
from vicinal.scores import Scores
from vicinal.scoring.column_graph import kept_similarities
from vicinal.scoring.feature_columns import FeatureColumns
from vicinal.scoring.feature_knn import FeatureKNNScoring
from vicinal.scoring.row_sums import native_matrix
from vicinal.scoring.training import Training

FEW_FEATURES = 4096
"""If the rows to score have more features than this, the similarities of all are computed."""


@dataclass(frozen=True, eq=False)
class ChangedFeatureKNNScoring:
    """The rows of each feature, and the similarities computed so far.

    Parameters
    ----------
    columns : FeatureColumns
    n_kept : int
        Number of labels that each feature keeps.
    aggregate : str
    Y : csr_array of int32
        Labels by place; those of removed rows are not read.
    label_counts : ndarray of int64, shape (L,)
        Rows with each label.
    """

    columns: FeatureColumns
    n_kept: int
    aggregate: str
    Y: Csr
    label_counts: Int
    _known: dict[int, tuple[Int32, Float]] = field(default_factory=dict)

    is_settled = False

    @property
    def k(self) -> int:
        """No neighbours are used for scoring."""
        return 0

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self.columns.X.shape[1])

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the rows of `X`; `graph` is not used."""
        if X is None:
            raise InvalidArgumentError("X", "the features of the rows to score", None)
        rows = as_csr(X)
        features, place = np.unique(rows.indices, return_inverse=True)
        if len(features) > FEW_FEATURES:
            return FeatureKNNScoring(self.similarity, self.aggregate, self.Y).scores(graph, rows)
        shape = (int(rows.shape[0]), len(features))
        indptr, _ = csr_parts(rows)
        local = checked_csr(rows.data, place.astype(np.int32), indptr, shape)
        near = self._of_features(features.astype(np.int64))
        return FeatureKNNScoring(near, self.aggregate, self.Y).scores(graph, local)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the parts of each label's score, as feature kNN does."""
        settled = FeatureKNNScoring(self.similarity, self.aggregate, self.Y)
        return settled.explain(graph, labels, X)

    @cached_property
    def similarity(self) -> Csr:
        """The similarities that all features keep, shape (m, L)."""
        return kept_similarities(self._graph(np.arange(self.n_features)))

    def _of_features(self, features: Int) -> Csr:
        """Return the similarities that some features keep, shape (len(features), L)."""
        known = self._known
        missing = np.array([f for f in features.tolist() if f not in known], dtype=np.int64)
        if len(missing):
            kept = kept_similarities(self._graph(missing))
            indptr, indices = csr_parts(kept)
            for at, feature in enumerate(missing.tolist()):
                entries = slice(indptr[at], indptr[at + 1])
                known[feature] = indices[entries], kept.data[entries]
        parts = [known[feature] for feature in features.tolist()]
        indptr = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids, _ in parts], out=indptr[1:])
        nothing = np.empty(0, dtype=np.int32), np.empty(0)
        indices, values = (np.concatenate(part) for part in zip(nothing, *parts, strict=True))
        return checked_csr(values, indices, indptr, (len(parts), int(self.Y.shape[1])))

    def _graph(self, features: Int) -> NeighborGraph:
        """Return the labels with the highest cosine for each of some features."""
        n_labels = int(self.Y.shape[1])
        width = max(1, min(self.n_kept, n_labels))
        items = native_matrix(self.columns.of_features(features))
        norms = np.sqrt(self.label_counts.astype(np.float64))
        threads = 1 if len(features) <= FEW_FEATURES else thread_count()
        ids, values = column_search(items, native_matrix(self.Y), width, threads, norms)
        return NeighborGraph.trusted(ids, values, COSINE.name, n_labels)

    def settled(self, Y: Csr, X: Features) -> FeatureKNNScoring:
        """Return the state of a new fit on the same rows, at places without gaps."""
        nobody = no_neighbors(int(Y.shape[0]), int(Y.shape[0]), COSINE.name)
        training = Training(nobody, Y, X)
        return FeatureKNNScoring.fit(training, self.n_kept, "feature", self.aggregate)

    def get_state(self) -> dict[str, State]:
        """Raise: only the result of :meth:`settled` can be saved."""
        raise InvalidArgumentError("scoring", "a settled state", "one with changed rows")

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Raise: no file contains this state."""
        raise ModelFormatError("unexpected ChangedFeatureKNNScoring")


def revised_feature_part(
    scoring: object,
    X: Features,
    gone: Bool,
    Y: Csr,
    label_counts: Int,
    n_kept: int,
    aggregate: str,
) -> ChangedFeatureKNNScoring:
    """Return feature kNN after a change of the rows, given its state before."""
    if isinstance(scoring, ChangedFeatureKNNScoring):
        columns = scoring.columns.changed(X, gone)
    else:
        columns = FeatureColumns.of(X, gone)
    return ChangedFeatureKNNScoring(columns, n_kept, aggregate, adopted(Y), label_counts)
