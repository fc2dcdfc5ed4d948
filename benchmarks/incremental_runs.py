"""Longer runs of incremental learning: a stream from empty, readers beside a writer, memory."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.incremental_data import Stream
from benchmarks.memory import memory_mb
from vicinal._core.files import release_free_memory
from vicinal.methods.incremental import IncrementalEstimator


@dataclass(frozen=True)
class StreamTimes:
    """Time per row by the number of rows there were (median of the last 1,000), and in all."""

    medians: dict[int, float]
    total: float

    @property
    def growth(self) -> float:
        """The last time per row as a multiple of the first."""
        first, *_, last = self.medians.values()
        return last / first

    def __str__(self) -> str:
        """Return the figures as a table has them."""
        at = ", ".join(f"{ms:.3g} ms at {mark:,}" for mark, ms in self.medians.items())
        return f"{at}: × {self.growth:.2f}; {self.total:.0f} s in all"


@dataclass(frozen=True)
class Throughput:
    """Predictions per second without and with a learner, and rows learned per second."""

    alone: float
    beside: float
    learned: float

    @property
    def share(self) -> float:
        """Predictions with a learner as a share of those without."""
        return self.beside / self.alone

    def __str__(self) -> str:
        """Return the figures as a table has them."""
        return (
            f"{self.beside:,.0f} of {self.alone:,.0f} predictions/s ({self.share:.0%}), "
            f"{self.learned:,.0f} rows learned/s, no error"
        )


@dataclass(frozen=True)
class Memory:
    """Memory of the process in MB after a fresh fit, and after pairs of changes."""

    before: float
    after: float

    @property
    def ratio(self) -> float:
        """The memory afterwards as a multiple of that before."""
        return self.after / self.before

    def __str__(self) -> str:
        """Return the figures as a table has them."""
        return f"{self.before:,.0f} MB, then {self.after:,.0f} MB ({self.ratio - 1:+.1%})"


def stream_from_empty(
    stream: Stream, model: IncrementalEstimator, marks: tuple[int, ...] = (10_000, 100_000)
) -> StreamTimes:
    """Learn rows one by one from the first on; return the time per row before each mark."""
    window = 1_000
    times = np.zeros(max(marks))
    for number in range(max(marks)):
        row = stream.X[number : number + 1], stream.Y[number : number + 1]
        start = time.perf_counter()
        model.partial_fit(*row)
        times[number] = time.perf_counter() - start
    medians = {mark: float(np.median(times[mark - window : mark])) * 1e3 for mark in marks}
    return StreamTimes(medians, float(times.sum()))


def readers_and_writer(
    stream: Stream, model: IncrementalEstimator, seconds: float, n_readers: int = 4
) -> Throughput:
    """Predict in threads without and with a writer, each for so long."""
    model.fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
    model.partial_fit(*stream.row(0))
    before, _ = _throughput(stream, model, seconds / 4, n_readers, is_learning=False)
    beside, learned = _throughput(stream, model, seconds, n_readers, is_learning=True)
    after, _ = _throughput(stream, model, seconds / 4, n_readers, is_learning=False)
    return Throughput((before + after) / 2, beside, learned)


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


def memory_after_pairs(
    stream: Stream, make: Callable[[], IncrementalEstimator], pairs: int
) -> Memory:
    """Learn and forget rows; return the memory of the process after a fresh fit and afterwards."""
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
    return Memory(before, memory_mb("VmRSS"))
