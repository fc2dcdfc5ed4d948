"""Mulan's format: an ARFF file, and an XML file that names the attributes that are labels."""

import re
from collections.abc import Collection
from pathlib import Path

from vicinal._base.errors import DataFormatError
from vicinal.datasets.arff_header import ArffFile, open_arff
from vicinal.datasets.arff_plan import dataset_of
from vicinal.datasets.arff_write import arff_lines, check_attribute_names
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, PACKED, FilePath, bare_name, write_data
from vicinal.datasets.mulan_xml import labels_xml, read_labels_xml
from vicinal.datasets.names import find_beside

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
    """Read an ARFF file whose labels are listed in an XML file.

    Labels have the order of the ARFF file. Features that are mostly zeros are returned as CSR,
    whether their rows are written in dense or sparse notation.

    Parameters
    ----------
    arff : path
        May be compressed.
    xml : path or None
        If None, searched in the folder of `arff`: ``some.xml`` for ``some.arff``,
        ``some-train.arff.gz`` or ``some-test-sparse.arff``, ignoring case.
    nominal : {"auto", "onehot"}
        ``"auto"``: attributes such as {0,1} or {NO,YES} become one 0/1 column, and other nominal
        attributes one column ``name=value`` per value. ``"onehot"``: all become one column per
        value.
    drop : collection of str
        Attributes to omit, such as identifiers.
    encoding : {"utf-8", "latin-1"}
        Encoding of the ARFF file.
    max_bytes : int
        Maximum size of a file in bytes after unpacking.

    Notes
    -----
    Memory: the unpacked text, 12 bytes per non-zero value, 8 per label of a row and 16 per row, and
    8 per cell if the features are dense.
    """
    labels_file = _labels_file(arff, xml)
    opened = open_arff(arff, encoding, max_bytes)
    return dataset_of(opened, mulan_labels(opened, labels_file), drop, nominal)


def mulan_labels(opened: ArffFile, xml: FilePath | None) -> list[int]:
    """Return which attributes are the labels, as an XML file says."""
    labels_file = _labels_file(opened.path, xml)
    names = read_labels_xml(labels_file, opened.max_bytes)
    return _attributes_named(names, opened, labels_file)


def _labels_file(arff: FilePath, xml: FilePath | None) -> FilePath:
    """Return the XML file that was given, or the one beside the ARFF file."""
    found = xml or find_labels_xml(arff)
    if found is None:
        raise DataFormatError(
            str(arff), "an XML file of its labels in the same folder", f"no {_candidates(arff)[0]}"
        )
    return found


def find_labels_xml(arff: FilePath) -> Path | None:
    """Return the XML file that belongs to an ARFF file, if its folder contains one."""
    return find_beside(arff, _candidates(arff))


def _candidates(arff: FilePath) -> list[str]:
    """Return the possible names of the XML file, the most likely first.

    Examples
    --------
    >>> _candidates("Some-train-sparse.arff")[::4]
    ['Some-train-sparse.xml', 'Some-train.xml', 'Some.xml']
    """
    stem = re.sub(r"\.arff$", "", bare_name(arff), flags=re.IGNORECASE)
    stems = [stem]
    while (shorter := _PART.sub("", stems[-1])) != stems[-1]:
        stems.append(shorter)
    return [f"{stem}.xml{ending}" for stem in stems for ending in ("", *PACKED)]


def _attributes_named(names: Collection[str], arff: ArffFile, xml: FilePath) -> list[int]:
    """Return the numbers of the attributes that are labels."""
    wanted = set(names)
    found = [i for i, attribute in enumerate(arff.attributes) if attribute.name in wanted]
    missing = wanted - {arff.attributes[i].name for i in found}
    if missing:
        expected = f"labels that are attributes of {Path(arff.path).name}"
        raise DataFormatError(str(xml), expected, f"{min(missing)!r}, which is not one")
    if len(found) != len(wanted):
        raise DataFormatError(str(arff.path), "one attribute per label", "two of the same name")
    return found


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
