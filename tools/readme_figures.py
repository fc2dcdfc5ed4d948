"""Write the predictions table of README.md and the chart of the front page of the site.

``python tools/readme_figures.py`` writes ``docs/_static/quality.svg`` too, both from the figures of
``docs/evidence/quality.md``. A test checks that all three agree.
"""

import itertools
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETS_PER_LINE = 3
HEAD = "| | `Blend()` | baseline " * SETS_PER_LINE + "|\n" + "|---|---|---" * SETS_PER_LINE + "|\n"
CHART = "docs/_static/quality.svg"
GREEN, GREY, INK = "#15803d", "#9ca3af", "#111827"
NAME_WIDTH, BAR_WIDTH = 150, 560
"""Pixels for the names of the data sets, and for a bar of 1."""

_ROW = re.compile(
    r"^\| ([\w-]+) \| [^|]+ \| [^|]+ \| (\*{0,2})0?(\.\d+)\*{0,2} \| 0?(\.\d+) ", re.M
)
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)+")


def rows(page: str) -> list[tuple[str, str, str, bool]]:
    """Return data set, micro-F1 of the blend and of the best baseline, and whether it is higher."""
    first = page.partition("\n## ")[0]  # the data sets further down were held back
    return [(name, ours, other, bool(bold)) for name, bold, ours, other in _ROW.findall(first)]


def table(page: str) -> str:
    """Return the table for the README, with several data sets per line."""
    cells = [
        f"{name} | {f'**{ours}**' if best else ours} | {other}"
        for name, ours, other, best in rows(page)
    ]
    height = -(-len(cells) // SETS_PER_LINE)
    columns = [cells[at : at + height] for at in range(0, len(cells), height)]
    lines = itertools.zip_longest(*columns, fillvalue=" | | ")
    return HEAD + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def bar(top: int, value: str, colour: str, text_colour: str) -> str:
    """Return a bar of the chart with its value behind it."""
    width = round(BAR_WIDTH * float(value))
    return (
        f'<rect x="{NAME_WIDTH}" y="{top}" width="{width}" height="11" fill="{colour}"/>\n'
        f'<text x="{NAME_WIDTH + width + 6}" y="{top + 10}" font-size="11" '
        f'fill="{text_colour}">{value}</text>\n'
    )


def chart(page: str) -> str:
    """Return the chart as SVG: two bars for each data set."""
    sets = rows(page)
    height = 50 + 32 * len(sets)
    legend = "".join(
        f'<rect x="{left}" y="14" width="14" height="14" fill="{colour}"/>\n'
        f'<text x="{left + 20}" y="26" fill="{INK}">{text}</text>\n'
        for left, colour, text in (
            (NAME_WIDTH, GREEN, "Blend, micro-F1 on the test rows"),
            (NAME_WIDTH + 270, GREY, "best of up to five baselines"),
        )
    )
    bars = "".join(
        f'<text x="{NAME_WIDTH - 10}" y="{top + 17}" text-anchor="end" fill="{INK}">{name}</text>\n'
        + bar(top, blend, GREEN, INK)
        + bar(top + 12, other, GREY, "#4b5563")
        for top, (name, blend, other, _) in zip(itertools.count(46, 32), sets, strict=False)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="13" role="img" '
        'aria-label="Micro-F1 of Blend and of the best baseline on each data set">\n'
        f'<rect width="760" height="{height}" rx="10" fill="#ffffff"/>\n{legend}{bars}</svg>\n'
    )


def main() -> None:
    """Write the table and the chart."""
    readme = ROOT / "README.md"
    page = (ROOT / "docs" / "evidence" / "quality.md").read_text(encoding="utf-8")
    text = readme.read_text(encoding="utf-8")
    readme.write_text(_TABLE.sub(table(page), text), encoding="utf-8")
    (ROOT / CHART).write_text(chart(page), encoding="utf-8")


if __name__ == "__main__":
    main()
