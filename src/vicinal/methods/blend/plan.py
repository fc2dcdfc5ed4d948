"""Which parts a data set can afford, and what is left out and why.

Folds and samples of a fit are taken in this order, so that the same rows in another order, or with
other columns or labels in front, give the same model. Each row gets a number made of its values,
of what else stands in the columns that they stand in, and of its labels; rows are sorted by it.
Rows with the same number have the same values and labels, chance (1 in 2⁶⁴) and symmetries of the
whole data set excepted; they keep their order.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import Csr, Features, Int, row_ids
from vicinal._core.validation import as_csr
from vicinal.errors import warn_user
from vicinal.methods.label_ridge.solver import coefficient_bytes, dense_bytes

DENSE_SHARE = 0.3
"""Rows with a larger share of non-zero values are measurements rather than words."""
LEAST_WIDTH, USUAL_WIDTH, MOST_WIDTH = 15, 30, 100
"""Candidate labels per row: more of them change no prediction, where rows have few labels."""
FEW_CELLS = 100_000
"""Cells up to which rows have more candidates."""
MOST_CELLS = 400_000
"""Cells the mixture is trained on."""
MANY_LABELS = 20_000
"""Labels past which no part may have a score of its own for each of them."""
MOST_UNKNOWNS, MOST_FOR_MANY_LABELS = 6_000, 16_000
"""Largest matrix that a ridge inverts: seconds, or a minute where there are very many labels."""
FEW_UNKNOWNS = 2_500
"""Largest matrix for which several regularisations are tried."""
MOST_PRODUCTS = 4_000_000_000
"""Multiplications that feature similarity and co-occurrence may take for the cells of a fit."""


@dataclass
class Plan:
    """What a blend is made of.

    Parameters
    ----------
    is_dense : bool
        Whether rows are measurements: scaled features and a Gaussian kernel.
    has_weights : bool
        Whether rows are weighted by labels.
    ridge_features : int
        Most columns a ridge is fitted on; 0 for no ridge.
    has_kernel : bool
        Whether the ridge has a Gaussian kernel.
    tries_alphas : bool
    solves_together : bool
        Whether the ridges of both views are solved at the same time, each on one thread.
    has_similarity, has_co_occurrence : bool
    left_out : list of str
        What is left out, with the reason.
    """

    is_dense: bool = False
    has_weights: bool = True
    ridge_features: int = MOST_UNKNOWNS
    has_kernel: bool = False
    tries_alphas: bool = True
    solves_together: bool = False
    has_similarity: bool = True
    has_co_occurrence: bool = True
    left_out: list[str] = field(default_factory=list)

    def warn(self) -> None:
        """Say in one line what is left out."""
        if self.left_out:
            warn_user("Blend: " + "; ".join(self.left_out))


def make_plan(X: Features, Y: Csr, n_label_pairs: int, max_memory: int) -> Plan:
    """Return the parts for rows `X`.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    Y : csr_array, shape (n, L)
    n_label_pairs : int
        Pairs of labels that share a row.
    max_memory : int
        Bytes.
    """
    n_rows, n_features = X.shape
    n_labels = Y.shape[1]
    values = X if isinstance(X, np.ndarray) else X.data
    n_stored = int(np.count_nonzero(values))
    is_dense = n_stored > DENSE_SHARE * n_rows * n_features
    plan = Plan(is_dense=is_dense, has_weights=not is_dense, has_similarity=not is_dense)
    if not is_dense and values.size and float(values.min()) < 0:
        plan.has_weights = plan.has_similarity = False
        plan.left_out.append("label weights are left out, because X has negative values")
    if n_labels > MANY_LABELS:
        plan.ridge_features = 0
        plan.has_similarity = plan.has_co_occurrence = False
        plan.left_out.append(
            f"only votes of neighbours are used, because the other parts score each of the "
            f"{n_labels} labels of a row (limit {MANY_LABELS})"
        )
        return plan
    _plan_ridge(plan, X.shape, n_labels, most_unknowns(n_stored, n_labels), max_memory)
    mixed_rows = min(n_rows, MOST_CELLS // candidates_per_row(Y))
    per_row = n_stored / max(1, n_rows)
    if plan.has_similarity and mixed_rows * per_row * n_labels > MOST_PRODUCTS:
        plan.has_similarity = False
        plan.left_out.append(
            f"feature similarity is left out, because rows have {per_row:.0f} features and there "
            f"are {n_labels} labels"
        )
    plan.has_co_occurrence = n_labels > 1 and plan.ridge_features > 0
    if plan.has_co_occurrence and mixed_rows * n_label_pairs > MOST_PRODUCTS:
        plan.has_co_occurrence = False
        plan.left_out.append(
            f"co-occurrence is left out, because {n_label_pairs} pairs of labels share a row"
        )
    return plan


def candidates_per_row(Y: Csr) -> int:
    """Return how many labels of a row are candidates, for training labels `Y`.

    More where rows have many labels, and where rows are few.

    Examples
    --------
    >>> from scipy import sparse
    >>> many = sparse.csr_array(np.ones((10_000, 40), dtype=np.int32))
    >>> few = sparse.csr_array(np.eye(10_000, 40, dtype=np.int32))
    >>> candidates_per_row(many), candidates_per_row(few), candidates_per_row(many[:9])
    (30, 15, 40)
    """
    n_rows, n_labels = Y.shape
    by_labels = int(np.clip(5 + 4 * Y.nnz / n_rows, LEAST_WIDTH, USUAL_WIDTH))
    width = min(max(FEW_CELLS // n_rows, by_labels), MOST_WIDTH)
    return min(width, n_labels)


def most_unknowns(n_stored: int, n_labels: int) -> int:
    """Return how large a matrix a ridge may invert, by what one linear model per label would cost.

    Examples
    --------
    >>> most_unknowns(1_000_000, 500), most_unknowns(8_000_000, 4_000)
    (6000, 10857)
    """
    return int(
        np.clip((40.0 * n_stored * n_labels) ** (1 / 3), MOST_UNKNOWNS, MOST_FOR_MANY_LABELS)
    )


def _plan_ridge(
    plan: Plan, shape: tuple[int, int], n_labels: int, most: int, max_memory: int
) -> None:
    """Decide how many columns a ridge can have, at most `most`, and whether it has a kernel."""
    n_rows, n_features = shape
    plan.has_kernel = plan.is_dense and (
        n_rows <= MOST_UNKNOWNS
        and dense_bytes(n_rows) <= max_memory // 2
        and coefficient_bytes(n_rows, n_features, n_labels, has_kernel=True) <= max_memory
    )
    if plan.is_dense and not plan.has_kernel:
        plan.left_out.append(
            f"the Gaussian kernel is left out for a linear ridge, because there are {n_rows} rows "
            f"(limit {MOST_UNKNOWNS}, less where max_memory is short)"
        )
    # Coefficients take 8 bytes for each feature and label; while the second of two ridges is
    # solved, some five such arrays are held.
    by_coefficients = max_memory // 6 // (8 * n_labels)
    size = min(n_rows, n_features)
    if size <= most and n_features <= by_coefficients:
        plan.ridge_features = n_features
    else:
        plan.ridge_features = min(most, n_features, by_coefficients)
    while plan.ridge_features and (
        dense_bytes(min(plan.ridge_features, n_rows)) > max_memory // 2
        or coefficient_bytes(n_rows, plan.ridge_features, n_labels, has_kernel=False) > max_memory
    ):
        plan.ridge_features //= 2
    unknowns = min(plan.ridge_features, n_rows)
    plan.tries_alphas = min(plan.ridge_features, size) <= FEW_UNKNOWNS
    # Threads of a product of small matrices mostly wait for each other.
    plan.solves_together = plan.tries_alphas and max_memory // 4 >= dense_bytes(
        unknowns
    ) + coefficient_bytes(n_rows, plan.ridge_features, n_labels, has_kernel=False)
    if plan.ridge_features < min(16, n_features):
        plan.ridge_features = 0
        plan.left_out.append(f"the ridge is left out, because of max_memory={max_memory}")
    elif plan.ridge_features < n_features:
        plan.left_out.append(
            f"the ridge uses the {plan.ridge_features} of {n_features} features with the largest "
            f"values (more rows and features than {most}, or max_memory={max_memory})"
        )


COMBINATIONS = ("boosting", "network", "mix")


@dataclass(frozen=True)
class BlendSettings:
    """Settings of a fit.

    Parameters
    ----------
    combine : {"boosting", "network", "mix"}
        Gradient boosting, a small network, or weights that sum to one.
    random_state : int
    max_memory : int
        Bytes that the fit may use besides the rows.
    """

    combine: str
    random_state: int
    max_memory: int


Numbers = NDArray[np.uint64]
ROUNDS = 2
"""Passes from rows to columns and back; after two, columns differ by the rows they stand in."""
LABEL = np.uint64(0x9E3779B97F4A7C15)
"""Tells labels from features."""


def content_order(X: Features, Y: Csr) -> Int:
    """Return the ids of the rows, sorted by their contents.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    Y : csr_array, shape (n, L)

    Examples
    --------
    >>> from scipy import sparse
    >>> X, Y = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]]), sparse.csr_array(np.eye(3))
    >>> there, back = content_order(X, Y), content_order(X[::-1], Y[::-1])
    >>> np.array_equal(there, 2 - back)
    True
    """
    return np.argsort(content_numbers(X, Y), kind="stable")


def content_numbers(X: Features, Y: Csr) -> Numbers:
    """Return the number of each row."""
    cells = as_csr(X)
    row_of = row_ids(cells)
    kept = cells.data != 0
    values = _mixed(cells.data[kept].astype(np.float64).view(np.uint64))
    rows, columns = row_of[kept], cells.indices[kept].astype(np.int64)
    labels = Y.indices.astype(np.int64)
    label_rows = row_ids(Y)
    numbers = _sums(values, rows, Y.shape[0]) + _sums(LABEL, label_rows, Y.shape[0])
    for _ in range(ROUNDS):
        of_row = _mixed(numbers)
        of_column = _sums(_mixed(of_row[rows] ^ values), columns, cells.shape[1])
        of_label = _sums(_mixed(of_row[label_rows] ^ LABEL), labels, Y.shape[1])
        numbers = (
            of_row
            + _sums(_mixed(of_column[columns] ^ values), rows, Y.shape[0])
            + _sums(_mixed(of_label[labels] ^ LABEL), label_rows, Y.shape[0])
        )
    return _mixed(numbers)


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
