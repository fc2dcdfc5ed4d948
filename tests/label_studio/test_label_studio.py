"""Label Studio itself, in its own environment, with the service as its machine-learning backend.

Run by ``make label-studio-test``, which sets ``VICINAL_LABEL_STUDIO`` to the ``label-studio``
program. The requests that it sends are recorded into ``tests/service/label_studio_requests.json``,
which the tests of the service replay everywhere.
"""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.service.conftest import WRITE, text_model

from vicinal.service import create_app

PROGRAM = os.environ.get("VICINAL_LABEL_STUDIO", "")
RECORD = Path(__file__).parents[1] / "service" / "label_studio_requests.json"
HOST = "127.0.0.1"
CONFIG = (
    '<View><Text name="article" value="$body"/>'
    '<Choices name="topic" toName="article" choice="multiple">'
    '<Choice value="cats"/><Choice value="dogs"/><Choice value="play"/><Choice value="birds"/>'
    "</Choices></View>"
)
TASKS = ["a kitten and a cat play", "a parrot sat in a tree and sang", "zzz"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM, reason="VICINAL_LABEL_STUDIO is not set"),
]


def free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


class LabelStudio:
    """The program on a port of the loopback interface, and its REST interface."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._token = secrets.token_hex(20)
        words = ["start", "--no-browser", "--internal-host", HOST, "--port", str(self.port)]
        words += ["--data-dir", str(folder / "data"), "--username", "annotator@example.org"]
        words += ["--password", secrets.token_hex(8), "--user-token", self._token]
        environment = {
            **os.environ,
            # By default it connects neither to loopback addresses nor with the token used here.
            "ML_BLOCK_LOCAL_IP": "false",
            "SSRF_PROTECTION_ENABLED": "false",
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "COLLECT_ANALYTICS": "false",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
        }
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [PROGRAM, *words], stdout=log, stderr=log, env=environment, cwd=folder
            )
        for _ in range(300):
            if self._process.poll() is not None:
                raise AssertionError((folder / "log").read_text()[-3000:])
            try:
                with urllib.request.urlopen(f"http://{HOST}:{self.port}/health", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(1)
        raise AssertionError("Label Studio does not answer")

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send one request; return the JSON of its reply, if it has any."""
        request = urllib.request.Request(
            f"http://{HOST}:{self.port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Token {self._token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=120) as reply:
            content = reply.read()
            return json.loads(content) if content else None

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)


class Recorder:
    """ASGI middleware that keeps the requests and the status of each reply."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.requests: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        kept = {"method": scope["method"], "path": scope["path"], "headers": headers}
        body = b""

        async def receive_and_keep() -> Any:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        async def send_and_keep(message: Any) -> None:
            if message["type"] == "http.response.start":
                kept["status"] = message["status"]
            await send(message)

        await self._app(scope, receive_and_keep, send_and_keep)
        self.requests.append({**kept, "body": json.loads(body) if body else None})


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[tuple[str, Recorder]]:
    """Serve the small model of pets; return the address to give Label Studio, with a token."""
    app = create_app({"pets": text_model()}, store=tmp_path / "taught.sqlite", write_token=WRITE)
    recorder = Recorder(app)
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(recorder, port=port, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://any:{WRITE}@{HOST}:{port}/label-studio/pets", recorder
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def label_studio(tmp_path: Path) -> Iterator[LabelStudio]:
    program = LabelStudio(tmp_path)
    yield program
    program.stop()


def wait_for(recorder: Recorder, what: str, count: int = 1) -> dict[str, Any]:
    """Return the newest request of one kind: an action, or the last part of a path."""
    for _ in range(200):
        found = [each for each in recorder.requests if what in (name_of(each), action_of(each))]
        if len(found) >= count:
            return found[-1]
        time.sleep(0.1)
    raise AssertionError([(name_of(each), action_of(each)) for each in recorder.requests])


def name_of(request: dict[str, Any]) -> str:
    return request["path"].rpartition("/")[2]


def action_of(request: dict[str, Any]) -> str:
    return (request["body"] or {}).get("action", "")


def chosen(label_studio: LabelStudio, task: int) -> list[str]:
    """Return the choices that Label Studio shows as the newest prediction of a task."""
    predictions = label_studio.ask("GET", f"/api/tasks/{task}")["predictions"]
    newest = max(predictions, key=lambda prediction: prediction["id"])
    return [choice for part in newest["result"] for choice in part["value"]["choices"]]


def interactive(label_studio: LabelStudio, backend: int, task: int) -> list[str]:
    """Return what Label Studio gets for a task that an annotator has open."""
    path = f"/api/ml/{backend}/interactive-annotating"
    data = label_studio.ask("POST", path, {"task": task, "context": {"result": []}})["data"]
    return [choice for part in data["result"] for choice in part["value"]["choices"]]


def test_connect_import_predict_annotate(label_studio, backend) -> None:
    address, recorder = backend
    project = label_studio.ask("POST", "/api/projects", {"title": "Pets", "label_config": CONFIG})
    number = project["id"]
    connected = label_studio.ask(
        "POST", "/api/ml", {"url": address, "project": number, "is_interactive": True}
    )
    assert connected["readable_state"] == "Connected"
    assert connected["model_version"] == "pets-0"
    label_studio.ask("POST", f"/api/projects/{number}/import", [{"body": text} for text in TASKS])
    listed = label_studio.ask("GET", f"/api/tasks?project={number}&fields=all")["tasks"]
    tasks = {task["data"]["body"]: task["id"] for task in listed}
    label_studio.ask(
        "POST",
        f"/api/dm/actions?id=retrieve_tasks_predictions&project={number}",
        {"selectedItems": {"all": True, "excluded": []}},
    )
    assert set(chosen(label_studio, tasks[TASKS[0]])) == {"cats", "play"}
    parrot = tasks[TASKS[1]]
    assert "birds" not in chosen(label_studio, parrot)
    # Label Studio registered the webhook by itself, at the address with the token.
    region = {"id": "a1", "type": "choices", "from_name": "topic", "to_name": "article"}
    birds = {"result": [{**region, "value": {"choices": ["birds"]}}], "lead_time": 4.2}
    annotation = label_studio.ask("POST", f"/api/tasks/{parrot}/annotations/", birds)
    wait_for(recorder, "ANNOTATION_CREATED")
    assert "birds" in interactive(label_studio, connected["id"], parrot)
    dogs = {"result": [{**region, "value": {"choices": ["dogs"]}}]}
    label_studio.ask("PATCH", f"/api/annotations/{annotation['id']}/", dogs)
    wait_for(recorder, "ANNOTATION_UPDATED")
    now = interactive(label_studio, connected["id"], parrot)
    assert "dogs" in now
    assert "birds" not in now
    label_studio.ask("POST", f"/api/ml/{connected['id']}/train", {})
    wait_for(recorder, "START_TRAINING")
    label_studio.ask("DELETE", f"/api/annotations/{annotation['id']}/")
    wait_for(recorder, "ANNOTATIONS_DELETED")
    skipped = {"result": [], "was_cancelled": True}
    label_studio.ask("POST", f"/api/tasks/{parrot}/annotations/", skipped)
    wait_for(recorder, "ANNOTATION_CREATED", 2)
    assert interactive(label_studio, connected["id"], parrot) == chosen(label_studio, parrot)
    assert {request["status"] for request in recorder.requests} == {200, 201}
    version = label_studio.ask("GET", "/api/version")["release"]
    RECORD.write_text(json.dumps(recording(version, recorder.requests), indent=1) + "\n")


NAMES = {
    "health": "health",
    "setup": "setup",
    "predict": "predict",
    "TASKS_CREATED": "imported",
    "ANNOTATION_CREATED": "created",
    "ANNOTATION_UPDATED": "updated",
    "ANNOTATIONS_DELETED": "deleted",
    "START_TRAINING": "training",
}
LEFT_OUT = ("host", "content-length", "sentry-trace", "baggage")
"""Headers that tell of the machine or are made anew for each request."""


def recording(version: str, requests: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what to keep: the first request of each kind, without Label Studio's own tokens."""
    kept: dict[str, Any] = {}
    for request in requests:
        name = NAMES[action_of(request) or name_of(request)]
        if name == "created" and request["body"]["annotation"]["was_cancelled"]:
            name = "skipped"
        if name == "predict" and len(request["body"]["tasks"]) == 1:
            name = "predict-one"
        if name not in kept:
            headers = {k: v for k, v in request["headers"].items() if k not in LEFT_OUT}
            headers["user-agent"] = re.sub(r"heartex/.*", "heartex/", headers["user-agent"])
            kept[name] = {
                "method": request["method"],
                "path": request["path"],
                "headers": headers,
                "body": without_secrets(request["body"]),
            }
    return {"label-studio": version, "requests": kept}


def without_secrets(value: Any) -> Any:
    """Return a body without tokens, addresses and identifiers made at random."""
    secret = {"access_token", "token", "hostname", "unique_id"}
    if isinstance(value, dict):
        return {
            key: "not-read" if key in secret else without_secrets(each)
            for key, each in value.items()
        }
    return [without_secrets(each) for each in value] if isinstance(value, list) else value
