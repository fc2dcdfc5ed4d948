"""Requests of Label Studio, recorded and replayed; the next prediction reflects each annotation.

``make label-studio-test`` runs Label Studio itself and records what it sends.
"""

import json
from pathlib import Path

import pytest
from tests.service.conftest import WRITE

from vicinal.service.label_studio import read_label_config
from vicinal.service.limits import ServiceError

FILE = Path(__file__).parent / "label_studio_requests.json"
REQUESTS = json.loads(FILE.read_text(encoding="utf-8"))["requests"]
RECORDED = {name: request["body"] for name, request in REQUESTS.items()}
HEADERS = {"Authorization": f"Bearer {WRITE}"}


def choices(client, text: str) -> list[str]:
    body = {**RECORDED["predict"], "tasks": [{"id": 9, "data": {"body": text}}]}
    reply = client.post("/label-studio/predict", json=body)
    assert reply.status_code == 200, reply.text
    result = reply.json()["results"][0]
    return result["result"][0]["value"]["choices"] if result["result"] else []


def send(client, name: str, **changes):
    body = {**RECORDED[name], **changes}
    reply = client.post("/label-studio/webhook", json=body, headers=HEADERS)
    assert reply.status_code == 201, reply.text
    return reply.json()


def test_the_recorded_session_is_answered_as_label_studio_expects(client) -> None:
    """Every request with its own headers, in the order in which Label Studio sent them."""
    expected = {"health": 200, "setup": 200, "predict": 200, "predict-one": 200}
    rows = []
    for name, request in REQUESTS.items():
        reply = client.request(
            request["method"], request["path"], headers=request["headers"], json=request["body"]
        )
        assert reply.status_code == expected.get(name, 201), (name, reply.text)
        rows.append((name, client.facts()["rows"]))
    assert [name for name, _ in rows] == [
        *("health", "setup", "imported", "predict", "created", "predict-one", "updated"),
        *("training", "deleted", "skipped"),
    ]
    assert [count for _, count in rows] == [6, 6, 6, 6, 7, 7, 7, 7, 6, 6]


def test_a_skipped_task_teaches_nothing(client) -> None:
    text = RECORDED["created"]["task"]["data"]["body"]
    before = choices(client, text)
    send(client, "skipped")
    assert client.facts()["rows"] == 6
    send(client, "created")
    cancelled = {**RECORDED["created"]["annotation"], "was_cancelled": True}
    send(client, "updated", annotation=cancelled)  # labelled first, skipped later
    assert client.facts()["rows"] == 6
    assert choices(client, text) == before


def test_health_and_setup(client) -> None:
    assert client.get("/label-studio/health").json() == {"status": "UP"}
    assert client.get("/label-studio/pets/health").json() == {"status": "UP"}
    reply = client.post("/label-studio/setup", json=RECORDED["setup"])
    assert reply.json() == {"model_version": "pets-0"}
    assert client.post("/label-studio/none/setup", json=RECORDED["setup"]).status_code == 404


def test_predictions_have_the_form_label_studio_imports(client) -> None:
    reply = client.post("/label-studio/pets/predict", json=RECORDED["predict"]).json()
    assert len(reply["results"]) == len(RECORDED["predict"]["tasks"])
    first = reply["results"][0]
    assert first["model_version"] == "pets-0"
    assert 0 < first["score"] <= 1
    assert first["result"] == [
        {
            "from_name": "topic",
            "to_name": "article",
            "type": "choices",
            "value": {"choices": first["result"][0]["value"]["choices"]},
        }
    ]
    assert "cats" in first["result"][0]["value"]["choices"]


def test_an_annotation_is_learned_changed_and_deleted(client) -> None:
    text = RECORDED["created"]["task"]["data"]["body"]
    before = choices(client, text)
    assert "birds" not in before
    send(client, "created")
    assert "birds" in choices(client, text)
    assert client.facts()["rows"] == 7
    send(client, "created")  # delivered twice: still one row
    assert client.facts()["rows"] == 7
    send(client, "updated")
    assert "dogs" in choices(client, text)
    assert "birds" not in choices(client, text)
    assert client.facts()["rows"] == 7
    send(client, "deleted")
    assert choices(client, text) == before
    assert client.facts()["rows"] == 6
    send(client, "deleted")
    assert client.facts()["rows"] == 6


def test_deletions_in_the_form_of_older_releases(client) -> None:
    send(client, "created")
    annotation = {"id": RECORDED["created"]["annotation"]["id"]}
    send(client, "deleted", action="ANNOTATION_DELETED", annotations=None, annotation=annotation)
    assert client.facts()["rows"] == 6


def test_what_was_annotated_survives_a_restart(start) -> None:
    send(start(), "created")
    client = start()
    send(client, "updated")
    assert client.facts()["rows"] == 7


def test_training_and_unknown_events_change_nothing(client) -> None:
    for action in ("START_TRAINING", "PROJECT_UPDATED"):
        assert send(client, "training", action=action)["model_version"] == "pets-0"


def test_an_annotation_without_choices_teaches_no_label(client) -> None:
    annotation = {**RECORDED["created"]["annotation"], "result": []}
    send(client, "created", annotation=annotation)
    assert client.facts()["rows"] == 7
    assert client.facts()["labels"] == 3


def test_bad_requests_are_refused(client) -> None:
    for body in ({}, {"action": "ANNOTATION_CREATED"}, {**RECORDED["created"], "task": None}):
        reply = client.post("/label-studio/webhook", json=body, headers=HEADERS)
        assert reply.status_code == 422
    tasks = [{"data": {"other": "x"}}]
    reply = client.post("/label-studio/predict", json={**RECORDED["predict"], "tasks": tasks})
    assert reply.status_code == 422
    assert "data.body" in reply.json()["error"]["message"]
    assert client.post("/label-studio/webhook", json=RECORDED["created"]).status_code == 401


@pytest.mark.parametrize(
    "xml",
    [
        "<View",
        "<View/>",
        '<View><Choices name="c" toName="t"/></View>',
        '<View><Text name="t" value="plain"/><Choices name="c" toName="t"/></View>',
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><View>&a;</View>',
    ],
)
def test_interfaces_that_cannot_be_used_are_refused(xml) -> None:
    with pytest.raises(ServiceError, match="label_config"):
        read_label_config(xml)


def test_choices_below_others_and_marks_of_other_kinds() -> None:
    config = read_label_config("")
    result = [
        {"type": "choices", "value": {"choices": [["animals", "cats"], "dogs", "dogs", 7]}},
        {"type": "labels", "value": {"labels": ["x"]}},
        {"type": "choices", "value": None},
        {},
    ]
    assert config.choices(result) == ["cats", "dogs"]


def test_a_setup_without_an_interface_and_no_tasks(client) -> None:
    assert client.post("/label-studio/setup", json={}).json() == {"model_version": "pets-0"}
    request = {**RECORDED["predict"], "tasks": []}
    assert client.post("/label-studio/pets/predict", json=request).json() == {"results": []}


def test_each_annotation_to_delete_counts_as_a_row_that_waits(client, monkeypatch) -> None:
    changes, sizes = client.app.state.engines["pets"]._changes, []
    real = changes.submit

    async def submit(request, rows):
        sizes.append(rows)
        return await real(request, rows)

    monkeypatch.setattr(changes, "submit", submit)
    send(client, "created")
    send(client, "deleted", annotations=[{"id": number} for number in range(300)])
    assert sizes == [1, 300]
