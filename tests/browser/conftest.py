"""A real browser on the page of a real server, on a port of the loopback interface."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra [serve]")
pytest.importorskip("playwright", reason="playwright absent: make browser")

import uvicorn
from playwright import sync_api
from sklearn.pipeline import Pipeline

from vicinal import InstanceKNN
from vicinal.preprocess import TextVectorizer
from vicinal.service import create_app
from vicinal.service.engine import About

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Fewer processes: the pages draw nothing in 3D, and need no process each.
    "--disable-software-rasterizer",
    "--disable-extensions",
    "--renderer-process-limit=1",
]
TEXTS = [
    ("the cat sat on the mat with a kitten", ["cats"]),
    ("a kitten and a cat play", ["cats", "play"]),
    ("a puppy and a dog play in the park", ["dogs", "play"]),
    ("the dog sat by the door", ["dogs"]),
    ("children play with a ball in the park", ["play"]),
    ("markup is shown as text", ["<img src=x onerror=alert(1)>"]),
]


# Not for the session: until it ends, Playwright's event loop counts as running, and other tests of
# this process could not call `asyncio.run`.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("chromium absent: make browser")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Return a function that starts a server and gives its address."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(**settings: Any) -> str:
        model = settings.pop("model", None)
        if model is None:
            model = Pipeline([("words", TextVectorizer()), ("estimator", InstanceKNN(3))])
            model.fit([text for text, _ in TEXTS], [labels for _, labels in TEXTS])
        usual: dict[str, Any] = {"store": tmp_path / "taught.sqlite", "loopback": True}
        about = {"pets": About(examples=[("a cat", "a cat and a kitten"), ("a dog", "a dog")])}
        app = create_app({"pets": model}, about=about, **{**usual, **settings})
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        for _ in range(200):
            if server.started:
                break
            time.sleep(0.05)
        running.append((server, thread))
        return f"http://127.0.0.1:{port}/"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def open_page(browser: Any, serve: Callable[..., str]) -> Iterator[Callable[..., Any]]:
    """Return a function that opens the page; problems in its console fail the test."""
    contexts: list[Any] = []
    problems: list[str] = []

    def begin(settings: dict[str, Any] | None = None, path: str = "", **context: Any) -> Any:
        address = serve(**(settings or {}))
        contexts.append(browser.new_context(**context))
        page = contexts[-1].new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(address) else problems.append(request.url)
            ),
        )
        page.on(
            "console",
            lambda message: (
                problems.append(message.text)
                if message.type == "error" and "status of" not in message.text
                else None
            ),
        )
        page.goto(address + path)
        return page

    yield begin
    for context in contexts:
        context.close()
    assert problems == []
