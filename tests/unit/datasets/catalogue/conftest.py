"""A small catalogue entry, folders of its own, and a server on this machine to download from."""

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from vicinal.datasets.catalogue import download
from vicinal.datasets.catalogue.entry import Entry, Extent, xc_split

TRAIN = b"2 3 2\n0 0:1 2:2\n1 1:1\n"
TEST = b"1 3 2\n0,1 0:1\n"


@dataclass
class Server:
    """What the server answers: bodies by path; `cut` paths break off half-way."""

    address: str
    bodies: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "*")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            body = state.bodies.get(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path in state.cut else body)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Server(f"http://127.0.0.1:{httpd.server_port}")
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield state
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing but folders under `tmp_path`: ``a`` and ``b`` are given, ``cache`` is the cache."""
    monkeypatch.setenv("VICINAL_DATA", os.pathsep.join((str(tmp_path / "a"), str(tmp_path / "b"))))
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VICINAL_DATA_URL", raising=False)
    return tmp_path


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The list of checksums, for tests to fill."""
    sums = {
        "toy/train.txt": hashlib.sha256(TRAIN).hexdigest(),
        "toy/test.txt": hashlib.sha256(TEST).hexdigest(),
    }
    monkeypatch.setattr(download, "_sums", lambda: sums)
    return sums


@pytest.fixture
def toy() -> Entry:
    """Return a data set of two small files without an address."""
    return Entry(
        name="toy",
        size=Extent(3, 3, 2, 1.333, (2, 1)),
        recipe=xc_split("train.txt", "test.txt"),
        source="a test",
        hint="ask the test",
    )
