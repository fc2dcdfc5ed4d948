"""Print tables for people and JSON for machines.

A label may contain anything: an escape sequence that clears the screen, a line break, a mark that
reverses the direction of text. Tables show such characters escaped; JSON contains JSON escapes.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vicinal.errors import InvalidArgumentError

_DIRECTIONS = (*range(0x200E, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_HIDDEN = (*range(0x20), *range(0x7F, 0xA0), 0x061C, *_DIRECTIONS, *range(0xD800, 0xE000))
_FOR_PEOPLE = {code: chr(code).encode("unicode_escape").decode() for code in _HIDDEN}
_FOR_MACHINES = {code: f"\\u{code:04x}" for code in _HIDDEN if code >= 0x20}


def visible(text: str) -> str:
    r"""Return text with control characters, line breaks and direction marks escaped."""
    return text.translate(_FOR_PEOPLE)


def visible_json(text: str) -> str:
    r"""Return a JSON document with the same characters as JSON escapes."""
    return text.translate(_FOR_MACHINES)


def speaks_unicode() -> bool:
    """Tell whether standard output can encode every character."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("_", "-").startswith("utf")


def never_fail_to_print() -> None:
    """Make output show characters that it cannot encode as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


out = Console()
errors = Console(stderr=True)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def check_target(option: str, path: Path | None) -> None:
    """Raise if a file cannot be written, before the results for it are computed."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise InvalidArgumentError(option, "a file in an existing folder", str(path))


def dump_json(value: object, *, ascii_only: bool = False) -> str:
    """Return one JSON document on one line; NaN becomes null."""
    from vicinal._core.files import without_nan

    text = json.dumps(without_nan(value), ensure_ascii=ascii_only, allow_nan=False)
    return visible_json(text)


def print_json(value: object) -> None:
    """Print one JSON document on one line, in ASCII if the output cannot encode Unicode."""
    sys.stdout.write(dump_json(value, ascii_only=not speaks_unicode()) + "\n")


def say(line: str) -> None:
    """Print one line unchanged: without interpreting markup, and without line breaks."""
    out.print(visible(line), markup=False, highlight=False, soft_wrap=True)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a header; numbers are right-aligned."""
    table = Table(title=escape(visible(title)), title_justify="left", header_style="bold")
    for column, name in enumerate(header):
        is_number = bool(rows) and isinstance(rows[0][column], int | float)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(show(value)) for value in row))
    out.print(table)


def print_facts(title: str, facts: Mapping[str, object], as_json: bool = False) -> None:
    """Print names and values, one pair per line, or as JSON."""
    if as_json:
        print_json(facts)
        return
    table = Table(title=escape(visible(title)), title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(escape(visible(name)), escape(show(value)))
    out.print(table)


def show(value: object) -> str:
    """Format a value for people to read, with control characters escaped."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else visible(str(value))
