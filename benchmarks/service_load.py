"""Single-text predictions from a second process, as fast as the service answers, while it learns.

Only 127.0.0.1 is ever the target, and both the time and the number of requests are bounded.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.service_process import HOST, ServiceProcess, request_bytes

MOST_SECONDS = 120
MOST_REQUESTS = 300_000
CONNECTIONS = 16
Lesson = dict[str, Any]


@dataclass(frozen=True)
class Load:
    """What to send.

    Parameters
    ----------
    texts : sequence of str
        Predicted one after the other, again and again.
    seconds : float
    requests : int
        Predictions after which the load ends, if the time is not over before.
    lessons : sequence of dict
    lessons_per_second : float
    """

    texts: Sequence[str]
    seconds: float
    requests: int = MOST_REQUESTS
    lessons: Sequence[Lesson] = ()
    lessons_per_second: float = 0.0


@dataclass(frozen=True)
class Answered:
    """What was measured: numbers of requests, and times in milliseconds."""

    predictions: int
    per_second: float
    p50_ms: float
    p99_ms: float
    learned: int
    learn_p50_ms: float
    errors: int


def run_load(server: ServiceProcess, load: Load) -> Answered:
    """Run the load generator in a process of its own, and return what it measured."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_generate, args=(server.port, load, there)
    )
    process.start()
    end = time.perf_counter() + load.seconds + 120
    while not here.poll(1):
        if not process.is_alive() or time.perf_counter() > end:
            process.kill()
            raise RuntimeError("the load generator failed or did not end")
    measured: Answered = here.recv()
    process.join()
    return measured


def _generate(port: int, load: Load, connection: Any) -> None:
    """Run in the second process: send back what was measured."""

    async def run() -> Answered:
        began = time.perf_counter()
        end = began + min(load.seconds, MOST_SECONDS)
        left = [min(load.requests, MOST_REQUESTS)]
        predicting = [_predict(port, load.texts, end, left) for _ in range(CONNECTIONS)]
        *found, taught = await asyncio.gather(*predicting, _teach(port, load, end))
        times = np.array([seconds for each, _ in found for seconds in each])
        return Answered(
            predictions=len(times),
            per_second=len(times) / (time.perf_counter() - began),
            p50_ms=float(np.quantile(times, 0.5) * 1000),
            p99_ms=float(np.quantile(times, 0.99) * 1000),
            learned=len(taught[0]),
            learn_p50_ms=float(np.median(taught[0]) * 1000) if taught[0] else 0.0,
            errors=sum(errors for _, errors in found) + taught[1],
        )

    connection.send(asyncio.run(run()))


async def _predict(
    port: int, texts: Sequence[str], end: float, left: list[int]
) -> tuple[list[float], int]:
    """Ask for predictions one after the other; return the seconds of each, and the errors."""
    reader, writer = await asyncio.open_connection(HOST, port)
    times, errors = [], 0
    while time.perf_counter() < end and left[0] > 0:
        left[0] -= 1
        rows = [{"text": texts[left[0] % len(texts)]}]
        began = time.perf_counter()
        writer.write(request_bytes("/v1/models/debtags/predict", {"rows": rows, "top": 5}))
        status = await _status(reader)
        times.append(time.perf_counter() - began)
        errors += status != 200
    writer.close()
    return times, errors


async def _teach(port: int, load: Load, end: float) -> tuple[list[float], int]:
    """Teach so many examples per second, however long each takes; return the seconds of each."""
    times: list[float] = []
    errors = 0

    async def teach(lesson: Lesson) -> None:
        nonlocal errors
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(request_bytes("/v1/models/debtags/learn", {"rows": [lesson]}))
        status = await _status(reader)
        times.append(time.perf_counter() - began)
        errors += status != 200
        writer.close()

    tasks = []
    for lesson in load.lessons:
        if load.lessons_per_second <= 0 or time.perf_counter() > end:
            break
        tasks.append(asyncio.create_task(teach(lesson)))
        await asyncio.sleep(1 / load.lessons_per_second)
    await asyncio.gather(*tasks)
    return times, errors


async def _status(reader: asyncio.StreamReader) -> int:
    """Read one reply and return its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])
