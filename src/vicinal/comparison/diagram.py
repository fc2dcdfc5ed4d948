"""The critical difference diagram: mean ranks on a line, bars connecting similar methods.

The horizontal unit is a rank, the vertical one a line of text, growing downwards: the scale lies at
0, the critical difference above it, bars of groups and then names below it. The names of the better
half of the methods are on the left and the others on the right, so that no leader line crosses a
name.

References
----------
J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vicinal.comparison.friedman import FriedmanNemenyi, rank_tests
from vicinal.comparison.score_tables import Better
from vicinal.selection.plots import BAR, INK, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LINE_INCHES = 0.25
"""Height of a line of names."""
LANE = 0.42
"""Height of a lane of bars, in lines."""


def draw(found: FriedmanNemenyi, paths: Sequence[Path], title: str | None) -> None:
    """Draw the diagram and save it to each path; the extension sets the format."""
    # Imported when used: matplotlib would double the time that importing the package takes.
    from matplotlib import rc_context

    figure = rank_figure(found, title)
    # Text stored as text is small and searchable; the salt makes the ids reproducible.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "vicinal"}):
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(
                path,
                dpi=200,
                bbox_inches="tight",
                pad_inches=0.12,
                metadata=metadata,
                facecolor="white",
            )


def rank_figure(found: FriedmanNemenyi, title: str | None = None) -> "Figure":
    """Return the diagram as a matplotlib figure."""
    from matplotlib.figure import Figure

    ranks = list(found.mean_ranks.values())
    lanes = assign_lanes(_spans(found))
    names_at = 1.0 + LANE * (1 + max(lanes, default=-1))
    n_lines = names_at + (len(ranks) + 1) // 2
    width = min(12.0, max(4.5, 0.45 * len(ranks) + 2.5))
    figure = Figure(figsize=(width, LINE_INCHES * (n_lines + 3)))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.5, len(ranks) + 0.5), ylim=(n_lines, -3.0))
    axes.axis("off")
    _scale(axes, len(ranks))
    _critical_difference(axes, found)
    _bars(axes, found, lanes)
    _names(axes, found, names_at)
    if title:
        axes.set_title(title, fontsize=11, color=INK, pad=10)
    return figure


def assign_lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Assign a lane to each span, sorted by start, so that spans in one lane never overlap."""
    ends: list[float] = []
    lanes = []
    for start, end in spans:
        free = (lane for lane, taken in enumerate(ends) if taken < start)
        lane = next(free, len(ends))
        ends[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes


def _spans(found: FriedmanNemenyi) -> list[tuple[float, float]]:
    """Return where the bar of each group starts and ends: a little beyond its methods."""
    over = 0.012 * len(found.mean_ranks)
    ends = [(group[0], group[-1]) for group in found.groups]
    return [(found.mean_ranks[a] - over, found.mean_ranks[b] + over) for a, b in ends]


def _scale(axes: "Axes", n_methods: int) -> None:
    """Draw the line of ranks with numbers; if there are many ranks, only some are numbered."""
    axes.plot([1, n_methods], [0, 0], color=INK, linewidth=1.2, solid_capstyle="projecting")
    step = -(-n_methods // 16)
    for rank in range(1, n_methods + 1):
        numbered = (rank - 1) % step == 0
        axes.plot([rank, rank], [0, -0.3 if numbered else -0.15], color=INK, linewidth=1.0)
        if numbered:
            axes.text(rank, -0.4, str(rank), ha="center", va="bottom", fontsize=9, color=INK)


def _critical_difference(axes: "Axes", found: FriedmanNemenyi) -> None:
    """Draw the critical difference, starting at rank 1 and cut off at the end of the scale."""
    end = min(1 + found.critical_difference, len(found.mean_ranks) + 0.4)
    cut = 1 + found.critical_difference > end
    axes.plot([1, end], [-1.75, -1.75], color=BAR, linewidth=1.5, solid_capstyle="butt")
    for x in [1.0] if cut else [1.0, end]:
        axes.plot([x, x], [-1.95, -1.55], color=BAR, linewidth=1.5)
    said = f"CD = {found.critical_difference:.2f}  (α = {found.alpha:g})"
    axes.text(1, -2.05, said, ha="left", va="bottom", fontsize=9, color=BAR)


def _bars(axes: "Axes", found: FriedmanNemenyi, lanes: Sequence[int]) -> None:
    """Draw a bar for each group of methods that do not differ significantly."""
    for (start, end), lane in zip(_spans(found), lanes, strict=True):
        y = 0.5 + LANE * lane
        axes.plot([start, end], [y, y], color=BAR, linewidth=3.5, solid_capstyle="butt", zorder=3)


def _names(axes: "Axes", found: FriedmanNemenyi, top: float) -> None:
    """Write the methods with their mean ranks, each connected to its position on the scale."""
    named = list(found.mean_ranks.items())
    half = (len(named) + 1) // 2
    sides = [(named[:half], 0.7, "right", -5), (named[half:][::-1], len(named) + 0.3, "left", 5)]
    for methods, edge, align, gap in sides:
        for line, (name, rank) in enumerate(methods):
            y = top + line
            axes.plot([rank, rank, edge], [0, y, y], color=QUIET, linewidth=0.8)
            said = f"{name}  {rank:.2f}" if align == "right" else f"{rank:.2f}  {name}"
            axes.annotate(
                said,
                (edge, y),
                (gap, 0),
                textcoords="offset points",
                ha=align,
                va="center",
                fontsize=10,
                color=INK,
                annotation_clip=False,
                parse_math=False,
            )


def critical_difference_diagram(
    table: object,
    path: str | os.PathLike[str],
    alpha: float = 0.05,
    *,
    better: Better = "high",
    title: str | None = None,
) -> tuple[Path, Path]:
    """Draw the mean ranks of methods, best on the left, and save the figure as SVG and PNG.

    Parameters
    ----------
    table : mapping, frame or array
        Data sets × methods, as :func:`read_table` takes it.
    path : path
        Where to save; an extension ``.svg`` or ``.png`` is replaced. Both files are then
        side by side.
    alpha : float
        Level of the Nemenyi test, whose critical difference is drawn above the line.
    better : {"high", "low"}
        Whether high or low scores are better.
    title : str or None
        Title, if any.

    Returns
    -------
    tuple of Path
        The SVG and the PNG. The same table gives the same files.

    Examples
    --------
    >>> import tempfile
    >>> scores = {"A": [9, 8, 9, 7], "B": [5, 6, 5, 8], "C": [1, 2, 3, 1]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in critical_difference_diagram(scores, Path(folder) / "ranks.svg")]
    ['ranks.svg', 'ranks.png']
    """
    found = rank_tests(table, alpha, better=better)
    svg, png = figure_paths(path)
    draw(found, (svg, png), title)
    return svg, png


def figure_paths(path: str | os.PathLike[str]) -> Sequence[Path]:
    """Return the paths of the two files."""
    given = Path(path)
    stem = given.with_suffix("") if given.suffix.lower() in (".svg", ".png") else given
    return [stem.with_name(stem.name + ending) for ending in (".svg", ".png")]
