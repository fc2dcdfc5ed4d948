"""Write the predictions table of README.md from docs/evidence/quality.md, which has the figures.

``python tools/readme_figures.py`` writes it. A test checks that both agree.
"""

import re
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAD = "| | `Blend()` | baseline | | `Blend()` | baseline |\n|---|---|---|---|---|---|\n"
_ROW = re.compile(
    r"^\| ([\w-]+) \| [^|]+ \| [^|]+ \| (\*{0,2})0?(\.\d+)\*{0,2} \| 0?(\.\d+) ", re.M
)
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)+")


def rows(page: str) -> list[tuple[str, str, str, bool]]:
    """Return data set, micro-F1 of the blend and of the best baseline, and whether it is higher."""
    first = page.partition("\n## ")[0]  # the data sets further down were held back
    return [(name, ours, other, bool(bold)) for name, bold, ours, other in _ROW.findall(first)]


def table(page: str) -> str:
    """Return the table for the README, in two columns."""
    cells = [
        f"{name} | {f'**{ours}**' if best else ours} | {other}"
        for name, ours, other, best in rows(page)
    ]
    half = (len(cells) + 1) // 2
    pairs = zip_longest(cells[:half], cells[half:], fillvalue=" | | ")
    return HEAD + "".join(f"| {left} | {right} |\n" for left, right in pairs)


def main() -> None:
    """Write the table."""
    readme = ROOT / "README.md"
    page = (ROOT / "docs" / "evidence" / "quality.md").read_text(encoding="utf-8")
    text = readme.read_text(encoding="utf-8")
    readme.write_text(_TABLE.sub(table(page), text), encoding="utf-8")


if __name__ == "__main__":
    main()
