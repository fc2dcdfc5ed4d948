"""A file of JSON lines that stores completed work, so that interrupted runs resume.

:class:`ResumableStore` is used for all of them: tuning stores the values of its tasks, a comparison
its completed folds, and :class:`ResultStore` complete results.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal._base.json_lines import append_json_line, read_json_lines
from vicinal.results.record import Key, Result

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


class ResumableStore(Generic[Name, Value]):
    """Values by name, kept in memory and, if there is a path, in a file.

    A line whose writing was interrupted is skipped (:mod:`vicinal._base.json_lines`); a later value
    of the same name replaces an earlier one.

    Parameters
    ----------
    path : path or None
        The file need not exist yet.
    what : str
        How error messages refer to a line.
    read : callable
        Returns the name and value of a parsed line, or raises ``InvalidArgumentError``.
    write : callable
        Returns the line to store for a name and value.
    head : (str, str) or None
        A first line that must match: what all values have in common.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make = lambda: ResumableStore(
    ...         Path(folder) / "kept.jsonl", "a number",
    ...         read=lambda parts: (parts["of"], parts["value"]),
    ...         write=lambda name, value: {"of": name, "value": value},
    ...     )
    ...     make()["fold 1"] = 0.5
    ...     dict(make().items())
    {'fold 1': 0.5}
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        what: str,
        read: Callable[[Mapping[str, Any]], tuple[Name, Value]],
        write: Callable[[Name, Value], Mapping[str, Any]],
        head: tuple[str, str] | None = None,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._write = write
        self._known: dict[Name, Value] = {}
        if self._path is None:
            return

        def line(parts: Mapping[str, Any]) -> tuple[Name, Value] | str:
            found = None if head is None else parts.get(head[0])
            return found if isinstance(found, str) else read(parts)

        lines = list(read_json_lines(self._path, what, line))
        if head is not None:
            self._check_head(head, lines)
        self._known.update(each for each in lines if not isinstance(each, str))

    def _check_head(self, head: tuple[str, str], lines: list[Any]) -> None:
        """Write the first line of a new file, or raise if an existing first line differs."""
        name, wanted = head
        if not lines:
            append_json_line(self._file, {name: wanted})
        elif not isinstance(lines[0], str):
            raise DataFormatError(str(self._path), f"{name!r} first", "a piece of work", line=1)
        for each in lines:
            if isinstance(each, str) and each != wanted:
                expected = "results of the same rows, labels and folds"
                raise InvalidArgumentError("store", expected, f"others in {self._path}")

    @property
    def _file(self) -> Path:
        if self._path is None:
            raise ValueError("a store without a file")
        return self._path

    def __contains__(self, name: Name) -> bool:
        """Tell whether there is a value."""
        return name in self._known

    def __getitem__(self, name: Name) -> Value:
        """Return the value of a name, which must exist."""
        return self._known[name]

    def get(self, name: Name) -> Value | None:
        """Return the value of a name, or None if there is none."""
        return self._known.get(name)

    def items(self) -> list[tuple[Name, Value]]:
        """Return names and values in order of first occurrence."""
        return list(self._known.items())

    def __setitem__(self, name: Name, value: Value) -> None:
        """Store a value; it is on disk when this returns."""
        self._known[name] = value
        if self._path is not None:
            append_json_line(self._path, self._write(name, value))

    def clear(self) -> None:
        """Discard all values and remove the file, as the work is complete."""
        self._known.clear()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


class ResultStore:
    """A file of results.

    A result of the same experiment, data, method and seed as an earlier one replaces it.

    Parameters
    ----------
    path : str or path
        The file need not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(Path(folder) / "results.jsonl")
    ...     store.add(Result("compare", "yeast", "mlknn", {"hamming-loss": (0.2,)}))
    ...     [result.method for result in store.read()]
    ['mlknn']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def read(self) -> list[Result]:
        """Return the results in order of first occurrence of their keys."""
        return [result for _, result in self._now().items()]

    def keys(self) -> set[Key]:
        """Return the keys of all results."""
        return {key for key, _ in self._now().items()}

    def add(self, result: Result) -> None:
        """Append a result; it is on disk when this returns."""
        append_json_line(self.path, result.to_json())

    def _now(self) -> ResumableStore[Key, Result]:
        """Read the file again, because other processes may have written to it."""
        return ResumableStore(self.path, "a result", _keyed, lambda _, result: result.to_json())


def _keyed(parts: Mapping[str, Any]) -> tuple[Key, Result]:
    """Return a result and its key."""
    result = Result.from_json(parts)
    return result.key, result
