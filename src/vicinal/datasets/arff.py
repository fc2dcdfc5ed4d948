"""The header of an ARFF file: its relation name and its attributes.

Only the header is parsed here, in Python; the compiled parser reads the rows, as the header says.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from vicinal._core.arrays import Int32
from vicinal._core.checks import check_option
from vicinal._native import ParseError, read_arff_rows
from vicinal.datasets.data_files import (
    DEFAULT_MAX_BYTES,
    FREE_BYTES,
    MOST_MEMORY,
    FilePath,
    bare_name,
    decode,
    open_data,
    without_mark,
    write_data,
)
from vicinal.datasets.dataset import Dataset, LazyNames, by_content
from vicinal.datasets.xc import format_error, number_texts, parsed_rows, sparse_rows
from vicinal.errors import DataFormatError, InvalidArgumentError

DATA_LINE = re.compile(rb"^[ \t]*@data[ \t]*(?:%[^\n]*)?\r?$", re.IGNORECASE | re.MULTILINE)
# Possessive: a pattern that can backtrack needs memory for every character of a long name.
_QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_KEYWORD = re.compile(r"[ \t]*@(\w+)[ \t]*(.*)", re.DOTALL)
_NAME = re.compile(rf"({_QUOTED}|[^ \t{{'\"%][^ \t{{]*)[ \t]*(.*)", re.DOTALL)
_VALUE = re.compile(rf"[ \t,]*({_QUOTED}|[^ \t,}}'\"%]+)")
_VALUES_END = re.compile(r"[ \t,]*\}[ \t]*(?:%.*)?", re.DOTALL)
_NUMERIC = re.compile(r"(?:numeric|real|integer)(?:[ \t%\[].*)?", re.IGNORECASE | re.DOTALL)
MOST_CHARACTERS = 2**20
"""Maximum length of a name or value in a header."""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Attribute:
    """One attribute: nominal with its values, numeric, or of a type that is not a number."""

    name: str
    kind: str
    line: int
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArffFile:
    """An ARFF file whose header has been read."""

    path: FilePath
    encoding: str
    relation: str
    attributes: tuple[Attribute, ...]
    data: bytes
    rows_start: int
    rows_line: int
    max_bytes: int


def open_arff(path: FilePath, encoding: str, max_bytes: int) -> ArffFile:
    """Open an ARFF file and read its header."""
    return parsed_header(open_data(path, max_bytes=max_bytes), path, encoding, max_bytes)


def parsed_header(data: bytes, path: FilePath, encoding: str, max_bytes: int) -> ArffFile:
    """Read the header in the content of an ARFF file, of which rows may be missing."""
    data = without_mark(data, path, encoding)
    marker = DATA_LINE.search(data)
    if marker is None:
        raise DataFormatError(path, "a line '@data'", "none" if data else "an empty file")
    header = decode(data[: marker.start()], path, encoding)
    relation, attributes = _parse(header, path)
    if not attributes:
        raise DataFormatError(path, "attributes before '@data'", "none")
    rows_line = header.count("\n") + 1
    return ArffFile(path, encoding, relation, attributes, data, marker.end(), rows_line, max_bytes)


def _parse(header: str, path: FilePath) -> tuple[str, tuple[Attribute, ...]]:
    """Return the relation name and the attributes."""
    relation, attributes = "", []
    for number, line in enumerate(header.split("\n"), start=1):
        text = line.strip(" \t\r")
        if not text or text.startswith("%"):
            continue
        match = _KEYWORD.fullmatch(text)
        keyword = match[1].lower() if match else ""
        if match and keyword == "relation":
            named = _NAME.fullmatch(match[2])
            relation = _limited(unquoted(named[1]), path, number) if named else ""
        elif match and keyword == "attribute":
            attributes.append(_attribute(match[2], path, number))
        else:
            raise DataFormatError(path, "@relation, @attribute or @data", _short(text), number)
    return relation, tuple(attributes)


def _attribute(text: str, path: FilePath, line: int) -> Attribute:
    """Return the attribute that the rest of an ``@attribute`` line describes."""
    match = _NAME.fullmatch(text)
    if match is None or not match[2]:
        raise DataFormatError(path, "an attribute's name and type", _short(text), line)
    name, kind = _limited(unquoted(match[1]), path, line), match[2]
    if kind.startswith("{"):
        return Attribute(name, "nominal", line, _values(kind, path, line))
    if _NUMERIC.fullmatch(kind):
        return Attribute(name, "numeric", line)
    word = kind.split()[0].lower() if kind.split() else kind
    if word in ("string", "date", "relational"):
        return Attribute(name, word, line)
    raise DataFormatError(path, "a type numeric, {…}, string or date", _short(kind), line)


def _values(text: str, path: FilePath, line: int) -> tuple[str, ...]:
    """Return the values of a nominal attribute, in the order they are declared."""
    values, at = [], 1
    while match := _VALUE.match(text, at):
        values.append(_limited(unquoted(match[1]), path, line))
        at = match.end()
    if not _VALUES_END.fullmatch(text, at):
        raise DataFormatError(path, "values in '{…}'", _short(text[at:]), line)
    if not values or len(set(values)) != len(values):
        got = "a value twice" if values else "none"
        raise DataFormatError(path, "distinct values in '{…}'", got, line)
    return tuple(values)


def _limited(name: str, path: FilePath, line: int) -> str:
    """Return a name or value, or raise if it is too long."""
    if len(name) > MOST_CHARACTERS:
        expected = f"names of at most {MOST_CHARACTERS} characters"
        raise DataFormatError(path, expected, f"one of {len(name)}", line)
    return name


def unquoted(text: str) -> str:
    r"""Return a name or value without its quotes and with its escapes resolved."""
    if len(text) < 2 or text[0] not in "'\"":
        return text
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)


def quoted(text: str) -> str:
    r"""Return a name or value as ARFF requires it: quoted and escaped if necessary."""
    if re.fullmatch(r"[A-Za-z0-9_.:+-]+", text):
        return text
    escaped = re.sub(r"[\\'\"%]", r"\\\g<0>", text)
    for letter, character in _ESCAPES.items():
        escaped = escaped.replace(character, "\\" + letter)
    return f"'{escaped}'"


def _short(text: str) -> str:
    """Return text as it is shown in an error message."""
    return repr(text[:60])


NOMINAL = ("auto", "onehot")
BYTES_PER_VALUE = 12
"""Memory of a feature value: its column id and its value."""
_SPARSE_ROW = re.compile(rb"^[ \t]*\{", re.MULTILINE)

_NUMBER, _NOMINAL, _LABEL_NUMBER, _LABEL_NOMINAL, _DROPPED = range(5)
_NEGATIVE_POSITIVE = (
    ("0", "1"), ("-1", "1"), ("-1", "+1"),
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"),
)  # fmt: skip


class _Role(NamedTuple):
    """The role of an attribute; `switches` has the column that each nominal value sets to 1."""

    kind: int
    column: int = 0
    switches: tuple[int, ...] = ()


def positive_value(values: Collection[str]) -> str | None:
    """Return which of a binary attribute's values means 1, or None if it is not a binary one."""
    lowered = {value.lower() for value in values}
    for negative, positive in _NEGATIVE_POSITIVE:
        if len(lowered) == len(values) and lowered <= {negative, positive}:
            return next((value for value in values if value.lower() == positive), "")
    return None


class _Columns(NamedTuple):
    """The roles of all attributes, and the names of the columns of X and Y."""

    roles: list[_Role]
    features: list[int | str | tuple[str, str]]
    labels: list[str]


def _columns(
    arff: ArffFile, labels: Collection[int], drop: Collection[str], nominal: str
) -> _Columns:
    """Assign columns of X and Y to attributes, in the order of the file."""
    check_option("nominal", nominal, NOMINAL)
    dropped, wanted = _dropped(arff, drop), frozenset(labels)
    found = _Columns([], [], [])
    for number, attribute in enumerate(arff.attributes):
        column = len(found.features)
        if attribute.name in dropped:
            role = _Role(_DROPPED)
        elif number in wanted:
            role = _label_role(arff, attribute, len(found.labels))
            found.labels.append(attribute.name)
        elif attribute.kind == "numeric":
            role = _Role(_NUMBER, column)
            found.features.append(attribute.name)
        elif attribute.kind == "nominal":
            positive = positive_value(attribute.values) if nominal == "auto" else None
            if positive is None:
                found.features.extend((attribute.name, value) for value in attribute.values)
                role = _Role(_NOMINAL, switches=tuple(range(column, len(found.features))))
            else:
                found.features.append(attribute.name)
                role = _Role(_NOMINAL, switches=_switches(attribute, positive, column))
        else:
            expected = "a numeric or nominal attribute (drop= omits an attribute)"
            got = f"the {attribute.kind} attribute {attribute.name!r}"
            raise DataFormatError(arff.path, expected, got, attribute.line)
        found.roles.append(role)
    return found


def _label_role(arff: ArffFile, attribute: Attribute, column: int) -> _Role:
    """Return the role of a label."""
    if attribute.kind == "numeric":
        return _Role(_LABEL_NUMBER, column)
    positive = positive_value(attribute.values)
    if positive is None or attribute.kind != "nominal":
        expected = f"a 0/1 attribute for label {attribute.name!r}"
        got = ",".join(attribute.values)[:40] or attribute.kind
        raise DataFormatError(arff.path, expected, got, attribute.line)
    return _Role(_LABEL_NOMINAL, switches=_switches(attribute, positive, column))


def _switches(attribute: Attribute, positive: str, column: int) -> tuple[int, ...]:
    """Return the column that each value of a binary attribute sets to 1."""
    return tuple(column if value == positive else -1 for value in attribute.values)


def dataset_of(
    arff: ArffFile, labels: Collection[int], drop: Collection[str], nominal: str
) -> Dataset:
    """Return the data set of an ARFF file whose attributes `labels` are the labels."""
    columns = _columns(arff, labels, drop, nominal)
    plan = _plan(arff, columns.roles)
    _check_defaults(arff, plan[-1])
    try:
        parts = read_arff_rows(arff.data, arff.rows_start, arff.rows_line, *plan)
    except ParseError as error:
        raise format_error(error, arff.path) from None
    X, Y = parsed_rows(parts, len(columns.features), len(columns.labels))
    names = LazyNames(columns.features), tuple(columns.labels)
    return Dataset(by_content(X), Y, *names, source=bare_name(arff.path))


def _check_defaults(arff: ArffFile, defaults: Int32) -> None:
    """Raise if the absent attributes of sparse rows alone would exceed the memory limit.

    An absent nominal attribute has its first value, so a row ``{}`` of two bytes sets one column
    per nominal attribute. Values that a row states take at least four bytes of text each.
    """
    per_row = int(np.count_nonzero(defaults >= 0))
    n_bytes = len(arff.data) - arff.rows_start
    sparse_rows = _SPARSE_ROW.finditer(arff.data, arff.rows_start) if per_row else ()
    n_rows = sum(1 for _ in sparse_rows)
    limit = min(arff.max_bytes, max(FREE_BYTES, MOST_MEMORY * n_bytes))
    if (n_rows * per_row - n_bytes // 4) * BYTES_PER_VALUE > limit:
        expected = f"rows that take at most {limit} bytes of memory (see max_bytes)"
        got = f"{n_rows} sparse rows, each with {per_row} implicit nominal values"
        raise DataFormatError(arff.path, expected, got)


def _dropped(arff: ArffFile, drop: Collection[str]) -> frozenset[str]:
    """Return the names of attributes to omit, each of which must exist."""
    names = frozenset([drop] if isinstance(drop, str) else drop)
    missing = names - {attribute.name for attribute in arff.attributes}
    if missing:
        raise InvalidArgumentError("drop", "names of attributes", repr(min(missing)))
    return names


def _plan(arff: ArffFile, roles: list[_Role]) -> tuple[Any, ...]:
    """Return how the compiled parser reads attributes: arguments of ``read_arff_rows``, in order.

    Kind and column of each; where its values start, their bytes and ends, and their columns; last
    the columns of those that sparse rows leave out.
    """
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
    defaults = [role.switches[0] if role.switches else -1 for role in roles]
    return (
        np.array([role.kind for role in roles], dtype=np.uint8),
        np.array([role.column for role in roles], dtype=np.int32),
        np.array(value_start, dtype=np.int64),
        b"".join(values),
        np.cumsum([len(value) for value in values], dtype=np.int64),
        np.array(value_column, dtype=np.int32),
        np.array(defaults, dtype=np.int32),
    )


def arff_lines(dataset: Dataset, relation: str, labels_first: bool) -> Iterator[str]:
    """Yield the lines of an ARFF file with numeric features and labels {0,1}."""
    features = [f"@attribute {quoted(name)} numeric\n" for name in dataset.feature_names]
    labels = [f"@attribute {quoted(name)} {{0,1}}\n" for name in dataset.label_names]
    yield f"@relation {quoted(relation)}\n\n"
    yield from labels + features if labels_first else features + labels
    yield "\n@data\n"
    X = dataset.X
    if isinstance(X, np.ndarray) and dataset.n_features:
        yield from _dense_lines(dataset, X, labels_first)
    else:
        yield from _sparse_lines(dataset, labels_first)


def _dense_lines(dataset: Dataset, X: np.ndarray, labels_first: bool) -> Iterator[str]:
    Y = dataset.Y
    for row in range(dataset.n_rows):
        marks = ["0"] * dataset.n_labels
        for label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist():
            marks[label] = "1"
        cells = number_texts(X[row])
        yield ",".join(marks + cells if labels_first else cells + marks) + "\n"


def _sparse_lines(dataset: Dataset, labels_first: bool) -> Iterator[str]:
    label_at = 0 if labels_first else dataset.n_features
    feature_at = dataset.n_labels if labels_first else 0
    for labels, features, values in sparse_rows(dataset):
        marks = [f"{label + label_at} 1" for label in labels]
        cells = [f"{i + feature_at} {value}" for i, value in zip(features, values, strict=True)]
        yield "{" + ",".join(marks + cells if labels_first else cells + marks) + "}\n"


def check_attribute_names(dataset: Dataset) -> None:
    """Raise if a name occurs twice: ARFF files identify attributes by name."""
    counts = Counter(chain(dataset.feature_names, dataset.label_names))
    name, count = counts.most_common(1)[0] if counts else ("", 0)
    if count > 1:
        expected = "different names for all features and labels"
        raise InvalidArgumentError("dataset", expected, f"{name!r} twice")
    if not counts:
        raise InvalidArgumentError("dataset", "at least one feature or label", "none")


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
    """Read an ARFF file whose first n attributes are labels, or last −n: ``-C n`` in its name."""
    opened = open_arff(arff, encoding, max_bytes)
    return dataset_of(opened, meka_labels(opened, n_labels, unlabelled), drop, nominal)


def meka_labels(opened: ArffFile, n_labels: int | None, unlabelled: bool) -> range:
    """Return which attributes are the labels, as ``-C n`` says or `n_labels` in its place."""
    match = _LABEL_COUNT.search(opened.relation)
    if n_labels is None and match is None and not unlabelled:
        expected = "'-C n' in the relation name, or an XML file of its labels in the same folder"
        raise DataFormatError(opened.path, expected, f"the relation {opened.relation[:60]!r}")
    count = int(match[1]) if match else 0
    count = count if n_labels is None else n_labels
    n_attributes = len(opened.attributes)
    if abs(count) > n_attributes:
        expected = f"at least {abs(count)} attributes, as many as labels in '-C {count}'"
        raise DataFormatError(opened.path, expected, str(n_attributes))
    return range(count) if count >= 0 else range(n_attributes + count, n_attributes)


def write_meka(dataset: Dataset, arff: FilePath, *, labels_first: bool = True) -> None:
    """Write an ARFF file whose relation name contains ``-C n`` (``-C -n`` if labels are last)."""
    check_attribute_names(dataset)
    name = re.sub(r"\.arff$", "", bare_name(arff), flags=re.IGNORECASE).replace("-C", "-c")
    count = dataset.n_labels if labels_first else -dataset.n_labels
    write_data(arff, arff_lines(dataset, f"{name}: -C {count}", labels_first))
