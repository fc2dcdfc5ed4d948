"""Random rows in the shape of large text collections, for when real ones are unavailable.

Features follow Zipf's law in Mandelbrot's form, 1 / (rank + offset)^exponent; some of them depend
on the topic of the row, so that rows of one topic are similar.
"""

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr
from vicinal.datasets.dataset import Dataset

EXPONENT = 1.05
OFFSET = 8.0
TOPIC_SHARE = 0.25


def zipf_rows(n_rows: int, n_features: int, seed: int, mean_size: float = 42.0) -> Csr:
    """Draw binary rows: features by Zipf's law, some rare ones shifted by the topic of the row.

    Rows of one topic so share features that are rare in others. Lengths are log-normal.
    """
    rng = np.random.default_rng(seed)
    weights = (np.arange(1, n_features + 1) + OFFSET) ** -EXPONENT
    cumulative = np.cumsum(weights / weights.sum())
    # Features drawn twice count once, so rows come out somewhat shorter than drawn.
    drawn = np.maximum(1, rng.lognormal(np.log(1.0 * mean_size), 0.35, n_rows)).astype(np.int64)
    row_of = np.repeat(np.arange(n_rows), drawn)
    features = np.searchsorted(cumulative, rng.random(len(row_of)))
    topic = rng.integers(0, max(1, n_rows // 200), n_rows)[row_of]
    topical = (rng.random(len(row_of)) < TOPIC_SHARE) & (features > 50)
    shifted = (features + topic * 7919) % n_features
    features = np.where(topical, shifted, features).clip(max=n_features - 1)
    cells = np.sort(row_of * n_features + features)
    cells = cells[np.diff(cells, prepend=-1) > 0]  # np.unique takes ten times as long
    starts = np.searchsorted(cells, np.arange(n_rows + 1) * n_features)
    indptr = starts.astype(np.int64 if len(cells) >= 2**31 else np.int32)
    indices = (cells % n_features).astype(np.int32)
    ones = np.ones(len(cells), dtype=np.float32)
    return sparse.csr_array((ones, indices, indptr), shape=(n_rows, n_features))


def generated_dataset(
    n_train: int,
    n_test: int,
    n_features: int,
    n_labels: int,
    *,
    features_per_row: float,
    labels_per_row: float,
    seed: int = 1,
) -> Dataset:
    """Return a data set of a given shape whose first rows are the training rows."""
    n_rows = n_train + n_test
    X = zipf_rows(n_rows, n_features, seed, features_per_row)
    Y = zipf_rows(n_rows, n_labels, seed + 1, labels_per_row)
    rows = np.arange(n_rows)
    return Dataset(
        X=X,
        Y=Y,
        feature_names=tuple(map(str, range(n_features))),
        label_names=tuple(map(str, range(n_labels))),
        train=rows[:n_train],
        test=rows[n_train:],
        source="generated",
    )
