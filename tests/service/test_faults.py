"""Full, read-only and damaged disks, clocks that go back, crashes between commit and reply."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import WRITE

from vicinal import BRkNN
from vicinal.errors import ModelFormatError
from vicinal.service import create_app, store
from vicinal.service.limits import ServiceError, StoreError
from vicinal.service.store import Change, Event, EventStore, first_digest


def test_the_store_is_durable_by_its_settings(tmp_path) -> None:
    kept = EventStore(tmp_path / "s.sqlite")
    settings = ("journal_mode", "synchronous")
    found = [kept._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in settings]
    assert found == ["wal", 2]  # 2 is FULL
    kept.close()


def test_a_commit_is_on_disk_when_append_returns(tmp_path) -> None:
    """Shown by the system calls: the log is synced after the last write and before the return."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    script = (
        "import os, pathlib\n"
        "from vicinal.service.store import Change, Event, EventStore, first_digest\n"
        f"s = EventStore(pathlib.Path({str(tmp_path / 's.sqlite')!r})); s.bind('m', 'f')\n"
        "os.getppid()\n"
        "change = Change('learn', ({'text': 'x', 'labels': []},))\n"
        "s.append([Event('m', 1, change, (0,), 't', first_digest('f'))])\n"
        "os.getppid()\n"
    )
    trace = tmp_path / "trace"
    calls = "trace=getppid,fsync,fdatasync,pwrite64"
    command = ["strace", "-f", "-e", calls, "-o", str(trace), sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines()]
    marks = [place for place, line in enumerate(lines) if line.startswith("getppid")]
    between = lines[marks[-2] + 1 : marks[-1]]
    assert any(line.startswith("pwrite64") for line in between)
    assert between[-1].startswith(("fsync", "fdatasync"))


def test_a_real_disk_that_is_full_or_read_only(model_folder, tmp_path) -> None:
    """A small file system of its own, filled up and mounted read-only: see ``small_disk``."""
    own = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*own, "true"], check=False).returncode:
        pytest.skip("unshare may not make a mount namespace here")
    script = [sys.executable, "-m", "tests.service.small_disk", str(model_folder)]
    (tmp_path / "disk").mkdir()
    done = subprocess.run(
        [*own, *script, str(tmp_path / "disk")], capture_output=True, text=True, check=False
    )
    if "mount: " in done.stderr and "permission denied" in done.stderr:
        pytest.skip("a tmpfs may not be mounted here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all steps passed\n")
    assert not list((tmp_path / "disk").iterdir())  # nothing of it is seen outside


def test_a_full_store_is_a_clear_reply_and_loses_nothing(start) -> None:
    client = start()
    client.learn("a parrot", "birds")
    connection = client.app.state.engines["pets"]._learner.store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")  # SQLite then says what a full disk says
    reply = client.learn("b " * 50_000, "birds")
    assert reply.status_code == 507
    assert "disk" in reply.json()["error"]["message"]
    assert "full" in reply.json()["error"]["message"]
    assert client.facts()["version"] == 1
    assert "vicinal_store_failures_total 1.0" in client.get("/metrics").text
    assert client.predict("parrot")["results"][0]["scores"]
    connection.execute("PRAGMA max_page_count=1000000")
    assert client.learn("b " * 50_000, "birds").json()["version"] == 2
    assert start().facts()["rows"] == 8


def test_a_read_only_store_is_a_clear_reply(start) -> None:
    client = start()
    client.learn("a parrot", "birds")
    connection = client.app.state.engines["pets"]._learner.store._connection
    connection.execute("PRAGMA query_only=ON")
    reply = client.learn("another", "birds")
    assert reply.status_code == 503
    assert "read-only" in reply.json()["error"]["message"]
    assert client.facts()["version"] == 1
    connection.execute("PRAGMA query_only=OFF")
    assert client.learn("another", "birds").json()["version"] == 2


def test_a_folder_that_cannot_be_written_is_named(model_folder, tmp_path) -> None:
    file = tmp_path / "a-file"
    file.write_text("x")
    with pytest.raises(StoreError, match="cannot be opened"):
        create_app([model_folder], store=file / "taught.sqlite")


def test_a_damaged_database_refuses_to_start_and_a_backup_recovers(start, tmp_path) -> None:
    client = start()
    for number in range(40):
        client.learn(f"a parrot {number} " * 30, "birds")
    before = client.predict("parrot")
    path = tmp_path / "taught.sqlite"
    backup = tmp_path / "backup.sqlite"
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    start(store=tmp_path / "other.sqlite")  # stops the first service
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 6] = os.urandom(4096 * 4)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="Recovery"):
        start()
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="Recovery"):
        start()
    shutil.copyfile(backup, path)
    again = start()
    assert again.predict("parrot") == before


def test_a_damaged_event_is_found_by_its_digest(start, tmp_path) -> None:
    client = start()
    client.learn("a parrot", "birds")
    start(store=tmp_path / "other.sqlite")
    shutil.rmtree(tmp_path / "taught.sqlite.snapshots")
    with closing(sqlite3.connect(tmp_path / "taught.sqlite")) as sql, sql:
        sql.execute("UPDATE events SET payload = replace(payload, 'parrot', 'carrot')")
    with pytest.raises(StoreError, match="event 1 of 'pets' is damaged"):
        start()


def trained_again() -> BRkNN:
    return BRkNN(1).fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [["a"], ["b"], [], [], []])


def test_a_store_of_another_program_or_model_is_refused(start, tmp_path, model_folder) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as sql, sql:
        sql.execute("CREATE TABLE notes (text)")
    with pytest.raises(StoreError, match="another program"):
        start(store=tmp_path / "other.sqlite")
    start().learn("a parrot", "birds")
    with pytest.raises(StoreError, match="another model named 'pets'"):
        start(models={"pets": trained_again()})


def test_a_model_that_was_never_taught_may_be_trained_again(start) -> None:
    headers = {"Authorization": f"Bearer {WRITE}"}
    client = start()
    client.post("/v1/models/pets/snapshot", headers=headers)
    assert client.facts()["rows"] == 6
    again = start(models={"pets": trained_again()})
    assert again.facts()["rows"] == 5
    rows = {"rows": [{"values": [5.0], "labels": ["a"]}]}
    assert again.post("/v1/models/pets/learn", json=rows, headers=headers).status_code == 200
    assert start(models={"pets": trained_again()}).facts()["rows"] == 6


def test_a_process_whose_model_was_replaced_teaches_nothing(tmp_path) -> None:
    former, new = EventStore(tmp_path / "taught.sqlite"), EventStore(tmp_path / "taught.sqlite")
    with closing(former), closing(new):
        former.bind("pets", "as it was")
        new.bind("pets", "trained again")
        event = Event("pets", 1, Change("forget", (0,)), (0,), "2026-01-01T00:00:00Z", "")
        with pytest.raises(StoreError, match="another model named 'pets'"):
            former.append([event])
        assert new.last_version("pets") == 0
        new.append([event])
        assert former.last_version("pets") == 1


def test_a_path_without_a_model_leaves_no_mark_in_the_store(start, tmp_path) -> None:
    with pytest.raises(ModelFormatError, match="expected a model file, found none"):
        start(models={"pets": tmp_path / "nothing"})
    assert start().facts()["rows"] == 6


@pytest.mark.parametrize("damage", ["array", "header", "cut short"])
def test_a_damaged_snapshot_is_skipped_and_nothing_is_lost(start, tmp_path, damage, caplog) -> None:
    client = start()
    client.learn("a parrot", "birds")
    headers = {"Authorization": f"Bearer {WRITE}"}
    client.post("/v1/models/pets/snapshot", headers=headers)
    client.learn("a parrot and a dog", "birds", "dogs")
    before = client.predict("parrot", "dog")
    start(store=tmp_path / "other.sqlite")
    folder = tmp_path / "taught.sqlite.snapshots" / "pets"
    for snapshot in sorted(each for each in folder.iterdir() if not each.suffix):
        content = bytearray(snapshot.read_bytes())
        if damage == "cut short":
            snapshot.write_bytes(content[:-1])
        else:
            content[-3 if damage == "array" else 300] ^= 0xFF
            snapshot.write_bytes(content)
    again = start()
    assert again.predict("parrot", "dog") == before
    assert "snapshot skipped" in caplog.text
    assert again.post("/v1/models/pets/snapshot", headers=headers).json()["version"] == 2


def test_a_snapshot_that_cannot_be_written_is_a_clear_reply(start, tmp_path) -> None:
    client = start()
    client.learn("a parrot", "birds")
    (tmp_path / "taught.sqlite.snapshots").write_text("in the way")
    reply = client.post("/v1/models/pets/snapshot", headers={"Authorization": f"Bearer {WRITE}"})
    assert reply.status_code == 507
    assert "not written" in reply.json()["error"]["message"]
    assert client.predict("parrot")["version"] == 1


def test_a_clock_that_goes_back_changes_nothing(start, monkeypatch) -> None:
    from datetime import UTC, datetime

    from vicinal.service import learner

    class Backwards(datetime):
        year_now = 2030

        @classmethod
        def now(cls, tz=None):
            cls.year_now -= 5
            return datetime(cls.year_now, 1, 1, tzinfo=UTC)

    client = start()
    monkeypatch.setattr(learner, "datetime", Backwards)
    client.learn("a parrot", "birds", key="one")
    client.learn("a parrot and a dog", "dogs", key="two")
    client.forget(6)
    before = client.predict("parrot")
    again = start()
    assert again.predict("parrot") == before
    assert again.learn("a parrot", "birds", key="one").json()["repeated"]
    times = [
        event["taught_at"][:4] for event in again.get("/v1/models/pets/taught").json()["taught"]
    ]
    assert times == ["2015", "2020", "2025"]


def test_a_failed_commit_changes_neither_the_model_nor_its_ids(start, monkeypatch) -> None:
    """The injected failure: the model has learned the row, the store cannot take it."""
    client = start()
    with monkeypatch.context() as patch:

        def fail(self, events):
            raise ServiceError(503, "store-failed", "injected")

        patch.setattr(EventStore, "append", fail)
        assert client.learn("a parrot", "birds", key="one").status_code == 503
        assert (client.facts()["version"], client.facts()["rows"]) == (0, 6)
    second = client.learn("a dog", "dogs")
    assert second.json() == {"row_ids": [6], "version": 1, "repeated": False}
    retried = client.learn("a parrot", "birds", key="one")
    assert retried.json() == {"row_ids": [7], "version": 2, "repeated": False}
    assert client.facts()["rows"] == 8
    assert start().facts()["rows"] == 8


def test_a_failed_commit_leaves_no_trace(tmp_path) -> None:
    kept = EventStore(tmp_path / "s.sqlite")
    kept.bind("m", "f")
    change = Change("learn", ({"text": "x", "labels": []},))
    events = [Event("m", version, change, (0,), "t", "") for version in (1, 2, 2)]
    with pytest.raises(ServiceError) as caught:
        kept.append(events)
    assert caught.value.code == "store-conflict"
    assert kept.last_version("m") == 0
    kept.append(events[:2])
    assert kept.last_version("m") == 2
    kept.close()


def test_the_log_is_moved_into_the_file_beside_the_lessons(tmp_path, monkeypatch) -> None:
    entered, released = threading.Event(), threading.Event()
    real = store._Checkpoints._run

    def slow(checkpoints: Any) -> None:
        entered.set()
        assert released.wait(10)
        real(checkpoints)

    monkeypatch.setattr(store, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(store._Checkpoints, "_run", slow)
    path = tmp_path / "s.sqlite"
    kept = EventStore(path)
    kept.bind("m", "f")
    size, previous = path.stat().st_size, first_digest("f")

    def append(version: int) -> str:
        change = Change("learn", ({"text": "x" * 5000, "labels": []},))
        event = Event("m", version, change, (version,), "t", previous)
        kept.append([event])
        return event.digest

    for version in range(1, 31):
        previous = append(version)
    assert entered.wait(10)
    assert path.stat().st_size == size  # no commit has moved anything, or waited for it
    released.set()
    kept._checkpoints._running.result(10)
    assert path.stat().st_size > size
    kept._checkpoints._connection.close()  # a checkpoint that fails loses nothing
    for version in range(31, 41):
        previous = append(version)
    kept.close()
    kept = EventStore(path)
    kept.bind("m", "f")
    assert kept.verify("m", {40}) == {40: previous}
    kept.close()


def test_what_fails_after_a_commit_does_not_double_a_lesson(start, monkeypatch) -> None:
    """A batch that fails is tried again request by request, so nothing may fail once it is kept."""
    client = start()
    monkeypatch.setattr(store, "CHECKPOINT_PAGES", 1)

    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    engine = client.app.state.engines["pets"]
    monkeypatch.setattr(engine._learner.store._checkpoints._thread, "submit", no_thread)
    before = client.facts()["rows"]
    assert [client.learn(f"a parrot {n}", "birds").status_code for n in range(3)] == [200] * 3
    assert (client.facts()["rows"], client.facts()["version"]) == (before + 3, 3)


def test_errors_of_sqlite_have_replies() -> None:
    path = Path("taught.sqlite")
    for text, code in [
        ("database or disk is full", "disk-full"),
        ("attempt to write a readonly database", "store-read-only"),
        ("disk I/O error", "store-failed"),
    ]:
        assert store._reply(sqlite3.OperationalError(text), path).code == code


def test_damage_that_appears_while_the_service_runs(start, tmp_path) -> None:
    client = start()
    client.learn("a parrot", "birds")
    with closing(sqlite3.connect(tmp_path / "taught.sqlite")) as sql, sql:
        sql.execute("UPDATE events SET payload = replace(payload, 'parrot', 'carrot')")
    reply = client.get("/v1/models/pets/taught")
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "store-damaged")
