"""Methods that score every label of every row, so that no base score can be omitted.

Their scores are dense, 8 bytes per row and label. An estimator therefore scores few rows at a time
if there are many labels; the size of scores that must be in memory at once is limited.
"""

from vicinal._base.errors import InvalidArgumentError
from vicinal.scores import DENSE_LIMIT

BLOCK_CELLS = 2**24
"""Cells scored at a time: 128 MiB of float64."""


class EveryLabel:
    """Marks a method whose scores are dense."""


def check_cells(n_rows: int, n_labels: int) -> None:
    """Raise if the dense scores of the rows and labels would take more than 2 GiB.

    Examples
    --------
    >>> check_cells(10**6, 10**5)
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: scores: expected at most 268435456 cells at once
    (this method scores every label; use rank(X, top), or a rule that needs no training scores),
    got 1000000 rows × 100000 labels
    """
    if n_rows * n_labels > DENSE_LIMIT:
        raise InvalidArgumentError(
            "scores",
            f"at most {DENSE_LIMIT} cells at once (this method scores every label; "
            "use rank(X, top), or a rule that needs no training scores)",
            f"{n_rows} rows × {n_labels} labels",
        )


def rows_at_once(n_labels: int, most: int) -> int:
    """Return how many rows to score at a time, at most `most`.

    Examples
    --------
    >>> rows_at_once(n_labels=2**20, most=1000)
    16
    """
    return max(1, min(most, BLOCK_CELLS // max(n_labels, 1)))
