"""The mixture of a blend: from what the parts say of a cell to its probability."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import comb

from vicinal._core.arrays import ENTRIES_AT_ONCE, Csr, Features, Float, Int, Int32, row_blocks
from vicinal._core.state import FieldState, State, read_array, read_plain
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr
from vicinal._native import MOST_BINS, boosted_trees, tree_sums
from vicinal.errors import ModelFormatError

Cells = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Trees(FieldState):
    """Trees whose leaves add up to log-odds, and a line that says half of them if cells are few."""

    feature: Int32
    threshold: Float
    left: Int32
    right: Int32
    roots: Int32
    base: float
    n_columns: int
    line: Float = field(default_factory=lambda: np.empty(0))

    def log_odds(self, cells: Cells) -> Float:
        """Return the log-odds of each row of `cells`, shape (n, n_columns)."""
        nodes = self.feature, self.threshold, self.left, self.right, self.roots
        sums: Float = self.base + tree_sums(*nodes, np.ascontiguousarray(cells), thread_count())
        return (sums + along(self.line, cells)) / 2 if len(self.line) else sums

    def shapley(self, cell: Cells, owner: Int, n_parts: int) -> tuple[float, Float]:
        """Return the log-odds of a cell if no part speaks, and the Shapley value of each part.

        `owner` is the part of each column, or `n_parts` for a column of none. The columns of a part
        that does not speak are 0. A leaf is reached if some parts speak and some others do not, so
        its value is divided among these alone, in closed form, however many parts there are.
        """
        silent = np.where(owner < n_parts, np.float32(0), cell)
        base, shares = self.base, np.zeros(n_parts + 1)
        nodes, every = self.roots, np.eye(n_parts + 1, dtype=np.bool_)
        on, off = (np.zeros((len(nodes), n_parts + 1), dtype=np.bool_) for _ in range(2))
        while len(nodes):
            is_leaf = self.feature[nodes] < 0
            values = self.threshold[nodes[is_leaf]]
            for ours, others, sign in (on, off, 1.0), (off, on, -1.0):
                a, b = (each[is_leaf].sum(axis=1) for each in (ours, others))
                shares += (sign * values / (np.maximum(a, 1) * comb(a + b, a))) @ ours[is_leaf]
            base += float(values[~on[is_leaf].any(axis=1)].sum())
            nodes, on, off = nodes[~is_leaf], on[~is_leaf], off[~is_leaf]
            column, threshold = self.feature[nodes], self.threshold[nodes]
            left, right, part = self.left[nodes], self.right[nodes], every[owner[column]]
            with_it = np.where(cell[column] <= threshold, left, right)
            without = np.where(silent[column] <= threshold, left, right)
            decides = (with_it != without)[:, None] & part
            speaks, rests = ~(decides & off).any(axis=1), (decides & ~on).any(axis=1)
            nodes = np.concatenate([with_it[speaks], without[rests]])
            on, off = (
                np.concatenate([(on | decides)[speaks], on[rests]]),
                np.concatenate([off[speaks], (off | decides)[rests]]),
            )
        if len(self.line):
            said = self.line * np.diff(line_columns(np.stack([silent, cell])), axis=0)[0]
            base = (base + float(along(self.line, silent[None])[0])) / 2
            shares = (shares + np.bincount([*owner, *owner, n_parts], said, n_parts + 1)) / 2
        return base, shares[:n_parts]

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked: every walk from a root ends in a leaf."""
        feature = read_array(state, "feature", np.int32, (None,))
        n_nodes, n_columns = len(feature), read_plain(state, "n_columns", int)
        left, right = (read_array(state, side, np.int32, (n_nodes,)) for side in ("left", "right"))
        roots = read_array(state, "roots", np.int32, (None,))
        inner = feature >= 0
        behind = np.arange(n_nodes)[inner]
        if (
            np.any(feature >= n_columns)
            or np.any((left[inner] <= behind) | (left[inner] >= n_nodes))
            or np.any((right[inner] <= behind) | (right[inner] >= n_nodes))
            or np.any((roots < 0) | (roots >= n_nodes))
        ):
            expected = "trees: expected nodes that lead to later nodes"
            raise ModelFormatError(f"{expected}, got others (use another copy, or train again)")
        threshold = read_array(state, "threshold", np.float64, (n_nodes,))
        base, line = read_plain(state, "base", float), np.empty(0)
        if "line" in state and len(read_array(state, "line", np.float64, (None,))):
            line = read_array(state, "line", np.float64, (2 * n_columns + 1,))
        return cls(feature, threshold, left, right, roots, base, n_columns, line)


N_FOLDS = 3
REPEATED_CELLS = 120_000
"""Cells past half of which rows are dealt out once."""
FEWEST = 20
"""True and false cells that a mixture with many parameters needs; with fewer it is convex."""

FEWEST_ROWS = 1000
"""Rows to learn from below which rows with equal features are kept."""
FEWEST_CELLS = 200
"""Cells outside a fold below which the mixture is convex: a tree of boosting splits no fewer than
100, and one that does not split scores all rows and labels alike."""


def row_folds(row_of: Int, random_state: int, repeat: int = 0) -> Int:
    """Return the fold of each cell: rows are dealt out in random order, anew for each repeat."""
    n_rows = int(row_of.max()) + 1 if len(row_of) else 0
    fold: Int = np.random.default_rng([random_state, repeat]).permutation(n_rows) % N_FOLDS
    return fold[row_of]


def repeats_for(n_cells: int) -> int:
    """Return how often rows are dealt out into folds: more often where cells are few.

    The mean of more models varies less, and with few cells they cost little.
    """
    return int(np.clip(REPEATED_CELLS // max(n_cells, 1), 1, 3))


def can_learn(true: Float, row_of: Int, random_state: int) -> bool:
    """Tell whether the cells outside each fold hold enough true and false ones to learn from."""
    fold_of = row_folds(row_of, random_state)
    outside = [true[fold_of != fold] for fold in range(N_FOLDS)]
    return all(
        len(cells) >= FEWEST_CELLS and FEWEST <= cells.sum() <= len(cells) - FEWEST
        for cells in outside
    )


PATIENCE = 10
MOST_STEPS = 25
L2 = 1.0
LEAST_CURVATURE = 1.0
"""Sum of p (1 − p) that both sides of a split must have."""
SAMPLED_CELLS = 20_000
"""Cells that the bins of a column are made by."""


@dataclass(frozen=True)
class Pace:
    """How a model learns."""

    n_rounds: int
    rate: float
    n_leaves: int


PACES = (
    (150_000, Pace(40, 0.2, 95)),
    (60_000, Pace(60, 0.15, 31)),
    (0, Pace(200, 0.1, 15)),
)
"""By the number of cells that there must be more of. Larger steps are as good where cells are many,
in a third of the time: most of a tree's time is for its root."""


def pace_for(n_cells: int) -> Pace:
    """Return how to learn from so many cells."""
    return next(pace for more_than, pace in PACES if n_cells > more_than or not more_than)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Trees, and the log-odds of the training cells by models that were not trained on them."""

    trees: Trees
    held_out: Float


def fit_boosting(cells: Cells, true: Float, row_of: Int, random_state: int) -> CrossFitted:
    """Fit the mixture on leave-one-out cells."""
    pace = pace_for(len(cells))
    folds = [row_folds(row_of, random_state, repeat) for repeat in range(repeats_for(len(cells)))]
    feature, threshold, left, right, roots, base, held_out = boosted_trees(
        np.ascontiguousarray(cells),
        true.astype(np.uint8),
        bin_thresholds(cells),
        np.stack(folds).astype(np.uint8),
        n_folds=N_FOLDS,
        n_rounds=pace.n_rounds,
        n_leaves=pace.n_leaves,
        patience=PATIENCE,
        rate=pace.rate,
        l2=L2,
        least_curvature=LEAST_CURVATURE,
        n_threads=thread_count(),
    )
    trees = Trees(feature, threshold, left, right, roots, base, cells.shape[1])
    if len(cells) > MOST_LINE_CELLS:
        return CrossFitted(trees, held_out)
    lines = [fit_line(cells[folds[0] != fold], true[folds[0] != fold]) for fold in range(N_FOLDS)]
    of_lines = np.stack([along(line, cells) for line in lines])
    held_out = (held_out + of_lines[folds[0], np.arange(len(cells))]) / 2
    return CrossFitted(replace(trees, line=np.mean(lines, axis=0)), held_out)


MOST_LINE_CELLS = 15_000
"""Cells up to which a line says half of the log-odds: with so few, trees alone are rough."""
LINE_L2 = 10.0
"""On standardised columns."""


def line_columns(cells: Cells) -> Float:
    """Return the numbers of cells, their roots (negative ones of negative numbers), and 1."""
    numbers = cells.astype(np.float64)
    roots = np.sign(numbers) * np.sqrt(np.abs(numbers))
    return np.hstack([numbers, roots, np.ones((len(cells), 1))])


def along(line: Float, cells: Cells) -> Float:
    """Return the log-odds of cells that a line gives: the same bits for one cell as among many."""
    odds: Float = np.ascontiguousarray(line_columns(cells) * line).sum(axis=1)
    return odds


def fit_line(cells: Cells, true: Float) -> Float:
    """Fit logistic regression by Newton's method, with steps halved until the loss falls."""
    columns = line_columns(cells)
    mean, spread = columns.mean(axis=0), columns.std(axis=0)
    mean[-1], spread[spread < LEAST_SPREAD] = 0.0, 1.0
    columns = (columns - mean) / spread
    penalty = np.full(len(mean), LINE_L2)
    penalty[-1] = 0.0
    weights = np.zeros(len(mean))
    weights[-1] = np.log((true.sum() + 0.5) / (len(true) - true.sum() + 0.5))

    def loss(weights: Float) -> float:
        odds = columns @ weights
        return float(np.logaddexp(0.0, odds).sum() - true @ odds + penalty @ weights**2 / 2)

    least = loss(weights)
    for _ in range(MOST_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(columns @ weights, -30.0, 30.0)))
        curvature = (columns.T * np.maximum(p * (1.0 - p), 1e-6)) @ columns + np.diag(penalty)
        step = np.linalg.solve(curvature, columns.T @ (p - true) + penalty * weights)
        before = least
        while (least := loss(weights - step)) > before and np.abs(step).max() > 1e-9:
            step /= 2
        if least >= before:
            break
        weights -= step
        if before - least < 1e-6 * before:
            break
    weights /= spread
    weights[-1] -= weights[:-1] @ mean[:-1]
    return weights


def bin_thresholds(cells: Cells) -> Cells:
    """Return the values that divide each column into bins of about as many cells.

    They lie midway between two values, because frequencies change a little with every row that is
    learned or forgotten. Infinite where a column has fewer values. Shape (n_columns, ``MOST_BINS``
    − 1).
    """
    sample = np.sort(cells[:: -(-len(cells) // SAMPLED_CELLS) or 1], axis=0)
    thresholds = np.full((cells.shape[1], MOST_BINS - 1), np.inf, dtype=np.float32)
    places = np.linspace(0, len(sample) - 1, MOST_BINS).astype(np.int64)[:-1]
    for column, values in enumerate(sample.T):
        distinct = np.unique(values)
        last = np.arange(len(distinct) - 1)
        if len(distinct) > MOST_BINS:
            last = np.unique(np.searchsorted(distinct[:-1], values[places]))
            last = last[last < len(distinct) - 1]
        edges = np.unique(distinct[last] + (distinct[last + 1] - distinct[last]) / 2)
        thresholds[column, : len(edges)] = edges
    return thresholds


LEAST_SPREAD = 1e-12
"""Scores that differ by less count as equal: the slope on them would be without bound."""


@dataclass(frozen=True, eq=False)
class ConvexMix(FieldState):
    """Weights of the parts, and the line that makes their sum log-odds."""

    weights: Float
    slope: float
    intercept: float
    n_columns: int

    @classmethod
    def fit(cls, cells: Cells, true: Float, n_parts: int) -> Self:
        """Fit on leave-one-out cells, in which each part has two columns."""
        scores = cells[:, 0 : 2 * n_parts : 2].astype(np.float64)
        weights = optimize.nnls(scores, true)[0]
        if weights.sum() <= 0:
            weights = np.ones(scores.shape[1])
        weights /= weights.sum()
        slope, intercept = _logistic_line(scores @ weights, true)
        return cls(weights, slope, intercept, cells.shape[1])

    def log_odds(self, cells: Cells) -> Float:
        """Return the log-odds of each cell: the same bits for one cell as among many."""
        scores = cells[:, 0 : 2 * len(self.weights) : 2].astype(np.float64)
        mixed: Float = np.ascontiguousarray(scores * self.weights).sum(axis=1)
        return self.slope * mixed + self.intercept

    def shapley(self, cell: Cells, owner: Int, n_parts: int) -> tuple[float, Float]:
        """Return the log-odds of a cell if no part speaks, and what each part adds to them."""
        return self.intercept, self.slope * (cell[0 : 2 * n_parts : 2] * self.weights)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return cls(
            read_array(state, "weights", np.float64, (None,)),
            read_plain(state, "slope", float),
            read_plain(state, "intercept", float),
            read_plain(state, "n_columns", int),
        )


def _logistic_line(x: Float, true: Float) -> tuple[float, float]:
    """Return slope and intercept of the logistic regression on one number, slightly shrunk."""
    mean, spread = float(x.mean()), float(x.std())
    if spread < LEAST_SPREAD:
        spread = 1.0
    z = (x - mean) / spread
    slope, intercept = 0.0, 0.0
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-(slope * z + intercept)))
        curvature = np.maximum(p * (1.0 - p), 1e-10)
        gradient = np.array([z @ (p - true) + 1e-3 * slope, (p - true).sum() + 1e-3 * intercept])
        cross = curvature @ z
        hessian = np.array([[curvature @ (z * z) + 1e-3, cross], [cross, curvature.sum() + 1e-3]])
        step = np.linalg.solve(hessian, gradient)
        largest = np.abs(step).max()
        step *= min(1.0, 4.0 / max(largest, 1e-12))
        slope, intercept = slope - float(step[0]), intercept - float(step[1])
        if largest < 1e-8:
            break
    return slope / spread, intercept - slope * mean / spread


Numbers = NDArray[np.uint64]
ROUNDS = 2
"""Passes from rows to columns and back; after two, columns differ by the rows they stand in."""
LABEL = np.uint64(0x9E3779B97F4A7C15)
"""Tells labels from features."""


def content_order(X: Features, Y: Csr) -> Int:
    """Return the ids of the rows, sorted by their contents."""
    return np.argsort(content_numbers(X, Y), kind="stable")


def distinct_rows(X: Features) -> Int:
    """Return the places of rows, one of those with equal features, but at least `FEWEST_ROWS`.

    Of c equal rows, C of which have a label, a row with the label is left out of C − 1 labels among
    c − 1 rows, and a row without it of C. Trees that see several of them learn that fewer votes
    mean the label, and the scores of one by a model that saw the others are too good.
    """
    numbers = _feature_numbers(as_csr(X))
    by_number = np.argsort(numbers, kind="stable")
    is_first = np.append(True, np.diff(numbers[by_number]) != 0)
    places = np.arange(len(numbers))
    copy = np.empty_like(places)
    copy[by_number] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    n_kept = max(int(is_first.sum()), min(len(numbers), FEWEST_ROWS))
    return np.sort(np.argsort(copy, kind="stable")[:n_kept])


def _feature_numbers(cells: Csr) -> Numbers:
    """Return a number of each row that is the same for rows with equal features."""
    numbers = np.zeros(cells.shape[0], dtype=np.uint64)
    for start, stop in row_blocks(cells.indptr):
        rows, columns, values = _entries(cells, start, stop)
        numbers[start:stop] = _sums(
            _mixed(_mixed(columns.astype(np.uint64)) ^ values), rows, stop - start
        )
    return numbers


def content_numbers(X: Features, Y: Csr) -> Numbers:
    """Return the number of each row. Memory: 16 bytes per row, 8 per feature and label."""
    cells = as_csr(X)
    n_rows = int(Y.shape[0])
    numbers = np.zeros(n_rows, dtype=np.uint64)
    for start, stop in row_blocks(cells.indptr):
        rows, _, values = _entries(cells, start, stop)
        numbers[start:stop] = _sums(values, rows, stop - start)
    sizes = np.diff(Y.indptr).astype(np.uint64)
    sizes *= LABEL
    numbers += sizes
    del sizes
    for _ in range(ROUNDS):
        of_row = _mix(numbers)
        of_column = np.zeros(cells.shape[1], dtype=np.uint64)
        for start, stop in row_blocks(cells.indptr):
            rows, columns, values = _entries(cells, start, stop)
            np.add.at(of_column, columns, _mixed(of_row[start:stop][rows] ^ values))
        of_label = np.zeros(Y.shape[1], dtype=np.uint64)
        for start, stop in row_blocks(Y.indptr):
            rows, labels, _ = _entries(Y, start, stop)
            np.add.at(of_label, labels, _mixed(of_row[start:stop][rows] ^ LABEL))
        numbers = of_row
        for start, stop in row_blocks(Y.indptr):
            rows, labels, _ = _entries(Y, start, stop)
            numbers[start:stop] += _sums(_mixed(of_label[labels] ^ LABEL), rows, stop - start)
        for start, stop in row_blocks(cells.indptr):
            rows, columns, values = _entries(cells, start, stop)
            numbers[start:stop] += _sums(_mixed(of_column[columns] ^ values), rows, stop - start)
    return _mix(numbers)


def _mix(numbers: Numbers) -> Numbers:
    """Mix numbers in place, some at a time."""
    for start in range(0, len(numbers), ENTRIES_AT_ONCE):
        numbers[start : start + ENTRIES_AT_ONCE] = _mixed(numbers[start : start + ENTRIES_AT_ONCE])
    return numbers


def _entries(cells: Csr, start: int, stop: int) -> tuple[Int, Int, Numbers]:
    """Return the rows, from 0 on, the columns and the mixed values of some rows' entries."""
    entries = slice(cells.indptr[start], cells.indptr[stop])
    data = cells.data[entries]
    kept = data != 0
    rows = np.repeat(np.arange(stop - start), np.diff(cells.indptr[start : stop + 1]))[kept]
    values = _mixed(data[kept].astype(np.float64).view(np.uint64))
    return rows, cells.indices[entries][kept].astype(np.int64), values


def _sums(numbers: Numbers | np.uint64, places: Int, size: int) -> Numbers:
    """Return the sum of the numbers at each place, modulo 2⁶⁴: in any order the same."""
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, places, numbers)
    return sums


def _mixed(numbers: Numbers) -> Numbers:
    """Return numbers whose every bit depends on every bit of those given (splitmix64)."""
    mixed = numbers + LABEL
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
