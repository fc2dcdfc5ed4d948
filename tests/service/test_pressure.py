"""Requests that ask for much, clients that leave or do not read, and a stop beside them."""

import asyncio
import gc
import json
import os
import re
import signal
import socket
import threading
import time
import urllib.request
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sklearn.pipeline import Pipeline
from tests.service.conftest import TEXTS, WRITE
from tests.service.server_process import use_limits
from tests.service.test_server import HOST, Server

from vicinal import InstanceKNN, save
from vicinal._core.progress import may_stop
from vicinal.preprocess import TextVectorizer
from vicinal.service import Limits, annif_rest, create_app, served_model, server
from vicinal.service.engine import Engine
from vicinal.service.learner import Learner
from vicinal.service.limits import Budget, ServiceError, Stop

MODEL = "/v1/models/pets"
SHORT = Limits(send_seconds=1.0, answer_seconds=20.0)


def test_work_of_one_request_is_limited_before_it_begins(start) -> None:
    client = start()

    def problem(what: str, rows: int, **more: Any) -> str:
        body = {"rows": [{"text": "a cat"}] * rows, **more}
        reply = client.post(f"{MODEL}/{what}", json=body)
        return "" if reply.status_code == 200 else reply.json()["error"]["message"]

    assert problem("neighbors", 300, k=1000) == (
        "rows: expected at most 10 rows for k = 1000, got 300"
    )
    assert problem("neighbors", 10, k=1000) == ""
    assert problem("explain", 1000) == (
        "rows: expected at most 200 rows for 5 labels each, got 1000"
    )
    assert problem("explain", 3, labels=["cats"] * 400) == (
        "rows: expected at most 2 rows for 400 labels each, got 3"
    )
    assert problem("predict", 1000, explain=True).startswith("rows: expected at most 200 rows")
    assert problem("predict", 1000, top=1000) == (
        "rows: expected at most 100 rows for top = 1000, got 1000"
    )
    assert problem("predict", 1, top=1000) == ""


def test_replies_are_limited_in_bytes(start) -> None:
    client = start(limits=Limits(reply_bytes=300))
    assert client.post(f"{MODEL}/predict", json={"rows": [{"text": "a"}], "top": 1}).is_success
    for what, top in (("predict", 3), ("explain", 3)):
        body = {"rows": [{"text": "a cat"}] * 5, "top": top}
        reply = client.post(f"{MODEL}/{what}", json=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "reply-too-large")


def test_bytes_that_wait_are_counted_and_given_back() -> None:
    budget = Budget(100)
    budget.take(150)  # one request alone always fits
    with pytest.raises(ServiceError, match="retry later"):
        budget.take(1)
    budget.give_back(150)
    budget.take(60)
    budget.take(40)
    with pytest.raises(ServiceError):
        budget.take(1)


@pytest.mark.parametrize("size", [3, 20_000])
def test_large_bodies_are_decoded_beside_the_event_loop(start, monkeypatch, size) -> None:
    client = start()
    plain, entered, answered = json.loads, threading.Event(), threading.Event()

    def slow(body: Any, **more: Any) -> Any:
        if b"waits" in body[:20] and size > 3:
            entered.set()
            assert answered.wait(5), "the event loop decodes the body itself"
        return plain(body, **more)

    rows = [{"features": {f"word {number}": 1.5 for number in range(size)} | {"cat": 1}}]
    content = json.dumps({"rows": rows}).encode()
    assert (len(content) > 2**16) == (size > 3)

    def ask(body: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        return client.post(f"{MODEL}/predict", content=body, headers=headers)

    expected = ask(content).json()
    monkeypatch.setattr(json, "loads", slow)
    with ThreadPoolExecutor(1) as thread:
        reply = thread.submit(ask, b'{"waits": 1, ' + content[1:])
        if size > 3:
            assert entered.wait(5)
        assert client.get("/livez").is_success
        answered.set()
        refused = reply.result()
    monkeypatch.undo()
    assert refused.status_code == 422  # there is no field `waits`
    assert "waits" in refused.json()["error"]["message"]
    assert ask(content).json() == expected
    assert ask(content[:-1]).json()["error"]["code"] == "not-json"


def test_large_forms_are_decoded_beside_the_event_loop(start, monkeypatch) -> None:
    """A form of 4 MB takes most of a second to decode."""
    client = start()
    plain, entered, answered = annif_rest.parse_qsl, threading.Event(), threading.Event()

    def slow(text: str, **more: Any) -> Any:
        entered.set()
        assert answered.wait(5), "the event loop decodes the form itself"
        return plain(text, **more)

    def ask() -> Any:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        content = "text=" + "%63at+" * 20_000
        return client.post("/v1/projects/pets/suggest", content=content, headers=headers)

    expected = ask().json()
    assert expected["results"]
    monkeypatch.setattr(annif_rest, "parse_qsl", slow)
    with ThreadPoolExecutor(1) as thread:
        reply = thread.submit(ask)
        assert entered.wait(5)
        assert client.get("/livez").is_success
        answered.set()
        assert reply.result().json() == expected


def many(item: str, count: int) -> str:
    return ",".join([item] * count)


def named(value: str, count: int) -> str:
    return ",".join(f'"{name}":{value}' for name in range(count))


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("learn", f'{{"rows":[{{"text":"a","labels":[{many("1", 1000)}]}}]}}'),
        ("learn", f'{{"rows":[{many("1", 1000)}]}}'),
        ("forget", f'{{"row_ids":[{many("null", 1000)}]}}'),
        ("predict", f'{{"rows":[{{"values":[{many("null", 1000)}]}}]}}'),
        ("predict", f'{{"rows":[{{"features":{{{named("[]", 1000)}}}}}]}}'),
        ("predict", f'{{"rows":[{{"text":"a",{named("1", 1000)}}}]}}'),
        ("predict", f'{{"rows":[{{"text":"a"}}],{named("1", 1000)}}}'),
        ("explain", f'{{"rows":[{{"text":"a"}}],"labels":[{many("1", 1000)}]}}'),
    ],
)
def test_of_many_wrong_values_the_first_is_reported(start, what, body) -> None:
    """A body of 4 MB can have a million. To list them takes gigabytes, and seconds in the loop."""
    reply = start().post(
        f"{MODEL}/{what}",
        content=body,
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {WRITE}"},
    )
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (422, "invalid-value")
    more = re.search(r"and (\d+) more", error["message"])
    assert more is None or int(more[1]) < 5


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/label-studio/pets/webhook", '{"action":"x","annotation":{"id":1,"result":[%s]}}'),
        ("/label-studio/pets/webhook", '{"action":"x","annotations":[%s]}'),
        ("/label-studio/pets/predict", '{"tasks":[%s]}'),
        ("/v1/projects/pets/suggest-batch", '{"documents":[%s]}'),
        ("/v1/projects/pets/learn", '[{"text":"a","subjects":[%s]}]'),
        ("/v1/projects/pets/learn", "[%s]"),
    ],
)
def test_dialects_report_the_first_wrong_value(start, path, body) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {WRITE}"}
    count = 30 if "documents" in body else 1000
    reply = start().post(path, content=body % many("1", count), headers=headers)
    assert reply.status_code == 422
    assert "more)" not in reply.json()["error"]["message"]


def test_small_predictions_do_not_wait_for_large_ones(start, monkeypatch) -> None:
    client = start()
    texts = ["a cat", "a dog in the park"] * 50
    expected = client.predict(*texts)
    real, released = served_model.predictions, threading.Event()

    def predictions(model: Any, X: Any, top: int, *more: Any) -> Any:
        assert top == 3 or released.wait(20)
        return real(model, X, top, *more)

    monkeypatch.setattr(served_model, "predictions", predictions)
    long = {"features": {f"word {number}": 1.0 for number in range(20_000)}}
    bodies = [
        {"rows": [{"text": text} for text in texts], "top": 2},
        {"rows": [long], "top": 2},
        {"rows": [{"text": "a cat " * 20_000}], "top": 2},
        {"rows": [{"text": "a cat"}] * 3, "top": 1000},
    ]
    with ThreadPoolExecutor(4) as threads:
        large = [threads.submit(client.post, f"{MODEL}/predict", json=body) for body in bodies]
        time.sleep(0.1)
        assert client.predict("a cat")["results"] == expected["results"][:1]
        released.set()
        assert {each.result().status_code for each in large} == {200}
    found = [result["labels"] for result in large[0].result().json()["results"]]
    assert found == [result["labels"] for result in expected["results"]]


def test_explanations_end_when_the_reply_is_too_large(start, monkeypatch) -> None:
    client = start(limits=Limits(reply_bytes=2000))
    explained = []
    real = served_model.without_nan
    monkeypatch.setattr(
        served_model, "without_nan", lambda found: explained.append(1) or real(found)
    )
    for what, more in (("explain", {}), ("predict", {"explain": True})):
        explained.clear()
        reply = client.post(f"{MODEL}/{what}", json={"rows": [{"text": "a cat"}] * 50, **more})
        assert reply.json()["error"]["code"] == "reply-too-large"
        assert 0 < len(explained) < 10


def test_requests_of_clients_that_left_are_still_counted(model_folder) -> None:
    """A client that leaves makes room for another connection, not for another request."""
    app = create_app([model_folder], store=None, limits=Limits(connections=2))
    never = asyncio.Event()
    statuses: list[int] = []

    async def ask(path: str, body: bytes, receive: Callable[[], Any]) -> None:
        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        headers = [(b"content-length", str(len(body)).encode())]
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
        await app({**scope, "query_string": b"", "raw_path": path.encode()}, receive, send)

    async def waits() -> dict[str, Any]:
        await never.wait()
        return {"type": "http.disconnect"}

    async def empty() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def run() -> None:
        waiting = [asyncio.create_task(ask("/v1/models", b"x", waits)) for _ in range(2)]
        await asyncio.sleep(0.01)
        for path in ("/v1/models", "/livez"):
            await ask(path, b"", empty)
        never.set()
        await asyncio.gather(*waiting)
        await ask("/v1/models", b"", empty)

    asyncio.run(run())
    assert statuses == [503, 200, 400, 400, 200]


def test_what_a_client_that_left_has_sent_is_forgotten(start) -> None:
    """The threads for long work may be busy: rows must not wait in their queue for nobody."""
    engine: Engine = start().app.state.engines["pets"]
    began, released = threading.Barrier(3), threading.Event()

    def wait(stop: Stop) -> bytes:
        began.wait(10)
        assert released.wait(10)
        return b""

    class Rows(list[Any]):
        """A list that can be watched."""

    async def leave() -> None:
        busy = [asyncio.create_task(engine._slowly(wait)) for _ in range(2)]
        await asyncio.to_thread(began.wait, 10)
        rows = Rows([{"text": "a cat"}])
        alive = weakref.ref(rows)
        gone = asyncio.create_task(engine.neighbors(rows, 1))
        del rows
        await asyncio.sleep(0.01)
        assert alive() is not None
        gone.cancel()
        await asyncio.wait([gone])
        del gone
        gc.collect()
        assert alive() is None
        released.set()
        await asyncio.gather(*busy)

    asyncio.run(leave())


def test_snapshots_are_written_one_after_the_other(start, monkeypatch) -> None:
    client = start()
    client.learn("a parrot", "birds")
    at_once, most = [], [0]
    real = Learner.snapshot

    def slow(learner: Learner) -> Any:
        at_once.append(1)
        most[0] = max(most[0], len(at_once))
        time.sleep(0.05)
        at_once.pop()
        return real(learner)

    monkeypatch.setattr(Learner, "snapshot", slow)
    headers = {"Authorization": f"Bearer {WRITE}"}
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(client.post, f"{MODEL}/snapshot", headers=headers) for _ in "1234"]
    assert [each.result().status_code for each in asked] == [200] * 4
    assert most == [1]


class Patient(Server):
    """A server with raw connections to it, and its memory."""

    def connect(self) -> socket.socket:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect((HOST, self.port))
        return connection

    def head(self, path: str, length: int | None = None) -> bytes:
        more = "" if length is None else f"Content-Length: {length}\r\n"
        return (
            f"{'GET' if length is None else 'POST'} {path} HTTP/1.1\r\nHost: {HOST}\r\n"
            f"Authorization: Bearer {WRITE}\r\nContent-Type: application/json\r\n{more}\r\n"
        ).encode()

    def memory(self) -> int:
        pid = self.process._process.pid
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def seconds_of(self, path: str) -> float:
        began = time.monotonic()
        with urllib.request.urlopen(f"http://{HOST}:{self.port}{path}", timeout=30):
            return time.monotonic() - began


@pytest.fixture(scope="module")
def many_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of many long labels."""
    labels = [[f"{number} " + "label " * 80] for number in range(9000)]
    texts = [f"{TEXTS[number % 6][0]} {number}" for number in range(9000)]
    steps = [("words", TextVectorizer()), ("estimator", InstanceKNN(3, threshold=0.5))]
    path = tmp_path_factory.mktemp("models") / "pets"
    save(Pipeline(steps).fit(texts, labels), path)
    return path


@pytest.fixture
def serve(many_labels: Path, tmp_path: Path) -> Iterator[Callable[..., Patient]]:
    """Return a function that serves a model in a process of its own."""
    running: list[Patient] = []

    def begin(before: Callable[[], None] | None = None) -> Patient:
        made = Patient(many_labels, tmp_path / "taught.sqlite", tmp_path / "log", before)
        running.append(made)
        made.wait()
        return made

    yield begin
    for each in running:
        if each.process.poll() is None:
            each.stop(signal.SIGKILL)


def status_of(connection: socket.socket) -> int:
    """Return the status of a reply; 0 for a connection that was closed."""
    try:
        received = connection.recv(64)
    except OSError:
        return 0
    return int(received.split(b" ", 2)[1]) if received.startswith(b"HTTP/") else 0


def everything(connection: socket.socket) -> bytes:
    """Return what arrives until the connection is closed or reset."""
    received = b""
    try:
        while data := connection.recv(2**20):
            received += data
    except ConnectionError:
        return received
    return received


@pytest.mark.slow
def test_bodies_that_wait_take_limited_memory(serve) -> None:
    """24 bodies of 3.8 MB at once: most are refused, small requests are answered."""
    running = serve(partial(use_limits, SHORT))
    words = ",".join(f'"word{number}":1' for number in range(2000))
    row = f'{{"features":{{{words}}}}}'
    body = f'{{"rows":[{",".join([row] * (3_800_000 // len(row)))}]}}'.encode()
    before, most = running.memory(), 0
    small: list[float] = []
    done = threading.Event()

    def send() -> int:
        with running.connect() as connection:
            try:
                connection.sendall(running.head(f"{MODEL}/neighbors", len(body)) + body)
            except OSError:
                return status_of(connection)
            return status_of(connection)

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, running.memory())
            small.append(running.seconds_of("/livez"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(24) as pool:
        statuses = list(pool.map(lambda _: send(), range(24)))
    done.set()
    watcher.join()
    assert set(statuses) <= {0, 200, 503}
    assert 503 in statuses
    assert 200 in statuses
    assert (most - before) / 1e6 < 700
    assert max(small) < 10


@pytest.mark.slow
def test_clients_that_do_not_read_are_disconnected(serve) -> None:
    """Their replies are dropped, and others are answered meanwhile."""
    running = serve(partial(use_limits, SHORT))
    running.ask(f"{MODEL}/labels?limit=10")
    before = running.memory()
    request = running.head(f"{MODEL}/labels?limit=10000")
    held = [running.connect() for _ in range(30)]
    for connection in held:
        connection.sendall(request * 3)
    times = []
    end = time.monotonic() + 8
    while time.monotonic() < end:
        times.append(running.seconds_of("/livez"))
        time.sleep(0.05)
    grown = (running.memory() - before) / 1e6
    assert max(times) < 5
    assert grown < 150
    text = running.seconds_of(f"{MODEL}/labels?limit=10000")  # one that reads gets its reply
    assert text < 20
    closed = 0
    for connection in held:
        everything(connection)
        connection.close()
        closed += 1
    assert closed == 30


def never_ending_work(mark: Path, seconds: float, long_work: float = 15.0) -> None:
    """Let neighbours take for ever, row by row, and note when they stop."""

    def neighbors(estimator: Any, X: Any, k: Any, names: Any) -> Iterator[list[Any]]:
        try:
            mark.with_suffix(".began").touch()
            while True:
                time.sleep(0.02)
                yield []
        finally:
            mark.touch()

    served_model.neighbors = neighbors
    server.SHUTDOWN_SECONDS, server.LONG_WORK_SECONDS = seconds, long_work


def begin_work(running: Patient, mark: Path) -> socket.socket:
    body = b'{"rows": [{"text": "a cat"}]}'
    connection = running.connect()
    connection.sendall(running.head(f"{MODEL}/neighbors", len(body)) + body)
    wait_for(mark.with_suffix(".began"))
    return connection


def wait_for(file: Path, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not file.exists():
        assert time.monotonic() < end, file
        time.sleep(0.01)


@pytest.mark.parametrize("what", ["explain", "predict"])
def test_work_stops_within_a_row(start, monkeypatch, what) -> None:
    """The explanation of one long text for a thousand labels takes most of a minute."""
    client = start(limits=Limits(answer_seconds=0.2))
    ended: list[str] = []

    def explanations(*_: Any) -> Iterator[Any]:
        try:
            for _ in range(1000):
                time.sleep(0.01)
                may_stop()
            ended.append("after all of its work")
        except ServiceError as error:
            ended.append(error.code)
        yield {}

    monkeypatch.setattr(served_model, "explanations", explanations)
    more = {"explain": True} if what == "predict" else {}
    reply = client.post(f"{MODEL}/{what}", json={"rows": [{"text": "a cat"}], **more})
    assert (reply.status_code, reply.json()["error"]["code"]) == (504, "too-slow")
    end = time.monotonic() + 30
    while not ended and time.monotonic() < end:
        time.sleep(0.01)
    assert ended == ["stopping"]


def test_what_is_lost_without_words_is_computed_in_portions(start, monkeypatch) -> None:
    client = start()
    words = {f"word {number}": 1.0 for number in range(3)} | {"cat": 1.0, "dog": 2.0, "park": 1.0}
    body = {"rows": [{"features": words}], "without": True}
    expected = client.post(f"{MODEL}/explain", json=body).json()
    assert any(each["without"] for each in expected["results"][0]["labels"])
    monkeypatch.setattr(served_model, "PORTION_ROWS", 1)
    checks: list[int] = []
    monkeypatch.setattr(served_model, "may_stop", lambda: checks.append(1))
    assert client.post(f"{MODEL}/explain", json=body).json() == expected
    assert len(checks) == 4  # the row, and without each of the words that the model knows


def test_work_stops_when_its_client_leaves(serve, tmp_path) -> None:
    mark = tmp_path / "stopped"
    running = serve(partial(never_ending_work, mark, 15))
    connection = begin_work(running, mark)
    assert running.ask("/v1/models")["models"][0]["rows"] == 9000  # others do not wait for it
    connection.close()
    wait_for(mark)


def slow_predictions(marks: Path) -> None:
    """Let each portion of a large prediction take a fifth of a second, and leave a mark."""
    real, numbers = served_model.predictions, count()

    def predictions(*arguments: Any) -> Any:
        time.sleep(0.2)
        (marks / str(next(numbers))).touch()
        return real(*arguments)

    served_model.predictions = predictions


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{MODEL}/predict", {"rows": [{"text": "a cat"}] * 900}),
        ("/label-studio/pets/predict", {"tasks": [{"data": {"text": "a cat"}}] * 900}),
    ],
)
def test_large_predictions_stop_when_their_client_leaves(serve, tmp_path, path, body) -> None:
    marks = tmp_path / "portions"
    marks.mkdir()
    running = serve(partial(slow_predictions, marks))
    content = json.dumps(body).encode()
    with running.connect() as connection:
        connection.sendall(running.head(path, len(content)) + content)
        wait_for(marks / "0")
    time.sleep(0.6)  # the portion that was under way, and what the event loop needs
    done = len(list(marks.iterdir()))
    time.sleep(0.6)
    assert len(list(marks.iterdir())) == done


def test_a_stop_ends_in_time_with_its_snapshot_beside_endless_work(serve, tmp_path) -> None:
    mark = tmp_path / "stopped"
    running = serve(partial(never_ending_work, mark, 1))
    running.learn("a parrot", "birds")
    held = [begin_work(running, mark) for _ in range(4)]
    began = time.monotonic()
    assert running.stop(signal.SIGTERM) == 0
    assert time.monotonic() - began < 20
    snapshots = tmp_path / "taught.sqlite.snapshots" / "pets"
    assert (snapshots / "000000000001").exists()
    for connection in held:
        connection.close()


def test_a_stop_ends_long_work_with_a_reply(serve, tmp_path) -> None:
    """Work that runs, and work that waits for a thread."""
    mark = tmp_path / "stopped"
    running = serve(partial(never_ending_work, mark, 15, 0.2))
    held = [begin_work(running, mark) for _ in range(4)]
    assert running.stop(signal.SIGTERM) == 0
    for connection in held:
        reply = everything(connection)
        assert reply.startswith(b"HTTP/1.1 503")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["code"] == "stopping"
        connection.close()


def test_no_long_work_begins_while_the_service_stops(start) -> None:
    client = start()
    client.app.state.engines["pets"].stop_long_work()
    reply = client.post(f"{MODEL}/neighbors", json={"rows": [{"text": "a cat"}]})
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "stopping")
    assert client.predict("a cat")["version"] == 0


def test_a_stop_ends_in_time_beside_clients_that_do_not_read(serve, tmp_path) -> None:
    running = serve(partial(use_limits, SHORT))
    running.learn("a parrot", "birds")
    held = [running.connect() for _ in range(10)]
    for connection in held:
        connection.sendall(running.head(f"{MODEL}/labels?limit=10000") * 2)
    time.sleep(0.5)
    began = time.monotonic()
    assert running.stop(signal.SIGTERM) == 0
    assert time.monotonic() - began < server.SHUTDOWN_SECONDS + 15
    assert (tmp_path / "taught.sqlite.snapshots" / "pets" / "000000000001").exists()
    for connection in held:
        connection.close()


def test_a_stop_ends_in_time_beside_clients_that_never_pause(serve, tmp_path) -> None:
    running = serve()
    running.learn("a parrot", "birds")
    replies = count()

    def ask_without_end() -> None:
        with suppress(OSError), running.connect() as connection:
            while True:
                connection.sendall(running.head("/v1/models"))
                if not connection.recv(2**16):
                    return
                next(replies)

    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask_without_end) for _ in range(8)]
        while next(replies) < 30:
            time.sleep(0.01)
        began = time.monotonic()
        assert running.stop(signal.SIGTERM) == 0
        assert time.monotonic() - began < server.SHUTDOWN_SECONDS
        for each in asking:
            each.result()
    assert (tmp_path / "taught.sqlite.snapshots" / "pets" / "000000000001").exists()


def test_a_client_that_sends_many_requests_without_reading_is_disconnected(serve) -> None:
    running = serve()
    with running.connect() as connection:
        connection.sendall(running.head("/livez") * 4)
        time.sleep(0.2)
        assert connection.recv(10_000).count(b"HTTP/1.1 200") == 4
    with running.connect() as connection:
        connection.sendall(running.head("/livez") * 200)
        assert everything(connection).count(b"HTTP/1.1 200") < 200


def test_what_is_not_http_gets_json(serve) -> None:
    running = serve(partial(use_limits, Limits(connections=3)))
    with running.connect() as connection:
        connection.sendall(b"\x00" * 100)
        reply = everything(connection)
    assert b"application/json" in reply
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["code"] == "not-http"
    held = [running.connect() for _ in range(4)]
    with running.connect() as connection:
        connection.sendall(running.head("/v1/models"))
        reply = everything(connection)
    assert reply.startswith(b"HTTP/1.1 503")
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["code"] == "overloaded"
    for connection in held:
        connection.close()
