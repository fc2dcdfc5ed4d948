"""What is done to the library, and what must hold afterwards."""

import errno
import os
import random
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.chaos.service_scenarios import SERVICE_SCENARIOS
from tests.chaos.setting import QUERIES, answer, answers, check_whole, child, ended, models

import vicinal
from vicinal.datasets import Dataset, load, write_file
from vicinal.errors import ModelFormatError
from vicinal.results import Result, ResultStore

Scenario = Callable[[random.Random, Path], None]
NOBODY = 65534


def kills(rng: random.Random, folder: Path) -> None:
    """A process that saves over and over is killed: a whole model is there."""
    models()[0].save(folder / "m")

    def save_forever() -> None:
        while True:
            for model in models():
                model.save(folder / "m")

    process = child(save_forever)
    time.sleep(rng.uniform(0.0, 0.2))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    check_whole(folder / "m")
    for left in folder.glob(".m.*.unfinished"):
        os.utime(left, (1, 1))  # as if it had been killed hours ago
    models()[1].save(folder / "m")
    assert check_whole(folder / "m") == 1
    assert len(list(folder.iterdir())) == 1, "something is left beside the model"


def two_savers(rng: random.Random, folder: Path) -> None:
    """Two processes save over and over, one is killed: all other saves succeed, the last wins."""
    models()[0].save(folder / "m")

    def save_often(model: Any, times: int) -> Callable[[], None]:
        def run() -> None:
            for _ in range(times):
                model.save(folder / "m")

        return run

    patient, killed = child(save_often(models()[0], 20)), child(save_often(models()[1], 10**9))
    time.sleep(rng.uniform(0.0, 0.2))
    os.kill(killed, signal.SIGKILL)
    os.waitpid(killed, 0)
    assert ended(patient, 60) == 0, "a save beside another failed"
    check_whole(folder / "m")
    models()[1].save(folder / "m")
    assert check_whole(folder / "m") == 1


def mapped(rng: random.Random, folder: Path) -> None:
    """Readers have the file mapped while it is replaced over and over: they answer as before."""
    which = rng.randrange(2)
    models()[which].save(folder / "m")
    model = vicinal.load(folder / "m", mmap=True, verify=rng.random() < 0.5)

    def save_forever() -> None:
        while True:
            for each in models():
                each.save(folder / "m")

    process = child(save_forever)
    try:
        until = time.monotonic() + rng.uniform(0.05, 0.3)
        while time.monotonic() < until:
            assert answer(model) == answers()[which], "a mapped model changed its answers"
            check_whole(folder / "m")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def damage(rng: random.Random, folder: Path) -> None:
    """A file is cut short or changed anywhere: loading it refuses it, a save over it works."""
    models()[0].save(folder / "m")
    whole = (folder / "m").read_bytes()
    for _ in range(20):
        content = bytearray(whole)
        if rng.random() < 0.5:
            content = content[: rng.randrange(len(content))]
        else:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (folder / "m").write_bytes(content)
        try:
            vicinal.load(folder / "m", mmap=rng.choice([True, False]))
        except ModelFormatError:
            continue
        raise AssertionError("damage was not noticed")
    (folder / "m").write_bytes(whole[:400])
    models()[1].save(folder / "m")
    assert check_whole(folder / "m") == 1


def killed_results(rng: random.Random, folder: Path) -> None:
    """A process that adds results is killed: none that was acknowledged is lost."""
    store, (seen, told) = ResultStore(folder / "r.jsonl"), os.pipe()

    def add_forever() -> None:
        for seed in range(10**9):
            store.add(
                Result("chaos", "data", "method", {"f1": (0.5,) * rng.randrange(50)}, seed=seed)
            )
            os.write(told, b".")

    process = child(add_forever)
    time.sleep(rng.uniform(0.0, 0.2))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(told)
    acknowledged = 0
    while data := os.read(seen, 65536):
        acknowledged += len(data)
    os.close(seen)
    kept = {result.seed for result in store.read()}
    assert kept >= set(range(acknowledged)), "an acknowledged result is lost"
    store.add(Result("chaos", "data", "last", {"f1": (1.0,)}))
    assert {result.method for result in store.read()} >= {"last"}


def full_disk(rng: random.Random, folder: Path) -> None:
    """No file may grow past some bytes: a save fails with the cause and the older model stands."""
    models()[0].save(folder / "m")
    limit = rng.randrange(1, (folder / "m").stat().st_size)

    def save() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            models()[1].save(folder / "m")
        except OSError as error:
            if error.errno != errno.EFBIG or "cannot be written" not in str(error):
                raise
        else:
            assert check_whole(folder / "m") == 1

    assert ended(child(save), 60) == 0
    check_whole(folder / "m")
    data = Dataset(np.eye(50), np.eye(50, 3), tuple(map(str, range(50))), tuple("abc"))
    write_file(data, folder / "d.npz")

    def write() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        try:
            write_file(data, folder / "d.npz")
        except OSError:
            return
        raise AssertionError("written past the limit")

    assert ended(child(write), 60) == 0
    assert load(folder / "d.npz").n_rows == 50
    assert sorted(file.name for file in folder.iterdir()) == ["d.npz", "m"]


def read_only_disk(rng: random.Random, folder: Path) -> None:
    """Nobody may write there: reading works, a save fails, and what was there stays."""
    models()[0].save(folder / "m")
    (folder / "m").chmod(0o444)
    folder.chmod(0o555)

    def use() -> None:
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        assert check_whole(folder / "m") == 0
        for target in (folder / "m", folder / "new"):
            try:
                models()[1].save(target)
            except PermissionError:
                continue
            raise AssertionError("saved where nobody may write")

    assert ended(child(use), 60) == 0
    folder.chmod(0o755)
    assert check_whole(folder / "m") == 0


def overwritten(rng: random.Random, folder: Path) -> None:
    """The file of a loaded model is overwritten or cut short: it answers as before."""
    which = rng.randrange(2)
    models()[which].save(folder / "m")
    model = vicinal.load(folder / "m")
    if rng.random() < 0.5:
        answer(model)
    file = folder / "m"
    file.write_bytes(rng.randbytes(rng.choice([0, 1, 1000, file.stat().st_size])))
    assert answer(model) == answers()[which]


def forks(rng: random.Random, folder: Path) -> None:
    """A process forks while its threads predict: the child predicts too."""
    models()[0].save(folder / "m")
    model, stop = vicinal.load(folder / "m"), threading.Event()

    def predict() -> None:
        while not stop.is_set():
            assert answer(model) == answers()[0]

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            time.sleep(rng.uniform(0.0, 0.02))
            process = child(lambda: _assert_equal(answer(model), answers()[0]))
            assert ended(process, 30) == 0, "the child hung or answered wrongly"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _assert_equal(one: bytes, other: bytes) -> None:
    assert one == other


def threads(rng: random.Random, folder: Path) -> None:
    """Threads load and predict while others save: every answer is one of the two models'."""
    models()[0].save(folder / "m")
    troubles: list[BaseException] = []
    until = time.monotonic() + rng.uniform(0.1, 0.5)

    def watched(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            try:
                while time.monotonic() < until:
                    work()
            except (Exception, SystemExit) as error:
                troubles.append(error)
                raise

        return run

    works: list[Callable[[], object]] = [lambda: check_whole(folder / "m")] * 2
    works += [lambda: models()[rng.randrange(2)].save(folder / "m")] * 2
    started = [threading.Thread(target=watched(work)) for work in works]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert not troubles, troubles
    check_whole(folder / "m")


def signals(rng: random.Random, folder: Path) -> None:
    """Ctrl-C at any moment of a fit, a save, a load: what was there stays whole."""
    models()[0].save(folder / "m")
    model = vicinal.BRkNN(3).fit(sparse.csr_array(QUERIES), np.eye(50, 12, dtype=np.int32))
    before = answer(model)
    works: list[Callable[[], object]] = [
        lambda: model.fit(sparse.csr_array(QUERIES[::-1]), np.eye(50, 12, dtype=np.int32)),
        lambda: models()[1].save(folder / "m"),
        lambda: vicinal.load(folder / "m"),
    ]
    which = rng.randrange(3)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    is_interrupted = False
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0001, 0.02))
        works[which]()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        is_interrupted = True
    signal.setitimer(signal.ITIMER_REAL, 0)
    if which == 0 and is_interrupted:
        assert answer(model) == before, "an interrupted fit changed the model"
    check_whole(folder / "m")


SCENARIOS: dict[str, Scenario] = {
    "kills": kills,
    "two savers": two_savers,
    "mapped": mapped,
    "damage": damage,
    "killed results": killed_results,
    "full disk": full_disk,
    "read-only disk": read_only_disk,
    "overwritten": overwritten,
    "forks": forks,
    "threads": threads,
    "signals": signals,
    **SERVICE_SCENARIOS,
}
