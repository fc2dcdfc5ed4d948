"""Write ``docs/evidence/coverage.md`` from what ``make coverage`` measured."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "build" / "coverage.json"
PAGE = ROOT / "docs" / "evidence" / "coverage.md"
TEXT = """\
# Coverage

`make coverage` ran the fast tests of version {version} on {date}. They reach {lines} of
{all_lines} lines and take {branches} of {all_branches} branches: **{percent:.1f} %**.

{covered} of {files} files are covered completely and left out of the table. A branch `12 → 15` is
the way from line 12 to line 15 that no test takes; `12 → end` leaves the function or the file. Most
of the rest needs another operating system, a GPU, Annif or a missing library, or takes more memory
than a test should ([how the library is checked](checks.md)).

| file | covered | lines that no test reaches | branches that no test takes |
|---|---:|---|---|
{rows}
"""


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers as text, neighbours joined.

    Examples
    --------
    >>> ranges([3, 4, 5, 9])
    '3–5, 9'
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1] = [found[-1][0], number]
        else:
            found.append([number])
    return ", ".join("–".join(map(str, each)) for each in found)


def row(name: str, file: dict[str, Any]) -> str:
    """Return the line of the table on one file."""
    lines = set(file["missing_lines"])
    ways = [
        f"{start} → {end if end > 0 else 'end'}"
        for start, end in file["missing_branches"]
        if start not in lines and end not in lines  # otherwise the line says it
    ]
    percent = file["summary"]["percent_covered"]
    cells = (f"`{name}`", f"{percent:.0f} %", ranges(lines), ", ".join(ways))
    return f"| {' | '.join(cells)} |"


def page(measured: dict[str, Any]) -> str:
    """Return the page."""
    total = measured["totals"]
    files = {
        name.removeprefix("src/"): file
        for name, file in sorted(measured["files"].items())
        if file["missing_lines"] or file["missing_branches"]
    }
    return TEXT.format(
        version=version("vicinal"),
        date=datetime.now(UTC).date().isoformat(),
        lines=f"{total['covered_lines']:,}",
        all_lines=f"{total['num_statements']:,}",
        branches=f"{total['covered_branches']:,}",
        all_branches=f"{total['num_branches']:,}",
        percent=total["percent_covered"],
        covered=len(measured["files"]) - len(files),
        files=len(measured["files"]),
        rows="\n".join(row(name, file) for name, file in files.items()),
    )


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(MEASURED.read_text(encoding="utf-8"))), encoding="utf-8")
