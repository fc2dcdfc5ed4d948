"""What is acknowledged is true, and what one client does changes no other client's reply."""

import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import APIRouter
from scipy import sparse
from sklearn.pipeline import Pipeline
from tests.service.conftest import READ, TEXTS, WRITE

from vicinal import LCIF, Blend, FeatureKNN, InstanceKNN, load
from vicinal.methods import feature_knn, incremental
from vicinal.preprocess import BM25, TextVectorizer
from vicinal.service import app as app_module
from vicinal.service import served_model
from vicinal.service.access import Declarations, needs
from vicinal.service.engine import Engine
from vicinal.service.learner import Learner, Replacement, Snapshots
from vicinal.service.limits import Limits, ServiceError, StoreError
from vicinal.service.served_model import ServedModel
from vicinal.service.store import Change, EventStore, first_digest

HEADERS = {"Authorization": f"Bearer {WRITE}"}
MODEL = "/v1/models/pets"
HALF = "half an emoji \ud83d"


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what calls return that start at the same moment, each in a thread of its own."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        gate.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def bm25_model() -> Pipeline:
    """Return a model with a step that refuses negative values."""
    steps = [("words", TextVectorizer()), ("weights", BM25()), ("estimator", InstanceKNN(3))]
    return Pipeline(steps).fit([text for text, _ in TEXTS], [labels for _, labels in TEXTS])


def rows_of(client, **row: Any) -> dict[str, Any]:
    return {"rows": [row]}


def post(client, path: str, body: object, **headers: str) -> Any:
    """Send JSON that may hold half a surrogate pair, which httpx itself would refuse."""
    content = json.dumps(body).encode()
    kind = {"Content-Type": "application/json"}
    return client.post(path, content=content, headers={**HEADERS, **kind, **headers})


def model_ids(client) -> list[int]:
    with client.app.state.engines["pets"]._served.reading() as held:
        return held.estimator.row_ids_.tolist()


# -- ids


def test_a_row_that_a_step_refuses_shifts_no_id(start) -> None:
    client = start(models={"pets": bm25_model()})

    def good(number: int) -> Any:
        body = {"rows": [{"text": f"a cat {number}", "labels": [f"own {number}"]}]}
        return client.post(f"{MODEL}/learn", json=body, headers=HEADERS)

    def bad(number: int) -> Any:
        body = {"rows": [{"features": {"cat": -1.0}, "labels": ["x"]}]}
        return client.post(f"{MODEL}/learn", json=body, headers=HEADERS)

    calls = [(lambda n=n: (bad if n % 3 == 0 else good)(n)) for n in range(24)]
    replies = at_once(calls)
    assert {reply.status_code for reply in replies[::3]} == {422}
    good_ids = [reply.json()["row_ids"][0] for place, reply in enumerate(replies) if place % 3]
    assert sorted(good_ids) == list(range(6, 22))
    assert model_ids(client) == list(range(22))
    by_id = {reply.json()["row_ids"][0]: n for n, reply in enumerate(replies) if n % 3}
    for row_id, number in by_id.items():  # the row of an id is the row that was taught
        near = client.post(
            f"{MODEL}/neighbors", json={"rows": [{"text": f"cat {number}"}], "k": 22}
        ).json()["results"][0]["neighbors"]
        (own,) = [each for each in near if each["row_id"] == row_id]
        assert own["labels"] == [f"own {number}"]
    again = start(models={"pets": bm25_model()})
    assert model_ids(again) == list(range(22))


def test_rows_are_checked_before_they_are_numbered(start) -> None:
    client = start(models={"pets": bm25_model()})
    body = {"rows": [{"features": {"cat": -1.0}, "labels": ["x"]}]}
    reply = client.post(f"{MODEL}/learn", json=body, headers=HEADERS)
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "refused-by-model")
    assert client.learn("a cat", "cats").json()["row_ids"] == [6]
    assert client.get(f"{MODEL}/taught").json()["taught"][0]["version"] == 1


@pytest.fixture
def history(start, tmp_path) -> Path:
    """A store with a history, without snapshots."""
    client = start()
    for number in range(4):
        client.learn(f"a parrot {number}", "birds", key=f"key-{number}")
    client.forget(7)
    start(store=tmp_path / "other.sqlite")
    shutil.rmtree(tmp_path / "taught.sqlite.snapshots")
    return tmp_path / "taught.sqlite"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM events WHERE version = 2", "event 2 of 'pets' is missing"),
        ("DELETE FROM events WHERE version = 1", "event 1 of 'pets' is missing"),
        ("UPDATE events SET row_ids = '[9]' WHERE version = 1", "event 1 of 'pets' is damaged"),
        ("UPDATE events SET key = 'other' WHERE version = 3", "event 3 of 'pets' is damaged"),
        ("UPDATE events SET origin = 'other' WHERE version = 3", "event 3 of 'pets' is damaged"),
        ("UPDATE events SET taught_at = '' WHERE version = 3", "event 3 of 'pets' is damaged"),
        ("UPDATE events SET digest = previous WHERE version = 5", "event 5 of 'pets' is damaged"),
    ],
)
def test_a_changed_or_missing_event_is_refused(history, start, damage, said) -> None:
    with closing(sqlite3.connect(history)) as sql, sql:
        sql.execute(damage)
    with pytest.raises(StoreError, match=said):
        start()


def test_a_replay_that_gives_other_ids_is_refused(tmp_path, model_folder) -> None:
    store = EventStore(tmp_path / "s.sqlite")
    store.bind("pets", "f")

    def learner() -> Learner:
        served = ServedModel(load(model_folder), 0, first_digest("f"))
        return Learner("pets", served, store, Snapshots(store.path, "pets", 2))

    learner().process([(Change("learn", ({"text": "a", "labels": []},)),)])
    other = learner()
    with other.served.changing():  # a model that is not the one the store was started with
        other.served.learn(other.served.reader.features([{"text": "b"}]), [[]])
        other.served.publish(0, first_digest("f"))
    with pytest.raises(StoreError, match="do not fit the model: the rows got other ids"):
        other.replay()
    store.close()


def test_a_restored_backup_is_not_combined_with_newer_snapshots(start, tmp_path, caplog) -> None:
    path, backup = tmp_path / "taught.sqlite", tmp_path / "backup.sqlite"
    client = start()
    for number in range(3):
        client.learn(f"a parrot {number}", "birds", key=f"key-{number}")
    before = client.predict("parrot", "cat")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    for number in range(3, 6):
        client.learn(f"a whale {number}", "fish", key=f"key-{number}")
    start(store=tmp_path / "other.sqlite")  # stops the first one, which writes a snapshot
    folder = tmp_path / "taught.sqlite.snapshots" / "pets"
    assert (folder / "000000000006").exists()
    for file in tmp_path.glob("taught.sqlite-*"):
        file.unlink()
    shutil.copyfile(backup, path)
    again = start()
    assert again.predict("parrot", "cat") == before
    assert (again.facts()["version"], again.facts()["rows"]) == (3, 9)
    reasons = [getattr(record, "reason", "") for record in caplog.records]
    assert any("another history" in reason for reason in reasons)
    assert (folder / "000000000006.foreign").exists()
    retried = again.learn("a whale 3", "fish", key="key-3")
    assert retried.json() == {"row_ids": [9], "version": 4, "repeated": False}
    for number in range(4, 6):  # the same version numbers, of another history
        again.learn(f"a tiger {number}", "cats")
    last = again.predict("tiger", "whale")
    assert start().predict("tiger", "whale") == last
    assert start().facts()["rows"] == 12


def test_a_snapshot_without_its_history_is_not_used(start, tmp_path) -> None:
    client = start()
    client.learn("a parrot", "birds")
    before = client.predict("parrot")
    start(store=tmp_path / "other.sqlite")
    folder = tmp_path / "taught.sqlite.snapshots" / "pets"
    (folder / "000000000001.history.json").write_text("[]")
    assert start().predict("parrot") == before
    assert (folder / "000000000001.foreign").exists()


# -- one client and the others


def test_a_bad_row_fails_only_its_own_prediction(start) -> None:
    client = start(models={"pets": bm25_model()})
    expected = client.predict("a cat")

    def good() -> Any:
        return client.predict("a cat")

    def bad() -> Any:
        body = {"rows": [{"features": {"cat": -1.0}}]}
        return client.post(f"{MODEL}/predict", json=body).status_code

    for _ in range(5):
        replies = at_once([bad if n % 4 == 0 else good for n in range(16)])
        assert replies[::4] == [422] * 4
        assert [reply for n, reply in enumerate(replies) if n % 4] == [expected] * 12


def test_a_row_that_breaks_the_model_fails_alone(client, monkeypatch) -> None:
    """Whatever a batch raises, its requests are answered one by one."""
    real = Engine._predict

    def fragile(self, queries):
        if any(row["text"] == "breaks" for query in queries for row in query.rows):
            raise RuntimeError("broken")
        return real(self, queries)

    monkeypatch.setattr(Engine, "_predict", fragile)
    engine = client.app.state.engines["pets"]
    engine._predictions._run = engine._predict
    body = {"rows": [{"text": "breaks"}]}
    calls = [lambda: client.post(f"{MODEL}/predict", json=body).status_code]
    calls += [lambda: client.predict("cat")["version"]] * 7
    assert at_once(calls) == [500, *[0] * 7]


def test_predictions_and_their_explanations_are_of_one_version(start) -> None:
    client = start()
    stop = threading.Event()

    def teach() -> None:
        labels = ["cats", "dogs", "play"]
        number = 0
        while not stop.is_set():
            row = client.learn("a cat in the park", labels[number % 3]).json()["row_ids"]
            client.forget(*row)
            number += 1

    teacher = threading.Thread(target=teach)
    teacher.start()
    mixed = 0
    try:
        for _ in range(60):
            body = {"rows": [{"text": "a cat in the park"}], "top": 3, "explain": True}
            result = client.post(f"{MODEL}/predict", json=body).json()["results"][0]
            why = {each["label"]: each["score"] for each in result["explanation"]["labels"]}
            mixed += any(why[each["label"]] != each["score"] for each in result["scores"])
    finally:
        stop.set()
        teacher.join()
    assert mixed == 0


def test_a_lesson_between_predictions_and_explanations_is_in_neither(start, monkeypatch) -> None:
    client, real = start(), served_model.predictions

    def predictions(*arguments: Any) -> Any:
        found = real(*arguments)
        client.learn("a cat in the park", "play")
        return found

    monkeypatch.setattr(served_model, "predictions", predictions)
    body = {"rows": [{"text": "a cat in the park"}], "top": 3, "explain": True}
    reply = client.post(f"{MODEL}/predict", json=body).json()
    (result,) = reply["results"]
    why = {each["label"]: each["score"] for each in result["explanation"]["labels"]}
    assert reply["version"] == 0
    assert why == {each["label"]: each["score"] for each in result["scores"]}


# -- Label Studio


def annotation(number: int, *choices: str, text: str = "a parrot") -> dict[str, Any]:
    return {
        "action": "ANNOTATION_UPDATED",
        "project": {"id": 1},
        "task": {"id": 1, "data": {"text": text}},
        "annotation": {
            "id": number,
            "result": [{"type": "choices", "value": {"choices": list(choices)}}],
        },
    }


def test_an_annotation_sent_twice_at_once_is_learned_once(client) -> None:
    for number in range(10):
        body = annotation(number, f"label {number}")
        replies = at_once([lambda body=body: post(client, "/label-studio/webhook", body)] * 4)
        assert [reply.status_code for reply in replies] == [201] * 4
        assert client.facts()["rows"] == 7 + number


def test_of_updates_at_once_the_last_one_remains(client) -> None:
    for number in range(10):
        bodies = [annotation(number, f"label {number}.{turn}") for turn in range(4)]
        at_once([lambda body=body: post(client, "/label-studio/webhook", body) for body in bodies])
        assert client.facts()["rows"] == 7 + number
        found = client.get(f"{MODEL}/labels", params={"contains": f"label {number}."}).json()
        assert sum(each["rows"] for each in found["labels"]) == 1
        taught = client.get(f"{MODEL}/taught", params={"limit": 20}).json()["taught"]
        newest = next(event for event in taught if event["kind"] == "learn")
        assert not newest["undone"]


def test_replacements_in_one_batch_see_each_other(tmp_path, model_folder) -> None:
    store = EventStore(tmp_path / "s.sqlite")
    store.bind("pets", "f")
    served = ServedModel(load(model_folder), 0, first_digest("f"))
    learner = Learner("pets", served, store, Snapshots(store.path, "pets", 2))
    rows = [{"text": "a", "labels": [label]} for label in "xyz"]
    first, second, third, gone = learner.process(
        [*((Replacement("o", row),) for row in rows), (Replacement("o", None),)]
    )
    assert [outcome.row_ids for outcome in first] == [(6,)]
    assert [outcome.row_ids for outcome in second] == [(7,), (6,)]
    assert [outcome.row_ids for outcome in third] == [(8,), (7,)]
    assert [outcome.row_ids for outcome in gone] == [(8,)]
    assert store.learned_from("pets", "o") == [6, 7, 8]
    store.close()


@pytest.mark.parametrize("place", ["text", "choice"])
def test_half_an_emoji_is_refused_and_what_was_taught_can_be_listed(client, place) -> None:
    client.learn("a parrot", "birds")
    choice, text = ("birds", HALF) if place == "text" else (HALF, "a parrot")
    reply = post(client, "/label-studio/webhook", annotation(1, choice, text=text))
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid-value")
    tasks = {"tasks": [{"data": {"text": HALF}}]}
    assert post(client, "/label-studio/predict", tasks).status_code == 422
    assert len(client.get(f"{MODEL}/taught").json()["taught"]) == 1
    assert client.learn("a dog", "dogs").json()["row_ids"] == [7]


def test_the_dialect_has_the_limits_of_the_service(client) -> None:
    long = annotation(1, "x" * 501)
    assert post(client, "/label-studio/webhook", long).status_code == 422
    many = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": n} for n in range(1001)]}
    assert post(client, "/label-studio/webhook", many).status_code == 422


def test_a_list_of_large_lessons_is_limited_in_bytes(client) -> None:
    labels = [f"{number} " + "x" * 480 for number in range(1000)]
    for _ in range(12):
        body = {"rows": [{"text": "a cat", "labels": labels}]}
        assert client.post(f"{MODEL}/learn", json=body, headers=HEADERS).status_code == 200
    reply = client.get(f"{MODEL}/taught", params={"limit": 1000})
    versions = [event["version"] for event in reply.json()["taught"]]
    assert versions == list(range(12, 12 - len(versions), -1))
    assert 4 <= len(versions) < 12
    assert len(reply.content) < 6e6


# -- replies to what nobody should send


def test_hosts_origins_and_ids_that_cannot_be_read(start) -> None:
    client = start(write_token=None, loopback=True)
    for host in ("[", "a b", "[::1", "a:b", "exa\xffmple"):
        reply = client.get("/v1/models", headers={"Host": host.encode("latin-1")})
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad-host")
    body = {"rows": [{"text": "a", "labels": []}]}
    for origin in ("http://[", "null", "//", "http://evil.example"):
        reply = client.post(f"{MODEL}/learn", json=body, headers={"Origin": origin})
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "not-local")
    documents = {"documents": [{"text": "a cat", "document_id": HALF}]}
    reply = post(client, "/v1/projects/pets/suggest-batch", documents)
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid-value")
    client = start(loopback=True)
    for origin in ("http://[", "http://evil.example"):  # whose pages have no token
        headers = {"Origin": origin, **HEADERS}
        assert client.post(f"{MODEL}/learn", json=body, headers=headers).status_code == 200


def test_without_a_token_a_loopback_service_answers_only_to_its_names(start) -> None:
    client = start(loopback=True)
    evil = {"Host": "evil.example"}
    reads = ["/v1/models", MODEL, f"{MODEL}/labels", f"{MODEL}/taught", "/v1/projects", "/metrics"]
    for path in reads:
        assert client.get(path, headers=evil).json()["error"]["code"] == "not-local"
        assert client.get(path).status_code == 200
    body = {"rows": [{"text": "a cat"}]}
    for what in ("predict", "neighbors", "explain"):
        assert client.post(f"{MODEL}/{what}", json=body, headers=evil).status_code == 403
    assert client.get(MODEL, headers={**evil, **HEADERS}).status_code == 200  # it has a token
    assert client.get("/livez", headers=evil).status_code == 200
    for host in ("127.0.0.1:8000", "LOCALHOST", "[::1]:9"):
        assert client.get(MODEL, headers={"Host": host}).status_code == 200
    proxied = start(loopback=True, hosts=["labels.example.org"])
    assert proxied.get(MODEL, headers={"Host": "Labels.Example.org"}).status_code == 200
    assert proxied.get(MODEL, headers=evil).status_code == 403
    guarded = start(loopback=True, read_token=READ)
    token = {"Authorization": f"Bearer {READ}"}
    assert guarded.get(MODEL, headers={**evil, **token}).status_code == 200


def test_replies_name_no_path_of_the_server(start, tmp_path) -> None:
    client = start()
    client.learn("a parrot", "birds")
    texts = [client.post(f"{MODEL}/snapshot", headers=HEADERS).text]
    with closing(sqlite3.connect(tmp_path / "taught.sqlite")) as sql, sql:
        sql.execute("UPDATE events SET payload = replace(payload, 'parrot', 'carrot')")
    damaged = client.get(f"{MODEL}/taught")
    assert "taught.sqlite: event 1 of 'pets' is damaged" in damaged.json()["error"]["message"]
    shutil.rmtree(tmp_path / "taught.sqlite.snapshots")
    (tmp_path / "taught.sqlite.snapshots").write_text("in the way")
    failed = client.post(f"{MODEL}/snapshot", headers=HEADERS)
    assert failed.status_code == 507
    for text in (*texts, damaged.text, failed.text, client.get(MODEL).text):
        assert str(tmp_path.parent) not in text
        assert "/tmp" not in text


# -- access by declaration


def test_every_operation_of_the_document_declares_its_access(client) -> None:
    document = client.get("/openapi.json").json()
    found = {
        (method, path): operation["x-access"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert set(found.values()) == {"open", "read", "write"}
    changing = {path for (method, path), need in found.items() if need == "write"}
    assert changing == {
        *(f"/v1/models/{{model_id}}/{what}" for what in ("learn", "forget", "snapshot")),
        "/v1/projects/{model_id}/learn",
        "/label-studio/webhook",
        "/label-studio/{model_id}/webhook",
    }
    for (method, path), need in found.items():
        operation = document["paths"][path][method]
        assert operation.get("security") == ([{"write": []}] if need == "write" else None)


def test_an_endpoint_that_declares_nothing_is_refused_and_cannot_be_reached(
    start, monkeypatch
) -> None:
    router = APIRouter()

    @router.post("/v1/models/{model_id}/retrain")
    async def retrain(model_id: str) -> dict[str, str]:
        return {"secret": model_id}

    with pytest.raises(TypeError, match=r"/v1/models/\{model_id\}/retrain declares no access"):
        Declarations(router.routes)
    client = start()
    client.app.include_router(router)  # added behind the service's back
    assert client.post(f"{MODEL}/retrain", headers=HEADERS).status_code == 404
    monkeypatch.setattr(app_module, "ROUTERS", (*app_module.ROUTERS, router))
    with pytest.raises(TypeError, match="declares no access"):
        start()
    needs("write")(retrain)
    client = start()
    assert client.post(f"{MODEL}/retrain").status_code == 401
    assert client.post(f"{MODEL}/retrain", headers=HEADERS).json() == {"secret": "pets"}


# -- work per lesson


N_ROWS = 600


def large_model(estimator: Any) -> Any:
    """Return a model with so many rows that a lesson is a small change."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, 80), density=0.1, rng=rng, format="csr")
    labels = [[f"l{label}" for label in rng.choice(12, 2, replace=False)] for _ in range(N_ROWS)]
    return estimator.fit(X, labels)


@pytest.mark.parametrize("estimator", [LCIF(5, 5), FeatureKNN(5)], ids=["lcif", "feature-knn"])
def test_teaching_one_row_does_the_work_of_one_row(start, estimator, monkeypatch) -> None:
    """Feature kNN is not fitted on all rows by a lesson, nor by what is asked after it."""
    client = start(models={"pets": large_model(estimator)})
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    fits, searched = [], []
    kind = feature_knn.ChangedFeatureKNNScoring
    real_fit, real_search = feature_knn.FeatureKNNScoring.fit, kind._of_features

    def fit(*arguments: Any, **more: Any) -> Any:
        fits.append(1)
        return real_fit(*arguments, **more)

    def search(scoring: Any, features: Any) -> Any:
        searched.append(features)
        return real_search(scoring, features)

    monkeypatch.setattr(feature_knn.FeatureKNNScoring, "fit", fit)
    monkeypatch.setattr(kind, "_of_features", search)
    values = [0.0] * 80
    values[3] = values[4] = 1.0
    for number in range(4):
        body = {"rows": [{"values": values, "labels": [f"l{number}"]}]}
        reply = client.post(f"{MODEL}/learn", json=body, headers=HEADERS)
        assert reply.json()["row_ids"] == [N_ROWS + number]
    assert (fits, searched) == ([], [])
    client.post(f"{MODEL}/predict", json={"rows": [{"values": values}]})
    client.post(f"{MODEL}/neighbors", json={"rows": [{"values": values}]})
    client.get(f"{MODEL}/labels")
    client.get(MODEL)
    client.get(f"{MODEL}/taught")
    assert fits == []
    assert len(searched) <= 1  # the similarities of the two features of the row


def wait_until(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("estimator", [InstanceKNN(5), Blend("mix")], ids=["instance", "blend"])
def test_a_lesson_does_not_pause_for_readers(start, estimator, monkeypatch) -> None:
    """Neither for those that ask for predictions, nor for the service itself."""
    client = start(models={"pets": large_model(estimator)})
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    pauses: list[float] = []
    monkeypatch.setattr(incremental.time, "sleep", pauses.append)
    values = [0.0] * 80
    values[3] = values[4] = 1.0
    for number in range(8):  # a threshold is fitted again meanwhile
        body = {"rows": [{"values": values, "labels": [f"l{number}"]}]}
        assert client.post(f"{MODEL}/learn", json=body, headers=HEADERS).status_code == 200
        client.post(f"{MODEL}/predict", json={"rows": [{"values": values}]})
    monkeypatch.undo()
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    assert pauses == []


def test_a_threshold_is_fitted_beside_the_lessons(start, monkeypatch) -> None:
    """Lessons do not wait for it, and afterwards the model equals one that was recalibrated."""
    model = large_model(InstanceKNN(5))
    client = start(models={"pets": model})
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    is_fitting, may_go_on = threading.Event(), threading.Event()
    real = InstanceKNN.recalibrate

    def recalibrate(self: Any) -> Any:
        is_fitting.set()
        assert may_go_on.wait(20)
        return real(self)

    monkeypatch.setattr(InstanceKNN, "recalibrate", recalibrate)
    rng = np.random.default_rng(1)
    rows = [(rng.random(80) * (rng.random(80) < 0.1)).tolist() for _ in range(12)]
    taught = 0

    def teach() -> None:
        nonlocal taught
        body = {"rows": [{"values": rows[taught], "labels": ["l1", "new"]}]}
        reply = client.post(f"{MODEL}/learn", json=body, headers=HEADERS)
        assert reply.json()["row_ids"] == [N_ROWS + taught]
        taught += 1

    for _ in range(6):  # one per cent of the rows
        teach()
    assert is_fitting.wait(20)
    assert client.facts()["upkeep"] == "recalibrating"
    for _ in range(3):
        teach()
    assert client.facts()["rows_since_threshold"] == 9
    may_go_on.set()
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    assert client.facts()["rows_since_threshold"] == 3
    expected = model.partial_fit(rows[:6], [["l1", "new"]] * 6)
    real(expected)
    expected.set_params(recalibrate_at="never").partial_fit(rows[6:9], [["l1", "new"]] * 3)
    with client.app.state.engines["pets"]._served.reading() as held:
        assert held.estimator.predict_names(np.eye(80)) == expected.predict_names(np.eye(80))
        assert held.estimator.calibration_ == expected.calibration_
    saved = client.post(f"{MODEL}/snapshot", headers=HEADERS).json()["path"]
    folder = client.app.state.engines["pets"]._learner.store.path.parent
    assert load(folder / saved).recalibrate_at == 0.01


def test_a_snapshot_that_is_due_waits_for_the_threshold(start, monkeypatch, tmp_path) -> None:
    """One after the other: on two cores, both together would leave none for lessons."""
    client = start(
        models={"pets": large_model(InstanceKNN(5))}, limits=Limits(rows_per_snapshot=12)
    )
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    may_go_on, real = threading.Event(), InstanceKNN.recalibrate

    def recalibrate(self: Any) -> Any:
        assert may_go_on.wait(20)
        return real(self)

    monkeypatch.setattr(InstanceKNN, "recalibrate", recalibrate)
    for _ in range(12):  # a threshold is due after 6 rows, a snapshot after 12
        body = {"rows": [{"values": [1.0] * 80, "labels": ["l1"]}]}
        client.post(f"{MODEL}/learn", json=body, headers=HEADERS)
    snapshot = tmp_path / "taught.sqlite.snapshots" / "pets" / "000000000012"
    time.sleep(0.2)
    assert client.facts()["upkeep"] == "recalibrating"
    assert not snapshot.exists()
    may_go_on.set()
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    assert snapshot.exists()


def test_lessons_do_not_wait_for_a_snapshot(start, monkeypatch) -> None:
    from vicinal.service import learner as module

    client = start()
    client.learn("a parrot", "birds")
    is_saving, may_go_on = threading.Event(), threading.Event()
    real = module.save

    def save(model: Any, path: Path) -> None:
        is_saving.set()
        assert may_go_on.wait(20)
        real(model, path)

    monkeypatch.setattr(module, "save", save)
    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(client.post, f"{MODEL}/snapshot", headers=HEADERS)
        assert is_saving.wait(20)
        assert client.learn("a whale", "fish").json()["version"] == 2
        assert client.predict("whale")["version"] == 2
        may_go_on.set()
        assert saving.result().json()["version"] == 1


def test_lessons_do_not_wait_for_a_list_of_what_was_taught(client, monkeypatch) -> None:
    client.learn("a parrot", "birds", key="first")
    is_reading, may_go_on = threading.Event(), threading.Event()
    real = EventStore._event
    listing: list[int] = []

    def slow(self: EventStore, row: Any) -> Any:
        if threading.current_thread().name.startswith("quick"):
            listing.append(1)
            is_reading.set()
            assert may_go_on.wait(20)
        return real(self, row)

    monkeypatch.setattr(EventStore, "_event", slow)
    with ThreadPoolExecutor(2) as pool:
        listed = pool.submit(client.get, f"{MODEL}/taught")
        assert is_reading.wait(20)
        taught = pool.submit(client.learn, "a whale", "fish", key="second")
        try:
            assert taught.result(timeout=10).json()["version"] == 2
        finally:
            may_go_on.set()
        assert len(listed.result().json()["taught"]) == 1
    assert listing == [1]


def test_preparation_is_under_way_from_the_first_moment(start, monkeypatch) -> None:
    may_go_on = threading.Event()
    monkeypatch.setattr(ServedModel, "prepare", lambda self: may_go_on.wait(20))
    client = start()
    assert client.facts()["upkeep"] == "preparing"
    assert client.predict("a cat")["version"] == 0
    may_go_on.set()
    wait_until(lambda: client.facts()["upkeep"] == "nothing")


def test_a_method_that_recalibrates_more_than_its_threshold_is_replaced_whole(model_folder) -> None:
    """The copy learns what was taught meanwhile, then takes the model's place."""

    class Thorough(InstanceKNN):
        def _recalibrated(self, change: Any, version: Any) -> Any:
            return super()._recalibrated(change, version)

    model = large_model(Thorough(5))
    served = ServedModel(model, 0, "h")
    served.prepare()
    rng = np.random.default_rng(2)
    rows = rng.random((20, 80)) * (rng.random((20, 80)) < 0.1)
    real = Thorough.recalibrate

    def recalibrate(self: Any) -> Any:
        for place in range(10, 20):  # taught while the copy is fitted
            with served.changing():
                served.learn(rows[place : place + 1], [["l2"]])
                served.publish(served.version + 1, "h")
        with served.changing():
            served.forget([N_ROWS + 3])
            served.publish(served.version + 1, "h")
        with pytest.raises(ServiceError):
            not_committed()
        return real(self)

    def not_committed() -> None:
        with served.changing():
            served.learn(rows[:1], [["never"]])
            raise ServiceError(503, "store-failed", "not committed")

    with served.changing():
        served.learn(rows[:10], [["l1"]] * 10)
        served.publish(1, "h")
    assert served.is_stale
    Thorough.recalibrate = recalibrate
    served.recalibrate()
    assert served.version == 12
    with served.reading() as held:
        kept = [n for n in range(N_ROWS + 20) if n != N_ROWS + 3]
        assert held.estimator.row_ids_.tolist() == kept
        assert "never" not in held.estimator.label_names_
        scratch = InstanceKNN(5).fit(
            held.estimator.as_fitted().search_.X,
            held.estimator.as_fitted().scoring_.Y,
            label_names=held.estimator.label_names_,
        )
        found, expected = (each.scores(np.eye(80)) for each in (held.estimator, scratch))
        assert np.array_equal(found.toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"rows": [{"Complaint": "a"}]}, "rows.0: expected a field 'text', 'features' or 'values'"),
        ({"rows": [{"text": "a", "tag": 1}]}, "rows.0.tag: expected no field of this name"),
        ({"rows": None}, "rows: expected a valid list"),
        ({"rows": [{"text": "a"}], "top": 0}, "top: expected a number greater than or equal to 1"),
        ({}, "body: expected a field 'rows', got none"),
    ],
)
def test_a_wrong_request_is_answered_with_the_field_and_what_it_expects(
    client, body, message
) -> None:
    reply = post(client, f"{MODEL}/predict", body)
    assert reply.status_code == 422
    assert reply.json()["error"]["message"].startswith(message)
