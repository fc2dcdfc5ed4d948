"""Table cells: a value to sort by and the text to show."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from vicinal._base.markup import Html, class_names, element, together

Value: TypeAlias = str | float | int | None
NO_VALUE = "–"
SHORT = 24
"""Number of characters that stay on one line."""


@dataclass(frozen=True)
class Cell:
    """One cell.

    Parameters
    ----------
    value : str, float, int or None
        The value to sort by; None and NaN are shown as a dash and sort last.
    text : str or None
        The text to show; None for the value in the format of its column.
    spread : float or None
        Shown in small type after the number, with ±.
    kind : str
        A class of the style sheet: ``"ours"``, ``"paper"``, ``"near"``, ``"far"``, ``"quiet"``.
    note : str
        Tooltip.
    best : bool
        Whether to show it in bold.
    """

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
        """Return the text to show, with numbers in the given format.

        Examples
        --------
        >>> Cell(0.12345).shown(".3f"), Cell(None).shown(".3f"), Cell("yes").shown(".3f")
        ('0.123', '–', 'yes')
        """
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
    """Return a number with a minus sign, and 0 without any sign.

    Examples
    --------
    >>> _signed("-0.25"), _signed("-0.00"), _signed("+0.00")
    ('−0.25', '0.00', '0.00')
    """
    if re.fullmatch(r"[+-]0(\.0*)?%?", number):
        return number[1:]
    return number.replace("-", "−")


def as_cell(value: Value | Cell) -> Cell:
    """Return a value as a cell, or a cell unchanged."""
    return value if isinstance(value, Cell) else Cell(value)


def mark_best(
    cells: Sequence[Value | Cell], better: Literal["low", "high"], form: str = ".3f"
) -> list[Cell]:
    """Return the cells with the best number and all that look the same in bold; none if all do.

    Examples
    --------
    >>> [cell.best for cell in mark_best([0.1231, 0.5, 0.1234, None], "low")]
    [True, False, True, False]
    """
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
