"""Variants and the tables they affect."""

from collections.abc import Iterator

from vicinal_reproduction.figures.cells import Cell, Figures, table_cells
from vicinal_reproduction.specification import Check, Paper


def filled_checks(
    paper: Paper, figures: Figures
) -> Iterator[tuple[Check, str, list[Cell], list[Cell]]]:
    """Yield each variant, its table, and its cells: from the main experiment and the variant."""
    for check in paper.checks:
        for name in check.tables:
            table = paper.table(name)
            if table is None:
                continue
            other = table_cells(paper, table, figures, (check.experiment, *check.also))
            filled = [at for at, cell in enumerate(other) if cell.ours is not None]
            if filled:
                main = table_cells(paper, table, figures)
                yield check, name, [main[at] for at in filled], [other[at] for at in filled]
