r"""LPkNN: the most frequent label set among the neighbours.

Each distinct label set of the training rows is a class (a label powerset). The class of *x* is

.. math:: \hat Y(x) = \arg\max_{S} \; |\{a \in N(x) : Y_a = S\}|,

where the class of the nearer row wins ties; without neighbours it is the empty set. The score of a
label is the share of the neighbours whose set contains it,

.. math:: c(l) = |\{a \in N(x) : l \in Y_a\}| / |N(x)|,

as in BRkNN; the two methods differ only in their predictions.

References
----------
E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
algorithms", SETN 2008.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Int, Int32
from vicinal._core.csr import take_rows
from vicinal.decision import LabelSets
from vicinal.explanation.breakdown import Breakdown
from vicinal.graph import NeighborGraph, votes_by_k
from vicinal.methods._formulas import label_values, neighbor_places
from vicinal.methods.brknn import confidence, equal_votes
from vicinal.methods.incremental import ChangedRows, IncrementalEstimator
from vicinal.methods.registry import EVERY_K, Method
from vicinal.methods.training import KeptLabels, Scoring, Training
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class LPkNNScoring(KeptLabels):
    """The training labels, whose distinct rows are the classes: 8 more bytes per row."""

    @cached_property
    def classes(self) -> Int:
        """The class of each training row, shape (n,)."""
        return label_set_ids(self.Y)

    def _classes_of(self, rows: Int32) -> Int:
        """Return the classes of rows, −1 for id −1; classes of few rows are numbered separately."""
        if rows.size >= self.Y.shape[0] or "classes" in vars(self):
            return np.append(self.classes, -1)[rows]
        known, place = np.unique(rows, return_inverse=True)
        classes = label_set_ids(self.Y[np.maximum(known, 0)])
        classes[known < 0] = -1
        return classes[place].reshape(rows.shape)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph` and predict their label sets."""
        (scores,) = self.sweep(graph, [min(self.k, graph.k)])
        return scores

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries of `graph` for each k of `ks` (ascending), counting votes once."""
        wanted = list(ks)
        counted = votes_by_k(graph, self.Y, wanted)
        near = graph.ids[:, : max(wanted, default=0)]
        majority = majorities(self._classes_of(near), wanted)
        queries = np.arange(graph.n_queries)
        for k, counts, place in zip(wanted, counted, majority, strict=True):
            scores = confidence(counts, graph.prefix(k))
            rows = near[queries, place]  # −1 for a query without neighbours, whose set is empty
            there = rows >= 0
            chosen = take_rows(self.Y, rows[there])
            sizes = np.zeros(len(rows), dtype=np.int64)
            sizes[there] = np.diff(chosen.indptr)
            indptr = np.concatenate([[0], np.cumsum(sizes)])
            shape = (len(rows), self.Y.shape[1])
            label_sets = sparse.csr_array((chosen.data, chosen.indices, indptr), shape=shape)
            yield replace(scores, label_sets=label_sets)

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the votes of the neighbours, and how many of them have the predicted set."""
        places = neighbor_places(graph, self.k)
        classes = self.classes[places]
        (first,) = next(majorities(classes[None, :], [len(places)])) if len(places) else (0,)
        having = np.count_nonzero(classes == classes[first]) if len(places) else 0
        return [
            replace(one, facts={**one.facts, "neighbors_with_predicted_set": int(having)})
            for one in equal_votes(places, label_values(self.Y, places, labels))
        ]


def label_set_ids(Y: Csr) -> Int:
    """Return the number of each row's label set; distinct sets are numbered from 0.

    Rows are distinguished by their first label, then by their second, and so on. Time: a sort of
    the rows that have such a label, for each of these steps.
    """
    n_rows, n_labels = Y.shape
    starts, sizes = Y.indptr[:-1], np.diff(Y.indptr)
    ids = np.zeros(n_rows, dtype=np.int64)
    for place in range(int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > place)
        labels = Y.indices[starts[longer] + place].astype(np.int64)
        # New numbers exceed all earlier ones, so rows without further labels keep unique numbers.
        first_free = int(ids.max()) + 1
        _, group = np.unique(ids[longer] * n_labels + labels, return_inverse=True)
        ids[longer] = first_free + group
    _, ids = np.unique(ids, return_inverse=True)
    return ids


def majorities(classes: Int, ks: Iterable[int]) -> Iterator[Int]:
    """Yield, for each k, the first position of the most frequent of each row's first k classes."""
    alike: Int32 = np.zeros(classes.shape, dtype=np.int32)
    done = 0
    for k in ks:
        for place in range(done, k):
            newest = classes[:, place, None]
            # Only the first position of a class has its full count, and that is what is returned.
            alike[:, :place] += (classes[:, :place] == newest) & (newest >= 0)
            alike[:, place] = newest[:, 0] >= 0
        done = k
        yield np.argmax(alike[:, :k], axis=1)


@dataclass(eq=False, repr=False)
class LPkNN(IncrementalEstimator):
    """Label powerset kNN: predict the most frequent label set among the neighbours.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, k.

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
    algorithms", SETN 2008. The formulas are in :mod:`vicinal.methods.lpknn`.

    Examples
    --------
    Two of the three rows nearest to 0.9 have *low* as their only label:

    >>> X = [[0.0], [1.0], [2.0], [10.0]]
    >>> Y = [["low"], ["low", "odd"], ["low"], ["high"]]
    >>> model = LPkNN(n_neighbors=3).fit(X, Y)
    >>> model.predict_names([[0.9], [9.0]])
    [['low'], ['high']]
    """

    method = Method(
        name="lpknn", grid={"n_neighbors": EVERY_K}, rule=LabelSets(), scoring=(LPkNNScoring,)
    )

    n_neighbors: int = 10

    def _fit_scoring(self, training: Training) -> LPkNNScoring:
        """Keep the labels."""
        return LPkNNScoring.fit(training, self.n_neighbors)

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Keep the current labels."""
        return LPkNNScoring(scoring.k, changed.Y)
