"""The steps of tuning: the grid, its refinement in fast mode, and its extension beyond an edge."""

from collections.abc import Sequence

from vicinal.selection.grid import Grid, Position
from vicinal.selection.runner import Runner
from vicinal.selection.strategy import around, beyond, beyond_edge, coarse


def explore(
    runner: Runner, grids: Sequence[Grid], metric: str, edge: Sequence[str], fast: bool
) -> list[Grid]:
    """Evaluate the settings of the grids; return the grids, extended by the edge rule."""
    first = {grid.method: (grid, coarse(grid) if fast else grid.positions()) for grid in grids}
    runner.run(first, "Tuning")
    if fast:
        refine(runner, grids, metric)
    longer = {}
    for grid in grids:
        tops = best_positions(runner, grid, edge)
        after = beyond_edge(grid, tops)
        if after is not None:
            longer[grid.method] = (after, beyond(grid, after, tops[0], fast))
    runner.run(longer, "Beyond the edge")
    if fast:
        refine(runner, [grid for grid, _ in longer.values()], metric)
    return [longer[grid.method][0] if grid.method in longer else grid for grid in grids]


def refine(runner: Runner, grids: Sequence[Grid], metric: str) -> None:
    """Evaluate the settings around the best setting of each grid."""
    work = {
        grid.method: (grid, around(grid, best, runner.known(grid.method)))
        for grid in grids
        for best in best_positions(runner, grid, [metric])
    }
    runner.run(work, "Refining")


def best_positions(runner: Runner, grid: Grid, metrics: Sequence[str]) -> list[Position]:
    """Return the best setting of a grid so far for each metric for which one is defined."""
    known, table = runner.known(grid.method), runner.table([grid])
    rows = [table.best_row(metric) for metric in metrics]
    return [known[row] for row in rows if row is not None]
