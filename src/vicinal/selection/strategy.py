"""Which settings to try next: all, or a coarse pass and its refinement, and beyond an edge."""

from collections.abc import Sequence
from itertools import product

from vicinal.selection.grid import Grid, Position

STRIDE = 3
"""A coarse pass tries every third value of an axis and the last one."""


def coarse_places(values: Sequence[object], start: int = 0) -> list[int]:
    """Return the indices on an axis that a coarse pass tries, starting at `start`.

    All of them if there are few or if the values are not numbers.

    Examples
    --------
    >>> coarse_places(range(1, 30, 2))
    [0, 3, 6, 9, 12, 14]
    >>> coarse_places(["feature", "label"])
    [0, 1]
    """
    last = len(values) - 1
    if last - start < STRIDE or not all(map(_is_number, values)):
        return list(range(start, last + 1))
    return sorted({*range(start, last + 1, STRIDE), last})


def coarse(grid: Grid) -> list[Position]:
    """Return the settings of a coarse pass, in grid order."""
    return list(product(*(coarse_places(values) for values in grid.axes.values())))


def around(grid: Grid, best: Position, tried: Sequence[Position]) -> list[Position]:
    """Return the settings between the best and those tried next to it, on every axis.

    If a tried setting is directly next to the best, it is included.

    Examples
    --------
    >>> grid = Grid("mlknn", {"n_neighbors": tuple(range(1, 11))})
    >>> around(grid, (3,), [(0,), (3,), (6,), (9,)])
    [(1,), (2,), (3,), (4,), (5,)]
    >>> around(grid, (9,), [(0,), (3,), (6,), (8,), (9,)])
    [(8,), (9,)]
    """
    windows = []
    for axis, values in enumerate(grid.axes.values()):
        if not all(map(_is_number, values)):
            windows.append(range(best[axis], best[axis] + 1))
            continue
        places = sorted({position[axis] for position in tried})
        lower = [place for place in places if place < best[axis]]
        higher = [place for place in places if place > best[axis]]
        start = min(lower[-1] + 1, best[axis] - 1) if lower else 0
        stop = max(higher[0] - 1, best[axis] + 1) if higher else len(values) - 1
        windows.append(range(start, stop + 1))
    return list(product(*windows))


def beyond_edge(grid: Grid, best: Sequence[Position]) -> Grid | None:
    """Return a default grid extended along each axis on which a best setting has the last value.

    Examples
    --------
    >>> from vicinal.selection.grid import make_grids
    >>> (grid,) = make_grids("instance-knn")
    >>> beyond_edge(grid, [(3,)]) is None
    True
    >>> beyond_edge(grid, [(14,)]).axes["n_neighbors"][-2:]
    (57, 59)
    """
    further = grid.declared.beyond_edge if grid.is_default else {}
    longer = {
        name: (*values, *further[name])
        for axis, (name, values) in enumerate(grid.axes.items())
        if name in further
        and values == grid.declared.grid[name]
        and any(each[axis] == len(values) - 1 for each in best)
    }
    if not longer:
        return None
    for name, values in longer.items():
        grid = grid.with_axis(name, values)
    return grid


def farthest(grid: Grid) -> Grid:
    """Return the grid with the largest extension the edge rule allows."""
    ends: Position = tuple(len(values) - 1 for values in grid.axes.values())
    return beyond_edge(grid, [ends]) or grid


def beyond(before: Grid, after: Grid, best: Position, fast: bool) -> list[Position]:
    """Return the settings to try on extended axes.

    All new settings or, in fast mode, a coarse pass over the new values with the best values on the
    other axes.
    """
    if not fast:
        return after.positions()
    lines = []
    for axis, (old, new) in enumerate(zip(before.axes.values(), after.axes.values(), strict=True)):
        grown = len(new) > len(old)
        lines.append([best[axis], *coarse_places(new, len(old))] if grown else [best[axis]])
    return list(product(*lines))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
