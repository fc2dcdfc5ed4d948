"""Results in a file, one JSON line each: appended as they come, so that a stopped run goes on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal.results.record import Key, Result


class ResultStore:
    """A file of results.

    A line is written whole or, if the machine dies meanwhile, not ended: such a rest is passed over
    when the file is read and removed when the next result is added. A result of the same
    experiment, data, method and seed as an earlier one replaces it.

    Parameters
    ----------
    path : str or path
        Need not be there yet.

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
        """Return the results, in the order in which their keys first came."""
        return list(self._by_key().values())

    def keys(self) -> set[Key]:
        """Return what there are results of."""
        return set(self._by_key())

    def add(self, result: Result) -> None:
        """Append a result; it is on disk when this returns."""
        line = json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            _drop_torn_line(file.fileno())
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def _by_key(self) -> dict[Key, Result]:
        """Return the last result of each key."""
        found: dict[Key, Result] = {}
        for result in self._lines():
            found[result.key] = result
        return found

    def _lines(self) -> Iterator[Result]:
        """Yield the results line by line."""
        if not self.path.exists():
            return
        *lines, _torn = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                parts = json.loads(line)
                if not isinstance(parts, dict):
                    raise InvalidArgumentError("line", "a JSON object", type(parts).__name__)
                yield Result.from_json(parts)
            except ValueError as error:
                raise DataFormatError(str(self.path), "a result", str(error), number) from None


def _drop_torn_line(file: int) -> None:
    """Cut off what stands after the last line end: a result whose writing was interrupted."""
    size = os.fstat(file).st_size
    if not size or os.pread(file, 1, size - 1) == b"\n":
        return
    end = os.pread(file, size, 0).rfind(b"\n") + 1
    os.ftruncate(file, end)
