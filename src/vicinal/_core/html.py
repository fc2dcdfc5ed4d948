"""Safe HTML markup: everything that is not already markup is escaped."""

import csv
import html
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vicinal.errors import InvalidArgumentError, optional_module

VOID = frozenset({"br", "col", "meta"})
"""Elements that have no end tag."""

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that are not allowed in HTML."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class Html(str):
    """Markup, which is inserted unchanged."""

    __slots__ = ()


def clean(text: str) -> str:
    """Return the text with U+FFFD in place of characters not allowed in documents and figures."""
    return _UNFIT.sub("\ufffd", text)


def escape(text: str) -> Html:
    """Return any text as escaped markup; characters not allowed in HTML become U+FFFD."""
    return text if isinstance(text, Html) else Html(html.escape(clean(text)))


def element(name: str, /, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """Return an element."""
    start = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{start}>")
    inside = "".join(escape(child) for child in children if child is not None)
    return Html(f"<{name}{start}>{inside}</{name}>")


def together(*parts: str | None, between: str = "") -> Html:
    """Join parts, escaping those that are not markup."""
    return Html(escape(between).join(escape(part) for part in parts if part is not None))


def class_names(*names: str) -> str | None:
    """Return class names for an attribute, or None if there are none."""
    for name in names:
        if name and not _NAME.fullmatch(name):
            raise InvalidArgumentError("kind", "a plain name", repr(name))
    return " ".join(filter(None, names)) or None


def _attribute(key: str, value: str | int | bool | None) -> str:
    """Return one attribute with the space before it."""
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(clean(str(value)))}"'


def document(title: str, style: str, policy: str, *body: str | None) -> str:
    """Return a page for light and dark mode that needs no other file; `policy` is its CSP."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(style)),
    )
    return f"<!doctype html>\n{element('html', head, element('body', *body), lang='en')}\n"


def contents(links: Mapping[str, str], label: str) -> Html | None:
    """Return links to the parts of a page, by id, if there is more than one."""
    if len(links) < 2:
        return None
    items = (element("li", element("a", text, href=f"#{at}")) for at, text in links.items())
    return element("nav", element("ul", *items), aria_label=label)


MOST_SHOWN = 20
"""Maximum number of rows that a notebook shows."""
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "&": r"\&", "%": r"\%",
    "$": r"\$", "#": r"\#", "^": r"\^{}", "~": r"\~{}",
}  # fmt: skip


class Cells(NamedTuple):
    """Names of columns, and rows of values."""

    header: list[str]
    rows: list[list[object]]


class Tabular(ABC):
    """Base of tables; subclasses define :meth:`cells`."""

    @abstractmethod
    def cells(self) -> Cells:
        """Return the table as columns and rows."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas ``DataFrame``."""
        header, rows = self.cells()
        return optional_module("pandas", "frames").DataFrame(rows, columns=header)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as a CSV file in UTF-8."""
        header, rows = self.cells()
        with Path(path).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, *rows])

    def to_markdown(self) -> str:
        r"""Return the table in Markdown; floats have four decimals, numbers are right-aligned.

        Examples
        --------
        >>> class Pair(Tabular):
        ...     def cells(self) -> Cells:
        ...         return Cells(["name", "value"], [["a|b", 0.5], ["c", None]])
        >>> print(Pair().to_markdown())
        | name | value |
        |---|---:|
        | a\|b | 0.5000 |
        | c | – |
        """
        header, rows = self.cells()
        marks = "|".join("---:" if right else "---" for right in _numeric(rows, len(header)))
        lines = [header, *[[shown(cell) for cell in row] for row in rows]]
        # A bar or a line break would end a cell.
        safe = [[each.replace("|", "\\|").replace("\n", " ") for each in line] for line in lines]
        texts = [f"| {' | '.join(line)} |" for line in safe]
        return "\n".join([texts[0], f"|{marks}|", *texts[1:]])

    def to_latex(self) -> str:
        """Return the table as a LaTeX ``tabular`` (package booktabs)."""
        header, rows = self.cells()
        places = "".join("r" if right else "l" for right in _numeric(rows, len(header)))
        body = [" & ".join(in_latex(shown(cell)) for cell in row) + r" \\" for row in rows]
        head = " & ".join(map(in_latex, header)) + r" \\"
        start = rf"\begin{{tabular}}{{{places}}}"
        lines = [start, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the table for a notebook, or its first rows if there are many."""
        header, rows = self.cells()
        cells = "".join(f"<th>{html.escape(name)}</th>" for name in header)
        right = _numeric(rows, len(header))
        body = "".join(_html_row(row, right) for row in rows[:MOST_SHOWN])
        more = f"<p>… {len(rows) - MOST_SHOWN:,} more rows</p>" if len(rows) > MOST_SHOWN else ""
        title = f"<p>{html.escape(repr(self))}</p>"
        head = f"<thead><tr>{cells}</tr></thead>"
        return f"{title}<table>{head}<tbody>{body}</tbody></table>{more}"


def shown(value: object) -> str:
    """Return a cell as text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def in_latex(text: str) -> str:
    r"""Return text with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _html_row(row: Sequence[object], right: Sequence[bool]) -> str:
    """Return one row of an HTML table."""
    places = (' style="text-align: right"' if is_number else "" for is_number in right)
    cells = zip(row, places, strict=True)
    return "<tr>" + "".join(f"<td{p}>{html.escape(shown(v))}</td>" for v, p in cells) + "</tr>"


def _numeric(rows: Sequence[Sequence[object]], width: int) -> list[bool]:
    """Tell which columns contain only numbers and missing values."""
    return [
        any(isinstance(row[at], int | float) for row in rows)
        and all(row[at] is None or isinstance(row[at], int | float) for row in rows)
        for at in range(width)
    ]
