"""How figures of incremental learning are taken, shown and kept."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from benchmarks.recording import Measurement

Row = TypeVar("Row")


@dataclass(frozen=True)
class Line:
    """What was measured, the figures as text, the bar, and what is kept of them."""

    what: str
    figure: str
    bar: str = ""
    kept: Sequence[Measurement] = field(default=())

    @classmethod
    def of_times(cls, what: str, seconds: Sequence[float], bar: str = "") -> "Line":
        """Return the line of calls that took so long each."""
        ms = np.array(seconds) * 1e3
        median, late = float(np.median(ms)), float(np.quantile(ms, 0.99))
        kept = [Measurement(f"{what}, median", median, "ms")]
        if len(ms) < 20:
            return cls(what, f"{median:.3g} ms", bar, kept)
        kept.append(Measurement(f"{what}, 99th percentile", late, "ms"))
        return cls(what, f"{median:.3g} ms ({late:.3g} ms)", bar, kept)

    @classmethod
    def of_tail(cls, what: str, call: Callable[[Row], object], rows: Sequence[Row]) -> "Line":
        """Return the line of calls whose slowest ones matter, measured here.

        Wall-clock time contains what other programs on the machine do; processor time does not.
        """
        times = np.zeros((len(rows), 2))
        for place, row in enumerate(rows):
            start = time.perf_counter(), time.thread_time()
            call(row)
            times[place] = time.perf_counter() - start[0], time.thread_time() - start[1]
        (wall, own), (late, own_late) = 1e3 * np.quantile(times, (0.5, 0.999), axis=0)
        figure = (
            f"{wall:.3g} ms; 99.9th percentile {late:.3g} ms, × {late / wall:.1f}; "
            f"processor time {own:.3g} ms; {own_late:.3g} ms, × {own_late / own:.1f}"
        )
        kept = [
            Measurement(f"{what}, 99.9th percentile by median", late / wall, "×"),
            Measurement(f"{what}, the same of processor time", own_late / own, "×"),
        ]
        return cls(what, figure, "× 5", kept)


def timed(call: Callable[[Row], object], rows: Iterable[Row]) -> list[float]:
    """Call once per row; return the seconds of each call."""
    times = []
    for row in rows:
        start = time.perf_counter()
        call(row)
        times.append(time.perf_counter() - start)
    return times
