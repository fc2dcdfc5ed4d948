"""Write ``docs/evidence/coverage.csv`` and the coverage on the page from ``make coverage``."""

import csv
import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "build" / "coverage.json"
PAGE = ROOT / "docs" / "evidence" / "reliability.md"
TABLE = PAGE.with_name("coverage.csv")
HEADER = ("file", "covered", "lines that no test reaches", "branches that no test takes")
SUMMARY = """\
Version {version} on {date}: {lines} of {all_lines} lines and {branches} of {all_branches} branches,
**{percent:.1f}%** together. {covered} of {files} files are covered completely.
"""
_SHOWN = re.compile(r"^Version .*?completely\.\n", re.MULTILINE | re.DOTALL)


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


def row(name: str, file: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of the table on one file."""
    lines = set(file["missing_lines"])
    ways = [
        f"{start} → {end if end > 0 else 'end'}"
        for start, end in file["missing_branches"]
        if start not in lines and end not in lines  # otherwise the line says it
    ]
    percent = file["summary"]["percent_covered"]
    return name, f"{percent:.0f}%", ranges(lines), ", ".join(ways)


def missed(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the files that are not covered completely, by name."""
    return {
        name.removeprefix("src/"): file
        for name, file in sorted(measured["files"].items())
        if file["missing_lines"] or file["missing_branches"]
    }


def summary(measured: dict[str, Any]) -> str:
    """Return what the page says about the run."""
    total = measured["totals"]
    return SUMMARY.format(
        version=version("vicinal"),
        date=datetime.now(UTC).date().isoformat(),
        lines=f"{total['covered_lines']:,}",
        all_lines=f"{total['num_statements']:,}",
        branches=f"{total['covered_branches']:,}",
        all_branches=f"{total['num_branches']:,}",
        percent=total["percent_covered"],
        covered=len(measured["files"]) - len(missed(measured)),
        files=len(measured["files"]),
    )


def main() -> None:
    """Write the table and the sentence of the page."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([HEADER, *(row(*each) for each in missed(measured).items())])
    text, found = _SHOWN.subn(summary(measured), PAGE.read_text(encoding="utf-8"))
    if found != 1:
        sys.exit(f"{PAGE}: expected one sentence 'Version … completely.', found {found}")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
