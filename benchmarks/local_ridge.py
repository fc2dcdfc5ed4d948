"""Local ridge: milliseconds per query, beside its votes, on one thread.

``python -m benchmarks.local_ridge`` takes bibtex from ``$VICINAL_DATA`` and debtags, which is
embedded; rows have tf-idf weights. Times are processor times of one thread, the best of some runs
over all test rows, without the search. Whole calls of ``predict`` for one row include the search.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from benchmarks.recording import Measurement, record
from vicinal import InstanceKNN, LocalRidge, datasets
from vicinal._core.threads import using_threads
from vicinal.index import InvertedIndex
from vicinal.methods.local_ridge import ridge_weights
from vicinal.preprocess import TfIdf

KS = (50, 100)
BAR = {("debtags", 50): 0.15}
"""Most milliseconds per query that the weights may take."""
ROWS_ALONE = 200


def best(work: Callable[[], object], repeats: int) -> float:
    """Return the shortest processor time of some runs on this thread, in milliseconds."""
    times = []
    for _ in range(repeats):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return 1e3 * min(times)


def measure(name: str, repeats: int) -> Iterator[Measurement]:
    """Time both methods on the test rows of a data set."""
    train, test = datasets.load(name).split()
    weights = TfIdf().fit(train.X)
    X, Q = weights.transform(train.X), weights.transform(test.X)
    index = InvertedIndex(X, metric="cosine")
    own, graph = index.query_self(max(KS)), index.query(Q, max(KS))
    n_rows = Q.shape[0]
    for k in KS:
        near = graph.prefix(k)
        with using_threads(1):
            taken = best(partial(ridge_weights, near, X, [k], [1.0]), repeats)
        yield Measurement(f"weights, {name}, k = {k}", taken / n_rows, "ms per query")
        ridge = LocalRidge(k, threshold=0.5, n_jobs=1).fit(X, train.Y, graph=own)
        votes = InstanceKNN(k, threshold=0.5, n_jobs=1).fit(X, train.Y, graph=own)
        for what, model in {"local ridge": ridge, "votes": votes}.items():
            taken = best(partial(model.scores, Q, graph=near), repeats)
            yield Measurement(f"scores, {what}, {name}, k = {k}", taken / n_rows, "ms per query")
        alone = [Q[[row]] for row in range(min(n_rows, ROWS_ALONE))]
        ridge.predict(alone[0])
        each = median(best(partial(ridge.predict, row), 1) for row in alone)
        yield Measurement(f"predict one row, {name}, k = {k}", each, "ms per query")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["debtags", "bibtex"])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    found: list[Measurement] = []
    for name in args.names:
        for one in measure(name, args.repeats):
            found.append(one)
            print(f"{one.what}: {one.value:.3f} {one.unit}", flush=True)
    for (name, k), bar in BAR.items():
        for one in found:
            if one.what == f"weights, {name}, k = {k}":
                print(f"bar {bar} {one.unit}: {'holds' if one.value <= bar else 'MISSED'}")
    record("local_ridge", found)


if __name__ == "__main__":
    main()
