"""What is done to a model that is served and taught, and what must hold afterwards.

Every lesson has a label and a key of its own: the model itself tells how often it was learned, and
a lesson that was not acknowledged is repeated.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
from tests.chaos.setting import child, ended

from vicinal import BRkNN, save
from vicinal.service import Limits
from vicinal.service.app import serve_model
from vicinal.service.learner import Learner
from vicinal.service.served_model import label_counts
from vicinal.service.store import Change, EventStore

N_ROWS = 300
N_FEATURES = 12
MODEL = "m"


def trained(folder: Path) -> Path:
    """Save a model with so many rows that a lesson is a small change."""
    rng = np.random.default_rng(0)
    model = BRkNN(3, threshold="cardinality").fit(
        rng.random((N_ROWS, N_FEATURES)), [[f"l{row % 7}"] for row in range(N_ROWS)]
    )
    save(model, folder / "model")
    return folder / "model"


def opened(folder: Path) -> Learner:
    """Serve the model with what its store contains."""
    store = EventStore(folder / "taught.sqlite")
    _, learner = serve_model(MODEL, folder / "model", store, Limits())
    assert learner is not None
    return learner


def lesson(number: int) -> tuple[Change]:
    """Return a lesson: one row near a corner of its own."""
    values = [float((number >> bit) & 1) for bit in range(N_FEATURES)]
    return (Change("learn", ({"values": values, "labels": [f"lesson {number}"]},), f"k{number}"),)


def teach(learner: Learner, number: int) -> int:
    """Teach a lesson, again if another process was faster; return the id of its row."""
    for _ in range(100):
        (answer,) = learner.process([lesson(number)])
        if not isinstance(answer, Exception):
            return answer[0].row_ids[0]
        assert getattr(answer, "status", 0) == 503, answer
    raise AssertionError("refused 100 times")


def check(folder: Path, ids: dict[int, int]) -> None:
    """Check that each lesson was learned once, under its id, with snapshots and without."""
    learner = opened(folder)
    with learner.served.reading() as held:
        counts = label_counts(held.estimator)
        known = held.estimator.row_ids_.tolist()
        scores = held.estimator.scores(np.eye(N_FEATURES)).toarray()
    assert len(set(ids.values())) == len(ids), "an id was given twice"
    assert {counts.get(f"lesson {number}", 0) for number in ids} <= {1}, "lost or doubled"
    assert set(ids.values()) <= set(known), "an acknowledged row is not there"
    assert {teach(learner, number) == row_id for number, row_id in ids.items()} <= {True}
    learner.store.close()
    shutil.rmtree(folder / "taught.sqlite.snapshots", ignore_errors=True)
    replayed = opened(folder)
    with replayed.served.reading() as held:
        assert held.estimator.row_ids_.tolist() == known, "a replay gives other ids"
        assert np.array_equal(held.estimator.scores(np.eye(N_FEATURES)).toarray(), scores)
    replayed.store.close()


def backups(rng: random.Random, folder: Path) -> None:
    """A backup of the store is restored beside newer snapshots: its history is taken up again."""
    trained(folder)
    learner = opened(folder)
    ids, kept = {}, {}
    moment = rng.randrange(1, 25)
    for number in range(30):
        ids[number] = teach(learner, number)
        if rng.random() < 0.2:
            learner.snapshot()
        if number == moment:
            kept = dict(ids)
            target = sqlite3.connect(folder / "backup.sqlite")
            with closing(sqlite3.connect(learner.store.path)) as source, closing(target):
                source.backup(target)
    learner.store.close()
    for file in folder.glob("taught.sqlite-*"):
        file.unlink()
    (folder / "backup.sqlite").replace(folder / "taught.sqlite")
    learner = opened(folder)
    assert learner.served.version == len(kept), "the backup was combined with something else"
    for number in rng.sample(range(40), 40):  # in another order: the history is another one
        row_id = teach(learner, number)
        assert kept.setdefault(number, row_id) == row_id, "an acknowledged id has changed"
        if rng.random() < 0.1:
            learner.snapshot()
    learner.store.close()
    check(folder, kept)


def two_services(rng: random.Random, folder: Path) -> None:
    """Two processes teach one model through one store: each lesson is learned once."""
    trained(folder)
    opened(folder).store.close()
    shared = rng.randrange(0, 20)

    def teaching(first: int) -> None:
        learner = opened(folder)
        ids = {number: teach(learner, number) for number in [*range(first, first + 25), *common]}
        (folder / f"ids-{first}").write_text(json.dumps(ids), encoding="utf-8")
        learner.store.close()

    common = range(1000, 1000 + shared)  # both teach these, with the same keys
    processes = [child(lambda first=first: teaching(first)) for first in (0, 100)]
    assert [ended(process, 100) for process in processes] == [0, 0]
    found = [json.loads((folder / f"ids-{first}").read_text()) for first in (0, 100)]
    for number in common:
        assert found[0][str(number)] == found[1][str(number)], "one key, two ids"
    check(folder, {int(number): row for each in found for number, row in each.items()})


def service_kills(rng: random.Random, folder: Path) -> None:
    """A process that teaches and writes snapshots is killed: nothing acknowledged is lost."""
    trained(folder)
    file = folder / "acknowledged"

    def teaching() -> None:
        learner = opened(folder)
        numbers = len(file.read_text().splitlines()) if file.exists() else 0
        with file.open("a") as stream:
            for number in range(numbers, 10**6):
                row_id = teach(learner, number)
                stream.write(f"{number} {row_id}\n")
                stream.flush()
                if number % 7 == 0:
                    learner.snapshot()

    for _ in range(3):
        process = child(teaching)
        time.sleep(rng.uniform(0.0, 0.6))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    lines = file.read_text().splitlines() if file.exists() else []
    ids = dict(tuple(map(int, line.split())) for line in lines)
    check(folder, ids)


SERVICE_SCENARIOS = {
    "backups": backups,
    "two services": two_services,
    "service kills": service_kills,
}
