r"""Cells: the most promising labels of each row, with their scores by every part.

A cell has three numbers from each part (its score, that over the row's best, the row's best) and
the logarithm of the label's share of training rows. Cells are made of a block of rows at a time, so
that no more than a block has a number for every label; where labels are very many and parts sparse,
not even a block does.

Each of K folds of the training rows has a model trained on the other folds, which stops where the
fold's own log loss no longer falls. Their mean log-odds are the mixture, and the training rows get
the scores of the models that have not seen them: thresholds need no further fit.

.. math::

    s = \sum_j w_j f_j, \quad w_j \ge 0, \ \sum_j w_j = 1, \qquad
    P(l \mid x) = \frac{1}{1 + e^{-(a s + b)}}

The weights are those of non-negative least squares on the leave-one-out cells, scaled to sum to
one; a and b are fitted to the same cells by maximum likelihood.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from vicinal._core.arrays import Csr, Float, Int, Int32
from vicinal._core.csr import bare_csr
from vicinal._core.state import FieldState, State, read_array, read_plain
from vicinal._core.threads import thread_count
from vicinal._native import MOST_BINS, boosted_trees, tree_sums
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.scores import Scores

Cells = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Trees(FieldState):
    """Trees whose leaves add up to log-odds.

    Parameters
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        Column that a node compares; −1 for a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to this go left; of a leaf, what it adds.
    left, right : ndarray of int32, shape (n_nodes,)
        Nodes behind this one; 0 for a leaf.
    roots : ndarray of int32, shape (n_trees,)
    base : float
        What the sum begins with.
    n_columns : int

    Examples
    --------
    One tree: 1 where the value is above 0.5, else −1.

    >>> arrays = np.array([0, -1, -1]), np.array([0.5, -1, 1]), np.array([1, 0, 0]), [2, 0, 0], [0]
    >>> ints = [np.array(arrays[place], dtype=np.int32) for place in (0, 2, 3, 4)]
    >>> trees = Trees(ints[0], arrays[1], *ints[1:], base=0.25, n_columns=1)
    >>> trees.log_odds(np.array([[0.5], [0.75]], dtype=np.float32))
    array([-0.75,  1.25])
    """

    feature: Int32
    threshold: Float
    left: Int32
    right: Int32
    roots: Int32
    base: float
    n_columns: int

    def log_odds(self, cells: Cells) -> Float:
        """Return the sum for each row of `cells`, shape (n, n_columns)."""
        nodes = self.feature, self.threshold, self.left, self.right, self.roots
        return self.base + tree_sums(*nodes, np.ascontiguousarray(cells), thread_count())

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
            raise ModelFormatError("trees: expected nodes that lead to later nodes of the trees")
        threshold = read_array(state, "threshold", np.float64, (n_nodes,))
        base = read_plain(state, "base", float)
        return cls(feature, threshold, left, right, roots, base, n_columns)


COLUMNS_PER_PART = 3
LARGEST_SCORE = 1e9
"""What a part may say at most: sums of larger scores would cancel to nothing."""
LEAST_TOP = 1e-3
"""What a row's best score counts as at least, where others are divided by it."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate labels of rows and their cells.

    Parameters
    ----------
    labels : ndarray of int32, shape (n, C)
        Rising in each row.
    cells : ndarray of float32, shape (n × C, columns)
    """

    labels: Int32
    cells: Cells

    def scores(self, values: Float, n_labels: int) -> Scores:
        """Return one value per cell as sparse scores of rows and labels."""
        n_rows, width = self.labels.shape
        indptr = np.arange(0, n_rows * width + 1, max(width, 1))[: n_rows + 1]
        return Scores.sparse(
            bare_csr(values, self.labels.ravel(), indptr.astype(np.int32), (n_rows, n_labels))
        )


@dataclass(frozen=True, eq=False)
class CellMaker:
    """How cells are made of the parts' scores.

    Parameters
    ----------
    center, scale : ndarray of float64, shape (n_parts,)
        Mean and standard deviation of each part's scores, which standardise them.
    log_prior : ndarray of float64, shape (L,)
    width : int
        Candidates per row.
    """

    center: Float
    scale: Float
    log_prior: Float
    width: int

    @property
    def n_columns(self) -> int:
        """Numbers per cell."""
        return COLUMNS_PER_PART * len(self.scale) + 1

    def make(self, parts: Sequence[Scores]) -> Candidates:
        """Return the candidates of rows from their scores by every part."""
        if all(part.is_sparse for part in parts):
            return self._of_sparse([cast("Csr", part.values) for part in parts])
        return self._of_dense([part.toarray() for part in parts])

    def _of_dense(self, parts: list[Float]) -> Candidates:
        """Choose among all labels."""
        total = sum((part / scale for part, scale in zip(parts, self.scale, strict=True)), 0.0)
        labels = _largest(np.asarray(total), self.width)
        chosen = [np.take_along_axis(part, labels, axis=1) for part in parts]
        return self._cells(labels, chosen, [part.max(axis=1, keepdims=True) for part in parts])

    def _of_sparse(self, parts: list[Csr]) -> Candidates:
        """Choose among the labels that a part speaks of; others score 0 everywhere."""
        weighted = [part / scale for part, scale in zip(parts, self.scale, strict=True)]
        total = weighted[0]
        for other in weighted[1:]:
            total = total + other
        total = sparse.csr_array(total)
        total.sort_indices()
        labels = np.sort(Scores.sparse(total).top(self.width)[0], axis=1)
        rows = np.repeat(np.arange(labels.shape[0]), labels.shape[1])
        chosen = [np.asarray(part[rows, labels.ravel()]).reshape(labels.shape) for part in parts]
        tops = [part.max(axis=1).toarray().reshape(-1, 1) for part in parts]
        return self._cells(labels, chosen, tops)

    def _cells(self, labels: Int32, chosen: list[Float], tops: list[Float]) -> Candidates:
        """Lay out the numbers of each cell side by side."""
        cells = np.empty((*labels.shape, self.n_columns), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for place, (values, top) in enumerate(zip(chosen, tops, strict=True)):
                at = COLUMNS_PER_PART * place
                cells[..., at] = values
                cells[..., at + 1] = values / np.maximum(top, LEAST_TOP)
                cells[..., at + 2] = top
        cells[..., -1] = self.log_prior[labels]
        if not np.all(np.abs(cells) <= LARGEST_SCORE):  # false for NaN too
            raise InvalidArgumentError(
                "X", f"values whose scores are at most {LARGEST_SCORE:g}", "larger ones"
            )
        return Candidates(labels, cells.reshape(-1, self.n_columns))


def score_spread(parts: Sequence[Scores]) -> tuple[Float, Float]:
    """Return the mean and standard deviation of each part's scores; 1 for a constant one."""
    centers, scales = [], []
    for part in parts:
        values = part.values
        data = values if isinstance(values, np.ndarray) else values.data
        n_cells = max(1, part.shape[0] * part.shape[1])
        mean = float(data.sum()) / n_cells
        variance = float((data * data).sum()) / n_cells - mean * mean
        centers.append(mean)
        scales.append(np.sqrt(variance) if variance > 1e-12 else 1.0)
    return np.array(centers), np.array(scales)


def _largest(values: Float, width: int) -> Int32:
    """Return the columns of the largest values of each row, rising."""
    n_rows, n_labels = values.shape
    if width >= n_labels:
        return np.tile(np.arange(n_labels, dtype=np.int32), (n_rows, 1))
    chosen = np.argpartition(-values, width - 1, axis=1)[:, :width]
    return np.sort(chosen, axis=1).astype(np.int32)


N_FOLDS = 3
CELLS_OF_ONE_FOLD = 120_000
"""Cells past half of which rows are dealt out once."""
FEWEST = 20
"""True and false cells that a mixture with many parameters needs; with fewer it is convex."""

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

    Examples
    --------
    >>> repeats_for(1_000), repeats_for(50_000), repeats_for(500_000)
    (3, 2, 1)
    """
    return int(np.clip(CELLS_OF_ONE_FOLD // max(n_cells, 1), 1, 3))


def can_learn(true: Float, row_of: Int, random_state: int) -> bool:
    """Tell whether the cells outside each fold hold enough true and false ones to learn from."""
    fold_of = row_folds(row_of, random_state)
    outside = [true[fold_of != fold] for fold in range(N_FOLDS)]
    return all(
        len(cells) >= FEWEST_CELLS and FEWEST <= cells.sum() <= len(cells) - FEWEST
        for cells in outside
    )


PATIENCE = 10
L2 = 1.0
LEAST_CURVATURE = 1.0
"""Sum of p (1 − p) that both sides of a split must have."""
SAMPLED_CELLS = 20_000
"""Cells that the bins of a column are made by."""


@dataclass(frozen=True)
class Pace:
    """How a model learns.

    Parameters
    ----------
    n_rounds : int
        Trees at most.
    rate : float
        What the value of a leaf is multiplied by.
    n_leaves : int
    """

    n_rounds: int
    rate: float
    n_leaves: int


SMALL_STEPS = Pace(200, 0.1, 15)
LARGE_STEPS = Pace(40, 0.2, 63)
"""As good where cells are many, in a third of the time: most of a tree's time is for its root."""
MANY_CELLS = 150_000


def pace_for(n_cells: int) -> Pace:
    """Return how to learn from so many cells."""
    return LARGE_STEPS if n_cells > MANY_CELLS else SMALL_STEPS


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Trees, and the log-odds of the training cells by models that were not trained on them."""

    trees: Trees
    held_out: Float


def fit_boosting(cells: Cells, true: Float, row_of: Int, random_state: int) -> CrossFitted:
    """Fit the mixture on leave-one-out cells.

    Parameters
    ----------
    cells : ndarray of float32, shape (n_cells, n_columns)
    true : ndarray of float64, shape (n_cells,)
    row_of : ndarray of int64, shape (n_cells,)
        The training row of each cell: rows, not cells, are put into folds.
    random_state : int
    """
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
    return CrossFitted(trees, held_out)


def bin_thresholds(cells: Cells) -> Cells:
    """Return the values that divide each column into bins of about as many cells.

    Infinite where a column has fewer values. Shape (n_columns, ``MOST_BINS`` − 1).

    Examples
    --------
    >>> bin_thresholds(np.array([[0.0], [2.0], [2.0]], dtype=np.float32))[0, :2]
    array([ 0., inf], dtype=float32)
    """
    sample = np.sort(cells[:: -(-len(cells) // SAMPLED_CELLS) or 1], axis=0)
    thresholds = np.full((cells.shape[1], MOST_BINS - 1), np.inf, dtype=np.float32)
    places = np.linspace(0, len(sample) - 1, MOST_BINS).astype(np.int64)[:-1]
    for column, values in enumerate(sample.T):
        distinct = np.unique(values)
        edges = distinct[:-1]
        if len(distinct) > MOST_BINS:
            edges = np.unique(values[places])
            edges = edges[edges < distinct[-1]]
        thresholds[column, : len(edges)] = edges
    return thresholds


LEAST_SPREAD = 1e-12
"""Scores that differ by less count as equal: the slope on them would be without bound."""


@dataclass(frozen=True, eq=False)
class ConvexMix(FieldState):
    """Weights of the parts, and the line that makes their sum log-odds.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_parts,)
        Sum to one.
    slope, intercept : float
    """

    weights: Float
    slope: float
    intercept: float

    @property
    def n_columns(self) -> int:
        """Numbers per cell."""
        return COLUMNS_PER_PART * len(self.weights) + 1

    @classmethod
    def fit(cls, cells: Cells, true: Float) -> Self:
        """Fit on leave-one-out cells."""
        scores = cells[:, 0:-1:COLUMNS_PER_PART].astype(np.float64)
        weights = optimize.nnls(scores, true)[0]
        if weights.sum() <= 0:
            weights = np.ones(scores.shape[1])
        weights /= weights.sum()
        slope, intercept = _logistic_line(scores @ weights, true)
        return cls(weights, slope, intercept)

    def log_odds(self, cells: Cells) -> Float:
        """Return the log-odds of each cell."""
        scores = cells[:, 0:-1:COLUMNS_PER_PART].astype(np.float64)
        return self.slope * (scores @ self.weights) + self.intercept

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return cls(
            read_array(state, "weights", np.float64, (None,)),
            read_plain(state, "slope", float),
            read_plain(state, "intercept", float),
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
