"""Models that were fitted on a data frame: their columns are found by name, and nobody is warned.

Tests turn warnings into errors; scikit-learn's on missing names would fail a request.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from vicinal import Blend, BRkNN, load, make_pipeline
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.random((40, 3)) * [1, 10, 100], columns=["size", "age", "weight"])
LABELS = [
    [name for name in FRAME if row[name] > FRAME[name].median()] for _, row in FRAME.iterrows()
]
HEADERS = {"Authorization": "Bearer write-token-1"}


def fitted(*steps):
    model = make_pipeline(*steps, BRkNN(3)) if steps else BRkNN(3)
    return model.fit(FRAME, LABELS, label_names=list(FRAME))


def requests(frame):
    """Rows by name, in another order, and as values in the model's order."""
    named = [{"features": dict(reversed(row.items()))} for row in frame.to_dict("records")]
    return named, [{"values": row} for row in frame.to_numpy().tolist()]


@pytest.mark.parametrize("steps", [(), (MinMax(),), ("passthrough", StandardScaler())], ids=str)
def test_rows_by_name_and_by_position(start, steps, tmp_path) -> None:
    model = fitted(*steps)
    client = start(models={"things": model}, store=tmp_path / "store")
    new = FRAME.iloc[:5] * 1.1
    expected = model.predict_names(new)
    for rows in requests(new):
        reply = client.post("/v1/models/things/predict", json={"rows": rows})
        assert [row["labels"] for row in reply.json()["results"]] == expected
    body = {"rows": requests(new)[0]}
    for what in ("neighbors", "explain"):
        assert client.post(f"/v1/models/things/{what}", json=body).status_code == 200


@pytest.mark.parametrize("steps", [(), (MinMax(),)], ids=str)
def test_learning_and_snapshots_keep_the_names(start, steps, tmp_path) -> None:
    fitted(*steps).save(tmp_path / "things")
    settings = {"models": [tmp_path / "things"], "store": tmp_path / "store"}
    client = start(**settings)
    (row,) = requests(FRAME.iloc[:1] * 3)[0]
    learned = client.post(
        "/v1/models/things/learn", json={"rows": [{**row, "labels": ["huge"]}]}, headers=HEADERS
    )
    assert learned.status_code == 200, learned.text
    saved = client.post("/v1/models/things/snapshot", headers=HEADERS).json()
    again = load(tmp_path / saved["path"])
    expected = fitted(*steps).partial_fit(FRAME.iloc[:1] * 3, [["huge"]])
    assert again.feature_names_in_.tolist() == list(FRAME)
    assert type(again) is type(expected)
    assert again.predict_names(FRAME) == expected.predict_names(FRAME)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(FRAME[["weight", "age", "size"]])
    client = start(**settings)  # from the snapshot
    reply = client.post("/v1/models/things/predict", json={"rows": requests(FRAME)[0]})
    found = [row["labels"] for row in reply.json()["results"]]
    assert found == expected.predict_names(FRAME)


MIXED = pd.DataFrame(
    {
        "note": ["a small boat", "an old house", "boat and harbour", "house in town"] * 10,
        "colour": ["blue", "red", "blue", "white"] * 10,
        "price": RNG.random(40).round(3),
        "opened": pd.date_range("2026-01-01", periods=40, freq="5D"),
    }
)
TAGS = [["water"], ["land"], ["water"], ["land"]] * 10
CELLS = MIXED.assign(opened=MIXED["opened"].dt.strftime("%Y-%m-%d")).to_dict("records")


def columns_by_step():
    words = (TfidfVectorizer(), "note")
    categories = (OneHotEncoder(handle_unknown="ignore"), ["colour"])
    return make_pipeline(
        make_column_transformer(words, categories, (MinMax(), ["price"])), Blend("mix")
    )


def from_a_table(tmp_path):
    """The rows as a file."""
    MIXED.assign(tags=[";".join(row) for row in TAGS]).to_csv(tmp_path / "d.csv", index=False)
    return tmp_path / "d.csv"


@pytest.mark.parametrize("kind", ["frame", "columns", "table"])
def test_cells_by_the_name_of_their_column(start, run, tmp_path, kind) -> None:
    if kind == "table":
        code, _, err = run("train", from_a_table(tmp_path), "-o", tmp_path / "notes.model")
        assert code == 0, err
        model = load(tmp_path / "notes.model")
        _, out, _ = run("predict", tmp_path / "notes.model", tmp_path / "d.csv")
        expected = [line.split("\t")[1].split(", ") for line in out.splitlines()]
    else:
        model = Blend("mix") if kind == "frame" else columns_by_step()
        expected = model.fit(MIXED, TAGS).predict_names(MIXED)
    keys = [*MIXED] if kind != "columns" else ["note", "colour", "price"]
    rows = [{"features": {key: row[key] for key in reversed(keys)}} for row in CELLS]
    client = start(models={"notes": model}, store=tmp_path / "store")
    reply = client.post("/v1/models/notes/predict", json={"rows": rows})
    assert reply.status_code == 200, reply.text
    assert [row["labels"] for row in reply.json()["results"]] == expected
    why = client.post("/v1/models/notes/explain", json={"rows": rows[:1]})
    assert why.status_code == 200, why.text
    assert "boat" in why.text
    new = {"features": {"note": "a glacier", "colour": "green", "price": 0.5}}
    new["features"] |= {"opened": "2026-03-01"} if "opened" in keys else {}
    taught = {"rows": [{**new, "labels": ["ice"]}]}
    learned = client.post("/v1/models/notes/learn", json=taught, headers=HEADERS)
    assert learned.status_code == 200, learned.text
    reply = client.post("/v1/models/notes/predict", json={"rows": [new]})
    assert reply.json()["results"][0]["labels"] == ["ice"]


def test_cells_that_do_not_fit_are_refused(start, tmp_path) -> None:
    client = start(models={"notes": Blend("mix").fit(MIXED, TAGS), "numbers": fitted()})

    def detail(model, row):
        reply = client.post(f"/v1/models/{model}/predict", json={"rows": [row]})
        assert reply.status_code == 422
        return reply.text

    columns = "the columns note, colour, price, opened"
    assert columns in detail("notes", {"values": [1.0]})
    assert columns in detail("notes", {"features": {**CELLS[0], "size": 1}})
    assert "in column 'price', row 0" in detail("notes", {"features": {"note": "a boat"}})
    secret = {"features": {**CELLS[0], "price": "confidential"}}
    assert "confidential" not in detail("notes", secret)
    assert "expected numbers, got text" in detail("numbers", {"features": {"size": "big"}})
