"""nmslib's HNSW over sparse rows, run in a separate environment without this project.

``python index_hnsw.py FOLDER K THREADS EF…`` reads ``rows.npz`` and ``queries.npz`` there, and
writes ``ids-EF.npy`` and ``values-EF.npy``, and ``times.json``: seconds to build, and to answer all
queries (the median of three runs after one to warm up) for each size of the search.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

LINKS = {"M": 16, "efConstruction": 200, "post": 0}


def built(folder: Path, n_threads: int) -> tuple[Any, float]:
    """Return the small-world graph of the rows, and the seconds it took."""
    package = importlib.import_module("nmslib")
    index = package.init(
        method="hnsw",
        space="cosinesimil_sparse_fast",
        data_type=package.DataType.SPARSE_VECTOR,
    )
    rows = sparse.csr_matrix(sparse.load_npz(folder / "rows.npz"))
    start = time.perf_counter()
    index.addDataPointBatch(rows)
    index.createIndex({**LINKS, "indexThreadQty": n_threads}, print_progress=False)
    return index, time.perf_counter() - start


def side_by_side(found: list[Any], k: int) -> tuple[Any, Any]:
    """Return ids and similarities of all queries, −1 where fewer than k were found."""
    ids, values = np.full((len(found), k), -1, dtype=np.int64), np.zeros((len(found), k))
    for i, (near, distances) in enumerate(found):
        ids[i, : len(near)], values[i, : len(near)] = near, 1.0 - distances
    return ids, values


def main(arguments: list[str]) -> int:
    """Build once and search with every size asked for."""
    folder, (k, n_threads, *sizes) = Path(arguments[0]), map(int, arguments[1:])
    index, build = built(folder, n_threads)
    queries = sparse.csr_matrix(sparse.load_npz(folder / "queries.npz"))
    seconds: dict[str, float] = {}
    for size in sizes:
        index.setQueryTimeParams({"efSearch": size})
        times, found = [], []
        for _ in range(4):
            start = time.perf_counter()
            found = index.knnQueryBatch(queries, k=k, num_threads=n_threads)
            times.append(time.perf_counter() - start)
        ids, values = side_by_side(found, k)
        np.save(folder / f"ids-{size}.npy", ids)
        np.save(folder / f"values-{size}.npy", values)
        seconds[str(size)] = median(times[1:])
    (folder / "times.json").write_text(json.dumps({"build": build, "search": seconds}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
