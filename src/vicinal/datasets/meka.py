"""MEKA's format: an ARFF file whose relation name states how many attributes are labels."""

import re
from collections.abc import Collection

from vicinal._base.errors import DataFormatError
from vicinal.datasets.arff_header import ArffFile, open_arff
from vicinal.datasets.arff_plan import dataset_of
from vicinal.datasets.arff_write import arff_lines, check_attribute_names
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath, bare_name, write_data

_LABEL_COUNT = re.compile(r"-C\s+(-?[0-9]{1,10})(?![0-9])")


def read_meka(
    arff: FilePath,
    *,
    n_labels: int | None = None,
    unlabelled: bool = False,
    nominal: str = "auto",
    drop: Collection[str] = (),
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read an ARFF file whose relation name contains ``-C n``.

    The first n attributes are labels or, if n is negative, the last −n.

    Parameters
    ----------
    arff : path
        May be compressed.
    n_labels : int or None
        Overrides the n of the relation name.
    unlabelled : bool
        Whether to accept a relation name without ``-C n``; the rows then have no labels.
    nominal, drop, encoding, max_bytes
        As for :func:`~vicinal.datasets.mulan.read_mulan`.
    """
    opened = open_arff(arff, encoding, max_bytes)
    return dataset_of(opened, meka_labels(opened, n_labels, unlabelled), drop, nominal)


def meka_labels(opened: ArffFile, n_labels: int | None, unlabelled: bool) -> range:
    """Return which attributes are the labels, as ``-C n`` says or `n_labels` in its place."""
    count = _label_count(opened, unlabelled) if n_labels is None else n_labels
    n_attributes = len(opened.attributes)
    if abs(count) > n_attributes:
        expected = f"at least {abs(count)} attributes, as many as labels in '-C {count}'"
        raise DataFormatError(str(opened.path), expected, str(n_attributes))
    return range(count) if count >= 0 else range(n_attributes + count, n_attributes)


def _label_count(arff: ArffFile, unlabelled: bool) -> int:
    """Return the n of ``-C n``."""
    match = _LABEL_COUNT.search(arff.relation)
    if match is None and unlabelled:
        return 0
    if match is None:
        raise DataFormatError(
            str(arff.path),
            "'-C n' in the relation name, or an XML file of its labels in the same folder",
            f"the relation {arff.relation[:60]!r}",
        )
    return int(match[1])


def write_meka(dataset: Dataset, arff: FilePath, *, labels_first: bool = True) -> None:
    """Write an ARFF file whose relation name contains ``-C n`` (``-C -n`` if labels are last).

    Features are written as numeric attributes, without loss of precision. Row names and the split
    are not written.
    """
    check_attribute_names(dataset)
    name = re.sub(r"\.arff$", "", bare_name(arff), flags=re.IGNORECASE).replace("-C", "-c")
    count = dataset.n_labels if labels_first else -dataset.n_labels
    write_data(arff, arff_lines(dataset, f"{name}: -C {count}", labels_first))
