"""Turn one row, its neighbours and its scores into an explanation with names."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vicinal._base.arrays import Features, Int
from vicinal._base.bare_csr import take_rows
from vicinal._base.validation import as_csr
from vicinal.estimators.removal import RemovalSearch
from vicinal.estimators.row_names import row_name
from vicinal.estimators.shared_features import shared_features
from vicinal.explain import (
    Breakdown,
    Explanation,
    LabelExplanation,
    Neighbor,
    Part,
    Removal,
    Word,
)
from vicinal.graph import NeighborGraph
from vicinal.scoring.explaining import nearest

if TYPE_CHECKING:
    from vicinal.estimators.explaining import Explainer


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
        places = nearest(self.near, model.scoring_.k)
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
        in_common = shared_features(self.x, take_rows(rows.X, places), model.metric_)
        found = []
        for i, place in enumerate(places.tolist()):
            columns, terms = in_common[i]
            shared = [
                Part("feature", explainer.features[column], term, column)
                for column, term in zip(columns.tolist(), terms.tolist(), strict=True)
            ]
            row_id = int(rows.row_ids[place])
            text = explainer.row_texts.get(row_id)
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
        model = self.explainer.model
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
                    name = row_name(model.row_names_, rows.row_ids, id_)
                    parts.append(Part(terms.kind, name, share, int(rows.row_ids[id_])))
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
        others = np.setdiff1d(as_csr(self.x).indices, supporting).tolist()
        search = RemovalSearch(
            explainer.model, explainer.source, explainer.features, self.row, self.x, label
        )
        return [*search.neighbors(strongest), *search.features(supporting, others)]


def _highlights(parts: list[Part], neighbors: list[Neighbor]) -> list[Part]:
    """Return the features of the row by how much they contribute, largest first.

    A neighbour's share is divided among the features that it has in common with the row.
    """
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
