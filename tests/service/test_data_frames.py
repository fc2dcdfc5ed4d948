"""Models that were fitted on a data frame: their columns are found by name, and nobody is warned.

Tests turn warnings into errors; scikit-learn's on missing names would fail a request.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from vicinal import BRkNN, load, make_pipeline
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
