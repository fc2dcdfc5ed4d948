"""Which parts a data set can afford, and what is left out and why."""

from dataclasses import dataclass, field

import numpy as np

from vicinal._base.arrays import Csr, Features
from vicinal._base.warn import warn_user
from vicinal.scoring.ridge.system import coefficient_bytes, dense_bytes

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
