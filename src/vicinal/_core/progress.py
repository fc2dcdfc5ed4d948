"""Progress bars on a terminal, no output elsewhere, and the end of work that nobody wants.

Long computations report progress with :func:`part` or :func:`blocks`. Bars are displayed only if a
caller used :func:`shown`: the command line, or a function that was asked for progress bars.
Computations that take seconds for one row call :func:`may_stop` between their steps.
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
"""Seconds over which speed is measured to estimate the remaining time."""
FEWEST_ROWS = 1024
"""With a progress bar, a block is a hundredth of the rows, but at least this many."""

_bars: ContextVar[Progress | None] = ContextVar("bars", default=None)


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield from `items`, with a progress bar on standard error if it is a terminal."""
    if is_seen():  # bars are already displayed, and a terminal shows one display at a time
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
    """Show progress bars inside the block, one per part, if standard error is a terminal.

    Nested bars are shown below each other. Do not keep it open across a ``yield``.
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
    """Report a part of the work; the returned function advances its bar."""
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
    """Yield the bounds of blocks of rows of limited size; smaller blocks with a progress bar."""
    step = min(most, max(FEWEST_ROWS, n_rows // 100)) if is_seen() else most
    yield from row_ranges(n_rows, step, description)


def row_ranges(n_rows: int, step: int, description: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of blocks of so many rows, whether bars are shown or not."""
    with part(description, n_rows) as advance:
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            yield start, stop
            advance(stop - start)


def is_seen() -> bool:
    """Tell whether bars are shown."""
    return _bars.get() is not None


def _go_on() -> None:
    """Stop nothing."""


_check: ContextVar[Callable[[], None]] = ContextVar("check", default=_go_on)


@contextmanager
def stopped_by(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` between the steps of computations inside the block; it raises to end them."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def may_stop() -> None:
    """Raise if the caller no longer wants what is being computed."""
    _check.get()()


def on_terminal() -> bool:
    """Tell whether standard error is a terminal."""
    return sys.stderr.isatty()


def unseen(amount: float) -> None:
    """Move no bar."""
