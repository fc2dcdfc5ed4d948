"""Tagged Debian packages, from an index of the archive or from an extract of one.

An index is a ``Packages`` file (name, tags) with its ``Translation-en`` (the descriptions); an
extract is JSONL with one object per package: ``package``, ``text``, ``tags``. Each may be
compressed.
"""

import bz2
import gzip
import json
import lzma
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class Package(NamedTuple):
    """One tagged package: its name, its description, its tags."""

    name: str
    text: str
    tags: tuple[str, ...]


def from_jsonl(path: Path) -> list[Package]:
    """Read an extract."""
    with _open(path) as lines:
        records = [json.loads(line) for line in lines]
    return [Package(r["package"], r["text"], tuple(r["tags"])) for r in records]


def from_index(packages: Path, translation: Path) -> list[Package]:
    """Read an index; skip packages without tags and further versions of a package."""
    with _open(translation) as lines:
        texts = {
            stanza["description-md5"]: stanza["description-en"]
            for stanza in stanzas(lines)
            if "description-en" in stanza
        }
    found: dict[str, Package] = {}
    with _open(packages) as lines:
        for stanza in stanzas(lines):
            if "tag" in stanza:
                text = texts.get(stanza.get("description-md5", ""), stanza.get("description", ""))
                name = stanza["package"]
                found.setdefault(name, Package(name, text, split_tags(stanza["tag"])))
    return list(found.values())


def stanzas(lines: Iterator[str] | IO[str]) -> Iterator[dict[str, str]]:
    r"""Yield the paragraphs of a control file, field names in lower case.

    Examples
    --------
    >>> lines = ["Package: foo\n", "Tag: a::b,\n", " c::d\n", "\n", "Package: bar\n"]
    >>> list(stanzas(iter(lines)))
    [{'package': 'foo', 'tag': 'a::b,\nc::d'}, {'package': 'bar'}]
    """
    stanza: dict[str, str] = {}
    field = ""
    for line in lines:
        if not line.strip():
            if stanza:
                yield stanza
            stanza = {}
        elif line[0] in " \t":
            # A line with a lone dot stands for an empty one.
            rest = line.strip()
            stanza[field] += "\n" + ("" if rest == "." else rest)
        else:
            field, _, value = line.partition(":")
            field = field.lower()
            stanza[field] = value.strip()
    if stanza:
        yield stanza


def split_tags(field: str) -> tuple[str, ...]:
    r"""Split a ``Tag`` field; braces list several tags of one facet.

    Examples
    --------
    >>> split_tags("role::program, use::{editing,viewing},\nscope::utility")
    ('role::program', 'scope::utility', 'use::editing', 'use::viewing')
    """
    tags: set[str] = set()
    for part in re.split(r",(?![^{]*\})", field):
        facet, brace, values = part.strip().partition("{")
        if brace:
            tags.update(facet + value.strip() for value in values.rstrip("}").split(","))
        elif facet:
            tags.add(facet)
    return tuple(sorted(tags))


def _open(path: Path) -> IO[str]:
    """Open `path` as text, unpacking by its suffix."""
    stream: IO[str] = _OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8")
    return stream
