"""The service under load, over many requests, beside hostile clients, and killed many times.

``make bench-service`` runs the load, the memory test and the hostile clients; ``make kill-test``
runs the kills. The figures are recorded in ``benchmarks/results/service.jsonl``.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.recording import Measurement, record
from benchmarks.service_hostile import attack
from benchmarks.service_kills import kill_often
from benchmarks.service_load import Lesson, Load, run_load
from benchmarks.service_process import ServiceProcess
from vicinal import save
from vicinal.cli.demo import text_model
from vicinal.datasets import Dataset, load
from vicinal.methods.registry import find_method


@dataclass(frozen=True)
class Setting:
    """A saved model, texts to ask it about, lessons to teach it, and a folder for stores."""

    model: Path
    folder: Path
    texts: Sequence[str]
    lessons: Sequence[Lesson]

    @contextmanager
    def served(self, name: str) -> Iterator[ServiceProcess]:
        """Serve the model with a store of its own."""
        server = ServiceProcess(self.model, self.folder / f"{name}.sqlite")
        try:
            yield server
        finally:
            server.stop()


def load_test(setting: Setting, seconds: float, rate: float) -> list[Measurement]:
    """Predict single texts while `rate` examples per second are learned."""
    found: list[Measurement] = []
    with setting.served("load") as server:
        server.ask("/v1/models/debtags/learn", {"rows": setting.lessons[-1:]})  # the first searches
        for per_second in sorted({0.0, rate}):
            spent = server.cpu_seconds()
            length = seconds if per_second else min(seconds, 15.0)
            asked = Load(
                setting.texts,
                length,
                lessons=setting.lessons,
                lessons_per_second=per_second,
            )
            got = run_load(server, asked)
            spent = server.cpu_seconds() - spent
            what = f"service, debtags, {per_second:g} lessons per second"
            _tell(what, {**asdict(got), "seconds": length, "cpu_s": spent})
            found += [
                Measurement(f"{what}: predictions", got.per_second, "per second", "high"),
                Measurement(f"{what}: p99", got.p99_ms, "ms"),
                Measurement(f"{what}: errors", got.errors, "requests"),
            ]
            if got.learned:
                found.append(Measurement(f"{what}: lesson, median", got.learn_p50_ms, "ms"))
    return found


def memory_test(setting: Setting, requests: int) -> list[Measurement]:
    """Compare the resident memory before and after many predictions."""
    with setting.served("memory") as server:
        run_load(server, Load(setting.texts, 5.0))
        before, done = server.memory(), 0
        while done < requests:
            asked = Load(setting.texts, 120.0, requests=requests - done)
            done += run_load(server, asked).predictions
        growth = 100 * (server.memory() / before - 1)
    _tell("memory", {"requests": done, "bytes": before, "growth_percent": growth})
    what = f"service, debtags, memory over {done:,} predictions"
    return [Measurement(f"{what}: growth", growth, "%")]


def hostile_test(setting: Setting, seconds: float) -> list[Measurement]:
    """Predict single texts while hostile clients do their worst."""
    with setting.served("hostile") as server:
        run_load(server, Load(setting.texts, 2.0))
        before = server.memory()
        outcomes: dict[str, dict[str, int]] = {}
        hostile = threading.Thread(target=lambda: outcomes.update(attack(server, seconds)))
        hostile.start()
        most = [before]
        watching = threading.Thread(target=lambda: _watch(server, hostile, most))
        watching.start()
        got = run_load(server, Load(setting.texts, seconds))
        hostile.join()
        watching.join()
        server.ask("/readyz")
        grown = (max(most) - before) / 1e6
        began = time.perf_counter()
    stopped = time.perf_counter() - began
    found = {**asdict(got), "grown_MB": grown, "stop_s": stopped, "outcomes": outcomes}
    _tell("hostile clients", found)
    what = "service, debtags, beside hostile clients"
    return [
        Measurement(f"{what}: predictions", got.per_second, "per second", "high"),
        Measurement(f"{what}: errors", got.errors, "requests"),
        Measurement(f"{what}: memory", grown, "MB more"),
    ]


def _watch(server: ServiceProcess, hostile: threading.Thread, found: list[int]) -> None:
    """Add the memory of the service to a list while hostile clients are there."""
    while hostile.is_alive():
        found.append(server.memory())
        time.sleep(0.1)


def kill_test(setting: Setting, kills: int, examples: int, batch: int) -> list[Measurement]:
    """Kill the service at random moments while it learns."""
    store = setting.folder / "killed.sqlite"
    got = kill_often(setting.model, store, setting.texts, kills, examples, batch)
    _tell("kill -9", asdict(got))
    what = f"service, debtags, {got.kills} kills"
    return [
        Measurement(f"{what}: acknowledged", got.acknowledged, "examples", "high"),
        Measurement(f"{what}: lost", got.lost, "examples"),
        Measurement(f"{what}: doubled", got.doubled, "examples"),
        Measurement(f"{what}: ids given twice", got.ids_twice, "examples"),
        Measurement(f"{what}: slowest restart", got.slowest_start_s, "s"),
    ]


def served_method(name: str) -> Any:
    """Return a method that learns, with cosine similarity for texts."""
    method = find_method(name)()
    return method.set_params(metric="cosine")


def texts_of(data: Dataset, rows: range) -> list[str]:
    """Return rows of a bag of words as texts."""
    X = sparse.csr_array(data.X)
    words = [X.indices[X.indptr[row] : X.indptr[row + 1]] for row in rows]
    return [" ".join(data.feature_names[word] for word in each) for each in words]


def _tell(test: str, found: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"test": test, **found}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the tests asked for; print one JSON line per test, and record the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="Length of the load; 0: none.")
    parser.add_argument("--lessons-per-second", type=float, default=10.0)
    parser.add_argument("--memory", type=int, default=0, help="Requests of the memory test.")
    parser.add_argument("--hostile", type=float, default=0, help="Seconds of hostile clients.")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--examples", type=int, default=20_000, help="Acknowledged while killing.")
    parser.add_argument("--batch", type=int, default=50, help="Examples per request while killing.")
    parser.add_argument("--method", default="mlknn", help="Method of the model.")
    parser.add_argument("--rows", type=int, default=0, help="Training rows; 0 for all.")
    options = parser.parse_args()
    train, test = load("debtags").split()
    if options.rows:
        train = train.subset(np.arange(min(options.rows, train.n_rows)))
    texts = texts_of(test, range(min(2000, test.n_rows)))
    lessons = [{"text": text, "labels": ["taught::example"]} for text in texts]
    measured: list[Measurement] = []
    with tempfile.TemporaryDirectory() as name:
        setting = Setting(Path(name) / "debtags", Path(name), texts, lessons)
        save(text_model(train, served_method(options.method)), setting.model)
        if options.seconds:
            measured += load_test(setting, options.seconds, options.lessons_per_second)
        if options.memory:
            measured += memory_test(setting, options.memory)
        if options.hostile:
            measured += hostile_test(setting, options.hostile)
        if options.kills:
            measured += kill_test(setting, options.kills, options.examples, options.batch)
    record("service", measured)


if __name__ == "__main__":
    main()
