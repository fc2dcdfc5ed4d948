"""Predict labels and scores of new rows, with one version of the model per call."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Csr, Float, Int32
from vicinal._base.checked_csr import stacked
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import blocks
from vicinal._base.threads import using_threads
from vicinal._base.validation import check_integer
from vicinal.estimators.answer_kinds import labels_as, probabilities_as
from vicinal.estimators.block_rows import block_rows
from vicinal.estimators.neighbor_queries import NeighborQueries
from vicinal.estimators.version import Version
from vicinal.graph import NeighborGraph
from vicinal.graph.checks import check_graph
from vicinal.graph.neighbor_graph import narrowed
from vicinal.scores import Scores
from vicinal.scoring.every_label import EveryLabel, check_cells


class Predictions(NeighborQueries):
    """``predict``, ``predict_proba``, ``scores``, ``rank`` and so on of every estimator."""

    def predict(self, X: object, *, graph: NeighborGraph | None = None) -> NDArray[Any] | Csr:
        """Return the predicted label indicator, in the array type and dtype of `Y` at fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
        graph : NeighborGraph, optional
            Neighbours of `X` among the training rows, from :meth:`neighbor_graph`; replaces the
            search.
        """
        version = self._fitted()
        decided = self._decided(version, X, graph)
        return labels_as(decided, version.label_kind, version.label_dtype)

    def _decided(self, version: Version, X: object, graph: NeighborGraph | None) -> Csr:
        """Return the label indicator (int32) that one version predicts."""
        scored = self._score_blocks(version, X, graph)
        return stacked([version.decision.decide(scores) for scores in scored])

    def predict_blocks(self, X_blocks: Iterable[object]) -> Iterator[NDArray[Any] | Csr]:
        """Yield the predicted label indicator of each block of rows.

        Memory: one block at a time. All blocks are predicted by the model as it was at the first
        block, even if it learns further rows in between.

        Parameters
        ----------
        X_blocks : iterable of array-like, sparse matrix or data frame
            Each as for :meth:`predict`.
        """
        version = self._fitted()
        for X in X_blocks:
            decided = self._decided(version, X, None)
            yield labels_as(decided, version.label_kind, version.label_dtype)

    def decide(self, scores: Scores) -> Csr:
        """Return the label indicator (int32) that the fitted rule predicts from scores."""
        return self._fitted().decision.decide(scores)

    def predict_names(self, X: object, *, graph: NeighborGraph | None = None) -> list[list[str]]:
        """Return the names of the labels predicted for each row."""
        version = self._fitted()
        decided = self._decided(version, X, graph)
        return [
            [version.label_names[label] for label in labels]
            for labels in np.split(decided.indices, decided.indptr[1:-1])
        ]

    def predict_proba(self, X: object, *, graph: NeighborGraph | None = None) -> Float | Csr:
        """Return the score of every row and label.

        The result has shape (n, L). It is a CSR array if the training labels were sparse and the
        method scores a label without votes 0. If it is dense and too large for memory, an error
        points to :meth:`rank`.
        """
        version = self._fitted()
        return probabilities_as(self._scores(version, X, graph), version.label_kind)

    def decision_function(self, X: object, *, graph: NeighborGraph | None = None) -> Float:
        """Return every score minus the threshold: positive for the labels that pass it.

        One (n, L) array; raises if it is too large for memory (use :meth:`rank`). Rules that
        compare the labels of a row with each other (``RCut``, ``TopS``, label sets, …) have no
        threshold; the result is then the scores themselves. With ``never_empty``, a row may be
        given a label that does not pass the threshold.
        """
        version = self._fitted()
        scores = self._scores(version, X, graph).toarray()
        cut: Any = getattr(version.decision, "cut", None)
        above = scores if cut is None else scores - cut
        return above.ravel() if version.label_kind == "flat" else above

    def scores(self, X: object, *, graph: NeighborGraph | None = None) -> Scores:
        """Return the scores of every row and label.

        Sparse for any number of labels, except for the methods that compute a separate score for
        every row and label (DML-kNN, LAML-kNN, IBLR).
        """
        return self._scores(self._fitted(), X, graph)

    def _scores(self, version: Version, X: object, graph: NeighborGraph | None) -> Scores:
        """Return the scores of every row and label that one version computes."""
        if isinstance(version.scoring, EveryLabel):
            check_cells(self._read_new_X(X).shape[0], len(version.label_names))
        return Scores.stack(list(self._score_blocks(version, X, graph)))

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
        version = self._fitted()
        top = check_integer("top", top, low=1)
        n_jobs = version.rows.n_jobs
        blocks = [scores.top(top, n_jobs) for scores in self._score_blocks(version, X, graph)]
        return np.concatenate([ids for ids, _ in blocks]), np.concatenate([s for _, s in blocks])

    def _score_blocks(
        self, version: Version, X: object, graph: NeighborGraph | None
    ) -> Iterator[Scores]:
        """Score the rows of `X` with one version, in blocks."""
        queries = self._read_new_X(X)
        known, scoring = version.rows, version.scoring
        n_rows, k = queries.shape[0], scoring.k
        if graph is not None:
            check_graph(graph, n_rows, known.n_ids, min(k, known.n_rows))
            graph = known.by_place(graph)
            if graph.metric != known.metric:
                expected = f"a graph of the model's metric, {known.metric}"
                raise InvalidArgumentError("graph", expected, graph.metric)
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
