"""Rows for the benchmarks of incremental learning."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal import datasets
from vicinal._base.arrays import Csr


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows to start from, and rows that come one by one."""

    name: str
    X: Csr
    Y: Csr
    n_first: int

    def row(self, number: int) -> tuple[Csr, Csr]:
        """Return a row that comes later, the first of them again when they are used up."""
        place = self.n_first + number % (self.X.shape[0] - self.n_first)
        return self.X[place : place + 1], self.Y[place : place + 1]


def debtags(n_first: int = 24_231) -> Stream:
    """Return the embedded data set: 30,300 rows of 27,005 words, 527 labels."""
    data = datasets.load("debtags")
    return Stream("debtags", sparse.csr_array(data.X), sparse.csr_array(data.Y), n_first)


def binary(n_rows: int, n_features: int, per_row: int, n_labels: int, seed: int = 0) -> Stream:
    """Return rows of ones at features that are drawn with falling frequency, 3 labels each."""
    rng = np.random.default_rng(seed)
    total = n_rows + 2_000
    ranks = (n_features ** rng.random((total, per_row))).astype(np.int64) % n_features
    labels = (n_labels ** rng.random((total, 3))).astype(np.int64) % n_labels
    name = f"binary {n_rows:,} × {n_features:,}"
    return Stream(name, _ones(ranks, n_features), _ones(labels, n_labels).astype(int), n_rows)


def debtags_like(n_rows: int, seed: int = 0) -> Stream:
    """Return rows of debtags with a tenth of their words replaced, in random order."""
    known = debtags()
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, known.X.shape[0], size=n_rows + 1_000)
    X = sparse.csr_array(known.X[chosen])
    moved = rng.random(X.nnz) < 0.1
    columns = X.indices.copy()
    columns[moved] = rng.choice(columns, size=int(moved.sum()))
    shuffled = sparse.csr_array((X.data, columns, X.indptr), shape=X.shape)
    shuffled.sum_duplicates()
    return Stream("debtags-like", shuffled, known.Y[chosen], n_rows)


def _ones(columns: np.ndarray, n_columns: int) -> Csr:
    """Return the indicator of the columns of each row, repeats counted once."""
    n_rows, width = columns.shape
    rows = np.repeat(np.arange(n_rows), width)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, columns.ravel())), (n_rows, n_columns))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix
