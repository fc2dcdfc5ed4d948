"""Map the attributes of an ARFF file to columns of features and labels."""

import re
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal._base.validation import check_option
from vicinal.datasets.arff_header import ArffFile, Attribute
from vicinal.datasets.columns import features_of, labels_of
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import bare_name, parsed_limit
from vicinal.datasets.lazy_names import ValueNames
from vicinal.datasets.native_parsers import ArffPlan, parse_arff_rows

NOMINAL = ("auto", "onehot")
BYTES_PER_VALUE = 12
"""Memory of a feature value: its column id and its value."""
_SPARSE_ROW = re.compile(rb"^[ \t]*\{", re.MULTILINE)

_NUMBER, _NOMINAL, _LABEL_NUMBER, _LABEL_NOMINAL, _DROPPED = range(5)
_NEGATIVE_POSITIVE = (
    ("0", "1"),
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("-1", "1"),
    ("-1", "+1"),
)


class _Role(NamedTuple):
    """The role of an attribute; `switches` has the column that each nominal value sets to 1."""

    kind: int
    column: int = 0
    switches: tuple[int, ...] = ()


def positive_value(values: Collection[str]) -> str | None:
    """Return which of a binary attribute's values means 1, or None if it is not a binary one.

    Examples
    --------
    >>> positive_value(("YES", "NO"))
    'YES'
    >>> positive_value(("0",))
    ''
    >>> positive_value(("red", "green")) is None
    True
    """
    lowered = {value.lower() for value in values}
    for negative, positive in _NEGATIVE_POSITIVE:
        if len(lowered) == len(values) and lowered <= {negative, positive}:
            return next((value for value in values if value.lower() == positive), "")
    return None


class Columns:
    """Assigns columns of X and Y to attributes, in the order of the file."""

    def __init__(self, arff: ArffFile, labels: Collection[int], nominal: str) -> None:
        check_option("nominal", nominal, NOMINAL)
        self.feature_names: list[str | tuple[str, str]] = []
        self.label_names: list[str] = []
        self._path = str(arff.path)
        self._labels = frozenset(labels)
        self._binary_as_one = nominal == "auto"

    def role(self, number: int, attribute: Attribute, dropped: bool) -> _Role:
        """Return the role of attribute `number`."""
        if dropped:
            return _Role(_DROPPED)
        if number in self._labels:
            return self._label(attribute)
        if attribute.kind == "numeric":
            return _Role(_NUMBER, self._feature(attribute.name))
        if attribute.kind == "nominal":
            return _Role(_NOMINAL, switches=self._nominal(attribute))
        raise DataFormatError(
            self._path,
            "a numeric or nominal attribute (drop= omits an attribute)",
            f"the {attribute.kind} attribute {attribute.name!r}",
            attribute.line,
        )

    def _feature(self, name: str | tuple[str, str]) -> int:
        self.feature_names.append(name)
        return len(self.feature_names) - 1

    def _label(self, attribute: Attribute) -> _Role:
        column = len(self.label_names)
        self.label_names.append(attribute.name)
        if attribute.kind == "numeric":
            return _Role(_LABEL_NUMBER, column)
        positive = positive_value(attribute.values)
        if positive is None or attribute.kind != "nominal":
            came = ",".join(attribute.values)[:40] or attribute.kind
            raise DataFormatError(
                self._path, f"a 0/1 attribute for label {attribute.name!r}", came, attribute.line
            )
        switches = tuple(column if v == positive else -1 for v in attribute.values)
        return _Role(_LABEL_NOMINAL, switches=switches)

    def _nominal(self, attribute: Attribute) -> tuple[int, ...]:
        positive = positive_value(attribute.values) if self._binary_as_one else None
        if positive is not None:
            column = self._feature(attribute.name)
            return tuple(column if v == positive else -1 for v in attribute.values)
        return tuple(self._feature((attribute.name, v)) for v in attribute.values)


def dataset_of(
    arff: ArffFile, labels: Collection[int], drop: Collection[str], nominal: str
) -> Dataset:
    """Return the data set of an ARFF file whose attributes `labels` are the labels."""
    columns = Columns(arff, labels, nominal)
    dropped = _dropped(arff, drop)
    roles = [
        columns.role(i, attribute, attribute.name in dropped)
        for i, attribute in enumerate(arff.attributes)
    ]
    plan = _plan(arff, roles)
    _check_defaults(arff, plan)
    parts = parse_arff_rows(arff.data, arff.rows_start, arff.rows_line, plan, arff.path)
    return Dataset(
        X=features_of(parts.indptr, parts.indices, parts.values, len(columns.feature_names)),
        Y=labels_of(parts.label_indptr, parts.label_indices, len(columns.label_names)),
        feature_names=ValueNames(columns.feature_names),
        label_names=tuple(columns.label_names),
        source=bare_name(arff.path),
    )


def _check_defaults(arff: ArffFile, plan: ArffPlan) -> None:
    """Raise if the absent attributes of sparse rows alone would exceed the memory limit.

    An absent nominal attribute has its first value, so a row ``{}`` of two bytes sets one column
    per nominal attribute. Values that a row states take at least four bytes of text each.
    """
    per_row = int(np.count_nonzero(plan.default_column >= 0))
    n_bytes = len(arff.data) - arff.rows_start
    sparse_rows = _SPARSE_ROW.finditer(arff.data, arff.rows_start) if per_row else ()
    n_rows = sum(1 for _ in sparse_rows)
    filled = (n_rows * per_row - n_bytes // 4) * BYTES_PER_VALUE
    limit = parsed_limit(n_bytes, arff.max_bytes)
    if filled > limit:
        raise DataFormatError(
            str(arff.path),
            f"rows that take at most {limit} bytes of memory (see max_bytes)",
            f"{n_rows} sparse rows, each with {per_row} implicit nominal values",
        )


def _dropped(arff: ArffFile, drop: Collection[str]) -> frozenset[str]:
    """Return the names of attributes to omit, each of which must exist."""
    names = frozenset([drop] if isinstance(drop, str) else drop)
    missing = names - {attribute.name for attribute in arff.attributes}
    if missing:
        raise InvalidArgumentError("drop", "names of attributes", repr(min(missing)))
    return names


def _plan(arff: ArffFile, roles: list[_Role]) -> ArffPlan:
    """Return the roles as arrays for the compiled parser."""
    values: list[bytes] = []
    value_column: list[int] = []
    value_start = [0]
    for attribute, role in zip(arff.attributes, roles, strict=True):
        if role.switches:
            encoded = [value.encode(arff.encoding) for value in attribute.values]
            for value, column in sorted(zip(encoded, role.switches, strict=True)):
                values.append(value)
                value_column.append(column)
        value_start.append(len(values))
    return ArffPlan(
        kind=np.array([role.kind for role in roles], dtype=np.uint8),
        column=np.array([role.column for role in roles], dtype=np.int32),
        value_start=np.array(value_start, dtype=np.int64),
        values=values,
        value_column=np.array(value_column, dtype=np.int32),
        default_column=np.array(
            [role.switches[0] if role.switches else -1 for role in roles], dtype=np.int32
        ),
    )
