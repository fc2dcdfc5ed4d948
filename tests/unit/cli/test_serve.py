"""``vicinal serve`` and ``vicinal demo --serve``, up to the point where they would listen."""

import gc
import json
import socket
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import vicinal
from vicinal import datasets
from vicinal.cli import demo

pytest.importorskip("fastapi", reason="needs the extra [serve]")

from fastapi.testclient import TestClient

from vicinal.service import server, telemetry

LOCAL = "http://localhost"


class Bound:
    """Stands for a socket: the ports of the tests may be in use."""

    def __init__(self, host, port):
        self.address = (host, port)

    def getsockname(self):
        return self.address


@pytest.fixture
def served(monkeypatch):
    """What would have been served: app, sockets and limits of each call."""
    calls = []
    monkeypatch.setattr(server, "bound_sockets", lambda *given: nullcontext([Bound(*given)]))
    monkeypatch.setattr(server, "run_server", lambda *given: calls.append(given))
    monkeypatch.setattr(telemetry, "log_as_json", lambda: None)
    return calls


@pytest.fixture
def model(tmp_path):
    vicinal.BRkNN(1).fit([[0.0], [1.0]], [["low"], ["high"]]).save(tmp_path / "heights")
    return tmp_path / "heights"


def test_says_what_is_served_and_who_may_teach_it(run, served, model, tmp_path, monkeypatch):
    code, out, _ = run("serve", model, "--port", 8123)
    assert code == 0
    assert "Serving heights at http://127.0.0.1:8123/" in out
    assert str(tmp_path / "heights.taught.sqlite") in " ".join(out.split())
    assert "Anyone on this machine can teach the models" in out
    ((app, (bound,), _),) = served
    assert bound.address == ("127.0.0.1", 8123)
    with TestClient(app, base_url=LOCAL) as client:
        assert [each["id"] for each in client.get("/v1/models").json()["models"]] == ["heights"]
    _, out, _ = run("serve", model, "--host", "0.0.0.0")
    assert "Read-only" in out
    monkeypatch.setenv("VICINAL_WRITE_TOKEN", "from-the-environment")
    code, out, _ = run("serve", f"tall={model}", "--host", "::1")
    assert "Serving tall at http://[::1]:8000/" in out
    assert "requires the write token" in out


def test_metrics_vocabulary_and_tokens_from_files(run, served, model, tmp_path):
    for name, content in {
        "measured.json": json.dumps({"micro-f1": 0.5, "rows": 2, "method": "BRkNN"}),
        "subjects.tsv": "<http://x/high>\thigh\n\n<http://x/low>\tlow\n",
        "token": "a-secret-of-mine\n",
    }.items():
        (tmp_path / name).write_text(content)
    words = ("--metrics", tmp_path / "measured.json", "--vocabulary", tmp_path / "subjects.tsv")
    code, out, _ = run("serve", model, *words, "--write-token-file", tmp_path / "token")
    assert code == 0
    assert "requires the write token" in out
    with TestClient(served[0][0], base_url=LOCAL) as client:
        assert client.get("/v1/models/heights").json()["metrics"] == {"micro-f1": 0.5, "rows": 2.0}
        learn = {"rows": [{"values": [2.0], "labels": ["high"]}]}
        assert client.post("/v1/models/heights/learn", json=learn).status_code == 401
        headers = {"Authorization": "Bearer a-secret-of-mine"}
        reply = client.post("/v1/models/heights/learn", json=learn, headers=headers)
        assert reply.status_code == 200


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--metrics", "list.json"], "--metrics: expected a file of vicinal evaluate --json"),
        (["--metrics", "text.txt"], "--metrics: expected a file of vicinal evaluate --json"),
        (["--metrics", "other=text.txt"], "--metrics: expected ID=FILE with one of heights"),
        (["--vocabulary", "text.txt"], "vocabulary: expected a name that ends in .csv, .tsv"),
        (["--write-token", "short"], "--write-token: expected 8 or more printable"),
        (
            ["--read-token", "long-enough", "--read-token-file", "text.txt"],
            "--read-token: expected either --read-token or --read-token-file, got both",
        ),
        (["heights"], "MODEL: expected different ids (ID=FOLDER), got heights twice"),
    ],
)
def test_bad_options(run, served, model, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "text.txt").write_text("just text")
    code, _, err = run("serve", "heights", *words)
    assert code == 2
    assert says in err
    assert not served


def test_without_the_extra_it_is_named(run, model, monkeypatch):
    monkeypatch.delitem(sys.modules, "vicinal.service.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = run("serve", model)
    assert code == 2
    assert "vicinal[serve]" in err


def test_the_demo_serves_a_model_that_reads_texts(run, served, monkeypatch):
    data = datasets.load("debtags")
    few = data.subset(np.arange(300))
    monkeypatch.setattr(datasets, "load", {"debtags": few}.__getitem__)
    seen = []

    def serve(app, sockets, limits):
        with TestClient(app, base_url=LOCAL) as client:
            page = client.get("/v1/models/debtags/examples").json()
            text = demo.EXAMPLES[0][1]
            assert text in [example["text"] for example in page["examples"]]
            reply = client.post("/v1/models/debtags/predict", json={"rows": [{"text": text}]})
            seen.append((sockets[0].address, reply.json()))
            assert client.get("/v1/models/debtags").json()["method"] == "Blend"

    monkeypatch.setattr(server, "run_server", serve)
    code, out, _ = run("demo", "--serve", "--port", 8124)
    assert code == 0
    assert "removed when the service stops" in out
    ((address, reply),) = seen
    assert address == ("127.0.0.1", 8124)
    scored = {each["label"] for each in reply["results"][0]["scores"]}
    assert scored <= set(data.label_names)
    assert scored


def test_a_port_that_is_in_use_is_refused_before_the_model_is_loaded(run, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, _, err = run("serve", tmp_path / "no-such-model", "--port", port)
    assert code == 2
    assert "--host, --port: expected a free address and port" in " ".join(err.split())
    assert "in use" in err


def test_a_model_that_is_missing_leaves_no_database(run, served, tmp_path):
    code, _, err = run("serve", tmp_path / "none")
    assert code == 2
    assert "expected a model file, found none" in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []


def test_port_0_takes_one_free_port_for_every_address():
    with server.bound_sockets("localhost", 0) as sockets:
        ports = {each.getsockname()[1] for each in sockets}
        assert len(ports) == 1
        assert ports != {0}
        with (
            pytest.raises(vicinal.errors.InvalidArgumentError, match="in use"),
            server.bound_sockets("127.0.0.1", ports.pop()),
        ):
            pass


def test_the_garbage_collector_is_spared_what_is_loaded():
    try:
        server.keep_what_is_loaded()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
