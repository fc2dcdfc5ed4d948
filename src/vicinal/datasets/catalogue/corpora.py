"""Text collections with their own file layouts: one adapter each, and one recipe for all.

An adapter turns files into a :class:`~vicinal.datasets.catalogue.corpora.Corpus` of texts
and label sets; the recipe turns words into features.
"""

import html
import io
import json
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from vicinal._core.arrays import Csr, Int
from vicinal._core.checks import WEIGHTINGS, check_option
from vicinal._core.labels import indicator_of
from vicinal._core.validation import canonical_csr
from vicinal.datasets.catalogue.entry import Finder, Recipe
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES, open_data, open_text
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.texts import Words, bag_of_words
from vicinal.errors import DataFormatError


def fitted_words(
    texts: Sequence[str],
    fitted: Int | None,
    weighting: str = "binary",
    min_rows: int = 1,
    token_pattern: str = r"(?u)\b\w\w+\b",
    source: str = "texts",
) -> tuple[Csr, tuple[str, ...]]:
    r"""Return the words of each text as features, and the words in sorted order."""
    check_option("weighting", weighting, WEIGHTINGS)
    plain = "counts" if weighting == "tfidf" else weighting
    options = Words(plain, token_pattern=token_pattern, min_rows=min_rows)
    rows = np.arange(len(texts)) if fitted is None else fitted
    kept = [texts[row] for row in rows]
    learned, words = bag_of_words(kept, options, source)
    parts = [sparse.csr_array(learned)]
    others = np.setdiff1d(np.arange(len(texts)), rows)
    if len(others):
        fixed = replace(options, vocabulary=words, min_rows=1)
        found, _ = bag_of_words([texts[row] for row in others], fixed, source)
        parts.append(sparse.csr_array(found))
    stacked = sparse.csr_array(sparse.vstack(parts, format="csr"))
    matrix = stacked[np.argsort(np.concatenate((rows, others)))]
    if weighting == "tfidf":
        matrix = TfidfTransformer().fit(parts[0]).transform(matrix)
    return canonical_csr(matrix), words


class Corpus(NamedTuple):
    """What an adapter reads: texts, label ids of each, names, and the published split."""

    texts: Sequence[str]
    labels: Sequence[Sequence[int]]
    label_names: tuple[str, ...]
    row_names: tuple[str, ...] | None = None
    train: Int | None = None
    test: Int | None = None


def texts(
    files: tuple[str, ...],
    kind: str,
    adapter: Callable[[Finder, int], Corpus],
    min_rows: int = 2,
    token_pattern: str = r"(?u)\b\w\w+\b",
) -> Recipe:
    """Return a recipe for a bag of words over what an adapter reads."""
    usual_rows = min_rows

    def read(
        find: Finder,
        weighting: str = "binary",
        min_rows: int = usual_rows,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> Dataset:
        texts, sets, names, row_names, train, test = adapter(find, max_bytes)
        X, words = fitted_words(texts, train, weighting, min_rows, token_pattern, files[0])
        Y = indicator_of(sets, range(len(names)))
        return Dataset(X, Y, words, names, row_names, train, test)

    return Recipe(kind, files, read, ("weighting", "min_rows", "max_bytes"))


def number(keys: Sequence[Sequence[str]]) -> tuple[list[list[int]], tuple[str, ...]]:
    """Give numbers to the keys that occur, in sorted order; return the ids and the keys."""
    names = sorted({key for one in keys for key in one})
    ids = {key: index for index, key in enumerate(names)}
    return [[ids[key] for key in one] for one in keys], tuple(names)


def distinct(names: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names; a name shared by several keys is followed by its key in brackets."""
    count = Counter(names)
    return tuple(
        f"{name} ({key})" if count[name] > 1 else name
        for name, key in zip(names, keys, strict=True)
    )


TEXT, TEXTS, ANY_TEXT = "a text", "a list of texts", "a text, a list of texts or null"


def text_lines(path: Path, max_bytes: int) -> list[str]:
    """Split a file only at newlines, as a title may contain other line-break characters."""
    return open_text(path, max_bytes=max_bytes).removesuffix("\n").split("\n")


def json_lines(path: Path, fields: Mapping[str, str], max_bytes: int) -> list[dict[str, Any]]:
    """Read one object per line; `fields` gives the expected type of each field to keep."""
    records = []
    for line_number, line in enumerate(text_lines(path, max_bytes), 1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataFormatError(path, "a JSON object", str(error), line_number) from None
        if not isinstance(record, dict):
            raise DataFormatError(path, "a JSON object", repr(record), line_number)
        for name, kind in fields.items():
            if name not in record or not _is(record[name], kind):
                got = repr(record[name])[:60] if name in record else "no such field"
                raise DataFormatError(path, f"{kind} in {name}", got, line_number)
        records.append({name: record[name] for name in fields})
    return records


def _is(value: object, kind: str) -> bool:
    """Tell whether a field has the expected type."""
    if isinstance(value, str):
        return kind in (TEXT, ANY_TEXT)
    if isinstance(value, list):
        return kind in (TEXTS, ANY_TEXT) and all(isinstance(one, str) for one in value)
    return value is None and kind == ANY_TEXT


DEBTAGS_FILES = ("debtags-bookworm-main-amd64.jsonl.gz",)
_DEBTAGS_FIELDS = {"package": TEXT, "text": TEXT, "tags": TEXTS}


def read_debtags(find: Finder, max_bytes: int) -> Corpus:
    """Read all packages and all tags."""
    records = json_lines(find(DEBTAGS_FILES[0]), _DEBTAGS_FIELDS, max_bytes)
    labels, label_names = number([record["tags"] for record in records])
    return Corpus(
        [record["text"] for record in records],
        labels,
        label_names,
        tuple(record["package"] for record in records),
    )


EURLEX_FILES = (
    *(f"eurlex57k-{part}.jsonl.xz" for part in ("train", "dev", "test")),
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
            parts = [record[field] or "" for field in _BODY]  # the main body is a list of articles
            texts.append("\n".join("\n".join(p) if isinstance(p, list) else p for p in parts))
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
        raise DataFormatError(path, expected, repr(error)) from None


REUTERS_FILES = ("reuters21578.tar.xz",)
_STORY = re.compile(r"<REUTERS ([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TEXT = re.compile(r"<TEXT[^>]*>(.*)</TEXT>", re.DOTALL)


class Story(NamedTuple):
    """One story of the split."""

    name: str
    part: str
    topics: list[str]
    text: str


def read_reuters(find: Finder, max_bytes: int) -> Corpus:
    """Read the stories of the split that have one of the common topics; training rows first."""
    path = find(REUTERS_FILES[0])
    archive = io.BytesIO(open_data(path, max_bytes=max_bytes))
    found: list[Story] = []
    try:
        with tarfile.open(fileobj=archive, mode="r:") as members:
            for member in sorted(members.getnames()):
                stream = members.extractfile(member) if member.endswith(".sgm") else None
                if stream is not None:
                    found += stories(stream.read().decode("latin-1"))
    except tarfile.TarError as error:
        raise DataFormatError(path, "a tar archive of .sgm files", repr(error)) from None
    return _common(found)


def stories(sgml: str) -> list[Story]:
    """Return the stories that ModApte uses: indexed (``TOPICS="YES"``), for training or test."""
    found = []
    for attributes, body in _STORY.findall(sgml):
        facts = dict(re.findall(r'(\w+)="([^"]*)"', attributes))
        part = facts.get("LEWISSPLIT", "")
        if facts.get("TOPICS") == "YES" and part in ("TRAIN", "TEST"):
            topics = re.findall(r"<D>(.*?)</D>", "".join(_TOPICS.findall(body)))
            text = html.unescape(re.sub(r"<[^>]*>", " ", "".join(_TEXT.findall(body))))
            found.append(Story(facts.get("NEWID", ""), part, topics, text))
    return found


def _common(found: list[Story]) -> Corpus:
    """Keep the topics of both parts, and the stories that have one."""
    parts = {part: [one for one in found if one.part == part] for part in ("TRAIN", "TEST")}
    train, test = ({topic for one in part for topic in one.topics} for part in parts.values())
    rows = [one for part in parts.values() for one in part if train & test & set(one.topics)]
    labels, names = number([sorted(train & test & set(one.topics)) for one in rows])
    in_train = np.array([one.part == "TRAIN" for one in rows], dtype=np.bool_)
    return Corpus(
        [one.text for one in rows],
        labels,
        names,
        tuple(one.name for one in rows),
        train=np.flatnonzero(in_train).astype(np.int64),
        test=np.flatnonzero(~in_train).astype(np.int64),
    )


YSO_FILES = ("yso-finna-en.tsv.xz", "labels.tsv.gz")


def read_yso(find: Finder, max_bytes: int) -> Corpus:
    """Read texts and subjects; subjects without a text are dropped and the rest renumbered."""
    subjects = text_lines(find(YSO_FILES[1]), max_bytes)
    path = find(YSO_FILES[0])
    texts: list[str] = []
    lines: list[list[int]] = []
    for line_number, row in enumerate(text_lines(path, max_bytes), 1):
        ids, tab, text = row.partition("\t")
        try:
            labels = [int(one) for one in ids.split(",")]
        except ValueError:
            labels = [-1]
        if not tab or min(labels) < 0 or max(labels) >= len(subjects):
            expected = f"ids from 0 to {len(subjects) - 1}, a tab, a text"
            raise DataFormatError(path, expected, repr(row[:40]), line_number)
        texts.append(text)
        lines.append(labels)
    used = sorted({line for labels in lines for line in labels})
    new = {line: index for index, line in enumerate(used)}
    keys, _, names = zip(*(subjects[line].partition("\t") for line in used), strict=True)
    return Corpus(
        texts, [[new[line] for line in labels] for labels in lines], distinct(names, keys)
    )


MAKUPALAT_FILES = tuple(f"makupalat-{part}.tsv.gz" for part in ("train", "validate", "test"))


def read_makupalat(find: Finder, max_bytes: int) -> Corpus:
    """Read texts and subjects of the three parts; those for validation are in neither side."""
    texts: list[str] = []
    subjects: list[list[str]] = []
    sizes = []
    for name in MAKUPALAT_FILES:
        path = find(name)
        rows = text_lines(path, max_bytes)
        for line_number, row in enumerate(rows, 1):
            text, tab, uris = row.rpartition("\t")
            if not tab:
                expected = "a text, a tab, subjects in <…>"
                raise DataFormatError(path, expected, "no tab", line_number)
            texts.append(text)
            subjects.append([uri.strip("<>") for uri in uris.split()])
        sizes.append(len(rows))
    labels, names = number(subjects)
    test = np.arange(sizes[0] + sizes[1], sum(sizes), dtype=np.int64)
    return Corpus(texts, labels, names, train=np.arange(sizes[0], dtype=np.int64), test=test)
