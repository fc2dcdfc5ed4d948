"""The XML file that lists the labels of a Mulan data set.

A hierarchy of labels (nested elements) is read as the flat list of all its labels.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal.datasets.files import FilePath, open_data

NAMESPACE = "http://mulan.sourceforge.net/labels"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _LabelList:
    """Collects the names of ``label`` elements.

    Declarations of entities raise an error, before any entity is expanded: a file of a few lines
    could otherwise expand to gigabytes.
    """

    def __init__(self, path: FilePath) -> None:
        self.names: list[str] = []
        self._path = str(path)
        self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._refuse_entity

    def read(self, data: bytes) -> list[str]:
        """Return the names in a whole file."""
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise DataFormatError(self._path, "well-formed XML", reason, error.lineno) from None
        except DataFormatError:
            raise
        except (LookupError, ValueError) as error:  # encodings that expat delegates to Python
            raise DataFormatError(self._path, "a known encoding", str(error), 1) from None
        return self.names

    def _fail(self, expected: str, got: str) -> NoReturn:
        raise DataFormatError(self._path, expected, got, self._parser.CurrentLineNumber)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if self._depth == 0 and tag != "labels":
            self._fail("an element <labels>", f"<{tag}>")
        self._depth += 1
        if tag == "label":
            if "name" not in attributes:
                self._fail("a label's name", "a <label> without one")
            self.names.append(attributes["name"])

    def _end(self, tag: str) -> None:
        self._depth -= 1

    def _refuse_entity(self, name: str, *details: object) -> None:
        self._fail("XML without entities of its own", f"the entity {name!r}")


def read_labels_xml(path: FilePath, max_bytes: int) -> list[str]:
    """Return the names of the labels, in the order of the file."""
    names = _LabelList(path).read(open_data(path, max_bytes=max_bytes))
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataFormatError(str(path), "each label once", f"{repeated[0]!r} twice")
    return names


def labels_xml(names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the XML file."""
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="{NAMESPACE}">\n'
    for name in names:
        if _NOT_IN_XML.search(name):
            raise InvalidArgumentError("label_names", "text that XML can hold", repr(name))
        yield f"<label name={quoteattr(name)}></label>\n"
    yield "</labels>\n"
