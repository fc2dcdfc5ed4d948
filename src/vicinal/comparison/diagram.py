"""The critical difference diagram: mean ranks on a line, bars connecting similar methods.

References
----------
J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from vicinal.comparison.drawing import draw
from vicinal.comparison.friedman import rank_tests
from vicinal.comparison.ranks import Better


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
        Where to save; an extension ``.svg`` or ``.png`` is replaced, so that both files are side by
        side.
    alpha : float
        Level of the Nemenyi test, whose critical difference is drawn above the line.
    better : {"high", "low"}
        Whether high or low scores are better.
    title : str or None

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
    """Return the paths of the two files.

    Examples
    --------
    >>> [file.name for file in figure_paths("ranks.v2")]
    ['ranks.v2.svg', 'ranks.v2.png']
    """
    given = Path(path)
    stem = given.with_suffix("") if given.suffix.lower() in (".svg", ".png") else given
    return [stem.with_name(stem.name + ending) for ending in (".svg", ".png")]
