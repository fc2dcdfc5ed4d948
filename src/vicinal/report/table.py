"""Accessible, sortable tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.markup import Html, element, together
from vicinal.report.cells import Cell, Value, as_cell, mark_best
from vicinal.report.ids import Ids

Row: TypeAlias = Sequence[Value | Cell]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    title : str
    form : str
        Format of its numbers, e.g. ``".3f"``, ``",d"``.
    better : {"low", "high"} or None
        Which value is shown in bold; None for no bold values.
    group : str
        A heading above adjacent columns of the same group.
    note : str
        Tooltip of the heading.
    """

    title: str
    form: str = ".3f"
    better: Literal["low", "high"] | None = None
    group: str = ""
    note: str = ""


@dataclass(frozen=True)
class DataTable:
    """A table with a caption; the first cell of a row names it.

    Parameters
    ----------
    caption : str
    columns : sequence of Column or str
    rows, footer : sequence of rows
        Values or cells, one per column. The footer is not sorted and never in bold.

    Examples
    --------
    >>> table = DataTable("Loss", ["method", Column("yeast", better="low")], [("A", 0.2)])
    >>> table.render(Ids(), 2)[:74]
    '<div class="scroll" role="region" tabindex="0" aria-labelledby="loss"><tab'
    """

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
    titles = together(
        *(
            element(
                "th",
                each.title,
                scope="col",
                class_="number" if at in numbers else None,
                data_column=at,
                title=each.note or None,
            )
            for at, each in enumerate(columns)
        )
    )
    if not any(column.group for column in columns):
        return element("thead", element("tr", titles))
    groups = [(name, len(list(each))) for name, each in groupby(columns, lambda c: c.group)]
    over = together(
        *(
            element("th", name, scope="colgroup", colspan=width)
            if name
            else element("td", colspan=width)
            for name, width in groups
        )
    )
    return element("thead", element("tr", over, class_="groups"), element("tr", titles))


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
