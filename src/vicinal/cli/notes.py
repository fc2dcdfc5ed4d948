"""What the library logs, on standard error: notes about what was guessed, and warnings."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape

from vicinal._base.log import logger
from vicinal.cli.output import errors

STYLES = {logging.WARNING: "[bold yellow]warning[/]", logging.INFO: "[dim]note[/]"}


class _Printer(logging.Handler):
    """Prints each message on one line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message; nothing in it is read as markup."""
        level = logging.WARNING if record.levelno >= logging.WARNING else logging.INFO
        line = escape(" ".join(record.getMessage().split()))
        errors.print(f"{STYLES[level]}: {line}", soft_wrap=True, highlight=False)


@contextmanager
def printed_notes() -> Iterator[None]:
    """Print what the library logs while a command runs."""
    printer, level = _Printer(), logger.level
    logger.addHandler(printer)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(printer)
        logger.setLevel(level)
