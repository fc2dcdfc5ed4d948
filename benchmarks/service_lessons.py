"""How long single lessons take, from request to reply, for each method.

The slowest lessons matter most: those during which the service fits thresholds again or writes
snapshots. Besides the percentiles this prints how long a commit to the disk takes here, which every
lesson waits for.
"""

import argparse
import http.client
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.recording import Measurement, record
from benchmarks.service import texts_of
from benchmarks.service_process import HOST, TOKEN, ServiceProcess
from vicinal import LCIF, Blend, BRkNN, FeatureKNN, InstanceKNN, MLkNN, save
from vicinal.cli.demo import text_model
from vicinal.datasets import load

METHODS = {
    "blend": Blend(),
    "brknn": BRkNN(10, metric="cosine"),
    "mlknn": MLkNN(10, metric="cosine"),
    "instance-knn": InstanceKNN(10),
    "feature-knn": FeatureKNN(),
    "lcif": LCIF(),
}
MOST_LESSONS = 10_000


def lesson_times(server: ServiceProcess, texts: list[str], labels: list[list[str]]) -> list[float]:
    """Teach one example after the other on one connection; return the milliseconds of each."""
    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    times = []
    for place, (text, names) in enumerate(zip(texts, labels, strict=True)):
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


def main() -> None:
    """Teach each method; print one JSON line per method, and record the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=list(METHODS))
    parser.add_argument("--lessons", type=int, default=3000)
    options = parser.parse_args()
    train, test = load("debtags").split()
    count = min(options.lessons, MOST_LESSONS, test.n_rows)
    texts = texts_of(test, range(count))
    Y = test.Y.tocsr()
    labels = [
        [test.label_names[label] for label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]]]
        for row in range(count)
    ]
    measured = []
    for name in options.methods:
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "debtags"
            save(text_model(train, METHODS[name]), model)
            server = ServiceProcess(model, Path(folder) / "taught.sqlite")
            began = time.perf_counter()
            while server.ask("/v1/models/debtags")["upkeep"] == "preparing":
                time.sleep(0.01)
            ready = time.perf_counter() - began
            times = lesson_times(server, texts, labels)
            synced = figures(commit_ms(Path(folder)))
            server.stop()
        found = figures(times)
        line = {"method": name, "lessons": count, **found, "ready_s": round(ready, 2)}
        slow = [[place, round(ms)] for place, ms in enumerate(times) if ms > 20]
        sys.stdout.write(json.dumps({**line, "sync": synced, "slow": slow[:40]}) + "\n")
        sys.stdout.flush()
        what = f"service, debtags, {name}, {count} lessons"
        measured.append(Measurement(f"{what}: p99.9", found["p99.9"], "ms"))
    record("service", measured)


if __name__ == "__main__":
    main()
