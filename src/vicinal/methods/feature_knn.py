r"""Feature kNN: the labels most similar to the features of a row.

A feature *f* and a label *y* are compared by their columns over the training rows:

.. math::

    sim_{FL}(f, y) &= \frac{\vec f \cdot \vec y}{\lVert \vec f \rVert \lVert \vec y \rVert} \\
    \mathrm{conf}_{FL}(x, y) &= \frac{\sum_j x_j \cdot sim_{FL}(f_j, y)}{\sum_j x_j}

Each feature keeps only its k most similar labels. The paper does not say how the kept labels enter
the formula, so ``aggregate`` selects one of four readings:

- ``"literal"``, the formula (3) as printed: the numerator and the denominator run over all features
  of *x*, and k only limits which labels are candidates: those that some feature of *x* keeps;
- ``"mean"``: the numerator runs over the features that keep *y*, the denominator over all features;
- ``"kept-mean"``: both run over the features that keep *y*;
- ``"max"``: the largest :math:`sim_{FL}(f_j, y)` of the features that keep *y*.

A label that no feature of *x* keeps scores 0. ``neighbors_of="label"`` is a variant that is not in
the paper: each label keeps its k most similar features instead. The documentation of LCIF compares
all readings with the paper's figures: ``"kept-mean"``, the default, comes nearest.

The search takes place in ``fit`` and includes all rows; a prediction is one sparse product.
Features are expected to be in [0, 1]; then scores are too. Negative values of *x* and negative
similarities are ignored; a row without a positive value scores 0 for all labels.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017, section III-B.

Adding or removing a row changes the length of its labels' columns, and therefore the similarities
of every feature that shares a row with one of these labels. So all similarities are dropped; those
of a feature are computed when a row with this feature is first scored, and kept until the next
change. The products of frequent features with the labels are kept beyond it. All are identical to
those of a new fit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

import numpy as np

from vicinal._core.arrays import Bool, Csr, Features, Float, Int, Int32, is_stored, row_ids
from vicinal._core.checks import check_integer, check_option
from vicinal._core.csr import checked_csr, trust
from vicinal._core.state import State, read_csr, read_plain
from vicinal._core.validation import as_csr, csr_parts
from vicinal._native import FeatureLabels
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.distances import COSINE
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explanation.breakdown import Breakdown, Terms, shapley_of_maximum
from vicinal.graph import NeighborGraph, no_neighbors
from vicinal.methods._formulas import column_graph, combined_rows, kept_similarities, label_values
from vicinal.methods.base import NeighborEstimator
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.registry import ODD_K, ODD_K_BEYOND, Method
from vicinal.methods.training import Scoring, Training, check_given, read_indicator
from vicinal.scores import Scores

NEIGHBORS_OF = ("feature", "label")
AGGREGATES = ("mean", "max", "kept-mean", "literal")
FEATURE_SWITCHES = {"neighbors_of": NEIGHBORS_OF, "aggregate": ("kept-mean", "max")}
"""The switches of feature kNN in the default grids; the first values are the defaults."""


@dataclass(frozen=True, eq=False)
class FeatureKNNScoring:
    """The k largest similarities of features and labels."""

    similarity: Csr
    aggregate: str
    Y: Csr
    kept: Csr | None = None

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        check_option("aggregate", self.aggregate, AGGREGATES)
        if (self.kept is not None) != (self.aggregate == "literal"):
            raise InvalidArgumentError("kept", 'a matrix exactly for "literal"', self.aggregate)
        if self.kept is not None and self.kept.shape != self.similarity.shape:
            raise InvalidArgumentError("kept", f"shape {self.similarity.shape}", self.kept.shape)
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
        aggregate: str = "kept-mean",
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
        aggregate: str = "kept-mean",
        n_jobs: int | None = None,
    ) -> Iterator[Self]:
        """Fit for each k of `ks`, searching once."""
        if training.X is None:
            raise InvalidArgumentError("X", "the features of the training rows", None)
        wanted = list(ks)
        of_label = check_option("neighbors_of", neighbors_of, NEIGHBORS_OF) == "label"
        A, B = (training.Y, training.X) if of_label else (training.X, training.Y)
        graph = column_graph(A, B, max(wanted), n_jobs)
        literal = check_option("aggregate", aggregate, AGGREGATES) == "literal"
        every = column_cosines(training.X, training.Y) if literal else None
        for k in wanted:
            kept = kept_similarities(graph.prefix(min(k, graph.k)))
            kept = kept.T.tocsr() if of_label else kept
            if every is None:
                yield cls(kept, aggregate, training.Y)
            else:
                yield cls(every, aggregate, training.Y, kept)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the rows of `X`; `graph` is not used."""
        if X is None:
            raise InvalidArgumentError("X", "the features of the rows to score", None)
        rows = as_csr(X)
        sums = combined_rows(rows, self.similarity, self.aggregate)
        if self.kept is not None:
            candidates = combined_rows(rows, self.kept, "max").values
            values = sums.means()
            kept = is_stored(candidates, values)
            counts = np.bincount(row_ids(values)[kept], minlength=values.shape[0])
            indptr = np.concatenate([[0], np.cumsum(counts)])
            return Scores.sparse(
                checked_csr(values.data[kept], values.indices[kept], indptr, values.shape)
            )
        return Scores.sparse(sums.means() if self.aggregate == "mean" else sums.values)

    def as_fitted(self, Y: Csr, X: Features) -> Self:
        """Return the state for the same rows at other places, whose labels are `Y`."""
        return replace(self, Y=Y)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        r"""Return :math:`x_j sim_{FL}(f_j, y) / \sum_j x_j` of the features that keep the label."""
        row = as_csr(check_given(X, 1, self.n_features))
        has = row.data > 0
        columns, x = row.indices[has].astype(np.int64), row.data[has].astype(np.float64)
        similarities = label_values(self.similarity, columns, labels)
        if self.kept is not None:
            is_candidate = (label_values(self.kept, columns, labels) > 0).any(axis=0)
            similarities = np.where(is_candidate, similarities, 0.0)
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
        kept: dict[str, State] = {} if self.kept is None else {"kept": self.kept}
        return {"similarity": self.similarity, "aggregate": self.aggregate, "Y": self.Y, **kept}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        similarity = _read_cosines(state, "similarity", Y.shape[1])
        kept = _read_cosines(state, "kept", Y.shape[1]) if "kept" in state else None
        aggregate = read_plain(state, "aggregate", str)
        try:
            return cls(similarity, aggregate, Y, kept)
        except InvalidArgumentError as error:
            raise ModelFormatError(str(error)) from None


def _read_cosines(state: Mapping[str, State], name: str, n_labels: int) -> Csr:
    """Return a stored matrix of positive cosines."""
    matrix = read_csr(state, name, (None, n_labels))
    if matrix.nnz and not 0 < matrix.data.min() <= matrix.data.max() < 1 + 1e-9:
        raise ModelFormatError(f"{name}: expected cosines above 0")
    return matrix.astype(np.float64, copy=False)


def column_cosines(X: Features, Y: Csr) -> Csr:
    """Return the positive cosines of all columns of `X` and `Y` that share a row, shape (m, L)."""
    rows = as_csr(X).astype(np.float64)
    products = (rows.T.tocsr() @ Y.astype(np.float64)).tocsr()
    lengths = np.sqrt(np.bincount(rows.indices, rows.data**2, minlength=rows.shape[1]))
    label_lengths = np.sqrt(np.bincount(Y.indices, minlength=Y.shape[1]))
    lengths_of_pairs = np.repeat(lengths, np.diff(products.indptr))
    products.data = products.data / (lengths_of_pairs * label_lengths[products.indices])
    products.data[~(products.data > 0)] = 0.0
    products.eliminate_zeros()
    products.sort_indices()
    return trust(products)


FEW_FEATURES = 4096
"""If the rows to score have more features than this, the similarities of all are computed."""


@dataclass(frozen=True, eq=False)
class ChangedFeatureKNNScoring:
    """The rows and labels of each feature, and the similarities computed so far.

    Memory: 12 bytes per entry of the first rows and 16 of those learned since, 24 per feature; 12
    per label that occurs with a feature of more than a 64th of the rows.
    """

    table: FeatureLabels
    X: Features
    gone: Bool
    Y: Csr
    label_counts: Int
    n_kept: int
    aggregate: str

    is_as_fitted = False

    @property
    def k(self) -> int:
        """No neighbours are used for scoring."""
        return 0

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self.X.shape[1])

    @classmethod
    def of(
        cls, X: Features, gone: Bool, Y: Csr, label_counts: Int, n_kept: int, aggregate: str
    ) -> Self:
        """Find the rows of each feature; `gone` marks forgotten rows, or is empty."""
        indptr, rows = csr_parts(columns := trust(as_csr(X).T.tocsr()))
        values = np.ascontiguousarray(columns.data[: indptr[-1]], dtype=np.float64)
        n_labels = int(Y.shape[1])
        table = FeatureLabels(indptr, rows, values, *csr_parts(Y), n_labels, gone.view(np.uint8))
        return cls(table, X, gone, Y, label_counts, n_kept, aggregate)

    def changed(self, X: Features, gone: Bool, Y: Csr, label_counts: Int) -> Self:
        """Return the state after rows were appended or forgotten."""
        options = label_counts, self.n_kept, self.aggregate
        if self._takes_in(X, Y) and self._leaves_out(X, gone):
            return type(self)(self.table, X, gone, Y, *options)
        return self.of(X, gone, Y, *options)  # the table belongs to a version that was given up

    def _takes_in(self, X: Features, Y: Csr) -> bool:
        """Append the last rows of `X` to the table; False if it follows another version."""
        n_old, n_gone = self._version
        label_indptr, labels = csr_parts(Y)
        for place in range(n_old, int(X.shape[0])):
            own = labels[label_indptr[place] : label_indptr[place + 1]]
            row = _features_of(X, place)
            if not self.table.learn(place, n_gone, *row, own, int(Y.shape[1])):
                return False
        return True

    def _leaves_out(self, X: Features, gone: Bool) -> bool:
        """Take rows out of the table; False if it follows another version."""
        n_gone = self._version[1]
        if np.count_nonzero(gone) == n_gone:
            return True
        fresh = gone.copy()
        fresh[: len(self.gone)] &= ~self.gone
        for more, place in enumerate(np.flatnonzero(fresh).tolist()):
            columns, _ = _features_of(X, place)
            if not self.table.forget(int(X.shape[0]), n_gone + more, place, columns):
                return False
        return True

    @property
    def _version(self) -> tuple[int, int]:
        """Number of rows, and of those that are forgotten."""
        return int(self.X.shape[0]), int(np.count_nonzero(self.gone))

    def __reduce__(self) -> tuple[object, ...]:
        """Find the rows of each feature again in a copy or another process."""
        options = self.label_counts, self.n_kept, self.aggregate
        return type(self).of, (self.X, self.gone, self.Y, *options)

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
        near = self._of_features(features)
        return FeatureKNNScoring(near, self.aggregate, self.Y).scores(graph, local)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the parts of each label's score, as feature kNN does."""
        fitted = FeatureKNNScoring(self.similarity, self.aggregate, self.Y)
        return fitted.explain(graph, labels, X)

    @cached_property
    def similarity(self) -> Csr:
        """The similarities that all features keep, shape (m, L)."""
        kept = np.flatnonzero(~self.gone) if len(self.gone) else slice(None)
        return self.as_fitted(trust(self.Y[kept]), self.X[kept]).similarity

    def _of_features(self, features: Int | Int32) -> Csr:
        """Return the similarities that some features keep, shape (len(features), L)."""
        n_labels = int(self.Y.shape[1])
        width = max(1, min(self.n_kept, n_labels))
        norms = np.sqrt(self.label_counts.astype(np.float64))
        gone = self.gone.view(np.uint8)
        ids, values = self.table.nearest(
            features.astype(np.int32), *self._version, gone, norms, width
        )
        return kept_similarities(NeighborGraph.trusted(ids, values, COSINE.name, n_labels))

    def as_fitted(self, Y: Csr, X: Features) -> FeatureKNNScoring:
        """Return the state of a new fit on the same rows, at places without gaps."""
        nobody = no_neighbors(int(Y.shape[0]), int(Y.shape[0]), COSINE.name)
        training = Training(nobody, Y, X)
        return FeatureKNNScoring.fit(training, self.n_kept, "feature", self.aggregate)

    def get_state(self) -> dict[str, State]:
        """Raise: only the result of :meth:`as_fitted` can be saved."""
        raise InvalidArgumentError("scoring", "what as_fitted() returns", "a state of changed rows")

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Raise: no file contains this state."""
        raise ModelFormatError("unexpected ChangedFeatureKNNScoring")


def _features_of(X: Features, place: int) -> tuple[Int32, Float]:
    """Return the columns of a row and their values."""
    if isinstance(X, np.ndarray):
        indptr, indices = csr_parts(row := as_csr(X[place : place + 1]))
        return indices[: indptr[-1]], row.data[: indptr[-1]].astype(np.float64)
    indptr, indices = csr_parts(X)
    entries = slice(indptr[place], indptr[place + 1])
    return indices[entries], X.data[entries].astype(np.float64)


@dataclass(eq=False, repr=False)
class FeatureKNN(IncrementalEstimator):
    """Feature kNN: predict the labels that are most similar to the features of a row.

    The fastest method at prediction: it searches no rows. Features and labels are compared when the
    model is fitted.

    Parameters
    ----------
    n_neighbors : int
        How many of the most similar labels each feature keeps (or features each label).
    neighbors_of : {"feature", "label"}
        ``"feature"``: each feature keeps its most similar labels. ``"label"``: each label keeps its
        most similar features.
    aggregate : {"mean", "max", "kept-mean", "literal"}
        How a label's score is computed from its similarities to the features of a row: their mean,
        weighted by the feature values, or the largest. ``"mean"`` counts a feature that does not
        keep the label as 0, ``"kept-mean"`` leaves it out. ``"literal"`` is the paper's formula as
        printed: the mean over all features, for the labels that some feature of the row keeps.
    metric : {"cosine", "dot", "euclidean"}
        For ``kneighbors`` only. Features and labels are always compared by the cosine.

    Notes
    -----
    Features should lie in [0, 1] (:class:`vicinal.preprocess.MinMax`); negative values of a row are
    ignored in its scores.

    References
    ----------
    L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for
    efficient multi-label classification", DSAA 2017. The formulas are in
    :mod:`vicinal.methods.feature_knn`.

    Examples
    --------
    Rows with the first feature are round, rows with the second one are square:

    >>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> Y = [["round"], ["round"], ["square"], ["round"]]
    >>> model = FeatureKNN(n_neighbors=1).fit(X, Y)
    >>> model.predict_names([[1.0, 0.0], [1.0, 3.0]])
    [['round'], ['round', 'square']]
    >>> model.predict_proba([[1.0, 3.0]]).toarray()
    array([[1., 1.]])
    """

    method = Method(
        name="feature-knn",
        grid={"n_neighbors": ODD_K, **FEATURE_SWITCHES},
        beyond_edge={"n_neighbors": ODD_K_BEYOND},
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(FeatureKNNScoring,),
    )

    n_neighbors: int = 15
    neighbors_of: str = "feature"
    aggregate: str = "kept-mean"
    _: KW_ONLY
    metric: str = "cosine"

    def _neighbors(self) -> int:
        """Check ``n_neighbors`` and return 0: no rows are searched."""
        check_integer("n_neighbors", self.n_neighbors, low=1)
        return 0

    def _fit_scoring(self, training: Training) -> FeatureKNNScoring:
        """Compare features and labels."""
        return FeatureKNNScoring.fit(
            training, self.n_neighbors, self.neighbors_of, self.aggregate, self.n_jobs
        )

    def _can_update(self) -> bool:
        """Tell whether a small change can be revised: only if features keep few similarities."""
        return self.neighbors_of == "feature" and self.aggregate != "literal"

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Compute the similarities that changed only when they are needed."""
        return revised_features(scoring, changed, self.n_neighbors, self.aggregate)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[FeatureKNNScoring]:
        """Compare features and labels once for all k."""
        return FeatureKNNScoring.fit_sweep(
            training, ks, self.neighbors_of, self.aggregate, self.n_jobs
        )

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return with_matching_features(super().from_state(state))


def revised_features(
    scoring: Scoring, changed: ChangedRows, k: int, aggregate: str
) -> ChangedFeatureKNNScoring:
    """Return the scoring of feature kNN after a small change."""
    X, gone, Y = changed.rows.X, changed.rows.gone, trust(changed.Y)
    counts = changed.label_counts().copy()
    if isinstance(scoring, ChangedFeatureKNNScoring):
        return scoring.changed(X, gone, Y, counts)
    return ChangedFeatureKNNScoring.of(X, gone, Y, counts, k, aggregate)


Model = TypeVar("Model", bound=NeighborEstimator)


def with_matching_features(model: Model) -> Model:
    """Return a restored model, after checking the number of features of its similarities."""
    n_features = getattr(model.scoring_, "n_features", None)
    if n_features is None:
        raise ModelFormatError(
            f"scoring: expected feature kNN or LCIF, got {type(model.scoring_).__name__}"
        )
    if n_features != model.n_features_in_:
        raise ModelFormatError(
            f"similarity: expected {model.n_features_in_} features, got {n_features}"
        )
    return model
