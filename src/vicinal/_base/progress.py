"""Progress bars on a terminal, silence everywhere else.

Long work tells how far it is by :func:`part` or :func:`blocks`, wherever it stands. It is seen only
where somebody further up said :func:`shown`: the command line, or a function asked for bars.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TypeAlias, TypeVar

from rich.console import Console
from rich.progress import Progress, track

Item = TypeVar("Item")
Advance: TypeAlias = Callable[[float], None]

WHOLE_RUN = 1e9
"""Seconds over which speed is measured: the time left is that at the mean speed so far."""
FEWEST_ROWS = 1024
"""A block that is seen is a hundredth of the rows, or so many: each costs a call."""

_bars: ContextVar[Progress | None] = ContextVar("bars", default=None)


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield from `items`, with a bar and the time left on standard error if it is a terminal.

    Examples
    --------
    >>> list(progress(range(3), "counting"))
    [0, 1, 2]
    """
    if is_seen():  # there are bars already, and a terminal shows one display at a time
        with part(description, total) as advance:
            for item in items:
                yield item
                advance(1)
        return
    if not on_terminal():
        yield from items
        return
    yield from track(items, description, total=total, console=Console(stderr=True), transient=True)


@contextmanager
def shown(show: bool = True) -> Iterator[None]:
    """Show what is done within, a bar for each part of it, on standard error if it is a terminal.

    Bars within bars stand below them. Not to be held open by a generator that yields.
    """
    if not show or not on_terminal() or _bars.get() is not None:
        yield
        return
    columns = Progress.get_default_columns()
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=WHOLE_RUN
    ) as bars:
        token = _bars.set(bars)
        try:
            yield
        finally:
            _bars.reset(token)


@contextmanager
def part(description: str, total: float | None = None) -> Iterator[Advance]:
    """Tell of a part of the work; what it gives moves its bar by as much as was done.

    Parameters
    ----------
    description : str
    total : float or None
        How much there is to do; None where nobody knows.

    Examples
    --------
    >>> with part("adding", total=3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    bars = _bars.get()
    if bars is None:
        yield unseen
        return
    task = bars.add_task(description, total=total)
    try:
        yield partial(bars.advance, task)
    finally:
        bars.remove_task(task)


def blocks(n_rows: int, most: int, description: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of blocks of rows, of at most so many each; smaller ones where it is seen.

    For work whose result does not depend on the blocks.

    Examples
    --------
    >>> list(blocks(5, 2, "counting"))
    [(0, 2), (2, 4), (4, 5)]
    """
    step = min(most, max(FEWEST_ROWS, n_rows // 100)) if is_seen() else most
    with part(description, n_rows) as advance:
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            yield start, stop
            advance(stop - start)


def is_seen() -> bool:
    """Tell whether bars are shown."""
    return _bars.get() is not None


def on_terminal() -> bool:
    """Tell whether a person reads standard error."""
    return sys.stderr.isatty()


def unseen(amount: float) -> None:
    """Move no bar."""
