"""The meaning of a table's columns: texts, features and labels. Saved with a model."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

from vicinal._core.state import State, read_names
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES, FilePath
from vicinal.errors import DataFormatError, InvalidArgumentError, ModelFormatError, did_you_mean


@dataclass(frozen=True)
class TableOptions:
    """How to read a table. Options that are None are guessed from the content.

    Parameters
    ----------
    text : sequence of str or None
        Columns of text, joined by line breaks.
    labels : str or None
        Column of the labels, or several separated by commas, whose labels are put together.
    label_columns : sequence of str or None
        Columns of 0 and 1, one per label; ``"first:last"`` for a range of columns.
    feature_columns : sequence of str or None
        Columns of numbers, categories or texts to learn from; ranges as above.
    row_names : str or None
        Column of the row names.
    separator : str or None
        Separator of the labels in a cell; ``""`` if a cell is one label.
    encoding : str or None
        Any encoding that Python supports.
    delimiter : str or None
        Delimiter of the cells of a CSV file.
    columns : sequence of str or None
        Names of the columns of a CSV file without a header.
    quoting : bool or None
        Whether quotes in a CSV file enclose cells; False treats them as ordinary characters. None:
        they enclose cells, except in tab-separated texts and URIs without a header.
    sheet : str or None
        Name of the sheet of a spreadsheet; by default the first that has rows.
    max_bytes : int
        Maximum size of the file in bytes after unpacking, and of its cells as Python objects (see
        :func:`cell_bytes`).
    """

    text: Sequence[str] | None = None
    labels: str | None = None
    label_columns: Sequence[str] | None = None
    feature_columns: Sequence[str] | None = None
    row_names: str | None = None
    separator: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    columns: Sequence[str] | None = None
    quoting: bool | None = None
    sheet: str | None = None
    max_bytes: int = DEFAULT_MAX_BYTES

    def __post_init__(self) -> None:
        """Check the options as far as possible without the file."""
        for name in ("text", "label_columns", "feature_columns"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, str) or not len(value)):
                raise InvalidArgumentError(name, "one or more column names", repr(value))
        if self.labels is not None and self.label_columns is not None:
            raise InvalidArgumentError("label_columns", "None if labels is given", self.labels)
        if self.text is not None and self.feature_columns is not None:
            raise InvalidArgumentError("feature_columns", "None if text is given", [*self.text])
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise InvalidArgumentError("delimiter", "one character", repr(self.delimiter))
        try:
            "a".encode(self.encoding or "utf-8")
        except (LookupError, ValueError):
            expected = "an encoding such as utf-8, utf-16, cp1252 or latin-1"
            raise InvalidArgumentError("encoding", expected, repr(self.encoding)) from None


@dataclass(frozen=True)
class Reading:
    """The meaning of the columns of a table.

    Parameters
    ----------
    text : tuple of str
        Columns of text.
    numbers, categories : tuple of str
        Further columns to learn from.
    labels : str or None
        Column of label names, or several separated by commas.
    label_columns : tuple of str
        Columns of 0 and 1, one per label.
    separator : str or None
        Separator of the labels in a cell; ``""`` if a cell is one label or a list.
    row_names : str or None
        Column with the names of the rows, if there is one.
    decimal : str
        Decimal sign of the numbers.
    encoding, delimiter : str or None
        Those of the file that was read; tried first for the next file.
    columns : tuple of str
        Names of the columns of a CSV file without a header; empty if it has one.
    quoting : bool
        Whether quotes in a CSV file enclose cells.
    """

    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: str | None = None
    label_columns: tuple[str, ...] = ()
    separator: str | None = None
    row_names: str | None = None
    decimal: str = "."
    encoding: str | None = None
    delimiter: str | None = None
    columns: tuple[str, ...] = ()
    quoting: bool = True

    @property
    def features(self) -> tuple[str, ...]:
        """All columns to learn from, texts first."""
        return self.text + self.numbers + self.categories

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the rows that a model gets: those of text are one."""
        return (*(("text",) if self.text else ()), *self.numbers, *self.categories)

    @property
    def reads_text_only(self) -> bool:
        """Whether rows consist of texts only."""
        return not self.numbers and not self.categories

    def for_options(self, options: TableOptions) -> Self:
        """Return the reading for another file, with `options` taking precedence."""
        features = options.feature_columns
        if features is not None and sorted(features) != sorted(self.features):
            expected = f"the columns that the model learned from ({', '.join(self.features)})"
            raise InvalidArgumentError("feature_columns", expected, ", ".join(features))
        one, many = options.labels, options.label_columns
        given = one is not None or many is not None
        return replace(
            self,
            text=self.text if options.text is None else tuple(options.text),
            labels=one if given else self.labels,
            label_columns=tuple(many or ()) if given else self.label_columns,
            separator=self.separator if options.separator is None else options.separator,
            row_names=self.row_names if options.row_names is None else options.row_names,
        )

    def get_state(self) -> dict[str, State]:
        """Return the fields as plain values; some only if the file has no header or no quotes."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        if not self.columns:
            del state["columns"]
        if self.quoting:
            del state["quoting"]
        return {key: list(v) if isinstance(v, tuple) else v for key, v in state.items()}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        given: dict[str, Any] = {"quoting": state.get("quoting", True) is True}
        listed = ("text", "numbers", "categories", "label_columns")
        for name in listed if "columns" not in state else (*listed, "columns"):
            given[name] = read_names(state, name)
        for name in ("labels", "separator", "row_names", "encoding", "delimiter", "decimal"):
            given[name] = value = state.get(name)
            if not isinstance(value, str | None):
                got = type(value).__name__
                raise ModelFormatError(f"{name}: expected text or null, got {got}")
        found = cls(**{**given, "decimal": given["decimal"] or "."})
        if not found.features:
            raise ModelFormatError("reading: expected columns to learn from, got none")
        if found.decimal not in (".", ","):
            raise ModelFormatError(f"decimal: expected a point or a comma, got {found.decimal!r}")
        return found


MOST_CHARACTERS = 2**24
"""Maximum length of a cell of a CSV file and of a line of a JSON file."""
MISSING = object()
"""Marks the cells of keys that a row of a JSON file lacks."""


class Record(NamedTuple):
    """A row: its cells by column, and its line number, which starts at 1."""

    cells: dict[str, Any]
    line: int


@dataclass
class Records:
    """A table by column. Memory: the cells, and 8 bytes per cell and per row."""

    path: FilePath
    columns: dict[str, list[Any]]
    lines: "array[int]"
    header_line: int | None = None
    encoding: str | None = None
    delimiter: str | None = None
    repeated: Mapping[str, int] = field(default_factory=dict)
    given_names: tuple[str, ...] = ()
    quoting: bool = True
    row_names: str | None = None
    parsed: dict[tuple[str, str], dict[str, list[str]]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the file."""
        return list(self.columns)

    def cells(self, column: str) -> list[Any]:
        """Return the cells of a column, or raise if a row lacks it or another has its name."""
        self.require_one([column])
        return self.cells_or_lists(column)

    def cells_or_lists(self, column: str) -> list[Any]:
        """Return the cells of a column, which are lists if it is among `repeated`."""
        self.require([column])
        found = self.columns[column]
        if MISSING in found:
            at = found.index(MISSING)
            raise self.error(at, f"a column {column!r} in every row", "a row without it")
        return found

    def require(self, wanted: Iterable[str], option: str | None = None) -> None:
        """Raise if a column does not exist; the error names the line of the header."""
        for column in wanted:
            if column not in self.columns:
                how = "" if option is None else f" (see {option})"
                got = shown_columns(list(self.columns))[:200]
                hint = did_you_mean(column, self.columns)
                line = self.header_line
                raise DataFormatError(self.path, f"a column {column!r}{how}", got, line, hint)

    def require_one(self, wanted: Iterable[str]) -> None:
        """Raise if a column does not exist, or if there are several of its name."""
        for column in wanted:
            self.require([column])
            if column in self.repeated:
                got = f"{self.repeated[column]} columns of that name"
                raise DataFormatError(self.path, f"one column {column!r}", got, self.header_line)

    def join(self, names: str) -> None:
        """Make one column of lists of the columns with these names, separated by commas."""
        parts = [name.strip() for name in names.split(",")]
        if names in self.columns or len(parts) < 2 or not self.columns.keys() >= {*parts}:
            return
        cells = zip(*(self.cells(name) for name in parts), strict=True)
        self.columns[names] = [list(each) for each in cells]
        self.repeated = {**self.repeated, names: len(parts)}
        for name in parts:
            del self.columns[name]

    def error(self, at: int, expected: str, got: str) -> DataFormatError:
        """Return the error for a cell of row `at`."""
        return DataFormatError(self.path, expected, got[:80], self.lines[at])


LONGEST_NAME, MOST_WORDS = 40, 5
"""Characters and words of a column's name at most. A longer one is probably a cell of a file
without a header."""


def shown_columns(names: Sequence[str]) -> str:
    """Return the columns of a table for messages, without cells of a file that has no header."""
    if any(len(name) > LONGEST_NAME or len(name.split()) > MOST_WORDS for name in names):
        why = "(a file without a header: --columns)"
        return f"{len(names)} columns that are named like texts {why}"
    return "columns " + first_of([repr(name) for name in names], 10)


def first_of(names: Sequence[str], most: int = 5) -> str:
    """Return the first names and the number of further ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def described(cell: object) -> str:
    """Return what a cell holds, for messages, which do not contain the user's data."""
    if cell is MISSING:
        return "a row without it"
    if cell is None or cell == "":
        return "an empty cell"
    if isinstance(cell, str):
        return f"text of {len(cell)} character{'s' if len(cell) > 1 else ''}"
    if isinstance(cell, list):
        return f"a list of {len(cell)} value{'s' if len(cell) != 1 else ''}"
    return f"a value of type {type(cell).__name__}"


def gather(path: FilePath, rows: Iterable[Record], **facts: Any) -> Records:
    """Return rows by column, with :data:`MISSING` for the columns that a row lacks."""
    columns: dict[str, list[Any]] = {}
    lines = array("q")
    for row in rows:
        for name, cell in row.cells.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = [MISSING] * len(lines)
            column.append(cell)
        lines.append(row.line)
        if len(row.cells) < len(columns):
            for column in columns.values():
                if len(column) < len(lines):
                    column.append(MISSING)
    return Records(path, columns, lines, **facts)


def by_column(
    header: Sequence[str], columns: Iterable[Sequence[Any]]
) -> tuple[dict[str, list[Any]], dict[str, int]]:
    """Return columns by name, and the names that occur more than once, whose cells are lists."""
    counts = Counter(header)
    repeated = {name: count for name, count in counts.items() if count > 1}
    found: dict[str, list[Any]] = {}
    for name, cells in zip(header, columns, strict=True):
        if name not in repeated:
            found[name] = list(cells)
        elif name not in found:
            found[name] = [[cell] for cell in cells]
        else:
            for together, cell in zip(found[name], cells, strict=True):
                together.append(cell)
    return found, repeated


def whole_table(blocks: Iterable[Records], most_bytes: int) -> Records:
    """Return the rows of all blocks as one table, whose cells take at most `most_bytes`."""
    whole: Records | None = None
    n_bytes = 0
    for block in blocks:
        n_bytes += sum(map(cell_bytes, block.columns.values()))
        if n_bytes > most_bytes:
            expected = f"cells that take at most {most_bytes} bytes of memory (max_bytes)"
            raise DataFormatError(block.path, expected, "more", block.lines[-1])
        if whole is None:
            whole = replace(block, lines=array("q", block.lines))
            continue
        n_before = whole.n_rows
        whole.lines.extend(block.lines)
        for name, cells in block.columns.items():
            whole.columns.setdefault(name, [MISSING] * n_before).extend(cells)
        for cells in whole.columns.values():
            cells += [MISSING] * (whole.n_rows - len(cells))
    if whole is None:
        raise ValueError("expected at least one block")
    return whole


_OBJECT_BYTES = 56
"""Memory of a short string or number besides its characters."""


def cell_bytes(cells: Sequence[Any]) -> int:
    """Return about how much memory cells take: 8 bytes each, and their own size."""
    try:
        n_characters = len("".join(cells))
    except TypeError:
        return sum(8 + _value_bytes(cell) for cell in cells)
    own = 0 if n_characters <= len(cells) else _OBJECT_BYTES * len(cells) + n_characters
    return 8 * len(cells) + own


def _value_bytes(value: Any) -> int:
    """Return about how much memory a JSON value takes."""
    if isinstance(value, str):
        return _OBJECT_BYTES + len(value)
    if isinstance(value, list):
        return _OBJECT_BYTES + sum(8 + _value_bytes(each) for each in value)
    if isinstance(value, dict):
        return 4 * _OBJECT_BYTES + sum(_value_bytes(each) + 100 for each in value.values())
    return _OBJECT_BYTES
