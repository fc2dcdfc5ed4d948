"""Incremental learning: one row learned, forgotten or predicted, against bars and peers.

``python -m benchmarks.incremental`` measures debtags and emotions; ``--full`` adds 500,000
generated rows, the 345,252 texts of yso-finna-en, a stream of 100,000 rows from empty, a minute of
readers beside a writer and 100,000 pairs of learning and forgetting; ``--cases stream memory``
measures those alone, ``--methods BRkNN`` those of one method. Times of calls are medians and 99th
percentiles, one process.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.incremental_data import (
    Stream,
    debtags,
    debtags_like,
    emotions,
    many_labels,
    zipf,
)
from benchmarks.incremental_figures import Line, timed
from benchmarks.incremental_peers import river_lines, scikit_learn_lines
from benchmarks.incremental_runs import memory_after_pairs, readers_and_writer, stream_from_empty
from benchmarks.recording import Measurement, record
from vicinal import (
    IBLR,
    LCIF,
    Blend,
    BRkNN,
    FeatureKNN,
    InstanceKNN,
    LAMLkNN,
    LocalRidge,
    LPkNN,
    MLkNN,
)
from vicinal._core.arrays import Csr, Features
from vicinal._core.validation import as_csr
from vicinal.methods.incremental import IncrementalEstimator
from vicinal.service.server import keep_what_is_loaded

CALLS = 1_000
TAIL_CALLS = 10_000
"""Calls of the case ``tail``, at least."""
MINUTES = ("large", "many-labels", "stream", "tail")
"""Cases that are measured with ``--full`` only."""


def mlknn() -> MLkNN:
    """Return the model of the longer runs."""
    return MLkNN(10, metric="cosine")


def laml_knn() -> LAMLkNN:
    """Return LAML-kNN with five rows of debtags as its centres."""
    return LAMLkNN(10, metric="cosine", centers=as_csr(debtags().X[:5]).toarray())


METHODS: dict[str, Callable[[], IncrementalEstimator]] = {
    "ML-kNN": mlknn,
    "BRkNN": lambda: BRkNN(10, metric="cosine"),
    "LPkNN": lambda: LPkNN(10, metric="cosine"),
    "InstanceKNN": lambda: InstanceKNN(10),
    "LAML-kNN, 5 given centres": laml_knn,
    "FeatureKNN": FeatureKNN,
    "LCIF": LCIF,
    "LocalRidge": lambda: LocalRidge(metric="cosine"),
    "Blend": Blend,
}
ANEW: dict[str, Callable[[], IncrementalEstimator]] = {
    "LCIF, second order": lambda: LCIF(second_order=True),
    "InstanceKNN, second order": lambda: InstanceKNN(10, second_order=True),
}
"""Methods that update their graph as a whole and learn from it anew."""


def main() -> None:
    """Measure, print the table and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--cases", nargs="+", choices=CASES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="of changes and tail")
    options = parser.parse_args()
    cases = options.cases or [name for name in CASES if options.full or name not in MINUTES]
    console = Console()
    table = Table("case", "median (99th percentile)", "bar")
    kept: list[Measurement] = []
    for name in cases:
        for line in CASES[name](options):
            console.print(f"[dim]{line.what}: {line.figure}")
            table.add_row(line.what, line.figure, line.bar)
            kept += line.kept
    console.print(table)
    record("incremental", kept)


def changes(options: argparse.Namespace) -> Iterator[Line]:
    """Learn and forget rows of debtags with every method."""
    stream = debtags()
    for name in options.methods or METHODS:
        yield from _changes(name, METHODS[name], stream, options.calls)


def anew(_: argparse.Namespace) -> Iterator[Line]:
    """Learn and forget rows with the methods that learn anew."""
    for name, make in ANEW.items():
        yield from _changes(name, make, debtags(), 5)
    yield from _changes("IBLR", lambda: IBLR(10), emotions(), 5)
    few = debtags(2_000)
    yield from _changes("IBLR", lambda: IBLR(10, metric="cosine"), few, 2)


def large(_: argparse.Namespace) -> Iterator[Line]:
    """Learn and forget one of 500,000 rows."""
    yield from _changes("ML-kNN", mlknn, zipf(500_000, 1_000_000), 300)


def many(options: argparse.Namespace) -> Iterator[Line]:
    """Learn, forget and predict one of 345,252 texts that have 24,953 labels."""
    for name, is_weighted in (("LocalRidge", True), ("Blend", False)):
        yield from _changes(name, METHODS[name], many_labels(is_weighted), options.calls)


def _changes(
    name: str, make: Callable[[], IncrementalEstimator], stream: Stream, calls: int
) -> Iterator[Line]:
    """Learn rows one by one, then forget rows one by one, without recalibration."""
    X, Y = stream.X[: stream.n_first], stream.Y[: stream.n_first]
    model = make().set_params(recalibrate_at="never").fit(X, Y)
    first = timed(lambda row: model.partial_fit(*row), [stream.row(0)])
    yield Line.of_times(f"first change, {stream.name}, {name}", first)
    rows = [stream.row(number) for number in range(1, calls + 1)]
    learned = timed(lambda row: model.partial_fit(*row), rows)
    bar = "" if calls < 10 else "10 ms" if name in ("LCIF", "FeatureKNN") else stream.bar
    yield Line.of_times(f"learn 1 row, {stream.name}, {name}", learned, bar)
    gone = np.random.default_rng(0).choice(stream.n_first, size=calls, replace=False)
    forgotten = timed(lambda row: model.forget([row]), gone.tolist())
    bar = "5 ms" if stream.name == "debtags" and calls >= 10 else ""
    yield Line.of_times(f"forget 1 row, {stream.name}, {name}", forgotten, bar)
    if name in ("LocalRidge", "Blend"):
        asked = timed(model.predict, [row for row, _ in rows])
        yield Line.of_times(f"predict 1 row, {stream.name}, {name}", asked)
    if name in ("InstanceKNN", "FeatureKNN", "LCIF"):
        again = timed(lambda _: model.recalibrate(), range(3))
        yield Line.of_times(f"recalibrate, {stream.name}, {name}", again)


def one_row(options: argparse.Namespace) -> Iterator[Line]:
    """Predict one row: debtags, and emotions, which is dense."""
    calls = options.calls
    for stream, bar in ((debtags(), "0.4 ms"), (emotions(), "0.3 ms")):
        model = MLkNN(10, metric=stream.metric)
        model.fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
        rows = [stream.row(number)[0] for number in range(calls)]
        for what in ("predict", "rank", "scores"):
            times = timed(getattr(model, what), rows)
            yield Line.of_times(f"{what} 1 row, {stream.name}, ML-kNN", times, bar)


def tail(options: argparse.Namespace) -> Iterator[Line]:
    """Learn rows and predict rows, in wall-clock and in processor time, for their slowest calls."""
    stream = debtags()
    rows = [stream.row(number) for number in range(1 + max(options.calls, TAIL_CALLS))]
    for name in options.methods or METHODS:
        model = METHODS[name]().set_params(recalibrate_at="never")
        model.fit(stream.X[: stream.n_first], stream.Y[: stream.n_first]).prepare()
        model.partial_fit(*rows[0]).predict(rows[0][0])
        keep_what_is_loaded()
        yield Line.of_tail(f"learn 1 row, {name}", partial(_learn, model), rows[1:])
        yield Line.of_tail(f"predict 1 row, {name}", partial(_predict, model), rows[1:])


def _learn(model: IncrementalEstimator, row: tuple[Features, Csr]) -> None:
    model.partial_fit(*row)


def _predict(model: IncrementalEstimator, row: tuple[Features, Csr]) -> None:
    model.predict(row[0])


def peers(options: argparse.Namespace) -> Iterator[Line]:
    """Do the same with scikit-learn and river."""
    yield from scikit_learn_lines(debtags(), min(options.calls, 100))
    yield from scikit_learn_lines(emotions(), options.calls)
    yield from river_lines(debtags(), min(options.calls, 100))


def stream(_: argparse.Namespace) -> Iterator[Line]:
    """Learn 100,000 rows one by one from an empty model."""
    what = "100,000 rows one by one from empty, debtags-like, ML-kNN"
    times = stream_from_empty(debtags_like(100_000), mlknn())
    kept = [
        *(Measurement(f"{what}, at {mark:,}", ms, "ms") for mark, ms in times.medians.items()),
        Measurement(f"{what}, growth", times.growth, "×"),
        Measurement(f"{what}, in all", times.total, "s"),
    ]
    yield Line(what, str(times), "grows < 3 × from 10k to 100k rows", kept)


def threads(options: argparse.Namespace) -> Iterator[Line]:
    """Predict in four threads while one learns."""
    seconds = 60.0 if options.full else 10.0
    what = f"4 threads predict while 1 learns, {seconds:.0f} s, debtags, ML-kNN"
    found = readers_and_writer(debtags(), mlknn(), seconds)
    kept = [
        Measurement(f"{what}, share of the throughput alone", found.share, "", "high"),
        Measurement(f"{what}, rows learned", found.learned, "per s", "high"),
    ]
    yield Line(what, str(found), "no error; >= 70 %", kept)


def memory(options: argparse.Namespace) -> Iterator[Line]:
    """Learn and forget rows, and look at the memory of the process."""
    pairs = 100_000 if options.full else 2_000
    what = f"memory after {pairs:,} learn/forget pairs, debtags, ML-kNN"
    found = memory_after_pairs(debtags(), mlknn, pairs)
    kept = [Measurement(f"{what}, against a fresh fit", found.ratio, "×")]
    yield Line(what, str(found), "within 10 %", kept)


CASES: dict[str, Callable[[argparse.Namespace], Iterator[Line]]] = {
    "changes": changes,
    "one-row": one_row,
    "tail": tail,
    "peers": peers,
    "anew": anew,
    "threads": threads,
    "memory": memory,
    "large": large,
    "many-labels": many,
    "stream": stream,
}


if __name__ == "__main__":
    main()
