"""The service killed at random moments while it learns; counts what is lost or doubled.

Every lesson has a label of its own, so the model itself tells how often each was learned. A request
without a reply is repeated after the restart with the same idempotency key.
"""

import json
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.service_process import HOST, ServiceProcess, request_bytes

MOST_KILLS = 500
MOST_REQUESTS = 20
"""Requests that are acknowledged before a kill, at most: a random number."""
MOST_SECONDS = 60.0


@dataclass
class Taught:
    """What was sent and acknowledged so far; lesson n is the n-th request of `batch` rows."""

    texts: Sequence[str]
    batch: int
    acknowledged: int = 0
    starts: list[float] = field(default_factory=list)
    ids: set[int] = field(default_factory=set)

    @property
    def examples(self) -> int:
        """Examples whose request was acknowledged."""
        return self.acknowledged * self.batch

    def next_request(self) -> bytes:
        """Return the first lesson that was not acknowledged."""
        first = self.acknowledged * self.batch
        rows = [
            {"text": self.texts[place % len(self.texts)], "labels": [f"lesson {self.acknowledged}"]}
            for place in range(first, first + self.batch)
        ]
        key = f"lesson-{self.acknowledged}"
        return request_bytes("/v1/models/debtags/learn", {"rows": rows}, key)


@dataclass(frozen=True)
class Survived:
    """What the kills did."""

    kills: int
    acknowledged: int
    lost: int
    doubled: int
    ids_twice: int
    slowest_start_s: float
    median_start_s: float


def kill_often(
    model: Path, store: Path, texts: Sequence[str], kills: int, examples: int, batch: int
) -> Survived:
    """Kill the service `kills` times, and on until enough examples were acknowledged."""
    rng = random.Random(0)
    taught = Taught(texts, batch)
    done = 0
    while done < kills or (taught.examples < examples and done < MOST_KILLS):
        server = _started(model, store, taught)
        with _teaching(server, taught):
            _wait_for(taught, taught.acknowledged + rng.randint(0, MOST_REQUESTS))
            time.sleep(rng.uniform(0.0, 0.3))
            server.stop(signal.SIGKILL)
        done += 1
    server = _started(model, store, taught)
    counts = _learned(server)
    server.stop()
    starts = sorted(taught.starts)
    return Survived(
        kills=done,
        acknowledged=taught.examples,
        lost=sum(max(0, batch - counts.get(n, 0)) for n in range(taught.acknowledged)),
        doubled=sum(max(0, count - batch) for count in counts.values()),
        ids_twice=taught.examples - len(taught.ids),
        slowest_start_s=starts[-1],
        median_start_s=starts[len(starts) // 2],
    )


def _started(model: Path, store: Path, taught: Taught) -> ServiceProcess:
    server = ServiceProcess(model, store)
    taught.starts.append(server.seconds_to_start)
    return server


def _wait_for(taught: Taught, count: int) -> None:
    """Wait until so many requests were acknowledged, however busy the machine is."""
    end = time.monotonic() + MOST_SECONDS
    while taught.acknowledged < count and time.monotonic() < end:
        time.sleep(0.005)


def _learned(server: ServiceProcess) -> dict[int, int]:
    """Return how many rows of the model have the label of each lesson."""
    labels = server.ask("/v1/models/debtags/labels?contains=lesson&limit=10000")["labels"]
    return {int(each["label"].removeprefix("lesson ")): each["rows"] for each in labels}


@contextmanager
def _teaching(server: ServiceProcess, taught: Taught) -> Iterator[None]:
    """Teach in a thread until the service dies."""

    def teach() -> None:
        try:
            with socket.create_connection((HOST, server.port), timeout=60) as connection:
                stream = connection.makefile("rb")
                while True:
                    connection.sendall(taught.next_request())
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        line = stream.readline()
                        if not line:
                            return
                        head += line
                    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                    reply = json.loads(stream.read(length))
                    if len(reply["row_ids"]) == taught.batch:
                        taught.ids.update(reply["row_ids"])
                        taught.acknowledged += 1
        except (OSError, ValueError):
            return

    thread = threading.Thread(target=teach)
    thread.start()
    yield
    thread.join(60)
