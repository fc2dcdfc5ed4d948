"""The course of a tuning: the grid, its refinement if fast, and what lies beyond an edge."""

from collections.abc import Sequence

from vicinal.selection.grid import Grid, Position
from vicinal.selection.runner import Runner
from vicinal.selection.strategy import around, beyond, beyond_edge, coarse


def explore(
    runner: Runner, grids: Sequence[Grid], metric: str, edge: Sequence[str], fast: bool
) -> list[Grid]:
    """Measure what the grids ask for; return them, longer where the edge rule made them so."""
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
    """Measure the settings around the best of each grid."""
    work = {
        grid.method: (grid, around(grid, best, runner.known(grid.method)))
        for grid in grids
        for best in best_positions(runner, grid, [metric])
    }
    runner.run(work, "Refining")


def best_positions(runner: Runner, grid: Grid, metrics: Sequence[str]) -> list[Position]:
    """Return the best setting of a grid so far for each metric that has one."""
    known, table = runner.known(grid.method), runner.table([grid])
    rows = [table.best_row(metric) for metric in metrics]
    return [known[row] for row in rows if row is not None]
