"""Matrices to search in: generated with the shape of Wiki-LSHTC, or a data set of the catalogue."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr

EXPONENT = 1.05
OFFSET = 8.0
TOPIC_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Case:
    """Rows to index and queries that are not among them."""

    name: str
    rows: Csr
    queries: Csr


def zipf_rows(n_rows: int, n_features: int, seed: int, mean_size: float = 42.0) -> Csr:
    """Draw binary rows: features by Zipf's law, a part of them from the topic of the row.

    The law is Mandelbrot's form, 1 / (rank + offset)^exponent. A topic is a shift of the ranks
    of rare features, so that rows of one topic share features that others seldom have. Row lengths
    are log-normal around `mean_size`.
    """
    rng = np.random.default_rng(seed)
    weights = (np.arange(1, n_features + 1) + OFFSET) ** -EXPONENT
    cumulative = np.cumsum(weights / weights.sum())
    # Features drawn twice count once, so more are drawn than are wanted.
    drawn = np.maximum(1, rng.lognormal(np.log(1.0 * mean_size), 0.35, n_rows)).astype(np.int64)
    row_of = np.repeat(np.arange(n_rows), drawn)
    features = np.searchsorted(cumulative, rng.random(len(row_of)))
    topic = rng.integers(0, max(1, n_rows // 200), n_rows)[row_of]
    topical = (rng.random(len(row_of)) < TOPIC_SHARE) & (features > 50)
    shifted = (features + topic * 7919) % n_features
    features = np.where(topical, shifted, features).clip(max=n_features - 1)
    return _binary(row_of, features, (n_rows, n_features))


def _binary(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Csr:
    key = np.unique(rows.astype(np.int64) * shape[1] + columns)
    indptr = np.searchsorted(key, np.arange(shape[0] + 1) * shape[1])
    matrix: Csr = sparse.csr_array(
        (
            np.ones(len(key), dtype=np.float32),
            (key % shape[1]).astype(np.int32),
            indptr.astype(np.int64 if len(key) >= 2**31 else np.int32),
        ),
        shape=shape,
    )
    return matrix


def with_weights(matrix: Csr, kind: str, seed: int = 7) -> Csr:
    """Give entries of a binary matrix values: "uniform" in (0, 1], or "tfidf" by rarity.

    Uniform weights are the hard case: frequent features weigh as much as rare ones.
    """
    rng = np.random.default_rng(seed)
    values = 1.0 - rng.random(matrix.nnz)
    if kind == "tfidf":
        frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
        rarity = np.log((1 + matrix.shape[0]) / (1 + frequency)) + 1
        values = (1 + np.floor(-np.log(values))) * rarity[matrix.indices]
    weighted: Csr = matrix.copy()
    weighted.data = values.astype(np.float32)
    return weighted


def generated(n_rows: int, n_features: int, n_queries: int, kind: str) -> Case:
    """Rows and queries of one distribution."""
    both = zipf_rows(n_rows + n_queries, n_features, seed=1)
    if kind != "binary":
        both = with_weights(both, kind)
    name = f"generated {kind} {n_rows // 1000}k × {n_features // 1000}k"
    return Case(name, both[:n_rows], both[n_rows:])


def catalogued(name: str, n_queries: int, kind: str) -> Case:
    """Return a data set's features, binary or tf-idf, the last rows held out as queries."""
    path = Path(name)
    if path.suffix == ".npz":
        matrix = sparse.csr_array(sparse.load_npz(path)).astype(np.float32)
    else:
        load = importlib.import_module("vicinal.datasets").load
        matrix = sparse.csr_array(load(name).X).astype(np.float32)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if kind == "binary" or set(np.unique(matrix.data)) == {1.0}:
        matrix.data = np.ones(matrix.nnz, dtype=np.float32)
        if kind != "binary":
            matrix = with_weights(matrix, "tfidf")
    held_out = min(n_queries, matrix.shape[0] // 4)
    order = np.random.default_rng(3).permutation(matrix.shape[0])
    matrix = matrix[order]
    return Case(f"{path.stem} {kind}", matrix[:-held_out], matrix[-held_out:])
