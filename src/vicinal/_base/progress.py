"""Progress bars on a terminal, silence everywhere else."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, track

Item = TypeVar("Item")


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield from `items`, with a bar and the time left on standard error if it is a terminal.

    Examples
    --------
    >>> list(progress(range(3), "counting"))
    [0, 1, 2]
    """
    if not sys.stderr.isatty():
        yield from items
        return
    yield from track(items, description, total=total, console=Console(stderr=True), transient=True)


def stepped(items: Sequence[Item], steps: Sequence[float], description: str) -> Iterator[Item]:
    """Yield from `items` with a bar that moves by the step of each: for work in unequal pieces.

    The time left is that at the mean speed so far.

    Examples
    --------
    >>> list(stepped(["small", "large"], [1, 100], "working"))
    ['small', 'large']
    """
    if not sys.stderr.isatty():
        yield from items
        return
    whole_run = 1e9
    columns = Progress.get_default_columns()
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=whole_run
    ) as bar:
        task = bar.add_task(description, total=sum(steps))
        for item, step in zip(items, steps, strict=True):
            yield item
            bar.advance(task, step)
