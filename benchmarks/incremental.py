"""Incremental learning: one row learned, forgotten or predicted, against bars and peers.

``python -m benchmarks.incremental`` measures debtags and emotions; ``--full`` adds 500,000
generated rows, a stream of 100,000 rows from empty, a minute of readers beside a writer and 100,000
pairs of learning and forgetting. Times of calls are medians and 99th percentiles, one process.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.incremental_data import Stream, binary, debtags, debtags_like
from benchmarks.incremental_peers import river_times
from benchmarks.incremental_runs import memory_after_pairs, readers_and_writer, stream_from_empty
from vicinal import LCIF, BRkNN, FeatureKNN, InstanceKNN, LPkNN, MLkNN, datasets
from vicinal.estimators.incremental import IncrementalEstimator

CALLS = 1_000
METHODS: dict[str, Callable[[], IncrementalEstimator]] = {
    "ML-kNN": lambda: MLkNN(10, metric="cosine"),
    "BRkNN": lambda: BRkNN(10, metric="cosine"),
    "LPkNN": lambda: LPkNN(10, metric="cosine"),
    "InstanceKNN": lambda: InstanceKNN(10),
    "FeatureKNN": FeatureKNN,
    "LCIF": LCIF,
}


@dataclass(frozen=True)
class Line:
    """What was measured, the figures in milliseconds, and the bar."""

    what: str
    figure: str
    bar: str = ""


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--calls", type=int, default=CALLS)
    options = parser.parse_args()
    console = Console()
    table = Table("case", "median (99th percentile)", "bar")
    for line in _lines(options.full, options.calls):
        console.print(f"[dim]{line.what}: {line.figure}")
        table.add_row(line.what, line.figure, line.bar)
    console.print(table)


def _lines(full: bool, calls: int) -> Iterator[Line]:
    stream = debtags()
    for name, make in METHODS.items():
        yield from _changes(name, make, stream, calls)
    yield from _one_row(stream, calls)
    yield from river_lines(stream, calls)
    if full:
        yield from _changes("ML-kNN", METHODS["ML-kNN"], binary(500_000, 1_000_000, 20, 1_000), 200)
        yield Line(
            "100,000 rows one by one from empty, ML-kNN",
            stream_from_empty(debtags_like(100_000), METHODS["ML-kNN"]()),
            "grows < 3 × from 10k to 100k rows",
        )
    seconds = 60.0 if full else 5.0
    yield Line(
        f"4 threads predict while 1 learns, {seconds:.0f} s, ML-kNN",
        readers_and_writer(stream, METHODS["ML-kNN"](), seconds),
        "no error; >= 70 %",
    )
    pairs = 100_000 if full else 2_000
    yield Line(
        f"memory after {pairs:,} learn/forget pairs, ML-kNN",
        memory_after_pairs(stream, METHODS["ML-kNN"], pairs),
        "within 10 %",
    )


def _changes(
    name: str, make: Callable[[], IncrementalEstimator], stream: Stream, calls: int
) -> Iterator[Line]:
    """Learn rows one by one, then forget rows one by one, without recalibration."""
    model = (
        make()
        .set_params(recalibrate_at="never")
        .fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
    )
    model.partial_fit(*stream.row(0))
    is_lcif = name in ("LCIF", "FeatureKNN")
    rows = [stream.row(number) for number in range(1, calls + 1)]
    learned = timed(lambda row: model.partial_fit(*row), rows)
    bar = "10 ms" if is_lcif else "20 ms" if stream.n_first > 100_000 else "3 ms"
    yield Line(f"learn 1 row, {stream.name}, {name}", learned, bar)
    gone = np.random.default_rng(0).choice(stream.n_first, size=calls, replace=False)
    forgotten = timed(lambda row: model.forget([row]), gone.tolist())
    yield Line(f"forget 1 row, {stream.name}, {name}", forgotten, "5 ms")
    if name in ("InstanceKNN", "FeatureKNN", "LCIF"):
        again = timed(lambda _: model.recalibrate(), range(3))
        yield Line(f"recalibrate, {stream.name}, {name}", again)


def _one_row(stream: Stream, calls: int) -> Iterator[Line]:
    """Predict one row: debtags, and emotions, which is dense."""
    model = METHODS["ML-kNN"]().fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
    rows = [stream.row(number)[0] for number in range(calls)]
    for what in ("predict", "rank", "scores"):
        yield Line(f"{what} 1 row, debtags, ML-kNN", timed(getattr(model, what), rows), "0.4 ms")
    data = datasets.load("emotions")
    X, Y = np.asarray(data.X.todense() if hasattr(data.X, "todense") else data.X), data.Y
    dense = MLkNN(10).fit(X[:391], Y[:391])
    rows = [X[391 + number % 202][None] for number in range(calls)]
    yield Line("predict 1 row, emotions (dense), ML-kNN", timed(dense.predict, rows), "0.3 ms")
    peer = KNeighborsClassifier(10).fit(X[:391], Y.toarray()[:391])
    yield Line("the same, scikit-learn's kNN", timed(peer.predict, rows))


def river_lines(stream: Stream, calls: int) -> Iterator[Line]:
    """Learn and predict one row with river's kNN, where it is installed."""
    found = river_times(stream, calls)
    if found is None:
        yield Line("river", "not installed")
        return
    for what, times in found.items():
        yield Line(what, summary(times))


def timed(call: Callable[..., object], rows: Iterable[object]) -> str:
    """Call once per row; return the median and the 99th percentile in milliseconds."""
    times = []
    for row in rows:
        start = time.perf_counter()
        call(row)
        times.append(time.perf_counter() - start)
    return summary(times)


def summary(times: Iterable[float]) -> str:
    """Return seconds as median and 99th percentile in milliseconds."""
    values = np.array(list(times)) * 1e3
    return f"{np.median(values):.3g} ms ({np.quantile(values, 0.99):.3g} ms)"


if __name__ == "__main__":
    main()
