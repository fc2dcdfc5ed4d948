"""Accessible, sortable tables."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, TypeAlias

from vicinal._core.html import Html, class_names, element, together
from vicinal.errors import InvalidArgumentError
from vicinal.report.page import Ids

Value: TypeAlias = str | float | int | None
NO_VALUE = "–"
SHORT = 24
"""Number of characters that stay on one line."""


@dataclass(frozen=True)
class Cell:
    """One cell."""

    value: Value
    text: str | None = None
    spread: float | None = None
    kind: str = ""
    note: str = ""
    best: bool = False

    @property
    def number(self) -> float | None:
        """The value if it is a number."""
        if isinstance(self.value, str) or self.value is None or math.isnan(self.value):
            return None
        return float(self.value)

    def shown(self, form: str) -> str:
        """Return the text to show, with numbers in the given format."""
        if self.text is not None:
            return self.text
        if isinstance(self.value, str):
            return self.value
        return NO_VALUE if self.number is None else _signed(format(self.value, form))

    def render(self, form: str, *, heads_row: bool = False, at_right: bool = False) -> Html:
        """Return a ``td``, or the ``th`` of a row; `at_right` aligns it like numbers."""
        shown = element("strong", self.shown(form)) if self.best else self.shown(form)
        spread = None
        if self.spread is not None and self.number is not None:
            spread = element("span", f" ±{self.spread:{form}}", class_="spread")
        number = self.number
        return element(
            "th" if heads_row else "td",
            together(shown, spread),
            scope="row" if heads_row else None,
            class_=class_names(
                self.kind,
                "number" if at_right or number is not None else "",
                "short" if number is None and len(self.shown(form)) <= SHORT else "",
            ),
            data_value=None if number is None else repr(number),
            title=self.note or None,
        )


def _signed(number: str) -> str:
    """Return a number with a minus sign, and 0 without any sign."""
    if re.fullmatch(r"[+-]0(\.0*)?%?", number):
        return number[1:]
    return number.replace("-", "−")


def as_cell(value: Value | Cell) -> Cell:
    """Return a value as a cell, or a cell unchanged."""
    return value if isinstance(value, Cell) else Cell(value)


def mark_best(
    cells: Sequence[Value | Cell], better: Literal["low", "high"], form: str = ".3f"
) -> list[Cell]:
    """Return the cells with the best number and all that look the same in bold; none if all do."""
    all_cells = [as_cell(cell) for cell in cells]
    numbers = [cell.number for cell in all_cells if cell.number is not None]
    if not numbers:
        return all_cells
    best = min(numbers) if better == "low" else max(numbers)
    texts = {format(cell.value, form) for cell in all_cells if cell.number == best}
    if len(numbers) > 1 and {_reads(cell, form) for cell in all_cells} - {None} == texts:
        return all_cells
    return [replace(cell, best=_reads(cell, form) in texts) for cell in all_cells]


def _reads(cell: Cell, form: str) -> str | None:
    """Return a number as it is shown, or None if there is none."""
    return None if cell.number is None else format(cell.value, form)


Row: TypeAlias = Sequence[Value | Cell]


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    form: str = ".3f"
    better: Literal["low", "high"] | None = None
    group: str = ""
    note: str = ""


@dataclass(frozen=True)
class DataTable:
    """A table with a caption; the first cell of a row names it."""

    caption: str
    columns: Sequence[Column | str]
    rows: Sequence[Row]
    footer: Sequence[Row] = ()

    def __post_init__(self) -> None:
        """Check that every row has one cell per column."""
        for row in (*self.rows, *self.footer):
            if len(row) != len(self.columns):
                raise InvalidArgumentError("rows", f"{len(self.columns)} cells", len(row))

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``table`` in a region that scrolls on narrow pages."""
        columns = [Column(each) if isinstance(each, str) else each for each in self.columns]
        numbers = _number_columns(self.rows)
        name = ids.take(self.caption)
        foot = element("tfoot", *_rows(columns, self.footer, numbers)) if self.footer else None
        table = element(
            "table",
            element("caption", element("span", self.caption), id=name),
            _head(columns, numbers),
            element("tbody", *_rows(columns, _with_best(columns, self.rows), numbers)),
            foot,
            class_="sortable",
        )
        return element(
            "div", table, class_="scroll", role="region", tabindex=0, aria_labelledby=name
        )


def _number_columns(rows: Sequence[Row]) -> set[int]:
    """Return the columns with numbers, whose headings are right-aligned too."""
    return {at for row in rows for at, cell in enumerate(row) if as_cell(cell).number is not None}


def _head(columns: Sequence[Column], numbers: set[int]) -> Html:
    """Return the column headings, with group headings above them if there are any."""
    titles = []
    for at, each in enumerate(columns):
        kind, note = "number" if at in numbers else None, each.note or None
        titles.append(
            element("th", each.title, scope="col", class_=kind, data_column=at, title=note)
        )
    if not any(column.group for column in columns):
        return element("thead", element("tr", *titles))
    over = []
    for name, of_group in groupby(columns, lambda column: column.group):
        tag, scope = ("th", "colgroup") if name else ("td", None)
        over.append(element(tag, name or None, scope=scope, colspan=len(list(of_group))))
    return element("thead", element("tr", *over, class_="groups"), element("tr", *titles))


def _rows(columns: Sequence[Column], rows: Sequence[Row], numbers: set[int]) -> list[Html]:
    """Return the ``tr`` of each row."""
    return [
        element(
            "tr",
            *(
                as_cell(cell).render(column.form, heads_row=at == 0, at_right=at in numbers)
                for at, (column, cell) in enumerate(zip(columns, row, strict=True))
            ),
        )
        for row in rows
    ]


def _with_best(columns: Sequence[Column], rows: Sequence[Row]) -> list[list[Value | Cell]]:
    """Return the rows with the best value in bold for columns that have `better`."""
    marked: list[list[Value | Cell]] = [list(row) for row in rows]
    for at, column in enumerate(columns):
        if column.better is not None:
            cells = mark_best([row[at] for row in rows], column.better, column.form)
            for row, cell in zip(marked, cells, strict=True):
                row[at] = cell
    return marked
