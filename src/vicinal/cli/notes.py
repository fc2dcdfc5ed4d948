"""Print the library's log on standard error: notes about what it guessed, and warnings."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.markup import escape

from vicinal._base.log import logger
from vicinal.cli.output import errors

STYLES = {logging.WARNING: "[bold yellow]warning[/]", logging.INFO: "[dim]note[/]"}


class _Printer(logging.Handler):
    """Prints each message on one line, and once, although blocks of a file may repeat it."""

    def __init__(self) -> None:
        super().__init__()
        self.printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message without interpreting markup."""
        level = logging.WARNING if record.levelno >= logging.WARNING else logging.INFO
        line = escape(" ".join(record.getMessage().split()))
        if line in self.printed:
            return
        self.printed.add(line)
        errors.print(f"{STYLES[level]}: {line}", soft_wrap=True, highlight=False)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the line of source that raised it."""
    logger.warning("%s", message)


@contextmanager
def printed_notes() -> Iterator[None]:
    """Print log messages and warnings while a command runs, one line each."""
    printer, level, show = _Printer(), logger.level, warnings.showwarning
    logger.addHandler(printer)
    logger.setLevel(logging.INFO)
    warnings.showwarning = _show_warning
    try:
        yield
    finally:
        warnings.showwarning = show
        logger.removeHandler(printer)
        logger.setLevel(level)
