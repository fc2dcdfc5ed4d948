"""Longer runs of incremental learning: a stream from empty, readers beside a writer, memory."""

import threading
import time
from collections.abc import Callable

import numpy as np

from benchmarks.incremental_data import Stream
from benchmarks.memory import memory_mb
from vicinal._base.free_memory import release_free_memory
from vicinal.estimators.incremental import IncrementalEstimator


def stream_from_empty(
    stream: Stream, model: IncrementalEstimator, marks: tuple[int, ...] = (10_000, 100_000)
) -> str:
    """Learn rows one by one from the first on; return the time per row around each mark."""
    window = 1_000
    times = np.zeros(max(marks))
    for number in range(max(marks)):
        row = stream.X[number : number + 1], stream.Y[number : number + 1]
        start = time.perf_counter()
        model.partial_fit(*row)
        times[number] = time.perf_counter() - start
    medians = [float(np.median(times[mark - window : mark])) * 1e3 for mark in marks]
    grown = medians[-1] / medians[0]
    at = ", ".join(f"{ms:.3g} ms at {mark:,}" for ms, mark in zip(medians, marks, strict=True))
    return f"{at}: × {grown:.2f}; {times.sum():.0f} s in all"


def readers_and_writer(
    stream: Stream, model: IncrementalEstimator, seconds: float, n_readers: int = 4
) -> str:
    """Predict in threads without and with a writer; return how the throughput compares."""
    model.fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
    model.partial_fit(*stream.row(0))
    alone, _ = _throughput(stream, model, seconds / 2, n_readers, is_learning=False)
    beside, learned = _throughput(stream, model, seconds, n_readers, is_learning=True)
    return (
        f"{beside:,.0f} of {alone:,.0f} predictions/s ({beside / alone:.0%}), "
        f"{learned:,.0f} rows learned/s, no error"
    )


def _throughput(
    stream: Stream, model: IncrementalEstimator, seconds: float, n_readers: int, is_learning: bool
) -> tuple[float, float]:
    """Return predictions and learned rows per second; an error in any thread is raised."""
    done = threading.Event()
    counts = [0] * (n_readers + 1)
    errors: list[BaseException] = []

    def guarded(number: int, step: Callable[[int], object]) -> None:
        try:
            while not done.is_set():
                step(counts[number])
                counts[number] += 1
        except BaseException as error:
            errors.append(error)
            raise

    rows = [stream.row(number) for number in range(500)]
    steps: list[Callable[[int], object]]
    steps = [lambda count: model.predict(rows[count % 500][0])] * n_readers
    if is_learning:
        steps = [*steps, lambda count: model.partial_fit(*rows[count % 500])]
    threads = [threading.Thread(target=guarded, args=job) for job in enumerate(steps)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    done.set()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts[:n_readers]) / seconds, counts[n_readers] / seconds


def memory_after_pairs(stream: Stream, make: Callable[[], IncrementalEstimator], pairs: int) -> str:
    """Learn and forget rows; return the growth of the process against a fresh fit."""
    rng = np.random.default_rng(0)
    model = make().fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
    model.partial_fit(*stream.row(0)).forget([stream.n_first])
    release_free_memory()
    before = memory_mb("VmRSS")
    for number in range(pairs):
        model.partial_fit(*stream.row(number))
        ids = model.row_ids_
        model.forget([int(ids[rng.integers(len(ids))])])
    release_free_memory()
    after = memory_mb("VmRSS")
    return f"{before:,.0f} MB, then {after:,.0f} MB ({after / before - 1:+.1%})"
