"""Progress bars on a terminal, silence everywhere else."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track

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
