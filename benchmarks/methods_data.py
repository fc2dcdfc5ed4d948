"""Rows, features and labels with the numbers of Wiki-LSHTC, generated."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Float

N_ROWS, N_FEATURES, N_LABELS = 1_778_351, 1_617_899, 325_056
FEATURES_A_ROW, LABELS_A_ROW = 42.5, 3.2
TOPICS = 20_000
BLOCK = 100_000


def wiki_like(n_rows: int = N_ROWS, seed: int = 0) -> tuple[Csr, Csr]:
    """Return features (float32, in (0, 1]) and labels of rows that belong to topics.

    A third of a row's features and all its labels come from near its topic; other features follow
    the law of Zipf, so that some occur in a large part of all rows and most in a few.
    """
    rng = np.random.default_rng(seed)
    blocks = [_block(rng, min(BLOCK, n_rows - start)) for start in range(0, n_rows, BLOCK)]
    X, Y = (sparse.vstack(parts, format="csr") for parts in zip(*blocks, strict=True))
    return sparse.csr_array(X), sparse.csr_array(Y)


def _block(rng: np.random.Generator, n_rows: int) -> tuple[Csr, Csr]:
    topics = rng.integers(0, TOPICS, n_rows)
    features = _drawn(rng, topics, N_FEATURES, FEATURES_A_ROW, topical=1 / 3)
    features.data = (1 - rng.random(features.nnz)).astype(np.float32)
    labels = _drawn(rng, topics, N_LABELS, LABELS_A_ROW, topical=1.0)
    labels.data = np.ones(labels.nnz, dtype=np.float32)
    return features, labels


def _drawn(
    rng: np.random.Generator, topics: NDArray[np.int64], width: int, mean: float, topical: float
) -> Csr:
    """Draw columns for each row: by Zipf's law, or the same around the row's topic."""
    sizes = 1 + rng.poisson(mean - 1, len(topics))
    rows = np.repeat(np.arange(len(topics)), sizes)
    ranks = np.searchsorted(_zipf(width), rng.random(len(rows)))
    of_topic = rng.random(len(rows)) < topical
    shift = (topics[rows] * 7919) % width
    # Around a topic only the first ranks occur, so that its rows have columns in common.
    near = (ranks % 200 + shift) % width
    columns = np.where(of_topic, near, ranks).clip(max=width - 1)
    drawn = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(topics), width))
    drawn.sum_duplicates()
    return drawn


def _zipf(width: int) -> Float:
    weights = 1 / (np.arange(1, width + 1) + 8.0)
    cumulative: Float = np.cumsum(weights / weights.sum())
    return cumulative
