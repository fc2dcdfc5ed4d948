"""The search, ML-ARP's loss and ridge's inverse on a GPU: exactness first, then times.

``PYTHONPATH=src python benchmarks/gpu.py --out FILE`` needs NumPy and PyTorch (and Triton for the
fused kernels) alone: no compiled core, no scikit-learn.
"""

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vicinal.gpu import DenseSearch, ProjectionLoss
from vicinal.gpu import search as device_search
from vicinal.gpu.mlknn_loss import spd_inverse
from vicinal.gpu.products import full_float32

Float = NDArray[np.float64]
CUDA = torch.device("cuda")
RIDGES: list[tuple[int, Any]] = [
    (3_000, np.float64),
    (10_000, np.float32),
    (20_000, np.float32),
    (40_000, np.float32),
]
"""Sizes of ridge's matrix, and the number type it is inverted in."""


def brute_force(X: Float, queries: NDArray[np.int64], k: int, metric: str) -> NDArray[np.int32]:
    """Return the k nearest other rows of some rows, from the definition, in NumPy."""
    found = []
    norms = np.sqrt(_sequential(X * X))
    for i in queries:
        if metric == "euclidean":
            keys = _sequential((X[i] - X) ** 2)
        else:
            keys = -_sequential(X[i] * X)
            keys = keys / (norms[i] * norms) if metric == "cosine" else keys
        keys[i] = np.inf
        found.append(np.lexsort((np.arange(len(X)), keys))[:k])
    return np.array(found, dtype=np.int32)


def _sequential(terms: Float) -> Float:
    sums = np.zeros(len(terms))
    for j in range(terms.shape[1]):
        sums += terms[:, j]
    return sums


def cases(seed: int) -> dict[str, Float]:
    """Return rows on which an order could go wrong."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(20_000, 64))
    return {
        "normal": normal,
        "wide": rng.normal(size=(20_000, 200)),
        "odd": rng.normal(size=(19_999, 37)),
        "duplicates": normal[rng.integers(7_000, size=20_000)],
        "clusters": normal[rng.integers(300, size=20_000)] + 1e-4 * normal,
        "tight clusters": normal[rng.integers(300, size=20_000)] + 1e-9 * normal,
        "binary": (rng.random((6_000, 40)) < 0.3) + 1e-12,
        "scales": normal * 10.0 ** rng.integers(-3, 3, size=(20_000, 1)),
    }


def check(name: str, X: Float, metric: str) -> dict[str, object]:
    """Compare the graph with brute force on some rows, kernel and plain."""
    chosen = np.random.default_rng(1).choice(len(X), 60, replace=False)
    expected = brute_force(X, chosen, 10, metric)
    line: dict[str, object] = {"case": name, "metric": metric}
    graphs = []
    for kernel in (None, False):
        torch.cuda.synchronize()
        began = time.perf_counter()
        ids, values = DenseSearch.of(X, metric, CUDA, fused=kernel).self_graph(10)
        line["s" if kernel is None else "plain s"] = round(time.perf_counter() - began, 3)
        line["right" if kernel is None else "plain right"] = bool((ids[chosen] == expected).all())
        graphs.append((ids, values))
    line["same"] = all(bool(np.array_equal(a, b)) for a, b in zip(*graphs, strict=True))
    line["unsure"] = unsure(X, 10, metric)
    return line


def unsure(X: Float, k: int, metric: str = "euclidean") -> int:
    """Count the queries that a first look leaves open."""
    rows = torch.from_numpy(X).to(CUDA)
    search = DenseSearch(rows, metric)
    own = torch.arange(len(rows), device=CUDA)
    sure, _ = search._attempt(rows, own, k, 16 * ((k + 25) // 16), 0)
    return int((~sure).sum())


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median seconds of a call, the device waited for."""
    work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def product_only(X: Tensor, dtype: torch.dtype, depth: int = 1) -> None:
    """Multiply all rows with all, a chunk at a time, and keep nothing."""
    rows = X.to(dtype).repeat(1, depth)
    step = max(1, 2**30 // len(X))
    with full_float32():
        for start in range(0, len(X), step):
            torch.mm(rows[start : start + step], rows.T)


def graph_line(n: int, d: int, k: int, repeats: int) -> dict[str, object]:
    """Time a leave-one-out graph, its parts, and the products alone."""
    X = torch.randn((n, d), device=CUDA, generator=torch.Generator(CUDA).manual_seed(0))
    product = seconds(lambda: product_only(X, torch.float32), repeats)
    halves = seconds(lambda: product_only(X, torch.float16, 3), repeats)
    whole = seconds(lambda: DenseSearch(X).query_self(k), repeats)
    line: dict[str, object] = {
        "case": f"graph {n} × {d}, k = {k}",
        "s": whole,
        "float32 product s": product,
        "float16-pair product s": halves,
        "of float32 product": round(whole / product, 2),
    }
    return line | parts(X, k)


def parts(X: Tensor, k: int) -> dict[str, object]:
    """Time the steps of one search."""
    search = DenseSearch(X)
    kernel = search.fused
    if search.prepared is None or kernel is None:
        return {"fused": False}
    own = torch.arange(len(X), device=CUDA)
    queries = search.prepared.queries(X.double())
    width = 16 * ((k + 25) // 16)
    candidates = kernel.candidates(queries, own, k, width)
    return {
        "prepare s": seconds(lambda: DenseSearch(X).fused, 3),
        "candidates s": seconds(lambda: kernel.candidates(queries, own, k, width), 3),
        "distances s": seconds(lambda: device_search.squared_distances(X, X, candidates.ids), 3),
        "uncertain": int((~candidates.certain(candidates.ids >= 0, k)).sum()),
    }


def sweep(n: int, d: int, k: int) -> list[dict[str, object]]:
    """Time the kernel with other blocks."""
    X = torch.randn((n, d), device=CUDA, generator=torch.Generator(CUDA).manual_seed(0))
    lines: list[dict[str, object]] = []
    for rows in (64, 128):
        for warps in (4, 8):
            for stages in (2, 3):
                device_search.ROWS = rows
                device_search.LAUNCH.update(num_warps=warps, num_stages=stages)
                line: dict[str, object] = {"n": n, "d": d, "k": k}
                line |= {"rows": rows, "warps": warps, "stages": stages}
                with Part(line, "s") as part:  # a block too large for the chip is a result too
                    part.says(seconds(lambda: DenseSearch(X).query_self(k), 3))
                lines.append(line)
    return lines


def labelled(n: int, m: int, n_labels: int) -> tuple[Float, NDArray[np.int64], NDArray[np.int64]]:
    """Return rows around topics and their labels as CSR parts, in numbers as mediamill."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(200, m))
    of = rng.integers(200, size=n)
    X = topics[of] + 0.5 * rng.normal(size=(n, m))
    likes = rng.random((200, n_labels)) ** 12
    Y = rng.random((n, n_labels)) < likes[of]
    indptr = np.concatenate([[0], np.cumsum(Y.sum(axis=1))])
    return X, indptr, np.nonzero(Y)[1].astype(np.int64)


def evaluations() -> dict[str, object]:
    """Time ML-ARP's loss on rows as many as mediamill has."""
    X, indptr, indices = labelled(39_516, 120, 101)
    loss = ProjectionLoss(X, indptr, indices, 101, k=5, device=CUDA)
    projections = [np.random.default_rng(seed).normal(size=(120, 64)) for seed in range(8)]
    turn = iter(range(10**9))
    each = seconds(lambda: loss(projections[next(turn) % 8]), 40)
    graph = seconds(lambda: loss._neighbors(projections[0]), 20)
    on_cpu = ProjectionLoss(X[:3000], indptr[:3001], indices[: indptr[3000]], 101, device="cpu")
    on_gpu = ProjectionLoss(X[:3000], indptr[:3001], indices[: indptr[3000]], 101, device="cuda")
    return {
        "case": "ML-ARP 39516 × 120 → 64, 101 labels, k = 5",
        "evaluations/s": round(1 / each, 1),
        "s": each,
        "graph s": graph,
        "labels per row": len(indices) / len(X),
        "loss": loss(projections[0]),
        "loss of 3000 rows, cpu": on_cpu(projections[0]),
        "loss of 3000 rows, gpu": on_gpu(projections[0]),
        "uncertain": unsure(X @ projections[0], 5),
    }


def ridge_line(size: int, dtype: Any) -> dict[str, object]:
    """Time the inverse of a ridge's matrix, transfers included, and say how far off it is."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(size, 512))
    gram: NDArray[np.floating[Any]] = (rows @ rows.T / 512).astype(dtype)
    alpha = 1.0
    found: list[NDArray[np.floating[Any]]] = []
    took = seconds(lambda: found.append(spd_inverse(gram, alpha, "cuda")), 3)
    gram[np.diag_indices_from(gram)] += alpha
    chosen = rng.choice(size, 64, replace=False)
    identity = found[-1][chosen].astype(np.float64) @ gram.astype(np.float64)
    identity[np.arange(64), chosen] -= 1.0
    return {
        "case": f"inverse {size} × {size}, {np.dtype(dtype).name}",
        "s": took,
        "transfers s": seconds(lambda: torch.tensor(gram, device=CUDA).cpu().numpy(), 3),
        "largest residual": float(np.abs(identity).max()),
        "peak device GiB": round(torch.cuda.max_memory_allocated() / 2**30, 2),
    }


@dataclass
class Part:
    """One part of the run: what it says, or how it failed, is kept, and the others go on."""

    results: dict[str, object]
    name: str
    began: float = field(default_factory=time.perf_counter)

    def __enter__(self) -> "Part":
        """Start."""
        return self

    def says(self, result: object) -> None:
        """Keep a result."""
        self.results[self.name] = result

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        """Keep an error of the part itself; print either."""
        failed = isinstance(error, Exception)
        if failed:
            self.results[self.name] = {"error": traceback.format_exc()[-3000:]}
        took = time.perf_counter() - self.began
        print(f"{self.name} ({took:.1f} s): {self.results.get(self.name)}", flush=True)
        return failed


def main() -> None:
    """Run all parts, print them, write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sweep", action="store_true", help="try other blocks of the kernel too")
    parser.add_argument("--quick", action="store_true", help="leave out the million rows")
    options = parser.parse_args()
    results: dict[str, object] = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "triton": device_search.KERNELS is not None,
        "python": sys.version.split()[0],
    }
    print(results, flush=True)
    for name, X in cases(0).items():
        with Part(results, f"exact {name}") as part:
            part.says(check(name, X, "euclidean"))
    for metric in ("cosine", "dot"):
        with Part(results, f"exact {metric}") as part:
            part.says(check("odd", cases(0)["odd"], metric))
    with Part(results, "mlarp") as part:
        part.says(evaluations())
    for order, dtype in RIDGES:
        torch.cuda.reset_peak_memory_stats()
        with Part(results, f"ridge {order} {np.dtype(dtype).name}") as part:
            part.says(ridge_line(order, dtype))
    sizes = [(39_516, 64, 5, 10), (200_000, 128, 30, 3), (1_000_000, 128, 30, 1)]
    for size in sizes[: 2 if options.quick else 3]:
        with Part(results, f"graph {size[0]}") as part:
            part.says(graph_line(*size))
    if options.sweep:
        with Part(results, "sweep") as part:
            part.says(sweep(39_516, 64, 5) + sweep(200_000, 128, 30))
    options.out.write_text(json.dumps(results, indent=1, default=str) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
