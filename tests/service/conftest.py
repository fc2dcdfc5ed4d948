"""A small model of texts, its folder, and clients of apps that serve it."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.pipeline import Pipeline

from vicinal import InstanceKNN, save
from vicinal.preprocess import TextVectorizer

pytest.importorskip("fastapi", reason="needs the extra [serve]")

from fastapi.testclient import TestClient

from vicinal.service import create_app

TEXTS = [
    ("the cat sat on the mat with a kitten", ["cats"]),
    ("a kitten and a cat play", ["cats", "play"]),
    ("dogs bark at the cat", ["cats", "dogs"]),
    ("a puppy and a dog play in the park", ["dogs", "play"]),
    ("the dog sat by the door", ["dogs"]),
    ("children play with a ball in the park", ["play"]),
]
READ, WRITE = "read-token-1", "write-token-1"


def text_model() -> Pipeline:
    model = Pipeline([("words", TextVectorizer()), ("estimator", InstanceKNN(3))])
    names = ["cats", "dogs", "play"]
    return model.fit(
        [text for text, _ in TEXTS], [labels for _, labels in TEXTS], estimator__label_names=names
    )


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "pets"
    save(text_model(), folder)
    return folder


class Client(TestClient):
    """A client with short names for what most tests send."""

    def predict(self, *texts: str, top: int = 3) -> dict[str, Any]:
        rows = [{"text": text} for text in texts]
        reply = self.post("/v1/models/pets/predict", json={"rows": rows, "top": top})
        assert reply.status_code == 200, reply.text
        return reply.json()

    def learn(self, text: str, *labels: str, key: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {WRITE}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        rows = [{"text": text, "labels": list(labels)}]
        return self.post("/v1/models/pets/learn", json={"rows": rows}, headers=headers)

    def forget(self, *row_ids: int) -> Any:
        headers = {"Authorization": f"Bearer {WRITE}"}
        return self.post("/v1/models/pets/forget", json={"row_ids": row_ids}, headers=headers)

    def facts(self) -> dict[str, Any]:
        return self.get("/v1/models/pets").json()


@pytest.fixture
def start(model_folder: Path, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Return a function that starts a service; it is stopped as a SIGTERM would stop it."""
    running: list[Client] = []

    def begin(**settings: Any) -> Client:
        for client in running:
            client.__exit__(None, None, None)
        running.clear()
        usual: dict[str, Any] = {"store": tmp_path / "taught.sqlite", "write_token": WRITE}
        app = create_app(settings.pop("models", [model_folder]), **{**usual, **settings})
        client = Client(app, base_url="http://localhost")
        client.__enter__()
        running.append(client)
        return client

    yield begin
    for client in running:
        client.__exit__(None, None, None)


@pytest.fixture
def client(start: Callable[..., Client]) -> Client:
    return start()


@pytest.fixture(autouse=True)
def no_tokens_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VICINAL_READ_TOKEN", "VICINAL_WRITE_TOKEN"):
        if name in os.environ:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """``vicinal serve`` sends the logs to standard error; the tests after it read them again."""
    loggers = [logging.getLogger(name) for name in ("vicinal.service", "uvicorn", "uvicorn.error")]
    before = [(each.handlers, each.level, each.propagate) for each in loggers]
    yield
    for each, (handlers, level, propagates) in zip(loggers, before, strict=True):
        each.handlers, each.propagate = handlers, propagates
        each.setLevel(level)
