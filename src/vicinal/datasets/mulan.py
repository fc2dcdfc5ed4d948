"""Mulan's format: an ARFF file, and an XML file that names the attributes that are labels.

A hierarchy of labels (nested elements) is read as the flat list of all its labels.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from vicinal.datasets.arff import ArffFile, arff_lines, check_attribute_names, dataset_of, open_arff
from vicinal.datasets.data_files import (
    DEFAULT_MAX_BYTES,
    PACKED,
    FilePath,
    bare_name,
    open_data,
    write_data,
)
from vicinal.datasets.dataset import Dataset, find_beside
from vicinal.errors import DataFormatError, InvalidArgumentError

NAMESPACE = "http://mulan.sourceforge.net/labels"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_labels_xml(path: FilePath, max_bytes: int) -> list[str]:
    """Return the names of the labels; entities, which could expand to gigabytes, are refused."""
    names: list[str] = []
    parser = expat.ParserCreate()
    is_first = True

    def fail(expected: str, got: str) -> NoReturn:
        raise DataFormatError(path, expected, got, parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal is_first
        tag = tag.rpartition(":")[2]
        if is_first and tag != "labels":
            fail("an element <labels>", f"<{tag}>")
        is_first = False
        if tag == "label":
            if "name" not in attributes:
                fail("a label's name", "a <label> without one")
            names.append(attributes["name"])

    def refuse_entity(name: str, *details: object) -> None:
        fail("XML without entities of its own", f"the entity {name!r}")

    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(open_data(path, max_bytes=max_bytes), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise DataFormatError(path, "well-formed XML", reason, error.lineno) from None
    except DataFormatError:
        raise
    except (LookupError, ValueError) as error:  # encodings that expat delegates to Python
        raise DataFormatError(path, "a known encoding", str(error), 1) from None
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataFormatError(path, "each label once", f"{repeated[0]!r} twice")
    return names


def labels_xml(names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the XML file."""
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="{NAMESPACE}">\n'
    for name in names:
        if _NOT_IN_XML.search(name):
            raise InvalidArgumentError("label_names", "text that XML can hold", repr(name))
        yield f"<label name={quoteattr(name)}></label>\n"
    yield "</labels>\n"


_PART = re.compile(r"[-_.](?:train|test|sparse|dense|full)$", re.IGNORECASE)


def read_mulan(
    arff: FilePath,
    xml: FilePath | None = None,
    *,
    nominal: str = "auto",
    drop: Collection[str] = (),
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read an ARFF file whose labels are listed in an XML file, in the order of the ARFF file.

    Memory: the unpacked text, 12 bytes per non-zero value, 8 per label of a row and 16 per row, and
    8 per cell if the features are dense.
    """
    xml = _labels_file(arff, xml)  # before the larger file is opened
    opened = open_arff(arff, encoding, max_bytes)
    return dataset_of(opened, mulan_labels(opened, xml), drop, nominal)


def mulan_labels(opened: ArffFile, xml: FilePath | None) -> list[int]:
    """Return which attributes are the labels, as an XML file says."""
    labels_file = _labels_file(opened.path, xml)
    wanted = set(read_labels_xml(labels_file, opened.max_bytes))
    found = [i for i, attribute in enumerate(opened.attributes) if attribute.name in wanted]
    missing = wanted - {opened.attributes[i].name for i in found}
    if missing:
        expected = f"labels that are attributes of {Path(opened.path).name}"
        raise DataFormatError(labels_file, expected, f"{min(missing)!r}, which is not one")
    if len(found) != len(wanted):
        raise DataFormatError(opened.path, "one attribute per label", "two of the same name")
    return found


def _labels_file(arff: FilePath, xml: FilePath | None) -> FilePath:
    """Return the XML file that was given, or the one beside the ARFF file."""
    found = xml or find_labels_xml(arff)
    if found is None:
        raise DataFormatError(
            arff, "an XML file of its labels in the same folder", f"no {_candidates(arff)[0]}"
        )
    return found


def find_labels_xml(arff: FilePath) -> Path | None:
    """Return the XML file that belongs to an ARFF file, if its folder contains one."""
    return find_beside(arff, _candidates(arff))


def _candidates(arff: FilePath) -> list[str]:
    """Return the possible names of the XML file, the most likely first."""
    stem = re.sub(r"\.arff$", "", bare_name(arff), flags=re.IGNORECASE)
    stems = [stem]
    while (shorter := _PART.sub("", stems[-1])) != stems[-1]:
        stems.append(shorter)
    return [f"{stem}.xml{ending}" for stem in stems for ending in ("", *PACKED)]


def write_mulan(dataset: Dataset, arff: FilePath, xml: FilePath | None = None) -> None:
    """Write an ARFF file, and an XML file that lists its labels.

    Features are written as numeric attributes, without loss of precision; labels come last. Row
    names and the split are not written. By default, `xml` is ``some.xml`` for ``some.arff``.
    """
    check_attribute_names(dataset)
    name = re.sub(r"\.arff$", "", bare_name(arff), flags=re.IGNORECASE)
    labels = list(labels_xml(dataset.label_names))
    write_data(arff, arff_lines(dataset, name, labels_first=False))
    write_data(xml or Path(arff).with_name(f"{name}.xml"), labels)
