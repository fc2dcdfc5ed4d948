"""Rows of Wiki-LSHTC's shape for the benchmarks of scale, drawn once and read many times."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr

CHUNK = 50_000
DRAWN = Path(os.environ.get("VICINAL_DRAWN", "build/drawn"))
"""Where drawn chunks are kept: drawing them takes longer than indexing them."""


def chunk(number: int, n_features: int, mean_size: float) -> Csr:
    """Return the rows of one chunk; drawn if no earlier run has drawn them."""
    folder = DRAWN / f"{n_features}x{mean_size:g}"
    parts = [folder / f"{number:03d}-{name}.npy" for name in ("indptr", "indices")]
    if not all(part.exists() for part in parts):
        from vicinal.datasets.generated import zipf_rows

        rows = zipf_rows(CHUNK, n_features, 100 + number, mean_size)
        folder.mkdir(parents=True, exist_ok=True)
        for part, array in zip(parts, (rows.indptr, rows.indices), strict=True):
            np.save(part, array)
    indptr, indices = map(np.load, parts)
    values = np.ones(len(indices), dtype=np.float32)
    return sparse.csr_array((values, indices, indptr), shape=(CHUNK, n_features))


def chunks(n_rows: int, n_features: int, mean_size: float) -> Iterator[Csr]:
    """Yield the first rows, chunk by chunk."""
    for number, start in enumerate(range(0, n_rows, CHUNK)):
        yield chunk(number, n_features, mean_size)[: n_rows - start]


def queries(count: int, n_features: int, mean_size: float) -> Csr:
    """Return rows that are no part of any index of fewer than 50 million rows."""
    from vicinal.datasets.generated import zipf_rows

    return zipf_rows(count, n_features, 99, mean_size)


def draw(n_rows: int, n_features: int, mean_size: float) -> None:
    """Draw what is missing, before anything is timed."""
    for number in range(-(-n_rows // CHUNK)):
        chunk(number, n_features, mean_size)
