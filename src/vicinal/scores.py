"""What a method says of every row and label, without a number for each where labels are many."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float, Int, stack_rows
from vicinal._base.errors import InvalidArgumentError

DENSE_LIMIT = 2**28
"""Most cells :meth:`Scores.toarray` makes: 2 GiB of float64."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of `n` rows for `L` labels: dense, or sparse above a value per label.

    Parameters
    ----------
    values : ndarray or csr_array of float64, shape (n, L)
        Where sparse, rows are sorted without repeats; a stored entry counts as it stands, a stored
        zero too.
    base : ndarray of float64, shape (L,)
        The score of a label wherever a sparse `values` stores none: 0 for most methods, the score
        at no vote for the ML-kNN family. Not read where `values` is dense.
    neighbor_cardinality : ndarray of float64, shape (n,), or None
        Mean number of labels of the row's neighbours (the *z* of BRkNN-b), where a method knows it.

    Notes
    -----
    Memory: 16 bytes a stored entry; a method stores one per row and label that a neighbour carries.

    Examples
    --------
    >>> stored = sparse.csr_array(np.array([[0.9, 0.0], [0.0, 0.4]]))
    >>> Scores.sparse(stored, base=np.array([0.1, 0.2])).toarray()
    array([[0.9, 0.2],
           [0.1, 0.4]])
    """

    values: Float | Csr
    base: Float
    neighbor_cardinality: Float | None = None

    @classmethod
    def dense(cls, values: Float, neighbor_cardinality: Float | None = None) -> "Scores":
        """Scores with a number for every row and label."""
        return cls(values, np.zeros(values.shape[1]), neighbor_cardinality)

    @classmethod
    def sparse(
        cls, values: Csr, base: Float | None = None, neighbor_cardinality: Float | None = None
    ) -> "Scores":
        """Scores stored where they differ from `base` (zeros unless given)."""
        return cls(
            values, np.zeros(values.shape[1]) if base is None else base, neighbor_cardinality
        )

    @classmethod
    def stack(cls, blocks: Sequence["Scores"]) -> "Scores":
        """Return the scores of several blocks of rows of one method, one after the other."""
        sizes = [block.neighbor_cardinality for block in blocks]
        known = [size for size in sizes if size is not None]
        cardinality = np.concatenate(known) if len(known) == len(blocks) else None
        stored = [b.values for b in blocks if isinstance(b.values, sparse.csr_array)]
        full = [b.values for b in blocks if not isinstance(b.values, sparse.csr_array)]
        values = stack_rows(stored) if stored else np.concatenate(full)
        return cls(values, blocks[0].base, cardinality)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of labels."""
        n_rows, n_labels = self.values.shape
        return int(n_rows), int(n_labels)

    @property
    def is_sparse(self) -> bool:
        """Whether only some entries are stored."""
        return isinstance(self.values, sparse.csr_array)

    def rows(self, start: int, stop: int) -> "Scores":
        """Return the scores of rows `start` to `stop` (excluded)."""
        sizes = self.neighbor_cardinality
        return Scores(
            self.values[start:stop],
            self.base,
            None if sizes is None else sizes[start:stop],
        )

    def take(self, rows: Int) -> "Scores":
        """Return the scores of the rows with these ids."""
        sizes = self.neighbor_cardinality
        return Scores(self.values[rows], self.base, None if sizes is None else sizes[rows])

    def toarray(self) -> Float:
        """Every score as one array; refused where that would take more than 2 GiB."""
        if not isinstance(self.values, sparse.csr_array):
            return self.values
        n_rows, n_labels = self.shape
        if n_rows * n_labels > DENSE_LIMIT:
            raise InvalidArgumentError(
                "scores",
                f"at most {DENSE_LIMIT} cells as one array (use rank(X, top) for large label sets)",
                f"{n_rows} rows × {n_labels} labels",
            )
        full = np.tile(self.base, (n_rows, 1))
        stored = self.values
        row_of = np.repeat(np.arange(n_rows), np.diff(stored.indptr))
        full[row_of, stored.indices] = stored.data
        return full
