"""EURLEX57K: laws of the European Union with their EuroVoc concepts, JSONL in three parts."""

import json
from pathlib import Path

import numpy as np

from vicinal._base.errors import DataFormatError
from vicinal.datasets.catalogue.adapters.corpus import Corpus, distinct, number
from vicinal.datasets.catalogue.adapters.lines import ANY_TEXT, TEXT, TEXTS, json_lines
from vicinal.datasets.catalogue.entry import Finder
from vicinal.datasets.files import open_text

EURLEX_FILES = (
    "eurlex57k-train.jsonl.xz",
    "eurlex57k-dev.jsonl.xz",
    "eurlex57k-test.jsonl.xz",
    "eurovoc_en.json.gz",
)
_BODY = ("title", "header", "recitals", "main_body")
_EURLEX_FIELDS = {"celex_id": TEXT, "concepts": TEXTS} | dict.fromkeys(_BODY, ANY_TEXT)


def read_eurlex(find: Finder, max_bytes: int) -> Corpus:
    """Read training, development and test rows; development rows are in neither part."""
    texts: list[str] = []
    concepts: list[list[str]] = []
    names: list[str] = []
    ends: list[int] = []
    for file in EURLEX_FILES[:3]:
        for record in json_lines(find(file), _EURLEX_FIELDS, max_bytes):
            texts.append("\n".join(_as_text(record[field]) for field in _BODY))
            concepts.append(record["concepts"])
            names.append(record["celex_id"])
        ends.append(len(texts))
    labels, keys = number(concepts)
    eurovoc = _eurovoc(find(EURLEX_FILES[3]), max_bytes)
    return Corpus(
        texts,
        labels,
        distinct([eurovoc.get(key, key) for key in keys], keys),
        tuple(names),
        train=np.arange(ends[0]),
        test=np.arange(ends[1], ends[2]),
    )


def _eurovoc(path: Path, max_bytes: int) -> dict[str, str]:
    """Read the names of the concepts."""
    try:
        concepts = json.loads(open_text(path, max_bytes=max_bytes))
        return {key: str(concept["label"]) for key, concept in concepts.items()}
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        expected = "a JSON object of concepts with a label each"
        raise DataFormatError(str(path), expected, repr(error)) from None


def _as_text(field: str | list[str] | None) -> str:
    """Return a field as one text; the main body is a list of articles."""
    if field is None:
        return ""
    return field if isinstance(field, str) else "\n".join(field)
