"""The service under load: single-text predictions while examples are learned, and many kills.

The load generator is a second process; only 127.0.0.1 is ever its target, and both its time and its
number of requests are bounded. ``make bench-service`` runs the load, ``make kill-test`` the kills.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vicinal import MLkNN, save
from vicinal.cli.demo_service import text_model
from vicinal.datasets import Dataset, load

HOST = "127.0.0.1"
TOKEN = "benchmark-token"
MOST_SECONDS = 120
MOST_REQUESTS = 300_000
CONNECTIONS = 16
START = "import typer\nfrom vicinal.cli.serve import serve\ntyper.run(serve)"


class Server:
    """``vicinal serve`` in a process of its own."""

    def __init__(self, model: Path, store: Path) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = int(free.getsockname()[1])
        words = [f"debtags={model}", "--port", str(self.port), "--store", str(store)]
        began = time.perf_counter()
        with store.with_suffix(".log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, *words],
                stdout=log,
                stderr=log,
                env={**os.environ, "VICINAL_WRITE_TOKEN": TOKEN},
            )
        while True:
            try:
                self.ask("/readyz")
                break
            except OSError:
                if self.process.poll() is not None or time.perf_counter() - began > 120:
                    raise
                time.sleep(0.02)
        self.seconds_to_start = time.perf_counter() - began

    def ask(self, path: str, body: object = None) -> Any:
        """Send one request and return the JSON of its reply."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{HOST}:{self.port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def memory(self) -> int:
        """Return the resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
        return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        """Return the processor time that the service has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        ticks = stat.rpartition(")")[2].split()
        return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End the process."""
        self.process.send_signal(how)
        self.process.wait(60)


def request_bytes(path: str, body: object, key: str | None = None) -> bytes:
    """Return a whole HTTP request."""
    content = json.dumps(body).encode()
    given = f"Idempotency-Key: {key}\r\n" if key else ""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {TOKEN}\r\n{given}Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


async def read_reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return the status and the body of one reply."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return int(head.split(b" ", 2)[1]), await reader.readexactly(length)


async def predict_until(
    port: int, texts: list[str], end: float, budget: list[int]
) -> tuple[list[float], int]:
    """Ask for predictions one after the other; return the seconds of each, and the errors."""
    reader, writer = await asyncio.open_connection(HOST, port)
    times, errors = [], 0
    while time.perf_counter() < end and budget[0] > 0:
        budget[0] -= 1
        rows = [{"text": texts[budget[0] % len(texts)]}]
        began = time.perf_counter()
        writer.write(request_bytes("/v1/models/debtags/predict", {"rows": rows, "top": 5}))
        status, _ = await read_reply(reader)
        times.append(time.perf_counter() - began)
        errors += status != 200
    writer.close()
    return times, errors


async def learn_until(
    port: int, lessons: list[dict[str, Any]], end: float, per_second: float
) -> tuple[list[float], int]:
    """Teach so many examples per second, however long each takes; return the seconds of each."""
    times: list[float] = []
    errors = 0

    async def teach(lesson: dict[str, Any]) -> None:
        nonlocal errors
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(request_bytes("/v1/models/debtags/learn", {"rows": [lesson]}))
        status, _ = await read_reply(reader)
        times.append(time.perf_counter() - began)
        errors += status != 200
        writer.close()

    tasks = []
    for lesson in lessons:
        if per_second <= 0 or time.perf_counter() > end:
            break
        tasks.append(asyncio.create_task(teach(lesson)))
        await asyncio.sleep(1 / per_second)
    await asyncio.gather(*tasks)
    return times, errors


def generate_load(
    port: int,
    texts: list[str],
    lessons: list[dict[str, Any]],
    seconds: float,
    per_second: float,
    connection: Any,
) -> None:
    """Run in the second process: send back what was measured."""

    async def run() -> dict[str, Any]:
        end = time.perf_counter() + min(seconds, MOST_SECONDS)
        budget = [MOST_REQUESTS]
        began = time.perf_counter()
        readers = [predict_until(port, texts, end, budget) for _ in range(CONNECTIONS)]
        *found, taught = await asyncio.gather(*readers, learn_until(port, lessons, end, per_second))
        times = np.array([t for each, _ in found for t in each])
        return {
            "predictions": len(times),
            "per_second": len(times) / (time.perf_counter() - began),
            "p50_ms": float(np.quantile(times, 0.5) * 1000),
            "p99_ms": float(np.quantile(times, 0.99) * 1000),
            "learned": len(taught[0]),
            "learn_p50_ms": float(np.median(taught[0]) * 1000) if taught[0] else None,
            "errors": sum(errors for _, errors in found) + taught[1],
        }

    connection.send(asyncio.run(run()))


def load_test(
    server: Server, texts: list[str], lessons: list[dict[str, Any]], seconds: float, rate: float
) -> dict[str, Any]:
    """Run the load generator in a process of its own, and return what it measured."""
    here, there = multiprocessing.Pipe()
    arguments = (server.port, texts, lessons, seconds, rate, there)
    process = multiprocessing.get_context("spawn").Process(target=generate_load, args=arguments)
    process.start()
    end = time.perf_counter() + seconds + 120
    while not here.poll(1):
        if not process.is_alive() or time.perf_counter() > end:
            process.kill()
            raise RuntimeError("the load generator failed or did not end")
    result: dict[str, Any] = here.recv()
    process.join()
    return result


def kill_test(
    model: Path, folder: Path, texts: list[str], kills: int, batch: int
) -> dict[str, Any]:
    """Kill the service at random moments while it learns; count what was lost or doubled."""
    rng = random.Random(0)
    store = folder / "killed.sqlite"
    base = 0
    acknowledged: list[int] = []
    sent, starts = 0, []
    for _ in range(kills):
        server = Server(model, store)
        starts.append(server.seconds_to_start)
        rows = server.ask("/v1/models/debtags")["rows"]
        base = base or rows
        with teaching(server, texts, batch, sent) as taught:
            time.sleep(rng.uniform(0.3, 1.5))
            server.stop(signal.SIGKILL)
        acknowledged += taught.ids
        sent = taught.sent
    server = Server(model, store)
    starts.append(server.seconds_to_start)
    # The last unacknowledged request of each round was repeated by the next with its key.
    rows = server.ask("/v1/models/debtags")["rows"] - base
    server.stop()
    return {
        "kills": kills,
        "acknowledged": len(acknowledged),
        "lost": len(set(acknowledged)) - sum(1 for i in set(acknowledged) if i < base + rows),
        "doubled": len(acknowledged) - len(set(acknowledged)),
        "rows_beyond_acknowledged": rows - len(set(acknowledged)),
        "slowest_start_s": max(starts),
    }


class Taught:
    """What a thread has taught so far."""

    def __init__(self, sent: int) -> None:
        self.sent = sent
        self.ids: list[int] = []


@contextmanager
def teaching(server: Server, texts: list[str], batch: int, sent: int) -> Iterator[Taught]:
    """Teach in a thread until the service dies; a request without reply is not counted as sent."""
    taught = Taught(sent)

    def teach() -> None:
        try:
            with socket.create_connection((HOST, server.port), timeout=60) as connection:
                stream = connection.makefile("rb")
                while True:
                    rows = [
                        {
                            "text": texts[(taught.sent * batch + i) % len(texts)],
                            "labels": ["taught"],
                        }
                        for i in range(batch)
                    ]
                    key = f"lesson-{taught.sent}"
                    body = {"rows": rows}
                    connection.sendall(request_bytes("/v1/models/debtags/learn", body, key))
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        line = stream.readline()
                        if not line:
                            return
                        head += line
                    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                    reply = json.loads(stream.read(length))
                    taught.ids += reply["row_ids"]
                    taught.sent += 1
        except (OSError, ValueError, KeyError):
            return

    thread = threading.Thread(target=teach)
    thread.start()
    yield taught
    thread.join(60)


def texts_of(data: Dataset, rows: range) -> list[str]:
    """Return rows of a bag of words as texts."""
    X = sparse.csr_array(data.X)
    words = [X.indices[X.indptr[row] : X.indptr[row + 1]] for row in rows]
    return [" ".join(data.feature_names[word] for word in each) for each in words]


def main() -> None:
    """Measure, and print one JSON line per test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--learn-per-second", type=float, default=10.0)
    parser.add_argument("--rows", type=int, default=0, help="Training rows; 0 for all.")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--batch", type=int, default=50, help="Examples per request while killing.")
    parser.add_argument("--memory", type=int, default=0, help="Requests of the memory test.")
    options = parser.parse_args()
    data = load("debtags")
    train, test = data.split()
    if options.rows:
        train = train.subset(np.arange(min(options.rows, train.n_rows)))
    texts = texts_of(test, range(min(2000, test.n_rows)))
    lessons = [{"text": text, "labels": ["taught::example"]} for text in texts]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "debtags"
        save(text_model(train, MLkNN(10, metric="cosine")), model)
        if options.seconds:
            server = Server(model, folder / "load.sqlite")
            server.ask("/v1/models/debtags/learn", {"rows": lessons[-1:]})  # the first one searches
            for rate in (0.0, options.learn_per_second):
                spent = server.cpu_seconds()
                found = load_test(server, texts, lessons, options.seconds, rate)
                spent = server.cpu_seconds() - spent
                found["cpu_ms_per_prediction"] = 1000 * spent / max(1, found["predictions"])
                _print({"test": f"load, {rate:g} lessons per second", **found})
            server.stop()
        if options.memory:
            server = Server(model, folder / "memory.sqlite")
            load_test(server, texts, [], 5.0, 0.0)
            before, done = server.memory(), 0
            while done < options.memory:
                done += load_test(server, texts, [], MOST_SECONDS, 0.0)["predictions"]
            growth = server.memory() / before - 1
            _print({"test": "memory", "requests": done, "bytes": before, "growth": growth})
            server.stop()
        if options.kills:
            found = kill_test(model, folder, texts, options.kills, options.batch)
            _print({"test": "kill -9", **found})


def _print(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
