"""Learning: exact, durable before the reply, replayed after a restart, never doubled."""

import json
import os
import shutil
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from tests.service.conftest import TEXTS, WRITE, text_model

from vicinal import MLkNN, load
from vicinal.decision import Decision, TopS
from vicinal.index import TrainingRows
from vicinal.methods import NeighborEstimator
from vicinal.methods.brknn import BRkNNScoring
from vicinal.methods.training import Training
from vicinal.preprocess import TextVectorizer
from vicinal.service import Limits, served_model
from vicinal.service import learner as module
from vicinal.service.app import serve_model
from vicinal.service.learner import Learner, Outcome, Snapshots
from vicinal.service.limits import ConflictError
from vicinal.service.served_model import ServedModel
from vicinal.service.store import Change, Event, EventStore, first_digest

QUERIES = ["a cat in the park", "parrot", "dogs and a parrot play"]


def retrained(*extra: tuple[str, list[str]], without: tuple[int, ...] = ()) -> list[list[str]]:
    """Return what a model trained from scratch on the same rows predicts."""
    model = text_model()
    vectorizer, estimator = model.steps[0][1], model.steps[1][1]
    rows = [row for place, row in enumerate([*TEXTS, *extra]) if place not in without]
    names = list(dict.fromkeys(["cats", "dogs", "play", *(n for _, ls in extra for n in ls)]))
    estimator.fit(
        vectorizer.transform([text for text, _ in rows]),
        [labels for _, labels in rows],
        label_names=names,
    )
    return estimator.predict_names(vectorizer.transform(QUERIES))


def predicted(client) -> list[list[str]]:
    return [result["labels"] for result in client.predict(*QUERIES)["results"]]


def test_learning_equals_retraining_at_once(client) -> None:
    reply = client.learn("a cat that can play", "birds", "cats")
    assert reply.status_code == 200
    assert reply.json() == {"row_ids": [6], "version": 1, "repeated": False}
    assert predicted(client) == retrained(("a cat that can play", ["birds", "cats"]))
    assert client.facts()["labels"] == 4
    assert client.learn("the park", "play").json()["row_ids"] == [7]


def test_forgetting_equals_retraining_without(client) -> None:
    row = client.learn("a cat that can play", "birds").json()["row_ids"][0]
    assert client.forget(row).json() == {"row_ids": [row], "version": 2, "repeated": False}
    assert predicted(client) == retrained()
    assert client.forget(0).status_code == 200
    assert predicted(client) == retrained(without=(0,))
    gone = client.forget(0)
    assert gone.status_code == 404
    assert "row 0" in gone.json()["error"]["message"]
    assert client.forget(99).status_code == 404
    last = client.forget(1, 2, 3, 4, 5)
    assert last.status_code == 422
    assert client.facts()["version"] == 3


def test_rows_without_labels_are_examples_too(client) -> None:
    assert client.learn("a cat with no label").status_code == 200
    assert predicted(client) == retrained(("a cat with no label", []))


def test_a_restart_gives_the_same_model(start) -> None:
    client = start()
    client.learn("a parrot can talk and play", "birds", "play")
    second = client.learn("a parrot in the park", "birds").json()["row_ids"]
    client.forget(*second)
    before = client.predict(*QUERIES)
    again = start()
    assert again.predict(*QUERIES) == before
    assert again.facts()["version"] == 3
    assert again.learn("x", "y").json()["row_ids"] == [8]


def test_replay_needs_no_snapshot(start, tmp_path, model_folder) -> None:
    """What a kill leaves: the store, and no snapshot of the last versions."""
    client = start()
    client.learn("a parrot can talk and play", "birds", "play")
    client.learn("a parrot and a dog", "birds")
    client.forget(6)
    before = client.predict(*QUERIES)
    copy = tmp_path / "copy.sqlite"
    with closing(sqlite3.connect(tmp_path / "taught.sqlite")) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    again = start(store=copy)
    assert again.predict(*QUERIES) == before


def test_idempotency_keys_repeat_the_first_reply(start) -> None:
    client = start()
    first = client.learn("a parrot", "birds", key="k1").json()
    repeated = client.learn("a parrot", "birds", key="k1")
    assert repeated.json() == {**first, "repeated": True}
    other = client.learn("a parrot", "cats", key="k1")
    assert other.status_code == 409
    assert client.facts()["rows"] == 7
    again = start()
    assert again.learn("a parrot", "birds", key="k1").json() == {**first, "repeated": True}
    in_body = {"rows": [{"text": "a parrot", "labels": ["birds"]}], "idempotency_key": "k1"}
    headers = {"Authorization": f"Bearer {WRITE}"}
    reply = again.post("/v1/models/pets/learn", json=in_body, headers=headers)
    assert reply.json()["repeated"]


def snapshots_in(folder: Path) -> list[str]:
    """Return the versions that have a snapshot."""
    return sorted(path.name for path in folder.glob("[0-9]*") if path.name.isdigit())


def test_snapshots_are_written_on_request_and_when_due(start, tmp_path) -> None:
    client = start(limits=Limits(rows_per_snapshot=3, snapshots_kept=2))
    folder = tmp_path / "taught.sqlite.snapshots" / "pets"
    headers = {"Authorization": f"Bearer {WRITE}"}
    client.learn("a parrot", "birds")
    reply = client.post("/v1/models/pets/snapshot", headers=headers).json()
    assert reply["version"] == 1
    assert reply["path"] == "taught.sqlite.snapshots/pets/000000000001"
    model = load(tmp_path / reply["path"])
    assert model.predict(["a parrot"]).shape == (1, 4)
    for number in range(6):
        client.learn(f"parrot {number}", "birds")
    start()  # stops the first one, which waits for its snapshots
    assert snapshots_in(folder)[-1] == "000000000007"
    assert len(snapshots_in(folder)) <= 2
    graphs = {path.name.removesuffix(".graph.npz") for path in folder.glob("*.npz")}
    assert graphs == set(snapshots_in(folder))


def test_snapshots_are_due_by_rows_not_by_requests(start, tmp_path) -> None:
    """One request of many rows is as long to replay as many requests of one row."""
    limits = Limits(rows_per_snapshot=3)
    client = start(limits=limits)
    folder = tmp_path / "taught.sqlite.snapshots" / "pets"
    headers = {"Authorization": f"Bearer {WRITE}"}
    rows = [{"text": f"a parrot {number}", "labels": ["birds"]} for number in range(3)]
    client.learn("a whale", "fish")
    assert not folder.exists()
    assert client.post("/v1/models/pets/learn", json={"rows": rows}, headers=headers).is_success
    for _ in range(100):
        if folder.exists() and snapshots_in(folder):
            break
        time.sleep(0.02)
    assert snapshots_in(folder) == ["000000000002"]


def test_a_long_replay_is_saved_at_once(start, tmp_path) -> None:
    client = start()
    for number in range(4):
        client.learn(f"a parrot {number}", "birds")
    before = client.predict("parrot")
    start(store=tmp_path / "other.sqlite")
    folder = tmp_path / "taught.sqlite.snapshots" / "pets"
    shutil.rmtree(folder)
    folder.mkdir(parents=True)
    names = (".000000000003.0123456789abcdef.unfinished", "000000000002.graph.npz")
    left = [folder / name for name in (*names, "000000000002.history.json")]
    for file in left:
        file.touch()
        os.utime(file, (1, 1))
    (folder / ".000000000002.history.json.0123456789abcdef.unfinished").touch()
    again = start(limits=Limits(rows_per_snapshot=3))
    assert again.predict("parrot") == before
    for _ in range(100):
        if snapshots_in(folder) == ["000000000004"] and not any(file.exists() for file in left):
            return
        time.sleep(0.02)
    raise AssertionError(list(folder.iterdir()))


@pytest.mark.parametrize("damage", [None, "flipped", "short", "of other rows", "absent"])
def test_a_restart_uses_the_saved_graph_or_searches_it(
    start, tmp_path, damage, monkeypatch
) -> None:
    """The graph of a snapshot saves a search; whatever happens to it, the model is the same."""
    client = start(models={"pets": graph_model()})
    client.learn("a parrot", "birds")
    client.post("/v1/models/pets/snapshot", headers={"Authorization": f"Bearer {WRITE}"})
    client.learn("a cat and a dog", "cats")
    before = client.predict(*QUERIES)
    client.app.state.engines["pets"]._upkeep = None  # ends without a snapshot, as if killed
    start(store=tmp_path / "other.sqlite")
    file = tmp_path / "taught.sqlite.snapshots" / "pets" / "000000000001.graph.npz"
    content = bytearray(file.read_bytes())
    if damage == "flipped":
        content[len(content) // 3] ^= 0xFF
        file.write_bytes(content)
    elif damage == "short":
        file.write_bytes(content[:-50])
    elif damage == "of other rows":
        np.savez(file, ids=np.zeros((3, 1), dtype=np.int32), values=np.zeros((3, 1)))
    elif damage == "absent":
        file.unlink()
    trained, searched = graph_model(), []
    search = TrainingRows.query_self
    monkeypatch.setattr(
        TrainingRows, "query_self", lambda self, k: searched.append(k) or search(self, k)
    )
    again = start(models={"pets": trained})
    assert again.predict(*QUERIES) == before
    assert bool(searched) == (damage is not None)


def graph_model() -> Pipeline:
    """Return a model of texts whose method needs the neighbour graph to learn."""
    model = Pipeline([("words", TextVectorizer()), ("estimator", MLkNN(2, metric="cosine"))])
    return model.fit([text for text, _ in TEXTS], [labels for _, labels in TEXTS])


def test_a_long_history_is_replayed_in_parts(start, tmp_path, monkeypatch) -> None:
    client = start()
    for number in range(5):
        client.learn(f"a parrot {number}", "birds")
    before = client.predict("parrot")
    start(store=tmp_path / "other.sqlite")
    shutil.rmtree(tmp_path / "taught.sqlite.snapshots")
    monkeypatch.setattr(module, "REPLAY_BYTES", 1)
    assert start().predict("parrot") == before


def test_the_log_of_what_was_taught(client) -> None:
    client.learn("a parrot", "birds")
    client.learn("a whale " * 200, "fish")
    client.forget(6)
    taught = client.get("/v1/models/pets/taught", params={"limit": 10}).json()["taught"]
    assert [(event["kind"], event["version"], event["undone"]) for event in taught] == [
        ("forget", 3, False),
        ("learn", 2, False),
        ("learn", 1, True),
    ]
    assert taught[2]["rows"] == [{"labels": ["birds"], "text": "a parrot"}]
    assert len(taught[1]["rows"][0]["text"]) == 300


@pytest.fixture
def learner(model_folder: Path, tmp_path: Path) -> Learner:
    store = EventStore(tmp_path / "taught.sqlite")
    store.bind("pets", "f")
    snapshots = Snapshots(store.path, "pets", 2)
    return Learner("pets", served_first(model_folder), store, snapshots)


def served_first(model_folder: Path) -> ServedModel:
    """Return the model as it was trained, at the beginning of its history."""
    return ServedModel(load(model_folder), 0, first_digest("f"))


def test_requests_learned_together_equal_those_learned_one_by_one(learner, tmp_path) -> None:
    def learn(text: str, *labels: str, key: str | None = None) -> tuple[Change, ...]:
        return (Change("learn", ({"text": text, "labels": list(labels)},), key),)

    answers = learner.process(
        [
            learn("a parrot", "birds", key="a"),
            learn("a parrot", "birds", key="a"),
            (Change("forget", (99,)),),
            learn("parrots play", "birds", "play"),
            (Change("forget", (0, 6)),),
            (*learn("two in one"), Change("forget", (7,))),
            (*learn("none of it"), Change("forget", (7,))),
            learn("last"),
        ]
    )
    ids = [a if isinstance(a, Exception) else [o.row_ids for o in a] for a in answers]
    assert ids[0] == ids[1] == [(6,)]
    assert ids[2].status == 404
    assert ids[3:6] == [[(7,)], [(0, 6)], [(8,), (7,)]]
    assert ids[6].status == 404
    assert ids[7] == [(9,)]
    with learner.served.reading() as (estimator, number, _):
        assert number == 6
        assert estimator.row_ids_.tolist() == [1, 2, 3, 4, 5, 8, 9]
    learner.store.close()


def test_rows_learned_together_are_limited_in_cells(learner, monkeypatch) -> None:
    """A thousand rows of a dense model take a few bytes of JSON each, and megabytes in memory."""
    monkeypatch.setattr(module, "DENSE_CELLS", 5)
    together, real = [], ServedModel.learn
    monkeypatch.setattr(
        ServedModel, "learn", lambda *given: together.append(given[1].size) or real(*given)
    )
    requests = [
        (Change("learn", ({"text": "cat dog kitten", "labels": ["cats"]},)),) for _ in range(7)
    ]
    answers = learner.process(requests)
    assert [answer[0].row_ids for answer in answers] == [(6 + place,) for place in range(7)]
    assert together == [6, 6, 6, 3]
    learner.store.close()


def test_a_replay_gives_new_labels_the_same_order(learner, model_folder) -> None:
    """Lessons that were learned one by one are replayed together."""
    for label in ("lesson 9", "lesson 10", "a", "lesson 8"):
        learner.process([(Change("learn", ({"text": "a parrot", "labels": [label, "z"]},)),)])
    other = Learner("pets", served_first(model_folder), learner.store, learner.snapshots)
    other.replay()
    with learner.served.reading() as one, other.served.reading() as two:
        expected = ("cats", "dogs", "play", "lesson 9", "z", "lesson 10", "a", "lesson 8")
        assert one.estimator.label_names_ == two.estimator.label_names_ == expected
        X = learner.served.reader.features([{"text": "a parrot"}])
        found = [held.estimator.scores(X).toarray() for held in (one, two)]
        assert np.array_equal(*found)
    learner.store.close()


def test_two_processes_on_one_store_agree(learner, model_folder) -> None:
    store = EventStore(learner.store.path)
    store.bind("pets", "f")
    other = Learner("pets", served_first(model_folder), store, learner.snapshots)
    rows = ({"text": "a parrot", "labels": ["birds"]},)
    for teacher in (learner, other, learner, other):
        teacher.process([(Change("learn", rows),)])
    learner.replay()
    with learner.served.reading() as one, other.served.reading() as two:
        assert one.number == two.number == 4
        assert one.estimator.row_ids_.tolist() == two.estimator.row_ids_.tolist()
    learner.store.close()
    store.close()


@pytest.fixture
def bad_labels_refused(monkeypatch) -> None:
    """Let the model refuse to learn a row with the label ``bad``."""
    real = served_model.learn

    def picky(estimator, X, labels) -> None:
        if any("bad" in names for names in labels):
            raise ValueError("no bad labels")
        real(estimator, X, labels)

    monkeypatch.setattr(served_model, "learn", picky)


@pytest.mark.usefixtures("bad_labels_refused")
def test_what_the_model_refuses_is_not_stored_and_shifts_no_id(learner, model_folder) -> None:
    requests = [
        (Change("learn", ({"text": "a", "labels": [label]},)),) for label in ("x", "bad", "y")
    ]
    answers = learner.process(requests)
    assert answers[1].status == 422
    assert "no bad labels" in answers[1].message
    assert [answers[place][0].row_ids for place in (0, 2)] == [(6,), (7,)]
    with learner.served.reading() as (estimator, number, _):
        assert number == 2
        assert estimator.label_names_ == ("cats", "dogs", "play", "x", "y")
        assert estimator.row_ids_.tolist() == list(range(8))
    other = Learner("pets", served_first(model_folder), learner.store, learner.snapshots)
    assert other.replay() == 2
    learner.store.close()


def test_events_survive_with_everything_they_hold(tmp_path) -> None:
    store = EventStore(tmp_path / "s.sqlite")
    store.bind("m", "f")
    text = 'NUL \x00, quote ", snowman ☃, newline \n, 𝄞'
    change = Change("learn", ({"text": text, "labels": ["ä"]},), "key", "label-studio:1:2")
    event = Event("m", 1, change, (5,), "2026-01-01T00:00:00.000+00:00", first_digest("f"))
    store.append([event])
    store.close()
    again = EventStore(tmp_path / "s.sqlite")
    assert again.after("m", 0, 10) == [event]
    assert again.by_key("m", "key") == event
    assert again.learned_from("m", "label-studio:1:2") == [5]
    assert again.last_version("m") == 1
    assert json.loads(change.payload)[0]["text"] == text
    again.close()


def test_new_labels_are_limited_because_each_takes_memory(start, monkeypatch) -> None:
    monkeypatch.setattr(served_model, "MOST_NEW_LABELS", 3)
    client, headers = start(), {"Authorization": f"Bearer {WRITE}"}

    def learn(*labels: str) -> Any:
        rows = [{"text": f"a {label}", "labels": [label]} for label in labels]
        return client.post("/v1/models/pets/learn", json={"rows": rows}, headers=headers)

    assert learn("a", "b", "cats", "a").json()["row_ids"] == [6, 7, 8, 9]
    refused = learn("b", "c", "d").json()["error"]
    assert refused["code"] == "too-many-labels"
    assert refused["message"].startswith("rows: expected at most 6 labels in the model, got 2 more")
    with ThreadPoolExecutor(4) as threads:
        replies = [each.result() for each in [threads.submit(learn, each) for each in "wxyz"]]
    assert sorted(each.status_code for each in replies) == [200, 422, 422, 422]
    assert learn("a", "b", "cats").json()["row_ids"] == [11, 12, 13]
    assert client.facts()["labels"] == 6
    assert start().facts()["labels"] == 6


def test_a_service_without_a_store_learns_nothing(start) -> None:
    client = start(store=None)
    for reply in (
        client.learn("a parrot", "birds"),
        client.forget(0),
        client.post("/v1/models/pets/snapshot", headers={"Authorization": f"Bearer {WRITE}"}),
    ):
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "no-store")
    assert client.get("/v1/models/pets/taught").json() == {"taught": [], "version": 0}


@dataclass(eq=False, repr=False, kw_only=True)
class FitOnce(NeighborEstimator):
    """A method of a user that learns from all rows only; no registry knows it."""

    n_neighbors: int = 1

    def _own_decision(self) -> Decision:
        return TopS(1)

    def _fit_scoring(self, training: Training) -> BRkNNScoring:
        return BRkNNScoring.fit(training, self.n_neighbors)


def test_a_method_that_cannot_learn_says_so(start) -> None:
    model = FitOnce().fit([[0.0], [1.0], [2.0]], [["a"], ["b"], ["a"]])
    client = start(models={"levels": model})
    body = {"rows": [{"values": [1.0], "labels": ["a"]}]}
    headers = {"Authorization": f"Bearer {WRITE}"}
    reply = client.post("/v1/models/levels/learn", json=body, headers=headers)
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "cannot-learn")


@pytest.mark.usefixtures("bad_labels_refused")
def test_a_refused_change_is_refused_again_and_a_later_one_is_learned(learner) -> None:
    bad = (Change("learn", ({"text": "a", "labels": ["bad"]},), "key"),)
    (first,) = learner.process([bad])
    (again,) = learner.process([bad])
    assert (first.status, again.status) == (422, 422)
    assert again.message == "no bad labels"
    good = (Change("learn", ({"text": "a", "labels": ["good"]},)),)
    assert learner.process([good])[0][0] == Outcome((6,), 1)
    learner.store.close()


def test_a_snapshot_of_a_model_that_changes_meanwhile_is_of_one_version(
    learner, monkeypatch
) -> None:
    """What is learned while a snapshot is written does not wait, and is not in the snapshot."""
    rows = ({"text": "a parrot", "labels": ["birds"]},)
    learner.process([(Change("learn", rows),)])
    real = module.save

    def save(model, path: Path) -> None:
        learner.process([(Change("learn", rows),)])
        real(model, path)

    monkeypatch.setattr(module, "save", save)
    name, version = learner.snapshots.write(learner.served)
    assert (name, version) == ("taught.sqlite.snapshots/pets/000000000001", 1)
    digests = learner.store.verify("pets", {0, 1})
    model, version, _ = learner.snapshots.newest([1], digests)
    assert (len(model.steps[-1][1].row_ids_), version) == (7, 1)
    assert learner.served.version == 2
    learner.store.close()


def test_a_snapshot_that_another_process_writes_during_a_start_is_kept(
    model_folder, tmp_path, monkeypatch
) -> None:
    """The starting process has read the history before. It must not call the snapshot foreign."""
    stores = [EventStore(tmp_path / "taught.sqlite") for _ in range(2)]
    _, other = serve_model("pets", model_folder, stores[0], Limits())
    verify = EventStore.verify

    def verify_and_lose_time(*arguments):
        digests = verify(*arguments)
        other.process([(Change("learn", ({"text": "a parrot", "labels": ["birds"]},)),)])
        other.snapshot()
        return digests

    monkeypatch.setattr(EventStore, "verify", verify_and_lose_time)
    served, started = serve_model("pets", model_folder, stores[1], Limits())
    assert served.version == 1
    assert started.snapshots.versions() == [1]
    for store in stores:
        store.close()


def test_a_store_that_others_always_reach_first_is_given_up(learner, monkeypatch) -> None:
    def taken(events) -> None:
        raise ConflictError(409, "conflict", "another process was faster")

    monkeypatch.setattr(learner.store, "append", taken)
    (answer,) = learner.process([(Change("learn", ({"text": "a", "labels": []},)),)])
    assert isinstance(answer, ConflictError)
    learner.store.close()
