"""Results in a file, one JSON line each: appended as they come, so that a stopped run goes on."""

import os
from pathlib import Path

from vicinal._base.json_lines import append_json_line, read_json_lines
from vicinal.results.record import Key, Result


class ResultStore:
    """A file of results.

    A result whose writing was interrupted is passed over (:mod:`vicinal._base.json_lines`). A
    result of the same experiment, data, method and seed as an earlier one replaces it.

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
        append_json_line(self.path, result.to_json())

    def _by_key(self) -> dict[Key, Result]:
        """Return the last result of each key."""
        found = read_json_lines(self.path, "a result", Result.from_json)
        return {result.key: result for result in found}
