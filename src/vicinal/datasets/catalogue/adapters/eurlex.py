"""EURLEX57K: laws of the European Union with their EuroVoc concepts, JSONL in three parts."""

import json

import numpy as np

from vicinal.datasets.catalogue.adapters.corpus import Corpus, distinct, number
from vicinal.datasets.catalogue.adapters.lines import json_lines
from vicinal.datasets.catalogue.entry import Finder
from vicinal.datasets.files import open_text

FILES = (
    "eurlex57k-train.jsonl.xz",
    "eurlex57k-dev.jsonl.xz",
    "eurlex57k-test.jsonl.xz",
    "eurovoc_en.json.gz",
)
_TEXT = ("title", "header", "recitals", "main_body")


def read_eurlex(find: Finder, max_bytes: int) -> Corpus:
    """Read training, development and test rows, in that order; the second is in no part."""
    texts: list[str] = []
    concepts: list[list[str]] = []
    names: list[str] = []
    ends: list[int] = []
    for file in FILES[:3]:
        for record in json_lines(find(file), ("celex_id", "concepts", *_TEXT), max_bytes):
            texts.append("\n".join(_as_text(record[field]) for field in _TEXT))
            concepts.append(record["concepts"])
            names.append(record["celex_id"])
        ends.append(len(texts))
    labels, keys = number(concepts)
    eurovoc = json.loads(open_text(find(FILES[3]), max_bytes=max_bytes))
    label_names = [eurovoc[key]["label"] if key in eurovoc else key for key in keys]
    return Corpus(
        texts,
        labels,
        distinct(label_names, keys),
        tuple(names),
        train=np.arange(ends[0]),
        test=np.arange(ends[1], ends[2]),
    )


def _as_text(field: str | list[str] | None) -> str:
    """Return a field as one text; the main body is a list of articles."""
    if field is None:
        return ""
    return field if isinstance(field, str) else "\n".join(field)
