"""The errors that users may see. Invalid values raise a ``ValueError`` in every layer.

The library adds no handler, so that Python shows only warnings until the caller configures logging.
The command line prints both to standard error.
"""

import inspect
import logging
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any


class InvalidArgumentError(ValueError):
    """An argument is invalid; the message names it, the expected value and the actual one.

    A `hint` follows in parentheses: what to do about it.
    """

    def __init__(self, name: str, expected: str, got: object, hint: str = "") -> None:
        remedy = f" ({hint})" if hint else ""
        super().__init__(f"{name}: expected {expected}, got {got}{remedy}")
        self.name = name
        self.expected = expected
        self.got = got
        self.hint = hint

    def __reduce__(self) -> tuple[type, tuple[str, str, object, str]]:
        """Pickle by the parts, so that the error crosses process borders."""
        return type(self), (self.name, self.expected, self.got, self.hint)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a hint that names up to two similar names; empty if there are none."""
    close = get_close_matches(str(name), list(known), n=2)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


def similar_file(file: object) -> str:
    """Return a hint, in brackets, that names the files of a folder with a similar name."""
    path = Path(str(file))
    try:
        hint = did_you_mean(path.name, [each.name for each in path.parent.iterdir()])
    except OSError:
        return ""
    return f" ({hint})" if hint else ""


class DataFormatError(ValueError):
    """A file could not be read; the message states where, what was expected and what was found.

    A `hint` follows in parentheses: what to do about it.
    """

    def __init__(
        self, path: object, expected: str, got: str, line: int | None = None, hint: str = ""
    ) -> None:
        place = path if line is None else f"{path}, line {line}"
        remedy = f" ({hint})" if hint else ""
        super().__init__(f"{place}: expected {expected}, got {got}{remedy}")
        self.path = str(path)
        self.line = line
        self.expected = expected
        self.got = got
        self.hint = hint

    def __reduce__(self) -> tuple[type, tuple[str, str, str, int | None, str]]:
        """Pickle by the parts, so that the error crosses process borders."""
        return type(self), (self.path, self.expected, self.got, self.line, self.hint)


class ModelFormatError(ValueError):
    """A saved model is damaged, from a newer version, or not a model at all."""


class DataNotFoundError(FileNotFoundError):
    """A data set is not available locally; the message states what was looked for and where."""


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message names the extra to install."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is needed for this and is not installed: pip install 'vicinal[{extra}]'"
        )


def optional_module(name: str, extra: str, package: str = "") -> Any:
    """Import a module of an optional dependency, or raise an error that names its extra."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(package or name.partition(".")[0], extra) from None


class MissingDistributionError(ImportError):
    """A separate distribution is not installed; the message states what to install."""

    def __init__(self, part: str, distribution: str) -> None:
        super().__init__(f"{part} is installed separately: pip install {distribution}")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn where the package was called: at the first frame outside it."""
    frame, levels = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("vicinal."):
        frame, levels = frame.f_back, levels + 1
    warnings.warn(message, category, stacklevel=levels)


logger = logging.getLogger("vicinal")
