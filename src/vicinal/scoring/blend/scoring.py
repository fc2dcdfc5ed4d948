"""The blend, fitted: views, parts and the mixture that makes probabilities of what they say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.bare_csr import take_rows
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.progress import blocks
from vicinal._base.state import State, read_array, read_count, read_part, read_value
from vicinal._base.threads import in_threads
from vicinal.explain.breakdown import Breakdown
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring.blend.cells import Candidates, CellMaker
from vicinal.scoring.blend.co_occurrence import CoOccurrence
from vicinal.scoring.blend.explaining import cell_breakdown
from vicinal.scoring.blend.mix import ConvexMix
from vicinal.scoring.blend.network import Network
from vicinal.scoring.blend.parts import Part
from vicinal.scoring.blend.trees import Trees
from vicinal.scoring.blend.views import View
from vicinal.scoring.every_label import EveryLabel
from vicinal.scoring.explaining import explain_scoring
from vicinal.scoring.features import check_given
from vicinal.scoring.reading import read_indicator
from vicinal.scoring.training import Training, leave_one_out

BLOCK_CELLS = 2**20
"""Rows × labels that a thread scores at a time: 8 MiB of float64 for each part."""
MOST_BLOCK_ROWS = 1024

Mixture = Trees | Network | ConvexMix


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of training rows by mixtures that were not trained on them.

    Parameters
    ----------
    rows : ndarray of int64, shape (r,)
        Training rows that the mixture was trained on, rising.
    scores : Scores
        Of those rows.
    """

    rows: Int
    scores: Scores

    def blocks(self, n_rows: int) -> Iterator[Scores]:
        """Yield the scores of so many rows at a time."""
        for start in range(0, len(self.rows), n_rows):
            yield self.scores.take(np.arange(start, min(start + n_rows, len(self.rows))))


@dataclass(frozen=True, eq=False)
class BlendScoring:
    """Parts that score rows, and what makes one probability of it.

    Parameters
    ----------
    k : int
        Neighbours that the votes look at.
    views : tuple of View
    parts : tuple of Part
    co_occurrence : CoOccurrence or None
    maker : CellMaker
    mixture : Trees, Network or ConvexMix
    Y : csr_array of int32, shape (n, L)
    held_out : HeldOut or None
        Training scores, for thresholds; not saved.
    """

    k: int
    views: tuple[View, ...]
    parts: tuple[Part, ...]
    co_occurrence: CoOccurrence | None
    maker: CellMaker
    mixture: Mixture
    Y: Csr
    held_out: HeldOut | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The parts by name, in the order of the cells' columns."""
        more = () if self.co_occurrence is None else ("co-occurrence",)
        return (*(part.name for part in self.parts), *more)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Return probabilities of the candidate labels of each row; other labels score 0."""
        given = check_given(X, graph.n_queries)
        n_labels = self.Y.shape[1]

        def some(bounds: tuple[int, int]) -> Scores:
            rows = slice(*bounds)
            found = self.candidates(graph.some(rows), given[rows])
            return found.scores(probability(self.mixture.log_odds(found.cells)), n_labels)

        step = rows_at_once(self.parts, n_labels)
        found = in_threads(some, blocks(given.shape[0], step, "Blending"))
        return Scores.stack(found) if found else Scores.sparse(self.Y[:0].astype(np.float64))

    def candidates(self, graph: NeighborGraph, X: Features) -> Candidates:
        """Return the candidates of rows."""
        return self.maker.make(self.part_scores(graph, X))

    def part_scores(self, graph: NeighborGraph, X: Features) -> list[Scores]:
        """Return the scores of the rows of `X` by every part."""
        seen, near = self._seen(graph, X)
        found = [part.scoring.scores(near[part.view], seen[part.view]) for part in self.parts]
        if self.co_occurrence is not None:
            source = found[co_occurrence_source(self.parts)].toarray()
            found.append(Scores.dense(self.co_occurrence.scores(source)))
        return found

    def _seen(
        self, graph: NeighborGraph, X: Features
    ) -> tuple[list[Features], list[NeighborGraph]]:
        """Return the rows in each view, and their neighbours in it."""
        seen = [view.of(X) for view in self.views]
        wanted = [
            max((p.scoring.k for p in self.parts if p.view == v), default=0)
            for v in range(len(self.views))
        ]
        near = [
            view.nearest(rows, k) if view.rows is not None and k else graph
            for view, rows, k in zip(self.views, seen, wanted, strict=True)
        ]
        return seen, near

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return Shapley values of the parts, as log-odds; a label that is no candidate scores 0.

        See :mod:`vicinal.scoring.blend.explaining`.
        """
        given = check_given(X, graph.n_queries)
        candidates = self.candidates(graph, given)
        seen, near = self._seen(graph, given)
        asked = [
            explain_scoring(part.scoring, near[part.view], labels, seen[part.view])
            for part in self.parts
        ]
        of_row = candidates.labels[0].tolist()
        found = []
        for place, label in enumerate(labels):
            if label not in of_row:
                found.append(Breakdown(0.0, facts={"candidate": "no"}))
                continue
            of_parts: list[Breakdown | None] = [each[place] for each in asked]
            if self.co_occurrence is not None:
                of_parts.append(None)
            cell = candidates.cells[of_row.index(label)]
            found.append(cell_breakdown(self.mixture.log_odds, self.names, cell, of_parts))
        return found

    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Return the scores of training rows by mixtures that were not trained on them."""
        asked = np.arange(training.n_rows)[rows]
        if self.held_out is None:
            raise InvalidArgumentError(
                "model",
                "one that was fitted in this process, which holds training scores",
                "a loaded one",
            )
        place = np.searchsorted(self.held_out.rows, asked)
        place = np.minimum(place, len(self.held_out.rows) - 1)
        if len(asked) and not np.array_equal(self.held_out.rows[place], asked):
            raise InvalidArgumentError(
                "rows", f"the {len(self.held_out.rows)} rows the mixture was trained on", "others"
            )
        return self.held_out.scores.take(place)

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values, arrays and parts."""
        return {
            "k": self.k,
            "views": list(self.views),
            "parts": list(self.parts),
            "co_occurrence": self.co_occurrence,
            "center": self.maker.center,
            "scale": self.maker.scale,
            "log_prior": self.maker.log_prior,
            "width": self.maker.width,
            "mixture": self.mixture,
            "Y": self.Y,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        views, parts = _read_list(state, "views", View), _read_list(state, "parts", Part)
        co_occurrence = read_value(state, "co_occurrence")
        if co_occurrence is not None:
            co_occurrence = read_part(state, "co_occurrence", CoOccurrence)
        n_parts = len(parts) + (co_occurrence is not None)
        maker = CellMaker(
            read_array(state, "center", np.float64, (n_parts,)),
            read_array(state, "scale", np.float64, (n_parts,)),
            read_array(state, "log_prior", np.float64, (Y.shape[1],)),
            read_count(state, "width"),
        )
        mixture = read_value(state, "mixture")
        if not isinstance(mixture, Trees | Network | ConvexMix):
            raise ModelFormatError(f"mixture: unexpected {type(mixture).__name__}")
        if mixture.n_columns != maker.n_columns or np.any(maker.scale <= 0):
            raise ModelFormatError("mixture: expected one of as many columns as the parts have")
        for part in parts:
            if part.view >= len(views) or part.scoring.Y.shape != Y.shape:
                raise ModelFormatError(f"parts: {part.name} does not fit the other parts")
        return cls(
            read_count(state, "k", low=0),
            tuple(views),
            tuple(parts),
            co_occurrence,
            maker,
            mixture,
            Y,
        )


def _read_list(state: Mapping[str, State], key: str, kind: type[Any]) -> list[Any]:
    """Return ``state[key]``, a list of parts of that type."""
    items: list[Any] = read_part(state, key, list)
    if not items or not all(isinstance(item, kind) for item in items):
        raise ModelFormatError(f"{key}: expected at least one {kind.__name__}")
    return items


def probability(log_odds: Float) -> Float:
    """Return the probabilities of log-odds, never exactly 0.

    Examples
    --------
    >>> probability(np.array([0.0, -2000.0])).tolist()
    [0.5, 1e-12]
    """
    p: Float = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
    return np.clip(p, 1e-12, 1.0)


def rows_at_once(parts: Sequence[Part], n_labels: int) -> int:
    """Return how many rows are blended at a time: fewer where a part scores every label."""
    if not any(isinstance(part.scoring, EveryLabel) for part in parts):
        return MOST_BLOCK_ROWS
    return max(1, min(MOST_BLOCK_ROWS, BLOCK_CELLS // n_labels))


def co_occurrence_source(parts: Sequence[Part]) -> int:
    """Return the place of the part whose scores co-occurrence spreads: the last ridge."""
    ridges = [place for place, part in enumerate(parts) if part.name.startswith("ridge")]
    return ridges[-1]


def left_out_scores(
    parts: Sequence[Part],
    trainings: Sequence[Training],
    co_occurrence: CoOccurrence | None,
    rows: Int,
) -> list[Scores]:
    """Return the leave-one-out scores of training rows by every part."""
    found = [leave_one_out(part.scoring, trainings[part.view], rows) for part in parts]
    if co_occurrence is not None:
        source = found[co_occurrence_source(parts)].toarray()
        labels = take_rows(trainings[0].Y, rows).astype(np.float64)
        found.append(Scores.dense(co_occurrence.training_scores(source, labels)))
    return found
