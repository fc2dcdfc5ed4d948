"""Predict labels and scores of new rows, with one fitted state per call."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int32
from vicinal._core.checks import check_integer
from vicinal._core.csr import private_copy, quick_rows, stacked, with_values
from vicinal._core.labels import Kind
from vicinal._core.progress import blocks
from vicinal._core.threads import using_threads
from vicinal._core.validation import read_features
from vicinal.distances import get_distance
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph, check_graph, narrowed
from vicinal.methods._arguments import check_sample_weight
from vicinal.methods.fitted_state import FittedAttributes, FittedState
from vicinal.methods.training import EveryLabel, block_rows, check_cells
from vicinal.metrics._sums import check_labels, check_truth
from vicinal.metrics.evaluate import together
from vicinal.scores import Scores


class NeighborQueries(FittedAttributes):
    """``kneighbors`` and ``neighbor_graph`` of every estimator."""

    def neighbor_graph(self, X: object, k: int | None = None) -> NeighborGraph:
        """Return the `k` nearest training rows of each row; by default as many as the method uses.

        The result can be passed to other methods as ``graph=``. Training rows are identified by
        their ids (``row_ids_``).
        """
        state = self._fitted()
        queries = self._read_new_X(X)
        width = state.scoring.k if k is None else check_integer("k", k, low=1)
        return state.rows.by_id(state.rows.query(queries, width))

    def kneighbors(
        self, X: object = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[Float, Int32] | Int32:
        """Return the nearest training rows, as scikit-learn's ``kneighbors`` does.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m), or None
            None for the training rows; a row is not its own neighbour then.
        n_neighbors : int or None
            At most the number of training rows (less one if `X` is None); None for as many as the
            method uses, or all rows if there are fewer.
        return_distance : bool
            Whether to return distances or similarities too.

        Returns
        -------
        distances : ndarray of float64, shape (n, n_neighbors)
            In increasing order: the Euclidean distance, 1 − cosine, or the negated dot product; inf
            where there is no further neighbour. Only if `return_distance`.
        ids : ndarray of int32, of the same shape
            Ids of training rows (``row_ids_``; :meth:`forget` does not renumber them), −1 where
            there is no further neighbour. For the cosine and the dot product, only rows that share
            a feature are neighbours.
        """
        state = self._fitted()
        rows = state.rows.compacted() if X is None else state.rows
        most = rows.n_rows - (X is None)
        k = min(state.scoring.k, most)
        if n_neighbors is not None:
            k = check_count(n_neighbors, most)
        found = rows.query_self(k) if X is None else rows.query(self._read_new_X(X), k)
        return as_kneighbors(rows.by_id(narrowed(found, k)), return_distance)

    def _read_X(self, X: object, *, reset: bool) -> Features:
        """Return validated features; their number and names are stored (`reset`) or compared."""
        if not reset and "feature_names_in_" not in vars(self):
            quick = quick_rows(X, self.n_features_in_)
            if quick is not None:
                return quick
        return read_features(self, X, reset=reset)

    def _read_new_X(self, X: object) -> Features:
        """Return validated features of rows to predict."""
        self._fitted()
        return self._read_X(X, reset=False)


def as_kneighbors(graph: NeighborGraph, return_distance: bool) -> tuple[Float, Int32] | Int32:
    """Return a graph as ``kneighbors`` does: distances and ids, or ids alone."""
    if not return_distance:
        return graph.ids
    distances = graph.distance_kind.as_distances(graph.values)
    return np.where(graph.ids < 0, np.inf, distances), graph.ids


def check_count(n_neighbors: object, most: int) -> int:
    """Return a number of neighbours from 1 to `most`."""
    k = check_integer("n_neighbors", n_neighbors, low=1)
    if k > most:
        raise InvalidArgumentError("n_neighbors", f"at most {most} (training rows)", k)
    return k


def labels_as(decided: Csr, kind: Kind, dtype: str) -> NDArray[Any] | Csr:
    """Return label sets in the array type of the training labels."""
    typed = with_values(decided, decided.data.astype(dtype))
    if kind == "sparse":
        return private_copy(typed)
    array: NDArray[Any] = typed.toarray()
    return array.ravel() if kind == "flat" else array


def probabilities_as(scores: Scores, kind: Kind) -> Float | Csr:
    """Return scores in the array type of the training labels."""
    if isinstance(scores.values, sparse.csr_array) and kind == "sparse":
        return scores.toarray() if scores.base.any() else private_copy(scores.values)
    array = scores.toarray()
    return np.column_stack([1.0 - array, array]) if kind == "flat" else array


class SubsetAccuracy:
    """scikit-learn's ``score``, for labels given as an indicator or by name."""

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the share of rows whose label set is predicted exactly.

        Parameters
        ----------
        X : rows
            Rows with known labels.
        y : label indicator, or list of label-name collections
            Names are aligned with those of the model; a row with a name that the model does not
            know counts as wrong.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        """
        model = cast("Any", self)
        predicted = model.predict(X)
        Y_true, labels, _ = together(y, predicted, None, model.label_names_)
        truth = check_truth(Y_true)
        differing: Csr = cast("Any", truth != check_labels(labels, truth)).tocsr()
        differing.eliminate_zeros()
        right = np.diff(differing.indptr) == 0
        weights = check_sample_weight(sample_weight, len(right))
        return float(np.average(right, weights=weights))


class Predictions(NeighborQueries):
    """``predict``, ``predict_proba``, ``scores``, ``rank`` and so on of every estimator."""

    def predict(self, X: object, *, graph: NeighborGraph | None = None) -> NDArray[Any] | Csr:
        """Return the predicted label indicator, in the array type and dtype of `Y` at fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
            Rows to label, with the features of the training rows.
        graph : NeighborGraph, optional
            Neighbours of `X` among the training rows, from :meth:`neighbor_graph`; replaces the
            search.
        """
        state = self._fitted()
        decided = self._decided(state, X, graph)
        return labels_as(decided, state.label_kind, state.label_dtype)

    def _decided(self, state: FittedState, X: object, graph: NeighborGraph | None) -> Csr:
        """Return the label indicator (int32) that one fitted state predicts."""
        scored = self._score_blocks(state, X, graph)
        return stacked([state.decision.decide(scores) for scores in scored])

    def predict_blocks(self, X_blocks: Iterable[object]) -> Iterator[NDArray[Any] | Csr]:
        """Yield the predicted label indicator of each block of rows.

        Memory: one block at a time. All blocks are predicted by the model as it was at the first
        block, even if it learns further rows in between.

        Parameters
        ----------
        X_blocks : iterable of array-like, sparse matrix or data frame
            Each as for :meth:`predict`.
        """
        state = self._fitted()
        for X in X_blocks:
            decided = self._decided(state, X, None)
            yield labels_as(decided, state.label_kind, state.label_dtype)

    def decide(self, scores: Scores) -> Csr:
        """Return the label indicator (int32) that the fitted rule predicts from scores."""
        return self._fitted().decision.decide(scores)

    def predict_names(self, X: object, *, graph: NeighborGraph | None = None) -> list[list[str]]:
        """Return the names of the labels predicted for each row."""
        state = self._fitted()
        decided = self._decided(state, X, graph)
        return [
            [state.label_names[label] for label in labels]
            for labels in np.split(decided.indices, decided.indptr[1:-1])
        ]

    def predict_proba(self, X: object, *, graph: NeighborGraph | None = None) -> Float | Csr:
        """Return the score of every row and label.

        The result has shape (n, L). It is a CSR array if the training labels were sparse and the
        method scores a label without votes 0. If it is dense and too large for memory, an error
        points to :meth:`rank`.
        """
        state = self._fitted()
        return probabilities_as(self._scores(state, X, graph), state.label_kind)

    def decision_function(self, X: object, *, graph: NeighborGraph | None = None) -> Float:
        """Return every score minus the threshold: positive for the labels that pass it.

        One (n, L) array; raises if it is too large for memory (use :meth:`rank`). Rules that
        compare the labels of a row with each other (``RCut``, ``TopS``, label sets, …) have no
        threshold; the result is then the scores themselves. With ``never_empty``, a row may be
        given a label that does not pass the threshold.
        """
        state = self._fitted()
        scores = self._scores(state, X, graph).toarray()
        cut: Any = getattr(state.decision, "cut", None)
        above = scores if cut is None else scores - cut
        return above.ravel() if state.label_kind == "flat" else above

    def scores(self, X: object, *, graph: NeighborGraph | None = None) -> Scores:
        """Return the scores of every row and label.

        Sparse for any number of labels, except for the methods that compute a separate score for
        every row and label (DML-kNN, LAML-kNN, IBLR).
        """
        return self._scores(self._fitted(), X, graph)

    def _scores(self, state: FittedState, X: object, graph: NeighborGraph | None) -> Scores:
        """Return the scores of every row and label that one fitted state computes."""
        if isinstance(state.scoring, EveryLabel):
            check_cells(self._read_new_X(X).shape[0], len(state.label_names))
        return Scores.stack(list(self._score_blocks(state, X, graph)))

    def rank(
        self, X: object, top: int = 5, *, graph: NeighborGraph | None = None
    ) -> tuple[Int32, Float]:
        """Return the `top` best labels of each row and their scores, best first.

        Memory: (n, top) only, for any number of labels.

        Returns
        -------
        ids : ndarray of int32, shape (n, min(top, L))
        scores : ndarray of float64, of the same shape
        """
        state = self._fitted()
        top = check_integer("top", top, low=1)
        n_jobs = state.rows.n_jobs
        blocks = [scores.top(top, n_jobs) for scores in self._score_blocks(state, X, graph)]
        return np.concatenate([ids for ids, _ in blocks]), np.concatenate([s for _, s in blocks])

    def _score_blocks(
        self, state: FittedState, X: object, graph: NeighborGraph | None
    ) -> Iterator[Scores]:
        """Score the rows of `X` with one fitted state, in blocks."""
        queries = self._read_new_X(X)
        known, scoring = state.rows, state.scoring
        n_rows, k = queries.shape[0], scoring.k
        if graph is not None:
            check_graph(graph, n_rows, known.n_ids, min(k, known.n_rows))
            graph = known.by_place(graph)
            if graph.metric not in (known.metric, known.metric.partition(":")[2]):
                expected = f"a graph of the model's metric, {known.metric}"
                raise InvalidArgumentError("graph", expected, graph.metric)
        elif k and get_distance(known.metric).is_given:
            expected = (
                f"the neighbours of these rows among the training rows ({known.metric}), because "
                "the model was fitted on a graph that its rows cannot be searched for"
            )
            raise InvalidArgumentError("graph", expected, None)
        elif k and known.prefers_whole_batches:
            graph = known.query(queries, k)
        for start, stop in blocks(n_rows, block_rows(scoring), "Scoring rows"):
            some = queries if stop - start == n_rows else queries[start:stop]
            if graph is None:
                near = known.query(some, k)
            else:
                near = narrowed(graph.queries(start, stop), k)
            with using_threads(known.n_jobs if n_rows > 1 else 1):
                scores = scoring.scores(near, some)
            yield scores

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes of each label, shape (L, 2), or (2,) if `Y` was one-dimensional."""
        pair = np.array([0, 1])
        if self.label_kind_ == "flat":
            return pair
        return np.broadcast_to(pair, (len(self.label_names_), 2))
