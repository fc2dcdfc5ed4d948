"""Write the catalogue: a short table in ``docs/reference/data-sets.md``, further facts as CSV."""

import csv
import io
from pathlib import Path

from vicinal.datasets.catalogue import ENTRIES
from vicinal.datasets.catalogue.entry import Entry

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "data-sets.md"
FACTS = PAGE.with_suffix(".csv")
START, END = "<!-- catalogue -->\n", "<!-- /catalogue -->\n"
_HEADER = "| name | rows | features | labels | per row | split |\n|---|--:|--:|--:|--:|---|\n"
_FACTS = ("name", "other names", "folder", "format", "source", "licence", "notes")


def table() -> str:
    """Return the table of the page, one row per data set, sorted by name."""
    return _HEADER + "".join(_row(ENTRIES[name]) for name in sorted(ENTRIES))


def _row(entry: Entry) -> str:
    """Return the row of one data set."""
    size = entry.size
    cells = (
        f"`{entry.name}`",
        str(size.rows),
        str(size.features),
        str(size.labels),
        f"{size.cardinality:.2f}",
        "–" if size.split is None else f"{size.split[0]} + {size.split[1]}",
    )
    return f"| {' | '.join(cells)} |\n"


def facts() -> str:
    """Return what the table leaves out, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_FACTS)
    for _, entry in sorted(ENTRIES.items()):
        names, notes = " ".join(entry.aliases), "; ".join(entry.notes)
        format_, origin = entry.recipe.format, (entry.source, entry.licence)
        writer.writerow((entry.name, names, entry.folder, format_, *origin, notes))
    return text.getvalue()


def rewritten(page: str) -> str:
    """Return the page with the table between its two marks."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    return before + start + table() + end + after


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    FACTS.write_text(facts(), encoding="utf-8")
