"""How long single lessons take for each method: from request to reply, and without HTTP.

The slowest lessons matter most: those during which the service fits thresholds again or writes
snapshots. Besides the percentiles this prints how long a commit to the disk takes here, which every
lesson waits for.
"""

import argparse
import asyncio
import http.client
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recording import Measurement, record
from benchmarks.service import served_method, texts_of
from benchmarks.service_process import HOST, TOKEN, ServiceProcess
from vicinal import save
from vicinal.cli.demo import text_model
from vicinal.datasets import load
from vicinal.service.app import build_app
from vicinal.service.engine import Engine
from vicinal.service.learner import Request
from vicinal.service.server import keep_what_is_loaded
from vicinal.service.store import Change

METHODS = (
    *("blend", "brknn", "feature-knn", "instance-knn", "lcif", "local-ridge"),
    *("lpknn", "mlknn"),
)
"""Methods that revise what they learned. Label ridge, IBLR and LAML-kNN, whose clusters move, are
fitted again for each lesson."""
MOST_LESSONS = 10_000
Lessons = list[tuple[str, list[str]]]


def times_over_http(model: Path, store: Path, lessons: Lessons) -> list[float]:
    """Serve a model, wait until it is prepared, and return the milliseconds of each lesson."""
    server = ServiceProcess(model, store)
    try:
        while server.ask("/v1/models/debtags")["upkeep"] == "preparing":
            time.sleep(0.01)
        return _taught(server, lessons)
    finally:
        server.stop()


def _taught(server: ServiceProcess, lessons: Lessons) -> list[float]:
    """Teach one example after the other on one connection; return the milliseconds of each."""
    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    times = []
    for place, (text, names) in enumerate(lessons):
        body = json.dumps({"rows": [{"text": text, "labels": names}]})
        began = time.perf_counter()
        connection.request("POST", "/v1/models/debtags/learn", body, headers)
        reply = connection.getresponse()
        content = json.load(reply)
        times.append(1000 * (time.perf_counter() - began))
        if reply.status != 200 or content["version"] != place + 1:
            raise RuntimeError(f"lesson {place}: {content}")
    connection.close()
    return times


def times_in_process(model: Path, store: Path, lessons: Lessons) -> tuple[list[float], list[float]]:
    """Teach a model in this process, as the service does, without HTTP.

    Returns the milliseconds of each lesson, and those of processor time in the thread that makes
    the change: what other programs on the machine do hardly matters for the latter.
    """
    app = build_app({"debtags": model}, store=store, loopback=True)
    keep_what_is_loaded()
    spent: list[float] = []

    async def teach() -> list[float]:
        async with app.router.lifespan_context(app):
            engine: Engine = app.state.engines["debtags"]
            change = engine._changes._run

            def timed(requests: list[Request]) -> Any:
                began = time.thread_time()
                answers = change(requests)
                spent.append(1000 * (time.thread_time() - began))
                return answers

            engine._changes._run = timed
            while (await engine.facts())["upkeep"] == "preparing":
                await asyncio.sleep(0.01)
            times = []
            for text, names in lessons:
                began = time.perf_counter()
                await engine.change(Change("learn", ({"text": text, "labels": names},)))
                times.append(1000 * (time.perf_counter() - began))
            return times

    return asyncio.run(teach()), spent


def commit_ms(folder: Path, count: int = 300) -> list[float]:
    """Return the milliseconds that a small synced write takes in a folder."""
    times = []
    with (folder / "synced").open("wb") as stream:
        for _ in range(count):
            began = time.perf_counter()
            stream.write(b"x" * 4096)
            stream.flush()
            os.fdatasync(stream.fileno())
            times.append(1000 * (time.perf_counter() - began))
    return times


def figures(times: list[float]) -> dict[str, float]:
    """Return the percentiles of times."""
    found = np.percentile(times, (50, 99, 99.9, 100)).round(2).tolist()
    return dict(zip(("p50", "p99", "p99.9", "max"), found, strict=True))


def debtags_lessons(count: int) -> Lessons:
    """Return the first test rows of debtags as texts with their labels."""
    _, test = load("debtags").split()
    count = min(count, MOST_LESSONS, test.n_rows)
    Y = test.Y.tocsr()
    labels = [
        [test.label_names[label] for label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]]]
        for row in range(count)
    ]
    return list(zip(texts_of(test, range(count)), labels, strict=True))


def main() -> None:
    """Teach each method; print one JSON line per method, and record the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=list(METHODS))
    parser.add_argument("--lessons", type=int, default=3000)
    parser.add_argument("--in-process", action="store_true", help="Without HTTP.")
    parser.add_argument("--models", type=Path, help="Folder that keeps the trained models.")
    options = parser.parse_args()
    lessons = debtags_lessons(options.lessons)
    measured = []
    for name in options.methods:
        with tempfile.TemporaryDirectory() as folder:
            model = (options.models or Path(folder)) / name
            if not model.exists():
                save(text_model(load("debtags").split()[0], served_method(name)), model)
            store = Path(folder) / "taught.sqlite"
            spent: dict[str, object] = {}
            if options.in_process:
                times, processor = times_in_process(model, store, lessons)
                spent = {"processor": figures(processor)}
            else:
                times = times_over_http(model, store, lessons)
            synced = figures(commit_ms(Path(folder)))
        found = figures(times)
        way = "in process" if options.in_process else "over HTTP"
        line = {"method": name, "way": way, "lessons": len(times), **found, **spent, "sync": synced}
        slow = [[place, round(ms)] for place, ms in enumerate(times) if ms > 20]
        sys.stdout.write(json.dumps({**line, "slow": slow[:40]}) + "\n")
        sys.stdout.flush()
        what = f"service, debtags, {name}, {len(times)} lessons {way}"
        measured.append(Measurement(f"{what}: p99.9", found["p99.9"], "ms"))
    record("service", measured)


if __name__ == "__main__":
    main()
