"""Reuters-21578: newswire in SGML, split as in ModApte, topics that both parts have (R90)."""

import html
import io
import re
import tarfile
from typing import NamedTuple

import numpy as np

from vicinal._base.errors import DataFormatError
from vicinal.datasets.catalogue.adapters.corpus import Corpus, number
from vicinal.datasets.catalogue.entry import Finder
from vicinal.datasets.files import open_data

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
        raise DataFormatError(str(path), "a tar archive of .sgm files", repr(error)) from None
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
