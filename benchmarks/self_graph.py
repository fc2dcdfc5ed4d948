"""The leave-one-out graph against querying every row: time, and identity of the neighbours.

``python -m benchmarks.self_graph`` takes 100,000 generated rows of the shapes of Wiki-LSHTC and of
debtags, binary and with tf-idf weights; ``--rows`` takes another number.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from benchmarks.index_data import with_weights
from benchmarks.recording import Measurement, record
from vicinal._core.arrays import Csr, Int32
from vicinal.datasets.generated import zipf_rows
from vicinal.graph import NeighborGraph
from vicinal.index import InvertedIndex

K = 30
SHAPES = {"Wiki-LSHTC": (2.0, 42.0), "debtags": (0.27, 46.0)}
"""Features per row of the matrix, and mean entries per row."""


def timed(work: Callable[[], NeighborGraph], repeats: int) -> tuple[NeighborGraph, float]:
    """Return the result and the best time."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        graph = work()
        times.append(time.perf_counter() - began)
    return graph, min(times)


def without_self(graph: NeighborGraph) -> Int32:
    """Return the ids of K neighbours other than the row itself, from K + 1."""
    keep = graph.ids != np.arange(len(graph.ids))[:, None]
    keep[keep.all(axis=1), K] = False
    ids: Int32 = graph.ids[keep].reshape(-1, K)
    return ids


def measure(name: str, rows: Csr, repeats: int) -> list[Measurement]:
    """Time both ways on one matrix."""
    index = InvertedIndex(rows, n_jobs=2)
    together, seconds = timed(lambda: index.query_self(K), repeats)
    queried, one_by_one = timed(lambda: index.query(rows, K + 1), repeats)
    same = np.array_equal(together.ids, without_self(queried))
    print(
        f"{name}: query_self {seconds:.2f} s, query {one_by_one:.2f} s, "
        f"ratio {seconds / one_by_one:.2f}, same neighbours: {same}",
        flush=True,
    )
    return [
        Measurement(f"leave-one-out graph, {name}", seconds, "s"),
        Measurement(f"leave-one-out graph / all queries, {name}", seconds / one_by_one, "×"),
    ]


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    found: list[Measurement] = []
    for shape, (features, size) in SHAPES.items():
        binary = zipf_rows(args.rows, int(features * args.rows), 1, size)
        for kind, rows in {"binary": binary, "tf-idf": with_weights(binary, "tfidf")}.items():
            found += measure(f"{args.rows // 1000}k rows like {shape}, {kind}", rows, args.repeats)
    record("self_graph", found)


if __name__ == "__main__":
    main()
