"""Explanations of rows: each method's breakdown of its scores, with names instead of numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from vicinal._core.arrays import Csr, Features, Int
from vicinal._core.checks import check_flag, check_integer, check_sequence
from vicinal._core.csr import take_rows
from vicinal._core.progress import blocks, may_stop
from vicinal._core.threads import using_threads
from vicinal._core.validation import as_csr
from vicinal.errors import InvalidArgumentError, did_you_mean
from vicinal.explanation import (
    Breakdown,
    Explanation,
    Explanations,
    LabelExplanation,
    Neighbor,
    Part,
    Removal,
    Word,
)
from vicinal.graph import NeighborGraph
from vicinal.methods._formulas import cells, explain_scoring, neighbor_places
from vicinal.methods.fitted_state import check_row_names, row_name
from vicinal.methods.training import block_rows
from vicinal.methods.what_if import (
    FeatureNames,
    PlainRows,
    RemovalSearch,
    RowSource,
    shared_features,
)
from vicinal.scores import Scores

if TYPE_CHECKING:
    from vicinal.methods.base import NeighborEstimator


@dataclass(frozen=True, eq=False)
class ExplainedRow:
    """One row with its neighbours and scores, from which an explanation is made."""

    explainer: "Explainer"
    row: int
    x: Features
    near: NeighborGraph
    predicted: list[int]
    labels: list[int]
    scores: list[float]

    def named(self, name: str | int) -> Explanation:
        """Return the explanation, with `name` as the name of the row."""
        explainer, model = self.explainer, self.explainer.model
        places = neighbor_places(self.near, self.near.k)
        neighbors = self._neighbors(places)
        labels = self._labels(places, neighbors)
        text = explainer.source.text(self.row)
        return Explanation(
            row=name,
            method=type(model).__name__,
            metric=model.metric_,
            predicted=tuple(model.label_names_[label] for label in self.predicted),
            labels=labels,
            neighbors=neighbors,
            text=text,
            words=[] if text is None else self._words(text),
        )

    def _words(self, text: str) -> list[Word]:
        """Return the positions of a text's words and the names of their features."""
        return [
            Word(start, stop, tuple(self.explainer.features[column] for column in columns))
            for start, stop, columns in self.explainer.source.word_places(text)
        ]

    def _neighbors(self, places: Int) -> list[Neighbor]:
        """Return the neighbours with their names, labels and shared features."""
        explainer, model = self.explainer, self.explainer.model
        rows, Y = model.search_, take_rows(model.scoring_.Y, places)
        near = model._compared(take_rows(rows.X, places))
        in_common = shared_features(model._compared(self.x), near, model.metric_)
        found = []
        for i, place in enumerate(places.tolist()):
            may_stop()
            columns, terms = in_common[i]
            shared = [
                Part("feature", explainer.features[column], term, column)
                for column, term in zip(columns.tolist(), terms.tolist(), strict=True)
            ]
            row_id = int(rows.place_ids[place])
            text = explainer.row_texts.get(row_id)
            found.append(
                Neighbor(
                    row_id,
                    row_name(model._fitted(), place),
                    float(self.near.values[0, i]),
                    tuple(
                        model.label_names_[label]
                        for label in Y.indices[Y.indptr[i] : Y.indptr[i + 1]]
                    ),
                    sorted(shared, key=lambda part: (-abs(part.share), part.id)),
                    text,
                    [] if text is None else self._words(text),
                )
            )
        return found

    def _labels(self, places: Int, neighbors: list[Neighbor]) -> list[LabelExplanation]:
        """Return the explanation of each label."""
        model = self.explainer.model
        breakdowns = model._explain_scores(self.near, self.x, self.labels)
        found = []
        for label, score, breakdown in zip(self.labels, self.scores, breakdowns, strict=True):
            may_stop()
            name = model.label_names_[label]
            parts = self._parts(breakdown, name, places, neighbors)
            highlights = _highlights(parts, neighbors)
            is_predicted = label in self.predicted
            found.append(
                LabelExplanation(
                    label=name,
                    score=score,
                    predicted=is_predicted,
                    scale=breakdown.scale,
                    value=score if breakdown.scale == "score" else breakdown.total,
                    base=breakdown.base,
                    parts=parts,
                    facts=dict(breakdown.facts),
                    highlights=highlights,
                    what_if=self._removals(label, parts, highlights) if is_predicted else None,
                )
            )
        return found

    def _parts(
        self, breakdown: Breakdown, label: str, places: Int, neighbors: list[Neighbor]
    ) -> list[Part]:
        """Return the terms of a breakdown with the names of rows and features."""
        at = dict(zip(places.tolist(), neighbors, strict=True))
        row = as_csr(self.x)
        own = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        model, rows = self.explainer.model, self.explainer.model.search_
        parts = []
        for terms in breakdown.terms:
            for i, (id_, share) in enumerate(
                zip(terms.ids.tolist(), terms.shares.tolist(), strict=True)
            ):
                if terms.names is not None:
                    parts.append(Part(terms.kind, terms.names[i], share, id_))
                elif terms.kind == "feature":
                    name = self.explainer.features[id_]
                    parts.append(Part("feature", name, share, id_, own.get(id_, 0.0)))
                elif id_ in at:
                    near = at[id_]
                    carries = label in near.labels
                    parts.append(Part("neighbor", near.name, share, near.id, near.value, carries))
                else:
                    name = row_name(model._fitted(), id_)
                    parts.append(Part(terms.kind, name, share, int(rows.place_ids[id_])))
        return parts

    def _removals(
        self, label: int, parts: list[Part], highlights: list[Part]
    ) -> list[Removal] | None:
        """Return the removals without which a label is not predicted; None unless ``what_if``."""
        explainer = self.explainer
        if not explainer.what_if:
            return None
        near = [part for part in parts if part.kind == "neighbor" and part.share > 0]
        strongest = [part.id for part in sorted(near, key=lambda part: -part.share)]
        supporting = [part.id for part in highlights if part.share > 0]
        readable = as_csr(explainer.model._readable(self.x))
        others = np.setdiff1d(readable.indices, supporting).tolist()
        search = RemovalSearch(
            explainer.model, explainer.source, explainer.features, self.row, self.x, label
        )
        return [*search.neighbors(strongest), *search.features(supporting, others)]


def _highlights(parts: list[Part], neighbors: list[Neighbor]) -> list[Part]:
    """Return the features of the row by how much they contribute, largest first."""
    weights: dict[int, float] = {}
    names: dict[int, str] = {}
    shared = {neighbor.id: neighbor.shared for neighbor in neighbors}
    for part in parts:
        if part.kind == "feature":
            spread = [(part, part.share)]
        else:
            of_row = shared.get(part.id, []) if part.kind == "neighbor" else []
            whole = sum(each.share for each in of_row)
            spread = [
                (each, part.share * (each.share / whole)) for each in of_row if 0 < whole < np.inf
            ]
        for feature, weight in spread:
            weights[feature.id] = weights.get(feature.id, 0.0) + weight
            names[feature.id] = feature.name
    found = [Part("feature", names[id_], weight, id_) for id_, weight in weights.items() if weight]
    return sorted(found, key=lambda part: (-abs(part.share), part.id))


BLOCK_ROWS = 256
"""The largest number of rows searched and scored at a time."""


def explain_rows(
    model: "NeighborEstimator",
    X: Features,
    labels: Sequence[str | int] | None,
    top: int,
    what_if: bool,
    row_names: Sequence[str] | None,
    features: FeatureNames,
    source: RowSource | None = None,
    row_texts: Mapping[int, str] | None = None,
) -> Explanations:
    """Explain the rows of `X`: validated features as the estimator accepts them."""
    n_rows = X.shape[0]
    explainer = Explainer(
        model=model,
        source=PlainRows(X) if source is None else source,
        wanted=None if labels is None else label_ids(labels, model.label_names_),
        top=check_integer("top", top, low=0),
        what_if=check_flag("what_if", what_if),
        features=features,
        row_texts={} if row_texts is None else row_texts,
    )
    names = None if row_names is None else check_row_names(row_names, n_rows)
    found: list[Explanation] = []
    at_once = min(BLOCK_ROWS, block_rows(model.scoring_))
    for start, stop in blocks(n_rows, at_once, "Explaining rows"):
        for row, explained in enumerate(explainer.explain(X[start:stop], start), start):
            found.append(explained.named(row if names is None else names[row]))
    return Explanations(found)


def label_ids(labels: object, known: Sequence[str]) -> list[int]:
    """Return the column numbers of labels given by name or number."""
    number = {name: label for label, name in enumerate(known)}
    found = []
    for label in check_sequence("labels", labels):
        chosen = number.get(label) if isinstance(label, str) else _in_range(label, len(known))
        if chosen is None:
            raise InvalidArgumentError(
                "labels",
                f"label names of the model, or numbers from 0 to {len(known) - 1}",
                repr(label),
                did_you_mean(label, known) or f"such as {', '.join(map(repr, known[:3]))}",
            )
        found.append(chosen)
    return found


def _in_range(label: object, n_labels: int) -> int | None:
    """Return a label's column number, or None if it is not one."""
    if isinstance(label, bool) or not isinstance(label, int | np.integer):
        return None
    return int(label) if 0 <= label < n_labels else None


@dataclass(frozen=True, eq=False)
class Explainer:
    """A model and the options of its explanations."""

    model: "NeighborEstimator"
    source: RowSource
    wanted: list[int] | None
    top: int
    what_if: bool
    features: FeatureNames
    row_texts: Mapping[int, str]

    def explain(self, X: Features, first: int) -> Iterator[ExplainedRow]:
        """Yield what is needed to explain each row of a block whose first row is number `first`."""
        near, scores, decided = self.model._explained(X)
        best = scores.top(self.top)[0] if self.top else np.empty((X.shape[0], 0), dtype=np.int32)
        for row in range(X.shape[0]):
            predicted = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
            chosen = self.wanted
            if chosen is None:
                chosen = _best_first(scores, row, {*predicted.tolist(), *best[row].tolist()})
            yield ExplainedRow(
                self,
                first + row,
                X[row : row + 1],
                near.queries(row, row + 1),
                sorted(predicted.tolist()),
                chosen,
                cells(scores, row, chosen).tolist(),
            )


def _best_first(scores: Scores, row: int, labels: set[int]) -> list[int]:
    """Return labels by decreasing score, then by number."""
    rising = sorted(labels)
    values = dict(zip(rising, cells(scores, row, rising).tolist(), strict=True))
    return sorted(rising, key=lambda label: (-values[label], label))


class Explainable:
    """Estimators that can explain their predictions."""

    def explain(
        self,
        X: object,
        labels: Sequence[str | int] | None = None,
        top: int = 5,
        *,
        what_if: bool = False,
        row_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Explanations:
        """Explain why each row gets its labels: each score is split into an exact sum of parts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
            Rows to explain, with the features of the training rows.
        labels : sequence of str or int, optional
            Labels to explain, by name or column number; by default the predicted labels and the
            `top` labels with the highest scores.
        top : int
            How many labels with the highest scores to explain besides the predicted ones.
        what_if : bool
            Find the neighbours and features without which a predicted label would no longer be
            predicted, by predicting again without them.
        row_names : sequence of str, optional
            Names of the rows of `X`; row numbers by default.
        feature_names : sequence of str, optional
            Names of the columns of `X`; by default those of the training data frame, or numbers.

        Returns
        -------
        Explanations
            One :class:`vicinal.explanation.Explanation` per row. In each label's explanation
            ``base + Σ share = value``.

        Notes
        -----
        Intended for the few rows that a person reads. Memory: about 300 bytes per part; a row has
        one part per neighbour (or feature) and label, and one per feature shared with a neighbour.

        Examples
        --------
        >>> from vicinal import BRkNN
        >>> model = BRkNN(2).fit([[0.0], [1.0], [9.0]], [["low"], ["low", "odd"], ["high"]])
        >>> (why,) = model.explain([[0.4]])
        >>> [(one.label, one.score) for one in why.labels]
        [('low', 1.0), ('odd', 0.5), ('high', 0.0)]
        >>> [(part.name, part.share) for part in why["odd"].parts]
        [('0', 0.0), ('1', 0.5)]
        """
        model = self._to_explain()
        rows = model._read_new_X(X)
        names = self._feature_names()
        if feature_names is not None:
            names = check_row_names(feature_names, rows.shape[1], "feature_names")
        return explain_rows(model, rows, labels, top, what_if, row_names, FeatureNames(names))

    def _to_explain(self) -> "NeighborEstimator":
        """Return the model as it is now, which later changes do not affect."""
        return cast("NeighborEstimator", self).as_fitted()

    def _explained(self, X: Features) -> tuple[NeighborGraph, Scores, Csr]:
        """Return the neighbours, the scores and the predicted labels of rows to be explained."""
        model = cast("NeighborEstimator", self)
        near = model.search_.query(X, model.scoring_.k)
        with using_threads(model.search_.n_jobs):
            scores = model.scoring_.scores(near, X)
        return near, scores, model.decision_.decide(scores)

    def _readable(self, X: Features) -> Features:
        """Return rows with the features that mean something one by one."""
        return X

    def _compared(self, X: Features) -> Features:
        """Return rows as they are compared with training rows."""
        return X

    def _feature_names(self) -> Sequence[str] | None:
        """Return the names of the columns of a training data frame, if they are known."""
        names: Sequence[str] | None = getattr(self, "feature_names_in_", None)
        return names

    def _scores_without(self, x: Features, groups: Sequence[Sequence[int]]) -> Scores | None:
        """Return the scores of a row without each group of training rows, by place."""
        return None

    def _explain_scores(
        self, graph: NeighborGraph, X: Features, labels: Sequence[int]
    ) -> list[Breakdown]:
        """Return the breakdown of the scores of `labels`, for the single query of `graph`."""
        model = cast("NeighborEstimator", self)
        with using_threads(model.search_.n_jobs):
            return explain_scoring(model.scoring_, graph, labels, X)
