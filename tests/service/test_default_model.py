"""The default model, a blend, taught while it is served: what was taught counts, nobody waits."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from tests.service.conftest import WRITE

from vicinal import Blend
from vicinal.preprocess import TextVectorizer
from vicinal.service.served_model import ServedModel

HEADERS = {"Authorization": f"Bearer {WRITE}"}
MODEL = "/v1/models/pets"
N_ROWS = 120
TOPICS = {
    "animals": "cat dog parrot whale tiger horse",
    "food": "bread cheese apple soup rice tea",
    "music": "guitar piano song drum concert opera",
}


@pytest.fixture(scope="module")
def blend() -> Pipeline:
    """A blend of texts that are mixtures of topics."""
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for number in range(N_ROWS):
        chosen = rng.choice(list(TOPICS), 1 + number % 2, replace=False)
        words = [word for topic in chosen for word in rng.choice(TOPICS[topic].split(), 4)]
        texts.append(" ".join([*words, f"w{number % 17}"]))
        labels.append([str(topic) for topic in chosen])
    steps = [("words", TextVectorizer()), ("estimator", Blend())]
    return Pipeline(steps).fit(texts, labels, estimator__label_names=list(TOPICS))


def wait_until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def labels_of(client: Any, text: str) -> set[str]:
    return set(client.predict(text)["results"][0]["labels"])


def why(client: Any, text: str) -> dict[str, Any]:
    body = {"rows": [{"text": text}], "top": 3}
    return client.post(f"{MODEL}/explain", json=body).json()["results"][0]


def test_a_correction_counts_at_once_and_can_be_undone(start, blend) -> None:
    client = start(models={"pets": blend})
    text = "parrot whale tiger cat"
    before = client.predict(text)
    assert set(before["results"][0]["labels"]) == {"animals"}
    taught = client.learn(text, "music", "sea").json()
    assert labels_of(client, text) == {"music", "sea"}
    assert [each.get("as_taught") for each in client.predict(text, "whale", text)["results"]] == [
        N_ROWS,
        None,
        N_ROWS,
    ]
    assert labels_of(client, "cat tiger parrot whale") == {"music", "sea"}  # the same words
    assert "as taught" in str(why(client, text))
    client.learn(text, "food")  # what was taught last counts
    assert labels_of(client, text) == {"food"}
    assert client.predict(text)["results"][0]["as_taught"] == N_ROWS + 1
    log = client.get(f"{MODEL}/taught").json()["taught"]
    assert [event["rows"][0]["labels"] for event in log] == [["food"], ["music", "sea"]]
    client.forget(log[0]["row_ids"][0])
    assert labels_of(client, text) == {"music", "sea"}
    client.forget(*taught["row_ids"])
    after = client.predict(text)
    assert set(after["results"][0]["labels"]) == {"animals"}
    assert "as_taught" not in after["results"][0]
    assert "as taught" not in str(why(client, text))
    undone = [event["undone"] for event in client.get(f"{MODEL}/taught").json()["taught"]]
    assert undone == [False, False, True, True]  # two that forget, two that were undone


def test_what_was_taught_is_there_after_a_restart(start, blend) -> None:
    client = start(models={"pets": blend})
    texts = [f"{' '.join(words.split()[:3])} taught" for words in TOPICS.values()]
    for number, text in enumerate(texts):
        client.learn(text, f"own {number}")
    expected = client.predict(*texts, "guitar soup")
    for _ in range(2):  # from the snapshot that the stop wrote
        again = start(models={"pets": blend})
        assert again.predict(*texts, "guitar soup") == expected
        assert [labels_of(again, text) for text in texts] == [{f"own {n}"} for n in range(3)]


def test_nobody_waits_while_a_blend_is_recalibrated(start, blend, monkeypatch) -> None:
    client = start(models={"pets": blend})
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    is_fitting, may_go_on, real = threading.Event(), threading.Event(), Blend.recalibrate

    def recalibrate(self: Any) -> Any:
        is_fitting.set()
        assert may_go_on.wait(30)
        return real(self)

    monkeypatch.setattr(Blend, "recalibrate", recalibrate)
    rows = [{"text": f"cat soup w{number} t{number}", "labels": ["x"]} for number in range(12)]
    reply = client.post(f"{MODEL}/learn", json={"rows": rows}, headers=HEADERS)
    assert reply.json()["row_ids"] == list(range(N_ROWS, N_ROWS + 12))  # ten per cent of the rows
    assert is_fitting.wait(30)
    assert client.facts()["upkeep"] == "recalibrating"
    assert labels_of(client, "guitar piano song drum") == {"music"}
    assert client.learn("guitar bread", "late", "food").json()["row_ids"] == [N_ROWS + 12]
    assert labels_of(client, "guitar bread") == {"late", "food"}
    client.forget(N_ROWS + 1)
    may_go_on.set()
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    facts = client.facts()
    assert (facts["rows"], facts["version"]) == (N_ROWS + 12, 3)
    assert facts["rows_since_threshold"] == 2
    assert labels_of(client, "guitar bread") == {"late", "food"}
    assert client.learn("tea opera", "new").json()["row_ids"] == [N_ROWS + 13]


def test_predictions_are_answered_while_a_blend_is_taught_and_recalibrated(start, blend) -> None:
    client = start(models={"pets": blend})
    stop = threading.Event()

    def ask() -> list[int]:
        versions = []
        while not stop.is_set():
            versions.append(client.predict("guitar piano soup")["version"])
        return versions

    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        ids = [
            client.learn(f"horse w{number}", "animals", f"own {number}").json()["row_ids"]
            for number in range(16)  # more than a tenth of the rows: recalibrated meanwhile
        ]
        stop.set()
        seen = [each.result() for each in asking]
    assert ids == [[N_ROWS + number] for number in range(16)]
    for versions in seen:
        assert versions == sorted(versions)
    wait_until(lambda: client.facts()["upkeep"] == "nothing")
    for number in range(16):
        assert labels_of(client, f"horse w{number}") == {"animals", f"own {number}"}


def test_a_recalibration_ends_beside_clients_that_teach_many_rows_without_a_pause(
    blend, monkeypatch
) -> None:
    served, real, missed = ServedModel(blend), Blend.partial_fit, []

    def teach() -> None:
        rows = [{"text": f"tea soup w{number}"} for number in range(10)]
        with served.changing():
            served.learn(served.reader.features(rows), [["food"]] * 10)
            served.publish(served.version + 1, "")

    def partial_fit(self: Any, *given: Any, **options: Any) -> Any:
        done = real(self, *given, **options)
        if not served._writing.locked():  # the copy learns what it missed, and misses more
            missed.append(served.version)
            assert len(missed) < 10
            teach()
        return done

    def recalibrate(self: Any) -> Any:
        teach()
        return self

    monkeypatch.setattr(Blend, "recalibrate", recalibrate)
    monkeypatch.setattr(Blend, "partial_fit", partial_fit)
    served.recalibrate()
    assert len(missed) == 2  # more than 4 rows, more than 8, but not more than 16
    with served.reading() as held:
        assert len(held.estimator.row_ids_) == N_ROWS + 30
