"""Scores with their true labels, grouped so that only stored scores cost time and memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Bool, Csr, Float, Int, Int32, is_stored, row_ids
from vicinal._core.csr import checked_csr, dense_csr
from vicinal.errors import InvalidArgumentError
from vicinal.scores import Scores

UNMERGED = 2**20
"""How many scores may be collected, beyond the number already kept, before they are merged."""


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Groups of (row, label) cells that share one score.

    `values`: the score of all cells of a group.
    `units`: the row, or the label, that the cells belong to.
    `true`, `false`: the number of cells whose label the row has, and the number of other cells.
    """

    values: Float
    units: Int
    true: Int
    false: Int

    def select(self, which: Bool | Int | slice) -> "ScoreCells":
        """Return some of the groups."""
        return ScoreCells(
            self.values[which], self.units[which], self.true[which], self.false[which]
        )

    def descending(self) -> "ScoreCells":
        """Return the groups sorted by unit, then by descending score."""
        return self.select(np.lexsort((-self.values, self.units)))

    def distinct(self) -> "ScoreCells":
        """Return sorted groups, with groups of the same unit and score merged."""
        if len(self.values) == 0:
            return self
        new = (self.units[1:] != self.units[:-1]) | (self.values[1:] != self.values[:-1])
        first = np.flatnonzero(np.append(True, new))
        true, false = np.add.reduceat(self.true, first), np.add.reduceat(self.false, first)
        return ScoreCells(self.values[first], self.units[first], true, false)


def joined(*blocks: ScoreCells) -> ScoreCells:
    """Return the groups of several blocks, without empty groups."""
    values = np.concatenate([block.values for block in blocks])
    units, true, false = (
        np.concatenate([getattr(block, part) for block in blocks]).astype(np.int64)
        for part in ("units", "true", "false")
    )
    return ScoreCells(values, units, true, false).select(true + false > 0)


def starts(groups: Int) -> Int:
    """Return where each run of equal numbers starts."""
    return np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[: len(groups)])


def running(counts: Int, first: Int) -> Int:
    """Return cumulative sums that restart at each index of `first`."""
    sums = np.cumsum(counts)
    lengths = np.diff(np.append(first, len(counts)))
    return sums - np.repeat(sums[first] - counts[first], lengths)


def check_truth(scores: Scores, Y: Csr) -> None:
    """Raise unless the labels have the same shape as the scores."""
    if scores.shape != Y.shape:
        raise InvalidArgumentError("Y", f"labels of shape {scores.shape}", Y.shape)


class ScoredTruth:
    """Training scores with the labels of the same rows: 25 bytes per stored score."""

    def __init__(self, scores: Scores, Y: Csr) -> None:
        check_truth(scores, Y)
        self.n_rows, self.n_labels = scores.shape
        self.base = scores.base
        stored = scores.values
        if isinstance(stored, sparse.csr_array):
            self.rows = row_ids(stored)
            self.labels: Int = stored.indices.astype(np.int64)
            self.values: Float = stored.data
            self.is_true = is_stored(Y, stored)
            unseen = ~is_stored(stored, Y)
        else:
            self.rows = np.repeat(np.arange(self.n_rows, dtype=np.int64), self.n_labels)
            self.labels = np.tile(np.arange(self.n_labels, dtype=np.int64), self.n_rows)
            self.values = stored.ravel()
            self.is_true = Y.toarray().ravel() != 0
            unseen = np.zeros(Y.nnz, dtype=np.bool_)
        self.unseen_rows = row_ids(Y)[unseen]
        self.unseen_labels = Y.indices[unseen].astype(np.int64)

    def by_label(self) -> ScoreCells:
        """Return the cells of each label: those stored, and one group for those not stored."""
        absent = self.n_rows - np.bincount(self.labels, minlength=self.n_labels)
        true = np.bincount(self.unseen_labels, minlength=self.n_labels)
        rest = ScoreCells(self.base, np.arange(self.n_labels), true, absent - true)
        return joined(self._stored(self.labels), rest)

    def pooled(self) -> ScoreCells:
        """Return all cells as a single unit."""
        cells = self.by_label()
        return ScoreCells(cells.values, np.zeros_like(cells.units), cells.true, cells.false)

    def by_row(self) -> Iterator[ScoreCells]:
        """Yield the cells of each row in blocks of descending score; no score is in two blocks.

        The cells not stored form one group per row and distinct base score. The work is therefore
        one step per stored score and one per row and distinct base score. A block ends at each base
        score, so that the caller can stop early.
        """
        stored = self._stored(self.rows).select(np.argsort(-self.values, kind="stable"))
        levels, level_of = np.unique(-self.base, return_inverse=True)
        ends = np.searchsorted(-stored.values, levels, side="right")
        in_level = _Grouped(level_of[self.labels], self.rows, len(levels))
        true_in_level = _Grouped(level_of[self.unseen_labels], self.unseen_rows, len(levels))
        sizes = np.bincount(level_of, minlength=len(levels))
        start = 0
        for level, end in enumerate(ends):
            absent = sizes[level] - in_level.counts(level, self.n_rows)
            true = true_in_level.counts(level, self.n_rows)
            at_base = np.full(self.n_rows, -levels[level])
            rest = ScoreCells(at_base, np.arange(self.n_rows), true, absent - true)
            yield joined(stored.select(slice(start, int(end))), rest)
            start = int(end)
        yield stored.select(slice(start, None))

    def _stored(self, units: Int) -> ScoreCells:
        """Return the stored cells, one per group."""
        true = self.is_true.astype(np.int64)
        return ScoreCells(self.values, units, true, 1 - true)


class _Grouped:
    """The rows of each of several groups, found without visiting the other groups."""

    def __init__(self, groups: Int, rows: Int, n_groups: int) -> None:
        self._rows = rows[np.argsort(groups, kind="stable")]
        self._ends = np.cumsum(np.bincount(groups, minlength=n_groups))

    def counts(self, group: int, n_rows: int) -> Int:
        """Return how often each row occurs in a group."""
        start = self._ends[group - 1] if group else 0
        return np.bincount(self._rows[start : self._ends[group]], minlength=n_rows)


def from_entries(rows: Int, labels: Int, shape: tuple[int, int]) -> Csr:
    """Return the canonical indicator with ones at (rows, labels), none repeated."""
    n_rows, n_labels = shape
    cells = rows * np.int64(n_labels) + labels
    if not bool((cells[1:] > cells[:-1]).all()):
        order = np.argsort(cells)
        rows, labels = rows[order], labels[order]
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return _indicator(labels, indptr, n_labels)


def above_rows(scores: Scores, thresholds: Float) -> Csr:
    """Return the indicator of the scores above the threshold of their row."""
    values = scores.values
    if not isinstance(values, sparse.csr_array):
        return dense_csr((values > thresholds[:, None]).astype(np.int32))
    chosen = values.data > thresholds[row_ids(values)]
    by_base = np.argsort(-scores.base, kind="stable")
    passing = np.searchsorted(-scores.base[by_base], -thresholds, side="left")
    rows = np.repeat(np.arange(scores.shape[0], dtype=np.int64), passing)
    first = np.cumsum(passing) - passing
    labels = by_base[np.arange(len(rows)) - np.repeat(first, passing)]
    return _chosen(values, chosen, rows, labels)


def above_labels(scores: Scores, thresholds: Float, *, inclusive: bool = False) -> Csr:
    """Return the indicator of the scores above (or at) the threshold of their label."""
    passes = np.greater_equal if inclusive else np.greater
    values = scores.values
    if not isinstance(values, sparse.csr_array):
        return dense_csr(passes(values, thresholds).astype(np.int32))
    everywhere = np.flatnonzero(passes(scores.base, thresholds))
    chosen = passes(values.data, thresholds[values.indices])
    if len(everywhere) == 0:
        return _stored(values, chosen)
    n_rows = scores.shape[0]
    rows = np.repeat(np.arange(n_rows, dtype=np.int64), len(everywhere))
    return _chosen(values, chosen, rows, np.tile(everywhere, n_rows))


def _stored(values: Csr, chosen: Bool) -> Csr:
    """Return the indicator of the chosen ones of the stored entries, which are in order."""
    until = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(chosen, out=until[1:])
    return _indicator(values.indices[chosen], until[values.indptr], values.shape[1])


def _indicator(labels: Int | Int32, indptr: Int, n_labels: int) -> Csr:
    """Return the indicator of the labels of each row, which are in order."""
    if len(labels) >= np.iinfo(np.int32).max:
        raise InvalidArgumentError("scores", "fewer than 2^31 - 1 labels chosen", len(labels))
    ones = np.ones(len(labels), dtype=np.int32)
    return checked_csr(ones, labels.astype(np.int32), indptr, (len(indptr) - 1, int(n_labels)))


def _chosen(values: Csr, stored: Bool, rows: Int, labels: Int) -> Csr:
    """Return the chosen stored entries together with the entries (rows, labels) not stored."""
    if len(rows) == 0:
        return _stored(values, stored)
    shape = (int(values.shape[0]), int(values.shape[1]))
    own_rows, own_labels = row_ids(values)[stored], values.indices[stored].astype(np.int64)
    wanted = from_entries(rows, labels, shape)
    absent = ~is_stored(values, wanted)
    more = wanted.indices[absent].astype(np.int64)
    return from_entries(
        np.concatenate([own_rows, row_ids(wanted)[absent]]),
        np.concatenate([own_labels, more]),
        shape,
    )


@dataclass(frozen=True, eq=False)
class LabelSweep:
    """Candidate thresholds, sorted by label, then descending.

    `thresholds`: the first threshold of each label is its highest score, so that nothing is
    predicted. The others lie midway between successive distinct scores; the last is below all
    scores.
    `tp`, `predicted`: the numbers of true positives and of predicted rows at each threshold.
    """

    labels: Int
    thresholds: Float
    tp: Int
    predicted: Int

    def first_best(self, quality: Float | Int) -> Int:
        """Return each label's candidate of highest quality; the highest threshold wins ties."""
        return first_best(self.labels, quality)

    def nothing(self) -> Int:
        """Return the candidate of each label that predicts nothing."""
        return starts(self.labels)


def sweep_labels(scores: Scores, Y: Csr) -> LabelSweep:
    """Return the candidates of every label: one sort, and about 150 bytes per stored score."""
    return sweep_cells(ScoredTruth(scores, Y).by_label().descending().distinct())


def sweep_cells(cells: ScoreCells) -> LabelSweep:
    """Return the candidates of groups sorted by label and descending score, all distinct."""
    labels, values = cells.units, cells.values
    first = starts(labels)
    ends = np.append(first[1:], len(labels))[: len(first)] - 1
    below = np.append(values[1:], 0.0)
    cuts = midway(values, below)
    with np.errstate(over="ignore"):  # below the lowest float there is −inf
        cuts[ends] = np.nextafter(values[ends], -np.inf)
    return LabelSweep(
        np.insert(labels, first, labels[first]),
        np.insert(cuts, first, values[first]),
        np.insert(running(cells.true, first), first, 0),
        np.insert(running(cells.true + cells.false, first), first, 0),
    )


def midway(high: Float, low: Float) -> Float:
    """Return numbers t with low ≤ t < high, halfway between them if floating point allows."""
    half = low / 2 + high / 2
    return np.where(half < high, half, low)


def first_best(groups: Int, quality: Float | Int) -> Int:
    """Return the place of the first best element in each run of equal numbers."""
    first = starts(groups)
    lengths = np.diff(np.append(first, len(groups)))
    best = np.repeat(np.maximum.reduceat(quality, first), lengths)
    winners = np.flatnonzero(quality == best)
    return winners[starts(groups[winners])]
