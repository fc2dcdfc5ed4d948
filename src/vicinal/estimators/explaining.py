"""Explanations of rows: a method's own breakdowns of its scores, with the names that users know."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vicinal._base.arrays import Features, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import blocks
from vicinal._base.scalars import check_sequence
from vicinal._base.threads import using_threads
from vicinal._base.validation import as_csr, check_flag, check_integer
from vicinal.estimators.explained_rows import ExplainedRows, PlainRows
from vicinal.estimators.removal import Removing
from vicinal.estimators.row_names import check_row_names, row_name
from vicinal.estimators.shared_features import shared_features
from vicinal.explain import (
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
from vicinal.scores import Scores
from vicinal.scoring.explaining import cells, nearest

if TYPE_CHECKING:
    from vicinal.estimators.base import NeighborEstimator

BLOCK_ROWS = 256
"""Rows searched and scored at a time."""


def explain_rows(
    model: "NeighborEstimator",
    X: Features,
    labels: Sequence[str | int] | None,
    top: int,
    what_if: bool,
    row_names: Sequence[str] | None,
    feature_names: Sequence[str] | None,
    source: ExplainedRows | None = None,
    row_texts: Mapping[int, str] | None = None,
) -> Explanations:
    """Explain the rows of `X`, checked features as the estimator takes them.

    Parameters
    ----------
    source : ExplainedRows, optional
        Where the rows came from: their texts. By default they have none.
    row_texts : mapping of int to str, optional
        Texts of training rows by row id.

    The other parameters are those of :meth:`NeighborEstimator.explain`.
    """
    n_rows, n_features = X.shape
    explainer = Explainer(
        model=model,
        source=PlainRows(X) if source is None else source,
        wanted=None if labels is None else label_ids(labels, model.label_names_),
        top=check_integer("top", top, low=0),
        what_if=check_flag("what_if", what_if),
        features=_feature_names(model, feature_names, n_features),
        row_texts={} if row_texts is None else row_texts,
    )
    names = None if row_names is None else check_row_names(row_names, n_rows)
    found: list[Explanation] = []
    for start, stop in blocks(n_rows, BLOCK_ROWS, "Explaining rows"):
        for row, explained in enumerate(explainer.explain(X[start:stop], start), start):
            found.append(explained.named(row if names is None else names[row]))
    return Explanations(found)


def label_ids(labels: object, known: Sequence[str]) -> list[int]:
    """Return the numbers of labels given by name or number.

    Examples
    --------
    >>> label_ids(["sad", 0], known=("calm", "sad"))
    [1, 0]
    >>> label_ids(["angry"], known=("calm", "sad"))
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: labels: expected names of labels the model knows, or
    numbers from 0 to 1, got 'angry'
    """
    number = {name: label for label, name in enumerate(known)}
    found = []
    for label in check_sequence("labels", labels):
        chosen = number.get(label) if isinstance(label, str) else _in_range(label, len(known))
        if chosen is None:
            raise InvalidArgumentError(
                "labels",
                f"names of labels the model knows, or numbers from 0 to {len(known) - 1}",
                repr(label),
            )
        found.append(chosen)
    return found


def _in_range(label: object, n_labels: int) -> int | None:
    """Return a label's number if it is one."""
    if isinstance(label, bool) or not isinstance(label, int | np.integer):
        return None
    return int(label) if 0 <= label < n_labels else None


def _feature_names(
    model: "NeighborEstimator", given: Sequence[str] | None, n_features: int
) -> Sequence[str]:
    """Return a name per column: those given, those of the fit, or numbers."""
    if given is not None:
        return check_row_names(given, n_features, "feature_names")
    of_fit = getattr(model, "feature_names_in_", None)
    if of_fit is not None:
        return [str(name) for name in of_fit]
    return [f"feature{column}" for column in range(n_features)]


@dataclass(frozen=True, eq=False)
class Explainer:
    """A model and what was asked of it."""

    model: "NeighborEstimator"
    source: ExplainedRows
    wanted: list[int] | None
    top: int
    what_if: bool
    features: Sequence[str]
    row_texts: Mapping[int, str]

    def explain(self, X: Features, first: int) -> Iterator["Explained"]:
        """Yield the explanations of some rows, of which the first has number `first`."""
        model = self.model
        near = model.search_.query(X, model.scoring_.k)
        with using_threads(model.search_.n_jobs):
            scores = model.scoring_.scores(near, X)
        decided = model.decision_.decide(scores)
        best = scores.top(self.top)[0] if self.top else np.empty((X.shape[0], 0), dtype=np.int32)
        for row in range(X.shape[0]):
            predicted = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
            chosen = self.wanted
            if chosen is None:
                chosen = _best_first(scores, row, {*predicted.tolist(), *best[row].tolist()})
            yield Explained(
                self,
                first + row,
                X[row : row + 1],
                near.queries(row, row + 1),
                sorted(predicted.tolist()),
                chosen,
                cells(scores, row, chosen).tolist(),
            )


def _best_first(scores: Scores, row: int, labels: set[int]) -> list[int]:
    """Return labels by score falling, then by number."""
    rising = sorted(labels)
    values = dict(zip(rising, cells(scores, row, rising).tolist(), strict=True))
    return sorted(rising, key=lambda label: (-values[label], label))


@dataclass(frozen=True, eq=False)
class Explained:
    """One row, its neighbours and scores, about to become an explanation."""

    asked: Explainer
    row: int
    x: Features
    near: NeighborGraph
    predicted: list[int]
    labels: list[int]
    scores: list[float]

    def named(self, name: str | int) -> Explanation:
        """Return the explanation of the row, under this name."""
        asked, model = self.asked, self.asked.model
        places = nearest(self.near, model.scoring_.k)
        neighbors = self._neighbors(places)
        labels = self._labels(places, neighbors)
        text = asked.source.text(self.row)
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
        """Return where the words of a text stand, with the names of their features."""
        return [
            Word(start, stop, tuple(self.asked.features[column] for column in columns))
            for start, stop, columns in self.asked.source.word_places(text)
        ]

    def _neighbors(self, places: Int) -> list[Neighbor]:
        """Return the neighbours with their names, labels and shared features."""
        asked, model = self.asked, self.asked.model
        rows, Y = model.search_, model.scoring_.Y[places]
        in_common = shared_features(self.x, rows.X[places], model.metric_)
        found = []
        for i, place in enumerate(places.tolist()):
            columns, terms = in_common[i]
            shared = [
                Part("feature", asked.features[column], term, column)
                for column, term in zip(columns.tolist(), terms.tolist(), strict=True)
            ]
            row_id = int(rows.row_ids[place])
            text = asked.row_texts.get(row_id)
            found.append(
                Neighbor(
                    row_id,
                    row_name(model.row_names_, rows.row_ids, place),
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
        model = self.asked.model
        breakdowns = model._explain_scores(self.near, self.x, self.labels)
        found = []
        for label, score, breakdown in zip(self.labels, self.scores, breakdowns, strict=True):
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
        model, rows = self.asked.model, self.asked.model.search_
        parts = []
        for terms in breakdown.terms:
            for i, (id_, share) in enumerate(
                zip(terms.ids.tolist(), terms.shares.tolist(), strict=True)
            ):
                if terms.names is not None:
                    parts.append(Part(terms.kind, terms.names[i], share, id_))
                elif terms.kind == "feature":
                    name = self.asked.features[id_]
                    parts.append(Part("feature", name, share, id_, own.get(id_, 0.0)))
                elif id_ in at:
                    near = at[id_]
                    carries = label in near.labels
                    parts.append(Part("neighbor", near.name, share, near.id, near.value, carries))
                else:
                    name = row_name(model.row_names_, rows.row_ids, id_)
                    parts.append(Part(terms.kind, name, share, int(rows.row_ids[id_])))
        return parts

    def _removals(
        self, label: int, parts: list[Part], highlights: list[Part]
    ) -> list[Removal] | None:
        """Return what removed would drop a label, if that was asked for."""
        asked = self.asked
        if not asked.what_if:
            return None
        near = [part for part in parts if part.kind == "neighbor" and part.share > 0]
        strongest = [part.id for part in sorted(near, key=lambda part: -part.share)]
        speaking = [part.id for part in highlights if part.share > 0]
        others = np.setdiff1d(as_csr(self.x).indices, speaking).tolist()
        removing = Removing(asked.model, asked.source, asked.features, self.row, self.x, label)
        return [*removing.neighbors(strongest), *removing.features(speaking, others)]


def _highlights(parts: list[Part], neighbors: list[Neighbor]) -> list[Part]:
    """Return how much each feature of the row matters, largest first."""
    weights: dict[int, float] = {}
    names: dict[int, str] = {}
    shared = {neighbor.id: neighbor.shared for neighbor in neighbors}
    for part in parts:
        if part.kind == "feature":
            spread = [(part, part.share)]
        else:
            of_row = shared.get(part.id, []) if part.kind == "neighbor" else []
            whole = sum(each.share for each in of_row)
            spread = [(each, part.share * (each.share / whole)) for each in of_row if whole > 0]
        for feature, weight in spread:
            weights[feature.id] = weights.get(feature.id, 0.0) + weight
            names[feature.id] = feature.name
    found = [Part("feature", names[id_], weight, id_) for id_, weight in weights.items() if weight]
    return sorted(found, key=lambda part: (-abs(part.share), part.id))
