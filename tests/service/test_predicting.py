"""Predictions, neighbours and facts: the same as the model gives in process."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from vicinal import Blend, BRkNN, MLkNN, load, make_pipeline
from vicinal.methods import prepared
from vicinal.preprocess import MinMax, TextVectorizer
from vicinal.service import Limits, engine, served_model
from vicinal.service import request_rows as rows_module
from vicinal.service.engine import Batcher
from vicinal.service.limits import ServiceError


def expected(folder: Path, texts: list[str], top: int) -> list[dict]:
    X, estimator = prepared(load(folder), texts)
    scores = estimator.scores(X)
    ids, values = scores.top(top)
    labels = estimator.predict_names(X)
    names = estimator.label_names_
    return [
        {
            "labels": labels[row],
            "scores": [
                {"label": names[i], "score": float(v)}
                for i, v in zip(ids[row], values[row], strict=True)
            ],
        }
        for row in range(len(texts))
    ]


def test_predictions_equal_those_of_the_model(client, model_folder) -> None:
    texts = ["a cat in the park", "dogs play", "", "nothing known here"]
    for top in (1, 3, 1000):
        got = client.predict(*texts, top=top)
        assert got == {"results": expected(model_folder, texts, top), "version": 0}


def test_the_documented_forms(client) -> None:
    models = client.get("/v1/models").json()["models"]
    assert [model["id"] for model in models] == ["pets"]
    facts = client.facts()
    assert {**facts, "upkeep": ""} == {**models[0], "upkeep": ""}
    assert (facts["rows"], facts["labels"], facts["version"]) == (6, 3, 0)
    assert facts["method"] == "InstanceKNN"
    assert facts["reads_text"]
    assert facts["can_learn"]


def test_features_by_name_and_dense_values_equal_the_text(client) -> None:
    text = client.predict("cat park")["results"][0]
    rows = [{"features": {"cat": 1, "park": 1.0, "unheard-of": 5}}]
    assert client.post("/v1/models/pets/predict", json={"rows": rows, "top": 3}).json()[
        "results"
    ] == [text]
    n_words = client.facts()["features"]
    labels = client.get("/v1/models/pets/labels").json()
    assert labels["total"] == 3
    wrong = client.post("/v1/models/pets/predict", json={"rows": [{"values": [1.0]}]})
    assert wrong.status_code == 422
    assert f"expected {n_words} numbers, got 1" in wrong.json()["error"]["message"]


def test_a_model_of_dense_columns(start) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 3)) * 8
    Y = (X > 4).astype(int)
    model = Pipeline([("scale", MinMax()), ("estimator", BRkNN(3))])
    model.fit(X, Y, estimator__label_names=["a", "b", "c"])
    client = start(models={"numbers": model, "same": model.steps[-1][1]})
    query = rng.random((4, 3)) * 8
    by_place = [{"values": row.tolist()} for row in query]
    by_name = [{"features": {str(i): v for i, v in enumerate(row)}} for row in query.tolist()]
    want = model.predict(query)
    for rows in (by_place, by_name, [by_place[0], by_name[1], *by_place[2:]]):
        reply = client.post("/v1/models/numbers/predict", json={"rows": rows}).json()
        got = [[label in row["labels"] for label in "abc"] for row in reply["results"]]
        assert np.array_equal(got, want)
    unknown = client.post("/v1/models/numbers/predict", json={"rows": [{"features": {"x": 1}}]})
    assert unknown.status_code == 422
    assert "rows.0.features" in unknown.json()["error"]["message"]
    text = client.post("/v1/models/numbers/predict", json={"rows": [{"text": "a"}]})
    assert text.status_code == 422
    assert "reads no text" in text.json()["error"]["message"]


@pytest.mark.parametrize("endpoint", ["predict", "explain", "neighbors"])
def test_an_error_does_not_send_back_a_large_request(start, endpoint) -> None:
    model = BRkNN(1).fit([[0.0], [1.0]], [["low"], ["high"]])
    client = start(models={"numbers": model})
    row = {"features": {"x" * 3_000_000: 1}}
    reply = client.post(f"/v1/models/numbers/{endpoint}", json={"rows": [row]})
    assert reply.status_code == 422
    assert reply.json()["error"]["message"].startswith("rows.0.features: expected names among")
    assert len(reply.content) < 1000


def test_an_error_does_not_send_back_a_large_labeling_interface(client) -> None:
    schema = f"<View><Choices name='c' toName='{'t' * 90_000}'/></View>"
    reply = client.post("/label-studio/setup", json={"schema": schema})
    assert reply.status_code == 422
    assert "label_config: expected an element named" in reply.json()["error"]["message"]
    assert len(reply.content) < 1000


def test_neighbors_are_the_nearest_rows_with_shared_words(client, model_folder) -> None:
    reply = client.post(
        "/v1/models/pets/neighbors", json={"rows": [{"text": "kitten mat"}], "k": 2}
    ).json()
    near = reply["results"][0]["neighbors"]
    X, estimator = prepared(load(model_folder), ["kitten mat"])
    graph = estimator.neighbor_graph(X, 2)
    assert [n["row_id"] for n in near] == graph.ids[0].tolist()
    assert [n["similarity"] for n in near] == graph.similarity[0].tolist()
    assert near[0]["labels"] == ["cats"]
    for neighbor in near:
        shares = [part["share"] for part in neighbor["shared"]]
        assert sum(shares) == pytest.approx(neighbor["similarity"])
    assert {part["feature"] for part in near[0]["shared"]} == {"kitten", "mat"}


def test_labels_are_listed_searched_and_paged(client) -> None:
    everything = client.get("/v1/models/pets/labels").json()
    assert everything["labels"] == [
        {"label": "cats", "rows": 3},
        {"label": "dogs", "rows": 3},
        {"label": "play", "rows": 3},
    ]
    some = client.get("/v1/models/pets/labels", params={"contains": "S", "limit": 1, "offset": 1})
    assert some.json() == {"labels": [{"label": "dogs", "rows": 3}], "total": 2, "version": 0}


def test_examples_are_words_of_training_rows(client) -> None:
    examples = client.get("/v1/models/pets/examples").json()["examples"]
    assert examples
    assert all(example["text"] for example in examples)


def explained(client, text: str, **more) -> dict[str, Any]:
    """Return the explanation of the label cats."""
    body = {"rows": [{"text": text}], "labels": ["cats"], **more}
    reply = client.post("/v1/models/pets/explain", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()["results"][0]["labels"][0]


def test_the_parts_of_an_explanation_sum_to_the_score(client) -> None:
    found = explained(client, "a cat and a kitten play")
    parts = sum(part["share"] for part in found["parts"])
    assert found["base"] + parts == pytest.approx(found["value"], abs=1e-12)
    assert found["score"] == dict_of(client.predict("a cat and a kitten play"))["cats"]
    assert "without" not in found


def test_an_explanation_tells_where_the_words_are(start, tmp_path) -> None:
    words = TextVectorizer(language="en", weighting="counts")
    texts = ["the cat arrives", "a dog barks"] * 8
    model = make_pipeline(words, Blend("mix")).fit(texts, [["cats"], ["dogs"]] * 8)
    model.save(tmp_path / "pets")
    client = start(models=[tmp_path / "pets"])
    text = "\U0001f408 Cats arrived, unheard"
    rows = [{"text": text}, {"features": {"cat": 1}}]
    reply = client.post("/v1/models/pets/explain", json={"rows": rows, "top": 1}).json()
    words_of = reply["results"][0]["words"]
    found = [(text[each["start"] : each["stop"]], each["features"]) for each in words_of]
    assert found == [("Cats", ["cat"]), ("arrived", ["arrive"])]
    assert reply["results"][1]["words"] == []


def dict_of(reply: dict[str, Any]) -> dict[str, float]:
    return {each["label"]: each["score"] for each in reply["results"][0]["scores"]}


def test_words_are_listed_by_what_the_score_loses_without_them(client) -> None:
    """Every loss is that of the text without the word; words without a loss are not listed."""
    words = ["the", "cat", "and", "kitten", "park", "unknown"]
    found = explained(client, " ".join(words), without=True)
    whole = dict_of(client.predict(" ".join(words)))["cats"]
    losses = {}
    for word in words:
        rest = " ".join(each for each in words if each != word)
        losses[word] = whole - dict_of(client.predict(rest))["cats"]
    assert {each["feature"]: each["loss"] for each in found["without"]} == pytest.approx(
        {word: loss for word, loss in losses.items() if loss > 0}
    )
    listed = [each["loss"] for each in found["without"]]
    assert listed == sorted(listed, reverse=True)
    assert min(losses.values()) <= 0 < max(losses.values())


def test_a_text_without_known_words_and_too_many_rows(client) -> None:
    assert explained(client, "zzz", without=True)["without"] == []
    body = {"rows": [{"text": "cat"}] * 17, "without": True}
    reply = client.post("/v1/models/pets/explain", json=body)
    assert reply.status_code == 422
    assert "at most 16 rows" in reply.json()["error"]["message"]


def test_unknown_models_are_named(client) -> None:
    reply = client.get("/v1/models/other")
    assert reply.status_code == 404
    assert "pets" in reply.json()["error"]["message"]


def test_several_models_at_once(start, model_folder) -> None:
    other = MLkNN(2).fit([[0.0], [1.0], [2.0]], [["low"], ["low"], ["high"]])
    client = start(models={"pets": model_folder, "levels": other})
    assert [m["id"] for m in client.get("/v1/models").json()["models"]] == ["pets", "levels"]
    client.learn("a parrot", "birds")
    assert client.facts()["version"] == 1
    assert client.get("/v1/models/levels").json()["version"] == 0


def test_batches_hold_what_arrives_meanwhile() -> None:
    sizes: list[int] = []

    async def main() -> list[int]:
        batcher: Batcher[int, int] = Batcher(
            lambda items: [item * 2 for item in items],
            max_rows=4,
            max_wait=0.05,
            max_queued=100,
            max_seconds=5,
            observe=sizes.append,
        )
        found = await asyncio.gather(*(batcher.submit(i, 1) for i in range(10)))
        await batcher.close()
        return found

    assert asyncio.run(main()) == [2 * i for i in range(10)]
    assert max(sizes) == 4
    assert sum(sizes) == 10


def test_one_failing_item_does_not_fail_its_batch_and_full_queues_refuse() -> None:
    def run(items: list[int]) -> list[int | Exception]:
        return [ValueError("seven") if item == 7 else item for item in items]

    async def main() -> list:
        batcher: Batcher[int, int] = Batcher(
            run, max_rows=100, max_wait=0.01, max_queued=10, max_seconds=5
        )
        tasks = [batcher.submit(i, 1) for i in range(12)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(main())
    assert found[:7] == list(range(7))
    assert isinstance(found[7], ValueError)
    assert isinstance(found[11], ServiceError)
    assert found[11].status == 503


def test_texts_beside_features_in_one_request(client) -> None:
    rows = [{"text": "a kitten"}, {"features": {"kitten": 1.0}}, {"text": "the dog"}]
    mixed = client.post("/v1/models/pets/predict", json={"rows": rows, "top": 3}).json()["results"]
    alone = client.predict("a kitten", "the dog")["results"]
    assert [mixed[0], mixed[2]] == alone


def test_columns_keep_the_names_they_were_learned_by(start) -> None:
    model = BRkNN(1).fit(pd.DataFrame({"size": [0.0, 9.0]}), [["small"], ["large"]])
    client = start(models={"sizes": model})
    row = {"rows": [{"features": {"size": 8}}]}
    assert client.post("/v1/models/sizes/predict", json=row).json()["results"][0]["labels"] == [
        "large"
    ]
    assert client.get("/v1/models/sizes/examples").json()["examples"] == []


def test_dense_rows_beyond_memory_are_refused(start, monkeypatch) -> None:
    monkeypatch.setattr(rows_module, "DENSE_CELLS", 3)
    client = start(models={"numbers": BRkNN(1).fit([[0.0, 1.0], [1.0, 0.0]], [["a"], ["b"]])})
    body = {"rows": [{"values": [1.0, 2.0]}] * 2}
    reply = client.post("/v1/models/numbers/predict", json=body)
    assert reply.status_code == 422
    assert "rows: expected at most 1 rows, got 2" in reply.json()["error"]["message"]


def test_labels_to_explain_are_labels_of_the_model(client) -> None:
    body = {"rows": [{"text": "a cat"}], "labels": ["cats", "horses"]}
    reply = client.post("/v1/models/pets/explain", json=body)
    assert reply.status_code == 422
    assert "horses" in reply.json()["error"]["message"]


def test_the_icon_and_files_that_are_not_there(client) -> None:
    assert client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"
    assert client.get("/static/none.js").status_code == 404


def test_a_closed_or_slow_batcher_says_so() -> None:
    free = threading.Event()

    def run(items: list[int]) -> list[int]:
        free.wait(5)
        return items

    async def main() -> tuple[Any, ...]:
        batcher: Batcher[int, int] = Batcher(
            run, max_rows=1, max_wait=0, max_queued=10, max_seconds=0.01
        )
        slow = await asyncio.gather(batcher.submit(1, 1), return_exceptions=True)
        free.set()  # the result comes when nobody waits for it any more
        await batcher.close()
        late = await asyncio.gather(batcher.submit(2, 1), return_exceptions=True)
        return *slow, *late

    slow, late = asyncio.run(main())
    assert (slow.status, slow.code) == (504, "too-slow")
    assert (late.status, late.code) == (503, "stopping")


def test_items_whose_requests_gave_up_are_let_go_while_a_batch_still_runs() -> None:
    free, seen = threading.Event(), []

    def run(items: list[list[int]]) -> list[int]:
        seen.extend(items)
        free.wait(5)
        return [len(item) for item in items]

    async def main() -> tuple[int, int]:
        batcher: Batcher[list[int], int] = Batcher(
            run, max_rows=1, max_wait=0, max_queued=10, max_seconds=0.05
        )
        waiting = [batcher.submit([number], 1) for number in range(4)]
        await asyncio.gather(*waiting, return_exceptions=True)
        left = len(batcher._waiting), batcher._rows
        free.set()
        await batcher.close()
        return left

    assert asyncio.run(main()) == (0, 0)
    assert seen == [[0]]


def test_answers_that_take_too_long_are_given_up(start, monkeypatch) -> None:
    client = start(limits=Limits(answer_seconds=0.02))
    served = client.app.state.engines["pets"]
    monkeypatch.setattr(served._description, "labels", lambda *_: time.sleep(0.1))
    reply = client.get("/v1/models/pets/labels")
    assert (reply.status_code, reply.json()["error"]["code"]) == (504, "too-slow")


def explained_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[threading.Semaphore, threading.Event]:
    """Let explanations wait; return what counts those that began, and what ends all."""
    entered, released = threading.Semaphore(0), threading.Event()

    def explanations(*_: object) -> Iterator[dict[str, Any]]:
        entered.release()
        assert released.wait(20)
        yield {}

    monkeypatch.setattr(served_model, "explanations", explanations)
    return entered, released


def test_nothing_else_waits_for_explanations_and_few_wait_at_once(start, monkeypatch) -> None:
    client, body = start(), {"rows": [{"text": "a cat"}]}
    entered, released = explained_slowly(monkeypatch)
    monkeypatch.setattr(engine, "MOST_WAITING", 3)
    with ThreadPoolExecutor(5) as threads:
        path = "/v1/models/pets/explain"
        asked = [threads.submit(client.post, path, json=body) for _ in range(3)]
        try:
            assert all(entered.acquire(timeout=10) for _ in range(engine.SLOW_THREADS))
            for other in ("/v1/models", "/v1/models/pets/labels", "/v1/models/pets/taught"):
                assert threads.submit(client.get, other).result(10).status_code == 200
            assert threads.submit(client.predict, "a cat").result(10)["version"] == 0
            while len(client.app.state.engines["pets"]._running) < 3:
                time.sleep(0.01)
            further = threads.submit(client.post, path, json=body).result(10)
        finally:
            released.set()
    assert (further.status_code, further.json()["error"]["code"]) == (503, "overloaded")
    assert [each.result().status_code for each in asked] == [200] * 3


def test_explanations_that_take_too_long_are_given_up(start, monkeypatch) -> None:
    client = start(limits=Limits(answer_seconds=0.05))
    _, released = explained_slowly(monkeypatch)
    with ThreadPoolExecutor(1) as threads:
        body = {"rows": [{"text": "a cat"}]}
        asked = threads.submit(client.post, "/v1/models/pets/explain", json=body)
        try:
            reply = asked.result(10)
        finally:
            released.set()
    assert (reply.status_code, reply.json()["error"]["code"]) == (504, "too-slow")
