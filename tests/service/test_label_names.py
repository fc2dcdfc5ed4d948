"""Names of labels that are identifiers: beside the labels in replies, from the model or a file."""

import json

import pytest
from tests.service.conftest import text_model

from vicinal.datasets.vocabulary import Vocabulary
from vicinal.methods.pipeline import named_pipeline
from vicinal.service.annif_rest import read_vocabulary
from vicinal.service.engine import About

pytestmark = pytest.mark.native

NAMES = {"cats": "kissat", "dogs": "koirat"}
SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/p1> a skos:Concept ; skos:prefLabel "pots"@en .
"""


def test_replies_name_labels_beside_their_identifiers(start) -> None:
    client = start(about={"pets": About(vocabulary={"cats": ("kissat", None)})})
    (result,) = client.predict("the cat sat on a mat")["results"]
    assert "cats" in result["labels"]
    assert result["names"] == {"cats": "kissat"}
    body = {"rows": [{"text": "a cat"}], "explain": True}
    reply = client.post("/v1/models/pets/predict", json=body).json()
    assert reply["results"][0]["names"] == {"cats": "kissat"}


def test_a_model_brings_its_own_vocabulary(start, tmp_path) -> None:
    vocabulary = Vocabulary({"fi": NAMES})
    model = named_pipeline(text_model().steps, None, None, vocabulary)
    model.save(tmp_path / "pets")
    client = start(models=[tmp_path / "pets"])
    assert client.predict("cat dog")["results"][0]["names"] == NAMES
    given = About(vocabulary={"cats": ("katter", None)})
    client = start(models=[tmp_path / "pets"], about={"pets": given})
    assert client.predict("cat dog")["results"][0]["names"] == {"cats": "katter"}


def test_without_a_vocabulary_replies_stay_as_they_were(client) -> None:
    assert set(client.predict("cat")["results"][0]) == {"labels", "scores"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.tsv", "<http://example.org/p1>\tpots\t7.1\n"),
        ("v.json", json.dumps({"http://example.org/p1": "pots"})),
        ("v.ttl", SKOS),
    ],
)
def test_a_vocabulary_of_any_format_is_read(tmp_path, name, content) -> None:
    if name.endswith("ttl"):
        pytest.importorskip("rdflib")
    (tmp_path / name).write_text(content, encoding="utf-8")
    notation = "7.1" if name == "v.tsv" else None
    assert read_vocabulary(tmp_path / name) == {"http://example.org/p1": ("pots", notation)}
