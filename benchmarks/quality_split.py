"""A data set for the comparison of predictions: rows to learn from, and rows nobody looks at."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal import datasets
from vicinal._core.arrays import Csr, Features, Int
from vicinal._core.validation import as_csr
from vicinal.datasets import Dataset
from vicinal.results import data_hash

DENSE_SHARE = 0.3
TEXTS = ("reuters21578", "eurlex57k", "yso-finna-en")
"""Data sets that are texts, whose words are counted."""
GENERATED = "generated-325k"
MOST_TEST_ROWS = 10_000
"""Where a data set has no published split."""
PARTS = ("X", "Y", "X_test", "Y_test")


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, and test rows that only :func:`benchmarks.quality_scores.measure` sees."""

    name: str
    X: Features
    Y: Csr
    X_test: Features
    Y_test: Csr
    digest: str

    @property
    def is_dense(self) -> bool:
        """Whether rows are measurements rather than words."""
        stored = np.count_nonzero(self.X) if isinstance(self.X, np.ndarray) else self.X.nnz
        return bool(stored > DENSE_SHARE * self.X.shape[0] * self.X.shape[1])


def load_split(name: str) -> Split:
    """Return a split; that of texts from ``$VICINAL_SPLITS`` where an earlier run kept it there."""
    kept = os.environ.get("VICINAL_SPLITS")
    if kept is None or name not in TEXTS:
        return read_split(name)
    folder = Path(kept) / name
    if not folder.exists():
        split = read_split(name)
        folder.mkdir(parents=True)
        for part in PARTS:
            sparse.save_npz(folder / f"{part}.npz", getattr(split, part), compressed=False)
        (folder / "digest").write_text(split.digest)
    X, Y, X_test, Y_test = (
        sparse.csr_array(sparse.load_npz(folder / f"{part}.npz")) for part in PARTS
    )
    return Split(name, X, Y, X_test, Y_test, (folder / "digest").read_text())


def read_split(name: str) -> Split:
    """Return a data set by its published split.

    Where none is, the first 70 % of a fixed shuffle, or all rows but 10,000.
    """
    if name == GENERATED:
        return generated_split()
    options: dict[str, Any] = {"weighting": "counts"} if name in TEXTS else {}
    data = datasets.load(name, **options)
    if data.train is None or data.test is None:
        order = np.random.default_rng(0).permutation(data.X.shape[0])
        cut = max(int(0.7 * len(order)), len(order) - MOST_TEST_ROWS)
        train, test = data.subset(np.sort(order[:cut])), data.subset(np.sort(order[cut:]))
    else:
        train, test = data.split()
    return _of_parts(name, train, test, data)


def _of_parts(name: str, train: Dataset, test: Dataset, data: Dataset) -> Split:
    """Return a split of two parts of a data set."""
    labels = (sparse.csr_array(part.Y).astype(np.int32) for part in (train, test))
    return Split(name, train.X, next(labels), test.X, next(labels), data_hash(data))


def generated_split(n_rows: int = 60_000, n_test: int = 2_000, n_labels: int = 325_000) -> Split:
    """Return made-up rows: each label has words of its own, frequent labels are few."""
    rng = np.random.default_rng(0)
    n_words, n_all = 40_000, n_rows + n_test
    labels = np.minimum(rng.zipf(1.3, size=(n_all, 4)) - 1, n_labels - 1)
    labels = (labels + np.arange(4) * 7919) % n_labels
    words = (labels[:, :, None] * 31 + rng.integers(0, 12, (n_all, 4, 8))) % n_words
    words = np.concatenate(
        [words.reshape(n_all, -1), rng.integers(0, n_words, (n_all, 16))], axis=1
    )
    X, Y = (_indicator(ids, width) for ids, width in ((words, n_words), (labels, n_labels)))
    X, Y = X.astype(np.float64), Y.astype(np.int32)
    return Split(GENERATED, X[:n_rows], Y[:n_rows], X[n_rows:], Y[n_rows:], "generated")


def _indicator(ids: NDArray[np.int64], width: int) -> Csr:
    """Return the 0/1 matrix of ids, given row by row."""
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    counted = sparse.csr_array((np.ones(ids.size), (rows, ids.ravel())), shape=(len(ids), width))
    counted.sum_duplicates()
    counted.data[:] = 1
    return counted


def fold_ids(n_rows: int, n_folds: int = 3) -> Int:
    """Return the fold of each training row, the same for every model."""
    folds: Int = np.random.default_rng(0).permutation(n_rows) % n_folds
    return folds


def tfidf(X: Features, others: Sequence[Features]) -> list[Csr]:
    """Return the training rows and others as linear models like them best.

    Counts become 1 + ln, times ln((1 + n) / (1 + df)) + 1 of the training rows, rows of length 1.
    """
    train = as_csr(X)
    is_count = train.nnz > 0 and train.data.min() >= 1
    having = np.bincount(train.indices, minlength=train.shape[1])
    idf = np.log((1 + train.shape[0]) / (1 + having)) + 1
    weighted = []
    for rows in (X, *others):
        stored = as_csr(rows)
        values = 1 + np.log(np.maximum(stored.data, 1)) if is_count else stored.data
        values = values * idf[stored.indices]
        row_of = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
        length = np.sqrt(np.bincount(row_of, values**2, minlength=stored.shape[0]))
        values /= np.where(length == 0, 1, length)[row_of]
        weighted.append(small_csr(values, stored))
    return weighted


def small_csr(values: NDArray[np.float64], like: Csr) -> Csr:
    """Return a matrix with 32-bit ids, which is what scikit-learn's linear models take."""
    parts = values, like.indices.astype(np.int32), like.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=like.shape)


def standardised(X: Features, others: Sequence[Features]) -> list[Csr]:
    """Return dense rows with features of mean 0 and deviation 1 on the training rows."""
    train = X if isinstance(X, np.ndarray) else X.toarray()
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    deviation[deviation == 0] = 1
    every = [rows if isinstance(rows, np.ndarray) else rows.toarray() for rows in (X, *others)]
    return [sparse.csr_array((rows - mean) / deviation) for rows in every]
