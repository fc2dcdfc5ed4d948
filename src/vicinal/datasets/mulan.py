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
    """Read an ARFF file whose labels an XML file names.

    Labels come in the order of the ARFF file. Features that are mostly zeros come as CSR, whether
    their rows are written dense or sparse.

    Parameters
    ----------
    arff : path
        May be packed.
    xml : path or None
        Looked for beside `arff` where None: ``some.xml`` for ``some.arff``, ``some-train.arff.gz``
        or ``some-test-sparse.arff``, whatever the case.
    nominal : {"auto", "onehot"}
        ``"auto"``: attributes such as {0,1} or {NO,YES} become one 0/1 column, other nominal ones
        a column ``name=value`` for each value. ``"onehot"``: all become a column for each value.
    drop : collection of str
        Attributes to leave out, such as identifiers.
    encoding : {"utf-8", "latin-1"}
        Of the ARFF file.
    max_bytes : int
        Most bytes a file may unpack to.

    Notes
    -----
    Memory: the unpacked text, 12 bytes a non-zero value, 8 a label and 16 a row, and 8 a cell
    where the features come dense.
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
            str(arff), "an XML file of its labels beside it", f"no {_candidates(arff)[0]}"
        )
    return found


def find_labels_xml(arff: FilePath) -> Path | None:
    """Return the XML file that belongs to an ARFF file, if there is one beside it."""
    return find_beside(arff, _candidates(arff))


def _candidates(arff: FilePath) -> list[str]:
    """Return the names the XML file can have, the likeliest first.

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
    """Return which attributes the labels are."""
    wanted = set(names)
    found = [i for i, attribute in enumerate(arff.attributes) if attribute.name in wanted]
    missing = wanted - {arff.attributes[i].name for i in found}
    if missing:
        expected = f"labels that are attributes of {Path(arff.path).name}"
        raise DataFormatError(str(xml), expected, f"{min(missing)!r}, which is none")
    if len(found) != len(wanted):
        raise DataFormatError(str(arff.path), "one attribute for each label", "two of one name")
    return found


def write_mulan(dataset: Dataset, arff: FilePath, xml: FilePath | None = None) -> None:
    """Write an ARFF file, and beside it the XML file that names its labels.

    Features are written as numeric attributes and read back exactly; labels come last. Row names
    and the split are not kept. `xml` is ``some.xml`` for ``some.arff`` unless given.
    """
    check_attribute_names(dataset)
    name = re.sub(r"\.arff$", "", bare_name(arff), flags=re.IGNORECASE)
    labels = list(labels_xml(dataset.label_names))
    write_data(arff, arff_lines(dataset, name, labels_first=False))
    write_data(xml or Path(arff).with_name(f"{name}.xml"), labels)
