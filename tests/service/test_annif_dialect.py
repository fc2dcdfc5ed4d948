"""The requests of Annif's ``http`` backend and REST clients, as recorded from Annif 1.4.3."""

from datetime import datetime
from urllib.parse import urlencode

import pytest
from tests.service.conftest import WRITE

from vicinal.service.engine import About

PROJECT = "/v1/projects/pets"
FORM = {
    "User-Agent": "Annif/1.4.3",
    "Accept": "*/*",
    "Content-Type": "application/x-www-form-urlencoded",
}


def suggest(client, **fields) -> dict:
    return client.post(f"{PROJECT}/suggest", content=urlencode(fields), headers=FORM)


def test_a_project_is_described_as_annif_expects(client) -> None:
    project = client.get(PROJECT).json()
    assert project["is_trained"] is True
    assert datetime.fromisoformat(project["modification_time"]).tzinfo is not None
    assert {"project_id", "name", "language", "backend"} <= set(project)
    assert client.get("/v1/projects").json()["projects"] == [project]
    assert client.get("/v1/projects/none").status_code == 404


def test_the_form_of_the_http_backend(client) -> None:
    fields = {"text": "a cat & a kitten = ähm ☃", "limit": "2", "metadata_title": "x"}
    reply = suggest(client, **fields)
    assert reply.status_code == 200
    results = reply.json()["results"]
    best = client.predict(fields["text"], top=2)["results"][0]["scores"]
    assert [(r["uri"], r["score"]) for r in results] == [
        (each["label"], min(1.0, each["score"])) for each in best if each["score"] > 0
    ]
    assert set(results[0]) == {"uri", "label", "notation", "score"}
    assert results[0]["notation"] is None


def test_limit_threshold_and_bad_forms(client) -> None:
    assert len(suggest(client, text="cat dog play", limit=1).json()["results"]) == 1
    high = suggest(client, text="cat dog play", threshold="0.9").json()["results"]
    assert all(each["score"] >= 0.9 for each in high)
    assert suggest(client, limit=3).status_code == 422
    assert suggest(client, text="x", limit="many").status_code == 422
    assert suggest(client, text="x", limit=0).status_code == 422
    assert suggest(client, text="").json() == {"results": []}
    assert client.post(f"{PROJECT}/suggest", json={"text": "x"}).status_code == 415
    bad = client.post(f"{PROJECT}/suggest", content=b"text=%ff%fe", headers=FORM)
    assert bad.status_code == 400
    raw = client.post(f"{PROJECT}/suggest", content=b"text=\xff", headers=FORM)
    assert raw.status_code == 400


def test_batches_of_up_to_32_documents(client) -> None:
    documents = [{"text": f"cat {n}", "document_id": f"d{n}"} for n in range(32)]
    reply = client.post(f"{PROJECT}/suggest-batch?limit=1", json={"documents": documents})
    assert [each["document_id"] for each in reply.json()] == [f"d{n}" for n in range(32)]
    assert all(len(each["results"]) == 1 for each in reply.json())
    too_many = {"documents": [*documents, {"text": "x"}]}
    assert client.post(f"{PROJECT}/suggest-batch", json=too_many).status_code == 422


def test_learning_is_reflected_by_the_next_suggestion(client) -> None:
    body = [
        {
            "text": "kitten door ball",
            "subjects": [{"uri": "http://example.org/birds", "label": "birds"}],
        }
    ]
    assert client.post(f"{PROJECT}/learn", json=body).status_code == 401
    reply = client.post(f"{PROJECT}/learn", json=body, headers={"Authorization": f"Bearer {WRITE}"})
    assert (reply.status_code, reply.content) == (204, b"")
    best = suggest(client, text="kitten door ball").json()["results"][0]
    assert best["uri"] == "http://example.org/birds"


def test_a_vocabulary_names_the_subjects(start) -> None:
    about = About(vocabulary={"cats": ("kissat", "7.1")})
    client = start(about={"pets": about})
    best = suggest(client, text="kitten mat").json()["results"][0]
    assert (best["uri"], best["label"], best["notation"]) == ("cats", "kissat", "7.1")


def test_scores_are_those_of_probabilities(client) -> None:
    """Annif takes scores in (0, 1] only: zeros are left out."""
    for text in ("cat", "nothing known", "dog play cat mat"):
        for each in suggest(client, text=text, limit=100).json()["results"]:
            assert 0 < each["score"] <= 1


@pytest.mark.parametrize("body", [{}, [{"text": "x"}], [{"subjects": []}], [1], "x"])
def test_bad_lessons_are_refused(client, body) -> None:
    headers = {"Authorization": f"Bearer {WRITE}"}
    assert client.post(f"{PROJECT}/learn", json=body, headers=headers).status_code == 422


def test_no_documents_teach_nothing(client) -> None:
    headers = {"Authorization": f"Bearer {WRITE}"}
    reply = client.post(f"{PROJECT}/learn", json=[], headers=headers)
    assert reply.status_code == 204
    assert client.facts()["version"] == 0
