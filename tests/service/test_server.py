"""A real server process: killed, stopped, and connected to by rude clients."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import WRITE
from tests.service.server_process import (
    Process,
    die_after_a_commit,
    die_before_a_commit,
    limit_seconds,
)

from vicinal._core.progress import may_stop
from vicinal.service import server as service
from vicinal.service.served_model import ServedModel

HOST = "127.0.0.1"
BOUND = re.compile(r'"message": ?"bound".*?"port": ?(\d+)')
START = """
import typer
from vicinal.cli.serve import serve
typer.run(serve)
"""


class Server:
    """``vicinal serve`` in a process of its own."""

    def __init__(
        self,
        model: Path,
        store: Path,
        log: Path,
        before: Callable[[], None] | None = None,
        below: tuple[str, ...] = (),
    ) -> None:
        arguments = [f"pets={model}", "--port", "0", "--store", str(store)]
        self.log = log
        log.touch()
        self.log_start = log.stat().st_size
        self.process: Process | subprocess.Popen[bytes]
        if below:
            program = [*below, sys.executable, "-c", START, *arguments]
            environment = {**os.environ, "VICINAL_WRITE_TOKEN": WRITE}
            with log.open("ab") as stream:
                self.process = subprocess.Popen(
                    program, stdout=stream, stderr=stream, env=environment
                )
        else:
            self.process = Process(arguments, log, WRITE, before)

    def wait(self) -> "Server":
        for _ in range(2400):  # two minutes: below strace, beside other work
            if self.process.poll() is not None:
                raise AssertionError(self.log.read_text())
            found = BOUND.search(self.log.read_bytes()[self.log_start :].decode())
            if found is None:
                time.sleep(0.05)
                continue
            self.port = int(found[1])
            try:
                with urllib.request.urlopen(f"http://{HOST}:{self.port}/readyz", timeout=5):
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def ask(self, path: str, body: object = None, key: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {WRITE}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://{HOST}:{self.port}{path}", data=data, headers=headers
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def learn(self, text: str, *labels: str, key: str | None = None) -> Any:
        rows = [{"text": text, "labels": list(labels)}]
        return self.ask("/v1/models/pets/learn", {"rows": rows}, key)

    def stop(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(30)


@pytest.fixture
def launch(model_folder: Path, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def begin(before: Callable[[], None] | None = None, below: tuple[str, ...] = ()) -> Server:
        store, log = tmp_path / "taught.sqlite", tmp_path / "log"
        servers.append(Server(model_folder, store, log, before, below))
        return servers[-1].wait()

    yield begin
    for server in servers:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)


def test_sigterm_finishes_saves_and_ends_well(launch, tmp_path) -> None:
    server = launch()
    server.learn("a parrot", "birds")
    assert server.stop(signal.SIGTERM) == 0
    snapshots = tmp_path / "taught.sqlite.snapshots" / "pets"
    assert [path.name for path in snapshots.iterdir() if not path.suffix] == ["000000000001"]
    log = (tmp_path / "log").read_text()
    assert WRITE not in log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert any(line["message"] == "stopped" for line in lines)
    again = launch()
    facts = again.ask("/v1/models/pets")
    assert (facts["rows"], facts["version"]) == (7, 1)


def test_kill_loses_and_doubles_nothing(launch) -> None:
    """The short form of ``make kill-test``: a few kills while examples are being taught."""
    acknowledged: list[int] = []
    sent = 0
    server = launch()
    for kill in range(3):
        facts = server.ask("/v1/models/pets")
        assert facts["rows"] - 6 >= len(acknowledged)
        for _ in range(10 * (kill + 1)):
            reply = server.learn(f"example {sent}", "taught", key=f"key-{sent}")
            acknowledged.extend(reply["row_ids"])
            sent += 1
        # One more that is killed at a random moment of its way, and repeated after the restart.
        last = socket.create_connection((HOST, server.port))
        body = json.dumps({"rows": [{"text": f"example {sent}", "labels": ["taught"]}]}).encode()
        head = (
            f"POST /v1/models/pets/learn HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {WRITE}"
            f"\r\nContent-Type: application/json\r\nIdempotency-Key: key-{sent}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        last.sendall(head.encode() + body)
        time.sleep(0.004 * kill)
        server.stop(signal.SIGKILL)
        last.close()
        server = launch()
        reply = server.learn(f"example {sent}", "taught", key=f"key-{sent}")
        acknowledged.extend(reply["row_ids"])
        sent += 1
        assert server.ask("/v1/models/pets")["rows"] == 6 + sent
    assert sorted(acknowledged) == list(range(6, 6 + sent))


@pytest.mark.slow
def test_the_reply_is_sent_after_the_commit_is_on_disk(launch, tmp_path) -> None:
    """The system calls of a whole server, from the write of an example to the reply."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    calls = "trace=pwrite64,fdatasync,write,sendto,sendmsg"
    below = ("strace", "-D", "-f", "-s", "5000", "-e", calls, "-o", str(trace))
    try:
        server = launch(below=below)
    except AssertionError:
        if "ptrace" in (tmp_path / "log").read_text():
            pytest.skip("strace may not trace here")
        raise
    server.learn("a parrot that is seen in the trace", "birds")
    lines = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines()]
    replied = next(place for place, line in enumerate(lines) if 'row_ids\\":[' in line)
    is_written = [line.startswith("pwrite64") and "seen in the trace" in line for line in lines]
    assert True in is_written[:replied]
    between = lines[is_written.index(True) : replied]
    assert any(line.startswith("fdatasync") for line in between)
    assert lines[replied].startswith(("sendto", "sendmsg", "write"))


def test_death_between_commit_and_reply(launch) -> None:
    """The process ends right after the commit, before the model is changed and the reply sent."""
    server = launch(die_after_a_commit)
    with pytest.raises((urllib.error.URLError, OSError)):
        server.learn("a parrot", "birds", key="one")
    assert server.process.wait(10) == 9
    again = launch()
    assert again.ask("/v1/models/pets")["rows"] == 7
    assert again.learn("a parrot", "birds", key="one") == {
        "row_ids": [6],
        "version": 1,
        "repeated": True,
    }
    assert again.ask("/v1/models/pets")["rows"] == 7


def test_death_before_the_commit(launch) -> None:
    """The process ends before the commit: the repeated request is the first to be carried out."""
    server = launch(die_before_a_commit)
    with pytest.raises((urllib.error.URLError, OSError)):
        server.learn("a parrot", "birds", key="one")
    again = launch()
    assert again.ask("/v1/models/pets")["rows"] == 6
    assert not again.learn("a parrot", "birds", key="one")["repeated"]


def learn_without_end() -> None:
    """Let lessons take longer than a stop may, and a stop end requests after a second."""

    def learn(served: ServedModel, *_: object) -> None:
        while True:
            may_stop()
            time.sleep(0.02)

    ServedModel.learn = learn
    service.SHUTDOWN_SECONDS = 1


def test_a_stop_does_not_wait_for_large_lessons(launch, tmp_path) -> None:
    server = launch(learn_without_end)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(server.learn, "a parrot", name) for name in ("birds", "cats")]
        time.sleep(0.3)
        assert server.stop(signal.SIGTERM) == 0
        for each in asked:
            with pytest.raises(urllib.error.HTTPError) as caught:
                each.result()
            reply = json.load(caught.value)
            assert (caught.value.code, reply["error"]["code"]) == (503, "stopping")
    again = launch()
    assert again.ask("/v1/models/pets")["rows"] == 6


def answers_of(server: Server, sent: list[bytes], pause: float = 0.3) -> bytes:
    """Send parts with pauses; return everything until the server closes the connection."""
    received = b""
    with socket.create_connection((HOST, server.port), timeout=15) as connection:
        try:
            for part in sent:
                connection.sendall(part)
                time.sleep(pause)
            while data := connection.recv(65536):
                received += data
        except (ConnectionError, TimeoutError):
            return received
    return received


def test_slow_oversized_and_broken_clients(launch) -> None:
    server = launch(partial(limit_seconds, 1.0))
    began = time.monotonic()
    slow_headers = answers_of(server, [b"GET / HTTP/1.1\r\n", *[b"X-A: b\r\n"] * 8])
    assert b"200" not in slow_headers
    slow_body = answers_of(
        server,
        [
            b"POST /v1/models/pets/predict HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 100\r\n\r\n",
            b"{",
        ],
    )
    assert b"408" in slow_body.split(b"\r\n")[0]
    silent = answers_of(server, [])
    assert silent == b""
    huge_header = answers_of(server, [b"GET / HTTP/1.1\r\nX: " + b"a" * 500_000], 0)
    assert b"200 OK" not in huge_header
    for nonsense in (b"\x00" * 100, b"HELO\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        assert b"200 OK" not in answers_of(server, [nonsense], 0)
    assert time.monotonic() - began < 20
    assert server.ask("/v1/models/pets")["rows"] == 6


def test_a_connection_in_use_stays_open(launch) -> None:
    """The clock for headers runs only while headers are awaited, not between two requests."""
    server = launch(partial(limit_seconds, 2.0))
    connection = http.client.HTTPConnection(HOST, server.port, timeout=15)
    connection.auto_open = False
    connection.connect()
    for _ in range(12):
        connection.request("GET", "/livez")
        assert connection.getresponse().read() == b'{"status":"alive"}'
        time.sleep(0.25)
    connection.close()


def test_more_connections_than_allowed_are_refused_and_the_rest_served(launch) -> None:
    server = launch(partial(limit_seconds, 3.0))
    held = [socket.create_connection((HOST, server.port)) for _ in range(25)]
    try:
        with pytest.raises(urllib.error.HTTPError) as caught:
            server.ask("/v1/models/pets")
        reply = json.load(caught.value)
        assert (caught.value.code, reply["error"]["code"]) == (503, "overloaded")
    finally:
        for connection in held:
            connection.close()
    time.sleep(0.2)
    assert server.ask("/v1/models/pets")["rows"] == 6


def test_metrics_of_the_last_evaluation_are_read(tmp_path) -> None:
    from vicinal.cli.serve import evaluations

    file = tmp_path / "evaluation.json"
    file.write_text('{"micro-f1": 0.5, "macro-auc": null}')
    assert evaluations([str(file)], ["a"]) == {"a": {"micro-f1": 0.5}}
    assert evaluations([f"b={file}"], ["a", "b"]) == {"b": {"micro-f1": 0.5}}
    for words in ([str(file)], [f"c={file}"]):
        with pytest.raises(ValueError, match="--metrics"):
            evaluations(words, ["a", "b"])


def test_bad_arguments_are_one_line_and_exit_code_2(
    tmp_path, model_folder, monkeypatch, capsys
) -> None:
    from vicinal.cli.program import run

    (tmp_path / "short").write_text("abc\n")
    for words, said in [
        ([str(tmp_path / "nothing")], "expected a model file"),
        ([f"a={model_folder}", f"a={model_folder}"], "different ids"),
        ([f"bad id={model_folder}"], "letters, digits"),
        ([str(model_folder), "--write-token-file", str(tmp_path / "short")], "--write-token"),
        ([str(model_folder), "--store", str(tmp_path / "short" / "x")], "cannot be opened"),
    ]:
        monkeypatch.setattr(sys, "argv", ["vicinal", "serve", *words])
        with pytest.raises(SystemExit) as stopped:
            run()
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err
