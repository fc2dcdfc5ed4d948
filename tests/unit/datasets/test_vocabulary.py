"""The names of labels that are identifiers."""

import json
import sys

import pytest

from vicinal import BRkNN, make_pipeline
from vicinal.datasets.vocabulary import Vocabulary, read_vocabulary
from vicinal.errors import (
    DataFormatError,
    InvalidArgumentError,
    MissingExtraError,
    ModelFormatError,
)
from vicinal.methods import load
from vicinal.preprocess import TextVectorizer

URI = "http://example.org/p"
SKOS = f"""
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<{URI}1> a skos:Concept ; skos:prefLabel "talo"@fi, "house"@en ; skos:altLabel "home"@en .
<{URI}2> a skos:Concept ; skos:prefLabel "sea"@en .
"""
RDF = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="{URI}1"><skos:prefLabel xml:lang="fi">talo</skos:prefLabel>
<skos:prefLabel xml:lang="en">house</skos:prefLabel></skos:Concept>
<skos:Concept rdf:about="{URI}2"><skos:prefLabel xml:lang="en">sea</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
BOTH = {
    "names.ttl": SKOS,
    "names.rdf": RDF,
    "names.csv": f"uri,label_fi,label_en,notation\n{URI}1,talo,house,1\n{URI}2,,sea,2\n",
    "names.json": json.dumps({f"{URI}1": {"fi": "talo", "en": "house"}, f"{URI}2": {"en": "sea"}}),
    "list.json": json.dumps([
        {"uri": f"{URI}1", "prefLabel": {"fi": "talo", "en": "house"}},
        {"uri": f"{URI}2", "prefLabel": {"en": "sea"}},
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", BOTH)
def test_names_in_two_languages(name, tmp_path):
    (tmp_path / name).write_text(BOTH[name], encoding="utf-8")
    found = read_vocabulary(tmp_path / name)
    assert [found.name(f"{URI}1", each) for each in ("fi", "en")] == ["talo", "house"]
    assert found.name(f"{URI}2", "fi") == "sea"
    assert found.name(f"{URI}3") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.tsv", f'<{URI}1>\tan "old" house\n<{URI}2>\tsea\n'),
        ("names.json", json.dumps({f"{URI}1": 'an "old" house', f"{URI}2": "sea"})),
    ],
)
def test_names_without_a_language(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    found = read_vocabulary(tmp_path / name)
    assert found.name(f"{URI}1", "fi") == 'an "old" house'
    assert found.shown(f"{URI}2") == f"sea <{URI}2>"
    assert found.shown("other") == "other"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty.tsv", ""),
        ("one_cell.tsv", "only\n"),
        ("damaged.ttl", "@prefix skos"),
        ("damaged.rdf", "<rdf"),
        ("damaged.json", "{"),
        ("nothing.json", "[1, 2]"),
        ("unnamed.csv", "uri,notation\na,1\n"),
    ],
)
def test_damaged_vocabularies_are_refused(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataFormatError, match=name):
        read_vocabulary(tmp_path / name)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"vocabulary: expected a name that ends in"):
        read_vocabulary(tmp_path / "names.pdf")


def test_without_rdflib_its_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "names.ttl").write_text(SKOS)
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"vicinal\[vocabularies\]"):
        read_vocabulary(tmp_path / "names.ttl")


def test_a_vocabulary_is_saved_with_a_model(tmp_path):
    model = make_pipeline(TextVectorizer(), BRkNN(1, metric="cosine"))
    model.fit(["old house", "blue sea"], [["p1"], ["p2"]])
    model.label_vocabulary_ = Vocabulary({"en": {"p1": "houses"}, "fi": {"p1": "talot"}})
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").label_vocabulary_ == model.label_vocabulary_


@pytest.mark.parametrize(
    "damage", [{"languages": ["en"]}, {"names": [["a"], ["b", "c"]]}, {"identifiers": [1, 2]}]
)
def test_damaged_states_are_refused(damage):
    state = Vocabulary({"en": {"p1": "houses"}, "fi": {"p1": "talot"}}).get_state()
    with pytest.raises(ModelFormatError):
        Vocabulary.from_state({**state, **damage})
