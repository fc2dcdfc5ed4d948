"""The scores of rows and labels, stored as a base per label and the entries that differ from it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Float, Int, Int32, row_ids
from vicinal._core.checks import check_integer
from vicinal._core.csr import known_parts, rises_within_rows, stacked, take_rows
from vicinal._core.labels import check_indicator
from vicinal._core.threads import thread_count
from vicinal._core.validation import check_features, csr_parts, sound_csr
from vicinal._native import ScoreRows, top_labels
from vicinal.errors import InvalidArgumentError

DENSE_LIMIT = 2**28
"""Most cells :meth:`Scores.toarray` makes: 2 GiB of float64."""

LOWEST = -float(np.finfo(np.float64).max)
"""The score of labels that a model does not know: below every other, as a probability 0."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of `n` rows for `L` labels: dense, or sparse above a value per label.

    Parameters
    ----------
    values : ndarray or csr_array of float64, shape (n, L)
        If sparse, rows are sorted without repeats; a stored entry counts as it stands, a stored
        zero too.
    base : ndarray of float64, shape (L,)
        The score of a label if sparse `values` store none: 0 for most methods, the score
        without votes for the ML-kNN family. Not read if `values` is dense.
    neighbor_cardinality : ndarray of float64, shape (n,), or None
        Mean number of labels of the row's neighbours (the *z* of BRkNN-b), if a method knows it.
    label_sets : csr_array of int32, shape (n, L), or None
        The set of each row if a method chooses whole sets, which its scores do not tell
        (LPkNN).

    Notes
    -----
    Memory: 16 bytes per stored entry. A method stores one per row and label that a neighbour has.

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
    label_sets: Csr | None = None

    def __repr__(self) -> str:
        """Summarise the scores in one line."""
        form = "sparse" if self.is_sparse else "dense"
        return f"Scores({self.shape[0]} rows × {self.shape[1]} labels, {form})"

    def __post_init__(self) -> None:
        """Check the arrays against each other; those of another type or order are copied."""
        values = self.values
        values = _sorted_rows(values) if sparse.issparse(values) else _dense_array(values)
        n_rows, n_labels = values.shape
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "base", _vector("base", self.base, n_labels))
        if self.neighbor_cardinality is not None:
            sizes = _vector("neighbor_cardinality", self.neighbor_cardinality, n_rows)
            object.__setattr__(self, "neighbor_cardinality", sizes)
        if self.label_sets is not None:
            sets = check_indicator(self.label_sets, "label_sets")
            if sets.shape != self.shape:
                expected = f"shape {self.shape}"
                raise InvalidArgumentError("label_sets", expected, f"shape {sets.shape}")
            object.__setattr__(self, "label_sets", sets)

    @classmethod
    def dense(cls, values: Float, neighbor_cardinality: Float | None = None) -> "Scores":
        """Scores with a number for every row and label."""
        values = _dense_array(values)
        return cls(values, np.zeros(values.shape[1]), neighbor_cardinality)

    @classmethod
    def sparse(
        cls,
        values: Csr,
        base: Float | None = None,
        neighbor_cardinality: Float | None = None,
        label_sets: Csr | None = None,
    ) -> "Scores":
        """Scores stored where they differ from `base` (zeros unless given)."""
        base = np.zeros(values.shape[1]) if base is None else base
        return cls(values, base, neighbor_cardinality, label_sets)

    @classmethod
    def stack(cls, blocks: Sequence["Scores"]) -> "Scores":
        """Return the scores of several blocks of rows of one method, one after the other."""
        if len(blocks) == 1:
            return blocks[0]
        sizes = [block.neighbor_cardinality for block in blocks]
        known = [size for size in sizes if size is not None]
        cardinality = np.concatenate(known) if len(known) == len(blocks) else None
        stored = [b.values for b in blocks if isinstance(b.values, sparse.csr_array)]
        full = [b.values for b in blocks if not isinstance(b.values, sparse.csr_array)]
        if stored and full:
            raise InvalidArgumentError("blocks", "all sparse or all dense scores", "both")
        values = stacked(stored) if stored else np.concatenate(full)
        sets = [block.label_sets for block in blocks]
        given = [rows for rows in sets if rows is not None]
        return cls(
            values,
            blocks[0].base,
            cardinality,
            stacked(given) if len(given) == len(blocks) else None,
        )

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
        return self._part(slice(start, stop))

    def take(self, rows: Int) -> "Scores":
        """Return the scores of the rows with these ids."""
        return self._part(rows)

    def _part(self, rows: slice | Int) -> "Scores":
        """Return the scores of some rows."""
        sizes, sets = self.neighbor_cardinality, self.label_sets
        return Scores(
            take_rows(self.values, rows),
            self.base,
            None if sizes is None else sizes[rows],
            None if sets is None else take_rows(sets, rows),
        )

    def toarray(self) -> Float:
        """Return every score as one array; raise if that would take more than 2 GiB."""
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
        row_of = row_ids(stored)
        full[row_of, stored.indices] = stored.data
        return full

    def top(self, k: int, n_jobs: int | None = None) -> tuple[Int32, Float]:
        """Return the best labels of each row, best first: by score, then by lower label id.

        Parameters
        ----------
        k : int
            How many; all if there are fewer.
        n_jobs : int or None
            Number of threads; None for all cores.

        Returns
        -------
        ids : ndarray of int32, shape (n, min(k, L))
        values : ndarray of float64, same shape

        Examples
        --------
        >>> stored = sparse.csr_array(np.array([[0.9, 0.0, 0.0], [0.0, 0.2, 0.0]]))
        >>> ids, values = Scores.sparse(stored, base=np.array([0.1, 0.3, 0.2])).top(2)
        >>> ids
        array([[0, 1],
               [1, 2]], dtype=int32)
        >>> values
        array([[0.9, 0.3],
               [0.2, 0.2]])
        """
        width = min(check_integer("k", k, low=1), self.shape[1])
        return top_labels(self.native_rows(), width, thread_count(n_jobs))

    def native_rows(self) -> ScoreRows:
        """Return the scores as the compiled core takes them; no score is copied."""
        n_rows, n_labels = self.shape
        if not isinstance(self.values, sparse.csr_array):
            # Rows that store every label share one list of ids, and need no base.
            no_rows, ids = np.empty(0, dtype=np.int64), np.arange(n_labels, dtype=np.int32)
            return ScoreRows(no_rows, ids, self.values.ravel(), np.empty(0), n_rows, n_labels)
        indptr, indices = csr_parts(self.values)
        values = np.ascontiguousarray(self.values.data[: indptr[-1]])
        return ScoreRows(indptr, indices, values, self.base, n_rows, n_labels)


def check_scores(scores: object, name: str = "scores") -> Scores:
    """Return `scores` as :class:`Scores`, given as an array, sparse (absent = 0) or as such."""
    if isinstance(scores, Scores):
        return scores
    values = check_features(scores, name)
    if isinstance(values, sparse.csr_array):
        return Scores.sparse(values.astype(np.float64, copy=False))
    return Scores.dense(values.astype(np.float64, copy=False))


def _dense_array(values: object) -> Float:
    """Return finite float64 in C order."""
    array = check_features(values, "values")
    return np.ascontiguousarray(array, dtype=np.float64)


def _sorted_rows(values: Csr) -> Csr:
    """Return float64 CSR with sorted rows; stored zeros stay."""
    if known_parts(values) is not None and values.dtype == np.float64:
        return values
    matrix = sound_csr(values, "values")
    if not np.isfinite(matrix.data).all():
        raise InvalidArgumentError("values", "finite values", "NaN or infinity")
    if not rises_within_rows(matrix):
        matrix = matrix.copy()
        matrix.sort_indices()
        if not rises_within_rows(matrix):
            raise InvalidArgumentError("values", "each label once per row", "a label stored twice")
    return matrix.astype(np.float64, copy=False)


def _vector(name: str, values: object, length: int) -> Float:
    """Return finite float64 of shape (length,)."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != (length,) or not np.isfinite(array).all():
        got = f"shape {array.shape}" if array.shape != (length,) else "NaN or infinity"
        raise InvalidArgumentError(name, f"finite values of shape ({length},)", got)
    return array
