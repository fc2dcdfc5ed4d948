"""Vocabularies: the names of labels that are identifiers, in one or more languages."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from xml.sax import SAXException

from vicinal._core.state import State, read_names, read_part
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES, FilePath, bare_name, open_data
from vicinal.datasets.tables.csv import DELIMITERS, decode_table, long_cells
from vicinal.errors import DataFormatError, InvalidArgumentError, ModelFormatError, optional_module

RDF_FORMATS = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".nt": "nt"}
"""Formats of SKOS vocabularies by extension, as rdflib calls them."""
ENDINGS = (*DELIMITERS, ".json", *RDF_FORMATS)
ANY = ""
"""The language of names without one."""
_IDENTIFIERS = ("uri", "id", "identifier", "concept")
_NAMES = ("preflabel", "label", "name")
_NAME_COLUMN = re.compile(r"(?:pref)?(?:label|name)(?:[_@-]([a-z]{2,3}))?", re.IGNORECASE)

_DAMAGE = (SyntaxError, ValueError, LookupError, AssertionError, AttributeError, RecursionError)
"""What rdflib's parsers raise for damaged files, besides its own errors and those of XML."""

Entry = tuple[str, str, str]
"""Identifier, language, name."""


@dataclass(frozen=True)
class Vocabulary:
    """The names of labels."""

    names: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Self:
        """Return a vocabulary of identifiers with a language and a name; the first name counts."""
        names: dict[str, dict[str, str]] = {}
        for identifier, language, name in entries:
            bare = identifier.strip().removeprefix("<").removesuffix(">")
            if bare and name.strip():
                names.setdefault(language, {}).setdefault(bare, name.strip())
        return cls(names)

    @property
    def languages(self) -> list[str]:
        """The languages, the one with most names first."""
        return sorted(self.names, key=lambda language: -len(self.names[language]))

    def name(self, identifier: str, language: str | None = None) -> str | None:
        """Return the name of a label in a language, or in another one; None if it has none."""
        for each in (language, ANY, *self.languages):
            found = self.names.get(each, {}).get(identifier) if each is not None else None
            if found is not None:
                return found
        return None

    def shown(self, identifier: str, language: str | None = None) -> str:
        """Return the name of a label with its identifier, for people to read."""
        name = self.name(identifier, language)
        return identifier if name is None or name == identifier else f"{name} <{identifier}>"

    def get_state(self) -> dict[str, State]:
        """Return the identifiers and names of each language."""
        return {
            "languages": list(self.names),
            "identifiers": [list(names) for names in self.names.values()],
            "names": [list(names.values()) for names in self.names.values()],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        languages = read_names(state, "languages")
        found: dict[str, dict[str, str]] = {}
        identifiers, names = (read_part(state, key, list) for key in ("identifiers", "names"))
        if not len(languages) == len(identifiers) == len(names):
            raise ModelFormatError("vocabulary: expected identifiers and names of each language")
        for language, ids, values in zip(languages, identifiers, names, strict=True):
            of_ids, of_names = read_names({"x": ids}, "x"), read_names({"x": values}, "x")
            if len(of_ids) != len(of_names):
                raise ModelFormatError("vocabulary: expected one name per identifier")
            found[language] = dict(zip(of_ids, of_names, strict=True))
        return cls(found)


def read_vocabulary(path: FilePath, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Vocabulary:
    r"""Read the names of labels."""
    name = bare_name(path).lower()
    ending = next((each for each in ENDINGS if name.endswith(each)), None)
    if ending is None:
        expected = f"a name that ends in {', '.join(ENDINGS)}"
        raise InvalidArgumentError("vocabulary", expected, str(path))
    data = open_data(path, max_bytes=max_bytes)
    if ending in RDF_FORMATS:
        entries = _skos(data, path, RDF_FORMATS[ending])
    else:
        text = decode_table(data, path, None)
        entries = _json(text, path) if ending == ".json" else _table(text, path, DELIMITERS[ending])
    found = Vocabulary.of(entries)
    if not found.names:
        raise DataFormatError(path, "identifiers with names", "none")
    return found


def _table(text: str, path: FilePath, delimiter: str) -> list[Entry]:
    """Return the entries of a table with or without a header."""
    content = io.StringIO(text, newline="")
    try:
        with long_cells():
            quotes: Any = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
            lines = csv.reader(content, delimiter=delimiter, quoting=quotes)
            rows = [row for row in lines if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise DataFormatError(path, "a table", str(error)) from None
    if not rows or any(len(row) < 2 for row in rows):
        at = next((n for n, row in enumerate(rows, start=1) if len(row) < 2), None)
        raise DataFormatError(path, "an identifier and a name", "fewer cells", at)
    header = [cell.strip().lower() for cell in rows[0]]
    key = next((at for at, cell in enumerate(header) if cell in _IDENTIFIERS), None)
    if key is None:
        return [(row[0], ANY, row[1]) for row in rows]
    named = [(at, _NAME_COLUMN.fullmatch(cell)) for at, cell in enumerate(header)]
    columns = {at: (match[1] or ANY).lower() for at, match in named if match is not None}
    return [
        (row[key], language, row[at])
        for row in rows[1:]
        for at, language in columns.items()
        if max(at, key) < len(row)
    ]


def _json(text: str, path: FilePath) -> list[Entry]:
    """Return the entries of an object or of a list of objects."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(path, "JSON", str(error)[:80]) from None
    pairs: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, dict) else []
    for entry in value if isinstance(value, list) else []:
        lower = {str(k).lower(): v for k, v in entry.items()} if isinstance(entry, dict) else {}
        identifier = next((lower[key] for key in _IDENTIFIERS if key in lower), None)
        pairs.append((identifier, next((lower[key] for key in _NAMES if key in lower), None)))
    return [entry for identifier, names in pairs for entry in _named(identifier, names)]


def _named(identifier: Any, names: Any) -> Iterable[Entry]:
    """Return the entries of one identifier."""
    if not isinstance(identifier, str | int):
        return []
    if isinstance(names, str):
        return [(str(identifier), ANY, names)]
    if not isinstance(names, dict):
        return []
    pairs = [(str(lang).lower(), name) for lang, name in names.items() if isinstance(name, str)]
    return [(str(identifier), language, name) for language, name in pairs]


def _skos(data: bytes, path: FilePath, kind: str) -> list[Entry]:
    """Return the preferred labels of a SKOS vocabulary."""
    rdflib = optional_module("rdflib", "vocabularies")
    graph = rdflib.Graph()
    try:
        graph.parse(data=data, format=kind)
    except (*_DAMAGE, rdflib.exceptions.Error, SAXException) as error:
        got = f"{type(error).__name__}: {str(error)[:60]}"
        raise DataFormatError(path, f"SKOS in {kind}", got) from None
    return [
        (str(concept), (label.language or ANY).lower(), str(label))
        for concept, label in graph.subject_objects(rdflib.SKOS.prefLabel)
        if isinstance(label, rdflib.Literal)
    ]
