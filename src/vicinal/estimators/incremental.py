"""Learning rows at once and forgetting them, exactly.

After ``partial_fit`` or ``forget`` a model equals one fitted from scratch on the same rows. The
neighbours of old rows change when rows come and go, so the leave-one-out graph is kept and mended:

- **New rows** are searched among all rows; every old row is searched among the new rows only, and
  what it finds is merged into its list.
- **Forgotten rows** leave every list; the rows whose full lists lost one are searched again.

What the method learns from the graph is then counted anew, which costs about as much as predicting
the training rows from a ready graph: linear in rows × k, and no search.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vicinal._base.arrays import Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.fitting import all_or_nothing
from vicinal._base.labels import Labels, extended_labels
from vicinal._base.validation import check_rows, owned
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.row_names import check_row_names, extended_row_names
from vicinal.estimators.targets import refuse_one_dimensional
from vicinal.graph import NeighborGraph
from vicinal.graph.neighbor_graph import narrowed
from vicinal.index import TrainingRows
from vicinal.index.graph_updates import graph_with, graph_without


class IncrementalEstimator(NeighborEstimator):
    """An estimator that learns and forgets rows without starting over.

    Attributes
    ----------
    graph_ : NeighborGraph
        The leave-one-out graph; absent from a loaded model, which searches it when first needed.
    """

    @all_or_nothing
    def partial_fit(
        self,
        X: object,
        Y: object,
        classes: object = None,
        *,
        label_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn further rows; the model then equals one fitted on all of them at once.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_new, m)
        Y : indicator with the columns of ``label_names_``, or list of label-name collections
            Names, here or as the columns of a data frame, may be new: such labels come last.
        classes : ignored
            scikit-learn's classifiers must be told of their classes; labels are 0 and 1.
        label_names : sequence of str, optional
            Names of the columns of `Y`, where they are others than those known.
        row_names : sequence of str, optional
            Names of the new rows; in a model whose rows have names, a row without one goes by its
            id.

        Notes
        -----
        Costs a search of the new rows among all, a search of all rows among the new ones, and one
        pass over the graph.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y, label_names=label_names, row_names=row_names)
        refuse_one_dimensional(Y)
        fresh = owned(self._read_X(X, reset=False), X)
        labels = extended_labels(self._labels(), Y, fresh.shape[0], label_names)
        names = None if row_names is None else check_row_names(row_names, fresh.shape[0])
        k = self._neighbors()
        graph = self._training_graph(k)
        search = self.search_.grown(fresh)
        self._adopt(search, graph_with(graph, search, fresh, k), labels)
        self.row_names_ = extended_row_names(self.row_names_, names, search.row_ids)
        return self

    @all_or_nothing
    def forget(self, rows: object) -> Self:
        """Forget training rows by id; the model then equals one fitted without them.

        Parameters
        ----------
        rows : array-like of int
            Ids as in ``row_ids_``, :meth:`kneighbors` and :meth:`neighbor_graph`.

        Notes
        -----
        Costs a search for each row that had a forgotten one among its neighbours, and one pass over
        the graph.

        The model no longer holds a forgotten row's features or labels, and the row is not found any
        more. The index, where one was built, marks it as removed and releases its memory once more
        than :data:`~vicinal.index.row_ids.COMPACT_SHARE` of the rows are; :meth:`compact` does so
        now.
        """
        check_is_fitted(self, "scoring_")
        gone = _places(rows, self.search_)
        kept = np.setdiff1d(np.arange(self.search_.n_rows), gone)
        if len(kept) == 0:
            raise InvalidArgumentError("rows", "at least one row left over", "all rows")
        k = self._neighbors()
        graph = self._training_graph(k)
        search = self.search_.reduced(kept)
        labels = replace(self._labels(), matrix=self.scoring_.Y[kept])
        self._adopt(search, graph_without(graph, search, kept, gone, k), labels)
        if self.row_names_ is not None:
            self.row_names_ = tuple(self.row_names_[place] for place in kept.tolist())
        return self

    def compact(self) -> Self:
        """Release all memory that the index still holds for forgotten rows."""
        check_is_fitted(self, "scoring_")
        self.search_.compact()
        return self

    def _adopt(self, search: TrainingRows, graph: NeighborGraph, labels: Labels) -> None:
        """Learn, and keep the graph."""
        super()._adopt(search, graph, labels)
        self.graph_ = graph

    def _labels(self) -> Labels:
        """Return the labels of the rows the model knows."""
        return Labels(self.scoring_.Y, self.label_names_, self.label_kind_, self.label_dtype_)

    def _training_graph(self, k: int) -> NeighborGraph:
        """Return the leave-one-out graph for k: the one kept, or a fresh search."""
        kept: NeighborGraph | None = getattr(self, "graph_", None)
        if kept is None or kept.k < min(k, self.search_.width_among_others(k)):
            return self.search_.query_self(k)
        return narrowed(kept, k)


def _places(rows: object, search: TrainingRows) -> Int:
    """Return where the rows with these ids stand; each must be known, once."""
    ids = check_rows("rows", rows, search.n_ids)
    unknown = ids[~np.isin(ids, search.row_ids)]
    if len(unknown):
        raise InvalidArgumentError(
            "rows", "rows the model knows", f"{unknown[0]}, forgotten before"
        )
    places: Int = np.searchsorted(search.row_ids, np.unique(ids))
    return places
