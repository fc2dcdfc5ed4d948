"""Words, vectors, and words with vectors: how well a blend predicts, and how long it takes.

    python -m benchmarks.vectors quality debtags reuters21578 eurlex57k
    python -m benchmarks.vectors speed --rows 50000

``quality`` keeps what it prints in ``quality_results/vectors.jsonl``, of which the quality page
shows a table. No sentence encoder is needed: the vectors are the latent semantic analysis (LSA) of
the training texts, 200 values per text. Settings were chosen on training rows. Timings beside
faiss's flat index need ``pip install faiss-cpu``.
"""

import argparse
import json
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from vicinal import Blend, datasets
from vicinal.index import DenseIndex
from vicinal.metrics import evaluate

STORED = Path(__file__).with_name("quality_results") / "vectors.jsonl"
DIMENSIONS = 200
METRICS = ("precision@1", "precision@3", "precision@5", "micro-f1", "example-f1")


def split(name: str) -> tuple[Any, Any]:
    """Return training and test rows; of eurlex57k, a tenth of each."""
    train, test = datasets.load(name).split()
    if name != "eurlex57k":
        return train, test
    rng = np.random.default_rng(0)
    parts = [np.sort(rng.permutation(part.n_rows)[: part.n_rows // 10]) for part in (train, test)]
    return train.subset(parts[0]), test.subset(parts[1])


def lsa(train: Any, test: Any) -> tuple[Any, Any]:
    """Return vectors of both, learned from the training texts."""
    weights = TfidfTransformer(sublinear_tf=True).fit(train)
    svd = TruncatedSVD(DIMENSIONS, random_state=0).fit(weights.transform(train))
    found = [svd.transform(weights.transform(rows)).astype(np.float32) for rows in (train, test)]
    return found[0], found[1]


def quality(names: list[str]) -> None:
    """Print and store the metrics of each kind of features on the test rows."""
    lines = STORED.read_text(encoding="utf-8").splitlines() if STORED.exists() else []
    for name in names:
        lines = [line for line in lines if json.loads(line)["data"] != name]
        train, test = split(name)
        words = sparse.csr_array(train.X), sparse.csr_array(test.X)
        vectors = lsa(*words)
        kinds = {
            "words": words,
            "vectors": vectors,
            "words + vectors": tuple(
                {"words": W, "vectors": E} for W, E in zip(words, vectors, strict=True)
            ),
        }
        for kind, (fitted_on, asked) in kinds.items():
            start = time.process_time()
            model = Blend().fit(fitted_on, train.Y)
            scores = model.scores(asked)
            seconds = time.process_time() - start
            found = evaluate(test.Y, model.decide(scores), scores)
            facts = {"data": name, "features": kind, "processor_s": round(seconds, 1)}
            lines.append(json.dumps(facts | {key: round(found[key], 4) for key in METRICS}))
            print(lines[-1], flush=True)
        STORED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def speed(n_rows: int, n_values: int, n_labels: int) -> None:
    """Print how long fitting and single predictions take, beside faiss's flat index."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(n_labels, n_values)).astype(np.float32)
    Y = np.zeros((n_rows, n_labels), dtype=np.int32)
    Y[np.arange(n_rows)[:, None], rng.integers(0, n_labels, size=(n_rows, 3))] = 1
    X = (Y @ topics + 2 * rng.normal(size=(n_rows, n_values))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    start = time.perf_counter()
    model = Blend().fit(X, sparse.csr_array(Y))
    report("Blend.fit", 1, time.perf_counter() - start)
    queries = X[:200] + 0.01 * rng.normal(size=(200, n_values)).astype(np.float32)
    index = DenseIndex(X, "cosine")
    timed("Blend.predict, one row", queries, model.predict)
    timed("Blend.predict, 200 rows", [queries], model.predict, per=200)
    timed("DenseIndex.query, one row", queries, lambda q: index.query(q, 50))
    timed("DenseIndex.query, 200 rows", [queries], lambda q: index.query(q, 50), per=200)
    try:
        faiss: Any = import_module("faiss")
    except ImportError:
        print("faiss is not installed")
        return
    flat = faiss.IndexFlatIP(n_values)
    flat.add(X)
    timed("faiss flat, one row", queries, lambda q: flat.search(q, 50))
    timed("faiss flat, 200 rows", [queries], lambda q: flat.search(q, 50), per=200)
    hnsw = faiss.IndexHNSWFlat(n_values, 32, faiss.METRIC_INNER_PRODUCT)
    hnsw.hnsw.efConstruction, hnsw.hnsw.efSearch = 80, 128
    start = time.perf_counter()
    hnsw.add(X)
    report("faiss HNSW, build", 1, time.perf_counter() - start)
    timed("faiss HNSW, one row", queries, lambda q: hnsw.search(q, 50))
    exact, near = index.query(queries, 50).ids, hnsw.search(queries, 50)[1]
    hits = [len(np.intersect1d(a, b)) for a, b in zip(exact, near, strict=True)]
    print(json.dumps({"recall of HNSW at 50": round(float(np.mean(hits)) / 50, 4)}))


def timed(name: str, queries: Any, ask: Callable[[Any], object], per: int = 1) -> None:
    """Print the median time of questions, after one that is not counted."""
    times = []
    for query in [queries[0], *queries] if per > 1 else [queries[:1], *queries[:60, None]]:
        start = time.perf_counter()
        ask(query)
        times.append(time.perf_counter() - start)
    report(name, per, float(np.median(times[1:])))


def report(name: str, per: int, seconds: float) -> None:
    """Print one timing."""
    print(json.dumps({"what": name, "ms": round(1e3 * seconds / per, 3)}), flush=True)


def main() -> None:
    """Run one of the two benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("quality").add_argument("names", nargs="+")
    times = commands.add_parser("speed")
    times.add_argument("--rows", type=int, default=50_000)
    times.add_argument("--values", type=int, default=384)
    times.add_argument("--labels", type=int, default=200)
    given = parser.parse_args()
    if given.command == "quality":
        quality(given.names)
    else:
        speed(given.rows, given.values, given.labels)


if __name__ == "__main__":
    main()
