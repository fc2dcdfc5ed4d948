"""Write the table of the catalogue into ``docs/reference/data-sets.md``."""

from pathlib import Path

from vicinal.datasets.catalogue import ENTRIES
from vicinal.datasets.catalogue.entry import Entry

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "data-sets.md"
START, END = "<!-- catalogue -->\n", "<!-- /catalogue -->\n"
_HEADER = (
    "| name | rows | features | labels | cardinality | split | format | source, licence | notes |\n"
    "|---|--:|--:|--:|--:|---|---|---|---|\n"
)


def table() -> str:
    """Return the table, one row per data set, sorted by name."""
    return _HEADER + "".join(_row(ENTRIES[name]) for name in sorted(ENTRIES))


def _row(entry: Entry) -> str:
    """Return the row of one data set."""
    size = entry.size
    aliases = "".join(f", `{alias}`" for alias in entry.aliases)
    folder = "" if entry.folder == entry.name else f" in `{entry.folder}`"
    cells = (
        f"`{entry.name}`{aliases}{folder}",
        str(size.rows),
        str(size.features),
        str(size.labels),
        f"{size.cardinality:.2f}",
        "–" if size.split is None else f"{size.split[0]} + {size.split[1]}",
        entry.recipe.format,
        f"{entry.source}; {entry.licence}",
        "; ".join(entry.notes),
    )
    return f"| {' | '.join(cells)} |\n"


def rewritten(page: str) -> str:
    """Return the page with the table between its two marks."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    return before + start + table() + end + after


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
