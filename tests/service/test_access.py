"""Tokens, what is open without one, limits, headers, and bodies nobody should send."""

import asyncio
import base64
import json
import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import APIRouter
from tests.service.conftest import READ, WRITE

from vicinal.errors import InvalidArgumentError, MissingExtraError, ModelFormatError
from vicinal.service import Limits, create_app
from vicinal.service.access import Access, Declarations, Gate, needs
from vicinal.service.app import ROUTERS
from vicinal.service.limits import ServiceError
from vicinal.service.server import HEAD_BYTES, HeadLimits
from vicinal.service.telemetry import JsonFormatter, ServiceMetrics

PREDICT = "/v1/models/pets/predict"
LEARN = "/v1/models/pets/learn"
ROW = {"rows": [{"text": "a cat", "labels": ["cats"]}]}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_every_route_is_read_or_write_or_known_to_be_open(client) -> None:
    """A new route is never open by oversight: this table must be changed on purpose."""
    found: dict[str, set[str]] = {"open": set(), "read": set(), "write": set()}
    for router in ROUTERS:
        for route in router.routes:
            for method in route.methods:
                found[client.app.declarations.need_of(method, route.path)].add(route.path)
    assert found["open"] == {
        *("/", "/docs", "/openapi.json", "/favicon.ico", "/static/{name}"),
        *("/livez", "/readyz", "/label-studio/health"),
    }
    assert found["write"] == {
        *(f"/v1/models/{{model_id}}/{what}" for what in ("learn", "forget", "snapshot")),
        "/v1/projects/{model_id}/learn",
        "/label-studio/webhook",
        "/label-studio/{model_id}/webhook",
    }


def test_without_a_write_token_the_service_is_read_only(start) -> None:
    client = start(write_token=None)
    reply = client.post(LEARN, json=ROW)
    assert reply.status_code == 403
    assert "--write-token" in reply.json()["error"]["message"]
    assert client.facts()["writes"] == "nobody"
    assert client.predict("cat")["version"] == 0


def test_tokens_let_the_right_requests_through(start) -> None:
    client = start(read_token=READ)
    assert client.get("/v1/models").status_code == 401
    assert client.get("/metrics").status_code == 401
    assert client.get("/livez").status_code == 200
    assert client.get("/").status_code == 200
    for token in (READ, WRITE):
        assert client.get("/v1/models", headers=bearer(token)).status_code == 200
    assert client.post(LEARN, json=ROW).status_code == 401
    assert client.post(LEARN, json=ROW, headers=bearer(READ)).status_code == 403
    assert client.post(LEARN, json=ROW, headers=bearer(WRITE + "x")).status_code == 401
    assert client.post(LEARN, json=ROW, headers=bearer("")).status_code == 401
    assert client.post(LEARN, json=ROW, headers=bearer(WRITE)).status_code == 200
    for password, status in ((READ, 200), ("other", 401)):
        basic = base64.b64encode(f"any:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"}
        assert client.get("/v1/models", headers=headers).status_code == status
    for header in ("Basic ???", "Basic \xff\xff", "Basic", "Token x", "Bearer \xe9"):
        assert client.get("/v1/models", headers={"Authorization": header.encode("latin-1")})
    assert client.get("/v1/models").headers["www-authenticate"] == "Bearer"


def test_permission_is_checked_before_the_body(client) -> None:
    reply = client.post(LEARN, content=b"{" * 100)
    assert reply.status_code == 401


def test_loopback_writes_need_a_loopback_host_and_no_foreign_page(start) -> None:
    client = start(write_token=None, loopback=True)
    local = {"Host": "127.0.0.1:8000"}
    assert client.post(LEARN, json=ROW, headers={"Host": "testserver"}).status_code == 403
    assert client.post(LEARN, json=ROW, headers=local).status_code == 200
    same = {**local, "Origin": "http://127.0.0.1:8000"}
    assert client.post(LEARN, json=ROW, headers=same).status_code == 200
    foreign = {**local, "Origin": "http://evil.example"}
    assert client.post(LEARN, json=ROW, headers=foreign).status_code == 403
    assert client.post(LEARN, json=ROW, headers={"Host": "evil.example"}).status_code == 403


def test_a_simple_form_of_another_site_cannot_teach(start) -> None:
    client = start(write_token=None, loopback=True)
    headers = {"Host": "localhost", "Content-Type": "text/plain"}
    assert client.post(LEARN, content=json.dumps(ROW), headers=headers).status_code == 422
    assert client.get("/v1/models/pets", headers=headers).json()["version"] == 0


def test_replies_have_security_headers_and_no_cors(client) -> None:
    for path in ("/", "/v1/models", "/nowhere", "/docs"):
        headers = client.get(path, headers={"Origin": "http://elsewhere.example"}).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_request_ids_are_kept_or_made(client) -> None:
    own = client.get("/livez", headers={"X-Request-ID": "abc-1"})
    assert own.headers["x-request-id"] == "abc-1"
    bad = client.get("/nowhere", headers={"X-Request-ID": "x" * 65})
    assert len(bad.headers["x-request-id"]) == 16
    assert bad.json()["error"]["request_id"] == bad.headers["x-request-id"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[1]", 422),
        (b"null", 422),
        (b'{"rows": []}', 422),
        (b'{"rows": [{}]}', 422),
        (b'{"rows": [{"text": "a", "values": [1]}]}', 422),
        (b'{"rows": [{"text": 7}]}', 422),
        (b'{"rows": [{"text": null}]}', 422),
        (b'{"rows": [{"text": "a"}], "top": 0}', 422),
        (b'{"rows": [{"text": "a"}], "top": 1001}', 422),
        (b'{"rows": [{"text": "a"}], "top": "5"}', 422),
        (b'{"rows": [{"text": "a"}], "more": 1}', 422),
        (b'{"rows": [{"features": {"cat": NaN}}]}', 422),
        (b'{"rows": [{"features": {"cat": 1e400}}]}', 422),
        (b'{"rows": [{"features": {"cat": "1"}}]}', 422),
        (b'{"rows": [{"text": "\\ud800"}]}', 422),
        (b'{"rows": [{"text": "\xff\xfe"}]}', 400),
        ('{"rows": [{"text": "a"}]}'.encode("utf-16"), 200),
        (b'{"rows": [{"text": "a \\u0000 b"}]}', 200),
        (b'{"rows": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
        (b'{"rows": [{"text": "a"}], "top": ' + b"9" * 5000 + b"}", 400),
    ],
)
def test_bodies_are_accepted_or_refused_with_a_sentence(client, body, status) -> None:
    reply = client.post(PREDICT, content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == status, reply.text
    if status != 200:
        message = reply.json()["error"]["message"]
        assert message
        assert len(message) < 600
        assert "Traceback" not in reply.text
    assert client.get("/livez").status_code == 200


def test_limits(start) -> None:
    client = start(limits=Limits(body_bytes=1000, rows=2, text_characters=50, labels=1))
    assert client.predict("a" * 50, "b")["version"] == 0
    too_long = client.post(PREDICT, json={"rows": [{"text": "a" * 51}]})
    assert (too_long.status_code, too_long.json()["error"]["code"]) == (422, "text-too-long")
    too_many = client.post(PREDICT, json={"rows": [{"text": "a"}] * 3})
    assert (too_many.status_code, too_many.json()["error"]["code"]) == (422, "too-many-rows")
    assert client.learn("a", "b", "c").json()["error"]["code"] == "too-many-labels"
    large = client.post(PREDICT, content=b" " * 1001)
    assert (large.status_code, large.json()["error"]["code"]) == (413, "body-too-large")
    streamed = client.post(PREDICT, content=(b" " * 100 for _ in range(11)))
    assert streamed.status_code == 413


def test_narrower_limits_of_a_row_and_of_its_answer(start) -> None:
    client = start(limits=Limits(rows=2, features=2, label_characters=4, top=3, neighbors=2))

    def problem(path: str, **body: Any) -> str:
        reply = client.post(f"/v1/models/pets/{path}", json=body, headers=bearer(WRITE))
        return "" if reply.status_code == 200 else reply.json()["error"]["message"]

    text, three = {"text": "cat"}, {"cat": 1, "dog": 1, "mat": 1}
    assert problem("predict", rows=[{"features": three}], top=1) == (
        "rows.0.features: more than 2 features"
    )
    assert "rows.1.values" in problem("predict", rows=[text, {"values": [0.0] * 3}], top=1)
    assert problem("learn", rows=[{**text, "labels": ["cats", "kittens"]}]) == (
        "rows.0.labels: one is longer than 4 characters"
    )
    for path in ("predict", "explain"):
        assert problem(path, rows=[text], top=4) == "top: expected at most 3, got 4"
        assert problem(path, rows=[text], top=3) == ""
    assert problem("forget", row_ids=[0, 1, 2]) == "row_ids: expected at most 2, got 3"
    assert problem("neighbors", rows=[text], k=3) == "k: expected at most 2, got 3"
    assert problem("neighbors", rows=[text], k=2) == problem("neighbors", rows=[text]) == ""
    tasks = {"tasks": [{"data": text}]}
    assert client.post("/label-studio/predict", json=tasks).status_code == 200


def test_limits_beyond_the_openapi_document_are_refused(start) -> None:
    for name in ("rows", "text_characters", "features", "labels", "label_characters", "top"):
        most = getattr(Limits(), name)
        with pytest.raises(InvalidArgumentError, match=f"limits.{name}: expected at most {most}, "):
            start(limits=Limits(**{name: most + 1}))


def test_ten_megabytes_of_one_word_are_refused(client) -> None:
    text = "a" * 10_000_000
    assert client.post(PREDICT, json={"rows": [{"text": text}]}).status_code == 413
    assert client.predict("cat")["version"] == 0


def test_unexpected_failures_show_no_trace_and_are_logged(client, monkeypatch, caplog) -> None:
    from vicinal.service.engine import Engine

    def explode(self, queries):
        raise RuntimeError("secret details")

    monkeypatch.setattr(Engine, "_predict", explode)
    engine = client.app.state.engines["pets"]
    engine._predictions._run = engine._predict
    with caplog.at_level(logging.ERROR, "vicinal.service"):
        reply = client.post(PREDICT, json={"rows": [{"text": "a"}]})
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert "secret details" in caplog.text


def test_logs_are_json_and_hold_no_token_and_no_text(start, caplog) -> None:
    from vicinal.service.telemetry import JsonFormatter

    client = start(read_token=READ)
    with caplog.at_level(logging.INFO, "vicinal.service"):
        client.post(
            LEARN, json={"rows": [{"text": "very private", "labels": []}]}, headers=bearer(WRITE)
        )
        client.get("/v1/models?token=" + READ, headers=bearer(READ))
    ours = [record for record in caplog.records if record.name.startswith("vicinal")]
    lines = [json.loads(JsonFormatter().format(record)) for record in ours]
    requests = [line for line in lines if line["message"] == "request"]
    assert [line["status"] for line in requests] == [200, 422]
    assert all(line["request_id"] and line["ms"] >= 0 for line in requests)
    everything = json.dumps(lines)
    assert READ not in everything
    assert WRITE not in everything
    assert "private" not in everything


def test_metrics_count_requests_batches_and_lessons(client) -> None:
    client.predict("cat")
    client.learn("a", "b")
    client.get("/nowhere/at/all")
    text = client.get("/metrics").text
    counted = 'method="POST",route="/v1/models/{model_id}/predict",status="200"'
    assert f"vicinal_requests_total{{{counted}}} 1.0" in text
    assert 'vicinal_rows_taught_total{kind="learn",model="pets"} 1.0' in text
    assert 'vicinal_model_rows{model="pets"} 7.0' in text
    assert 'vicinal_model_version{model="pets"} 1.0' in text
    assert 'route="unmatched"' in text
    assert 'vicinal_batch_rows_count{model="pets"} 1.0' in text


def test_the_documents_need_nothing_from_elsewhere(client) -> None:
    document = client.get("/openapi.json").json()
    assert "/v1/models/{model_id}/predict" in document["paths"]
    learn = document["paths"]["/v1/models/{model_id}/learn"]["post"]
    assert learn["security"] == [{"write": []}]
    for path in ("/", "/docs"):
        text = client.get(path).text
        assert "http://" not in text.replace("http://www.w3.org/", "")
        assert "https://" not in text
    assert client.get("/static/nothing.js").status_code == 404
    assert client.get("/static/..%2Fapp.py").status_code == 404


def test_loopback_writes_need_the_read_token_where_there_is_one(start) -> None:
    client = start(write_token=None, loopback=True, read_token=READ)
    local = {"Host": "127.0.0.1:8000"}
    assert client.post(LEARN, json=ROW, headers=local).status_code == 401
    assert client.post(LEARN, json=ROW, headers={**local, **bearer(READ)}).status_code == 200


def test_a_file_is_served_once_and_one_at_least() -> None:
    with pytest.raises(InvalidArgumentError, match="models: expected different file names"):
        create_app(["a/pets", "b/pets"], store=None)
    with pytest.raises(InvalidArgumentError, match="models: expected at least one model"):
        create_app([], store=None)
    with pytest.raises(ModelFormatError, match="expected a model file, found none"):
        create_app(["a/pets"], store=None)


def test_without_the_extra_it_is_named(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "vicinal.service.app")
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(MissingExtraError, match=r"fastapi.*vicinal\[serve\]"):
        create_app([], store=None)
    monkeypatch.setitem(sys.modules, "vicinal.service.app", None)
    with pytest.raises(ModuleNotFoundError, match=r"vicinal\.service\.app"):
        create_app([], store=None)


def gate(receive, **limits) -> list[dict]:
    """Send a body through the gate; return what is replied."""
    sent: list[dict] = []

    async def app(scope, receive, send) -> None:
        await receive()
        if "late" in scope["path"]:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise ServiceError(500, "late", "after the reply began")
        if "busy" in scope["path"]:
            raise ServiceError(503, "overloaded", "retry")
        assert (await receive())["type"] == "http.disconnect"

    async def send(message) -> None:
        sent.append(message)

    path = limits.pop("path", "/livez")
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "headers": [(b"content-length", b"3")],
    }
    router = APIRouter()
    router.post("/livez{rest:path}")(needs("open")(lambda: None))
    made = Gate(
        app,
        access=Access(None, None),
        declarations=Declarations(router.routes),
        limits=Limits(**limits),
        metrics=ServiceMetrics(),
    )
    asyncio.run(made(scope, receive, send))
    return sent


def messages(*given):
    waiting = iter(given)

    async def receive():
        found = next(waiting, None)
        if found is None:
            await asyncio.sleep(5)
        return found

    return receive


PART = {"type": "http.request", "body": b"abc", "more_body": False}
GONE = {"type": "http.disconnect"}


def test_clients_that_leave_or_wait_while_they_send() -> None:
    assert gate(messages(GONE))[0]["status"] == 400
    slow = gate(messages(), body_seconds=0.01)
    assert slow[0]["status"] == 408
    assert (b"connection", b"close") in slow[0]["headers"]


def test_large_bodies_of_all_requests_are_counted_until_they_are_answered(model_folder) -> None:
    app = create_app([model_folder], store=None, limits=Limits(waiting_bytes=50_000))
    body, may_end, statuses = b" " * 40_000, asyncio.Event(), []

    async def ask(*parts: dict) -> None:
        waiting = iter(parts)

        async def receive() -> dict:
            found = next(waiting, None)
            if found is None:
                await may_end.wait()
                return {"type": "http.request", "body": b"", "more_body": False}
            return found

        async def send(message: dict) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        headers = [(b"content-length", b"40000")]
        scope = {"type": "http", "method": "GET", "path": "/v1/models", "headers": headers}
        await app({**scope, "query_string": b"", "raw_path": b"/v1/models"}, receive, send)

    async def run() -> None:
        whole = {"type": "http.request", "body": body, "more_body": False}
        first = asyncio.create_task(ask({**whole, "more_body": True}))
        await asyncio.sleep(0.01)
        await ask(whole)
        may_end.set()
        await first
        await ask(whole)

    asyncio.run(run())
    assert statuses == [503, 200, 200]


def test_the_gate_hands_on_what_comes_after_the_body() -> None:
    assert gate(messages(PART, GONE)) == []
    late = gate(messages(PART), path="/livez/late")
    assert late[0]["status"] == 500  # nothing of the first reply was sent yet
    busy = gate(messages(PART), path="/livez/busy")
    assert (b"retry-after", b"1") in busy[0]["headers"]


def test_logs_of_failures_hold_the_trace() -> None:
    try:
        raise ValueError("seven")
    except ValueError:
        record = logging.makeLogRecord({"msg": "failed", "exc_info": sys.exc_info()})
    assert "ValueError: seven" in json.loads(JsonFormatter().format(record))["trace"]


class Protocol(asyncio.Protocol):
    """What uvicorn's protocol does with data: a request begins at the first blank line."""

    cycle = None
    config = SimpleNamespace(loaded_app=None)
    connections = frozenset()

    def connection_made(self, transport) -> None:
        self.transport, self.read = transport, b""

    def data_received(self, data: bytes) -> None:
        self.read += data
        if b"\r\n\r\n" in self.read:
            self.cycle = SimpleNamespace(response_complete=False)

    def connection_lost(self, exc) -> None:
        pass


class Transport:
    is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def set_write_buffer_limits(self, high: int) -> None:
        assert high == 0

    def is_closing(self) -> bool:
        return self.is_closed


@pytest.mark.parametrize(
    ("data", "seconds", "closed"),
    [
        (b"GET / HTTP/1.1\r\n", 0.01, True),
        (b"GET / HTTP/1.1\r\n\r\n", 0.01, False),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * HEAD_BYTES, 5, True),
    ],
)
def test_heads_that_are_slow_or_large_close_the_connection(data, seconds, closed) -> None:
    async def main() -> bool:
        made = type("Limited", (HeadLimits, Protocol), {"limits": Limits(header_seconds=seconds)})()
        made.connection_made(transport := Transport())
        made.data_received(data)
        await asyncio.sleep(0.03)
        made.connection_lost(None)
        return transport.is_closed

    assert asyncio.run(main()) is closed
