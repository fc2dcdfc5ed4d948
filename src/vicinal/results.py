"""Stored results, from which tables and figures can be regenerated at any time.

Input: metrics of a method on a data set. Output: a file with one JSON line per result and its
provenance. Imports only ``_core`` and ``datasets``; used by ``selection``, ``comparison``,
``report`` and the reproduction of the papers.
"""

import ast
import hashlib
import inspect
import math
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from vicinal._core.files import append_json_line, read_json_lines, sha256_of
from vicinal._core.html import Cells, Tabular
from vicinal.datasets import Dataset
from vicinal.errors import InvalidArgumentError

Key: TypeAlias = tuple[str, str, str, int | None]


@dataclass(frozen=True)
class Result(Tabular):
    """The result of a method on a data set.

    Parameters
    ----------
    experiment : str
        Name of the experiment, e.g. ``"compare"`` or ``"zhang2007/2"``.
    data, method : str
        Names, as tables show them.
    values : mapping of str to tuple of float
        By metric, one value per fold, in the order of the folds; one value for a single split. NaN
        if a metric is undefined.
    settings : mapping of str to plain values
        Parameters of the method.
    seed : int or None
        Random seed for the folds and for stochastic methods.
    seconds : mapping of str to float
        By step, e.g. ``"fit"``, ``"predict"``.
    per_label : mapping of str to tuple of float
        By metric, one value per label; empty if none was stored.
    note : str
        Remark for the reader of the figure.
    provenance : mapping of str to str
        See :func:`vicinal.results`.
    label_names : tuple of str
        Names of the labels in `per_label`, in their order.
    fold_seconds : mapping of str to tuple of float
        By step, one value per fold.

    Examples
    --------
    >>> result = Result("compare", "yeast", "mlknn", {"hamming-loss": (0.19, 0.21)}, seed=1)
    >>> result.mean("hamming-loss")
    0.2
    >>> Result.from_json(result.to_json()) == result
    True
    """

    experiment: str
    data: str
    method: str
    values: Mapping[str, tuple[float, ...]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    per_label: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    note: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    label_names: tuple[str, ...] = ()
    fold_seconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Summarise the result in one line, as there may be hundreds of values."""
        folds = max(map(len, self.values.values()), default=0)
        said = f"{self.experiment!r}, {self.data!r}, {self.method!r}"
        return f"Result({said}, {len(self.values)} metrics × {folds} values)"

    def cells(self) -> Cells:
        """Return mean, deviation and the value of each fold, one row per metric."""
        folds = max(map(len, self.values.values()), default=0)
        rows: list[list[object]] = [
            [name, self.mean(name), self.deviation(name), *values, *[None] * (folds - len(values))]
            for name, values in self.values.items()
        ]
        return Cells(["metric", "mean", "std", *(f"fold {n + 1}" for n in range(folds))], rows)

    @property
    def key(self) -> Key:
        """Identifies the result; a later result with the same key replaces an earlier one."""
        return self.experiment, self.data, self.method, self.seed

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over folds."""
        values = self._of(metric)
        return math.fsum(values) / len(values)

    def deviation(self, metric: str) -> float:
        """Return the standard deviation (n − 1) over folds; 0 for a single value."""
        return deviation_of(self._of(metric)) or 0.0

    def _of(self, metric: str) -> tuple[float, ...]:
        """Return the values of a metric, which must exist."""
        values = self.values.get(metric, ())
        if not values:
            raise InvalidArgumentError("metric", f"one of {', '.join(self.values)}", repr(metric))
        return values

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes null, empty parts are left out."""
        parts = {name: getattr(self, name) for name in _TYPES}
        parts |= {name: _nullable(parts[name]) for name in _NUMBERS}
        parts |= {name: kind(parts[name]) for name, kind in _TYPES.items() if kind in (dict, list)}
        return {name: part for name, part in parts.items() if part not in (None, "", {}, [])}

    @classmethod
    def from_json(cls, parts: Mapping[str, Any]) -> Self:
        """Build from the result of :meth:`to_json`, which is validated."""
        for name, kind in _TYPES.items():
            if (name in _REQUIRED or name in parts) and type(parts.get(name)) is not kind:
                raise InvalidArgumentError(name, f"a {kind.__name__}", repr(parts.get(name)))
        given = {name: parts[name] for name in _TYPES if name in parts}
        given |= {name: _floats(name, given[name]) for name in _NUMBERS if name in given}
        given["label_names"] = tuple(map(str, given.get("label_names", ())))
        return cls(**given)


def deviation_of(values: Sequence[float]) -> float | None:
    """Return the standard deviation (n − 1); None for a single value."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


_REQUIRED = ("experiment", "data", "method", "values")
_NUMBERS = ("values", "fold_seconds", "per_label")
"""Parts of a result that are numbers by name."""
_TYPES: Mapping[str, type] = {
    "experiment": str,
    "data": str,
    "method": str,
    "seed": int,
    "settings": dict,
    "values": dict,
    "seconds": dict,
    "fold_seconds": dict,
    "per_label": dict,
    "label_names": list,
    "note": str,
    "provenance": dict,
}
"""The parts of a result in the order of a line, and their types in JSON."""


def _nullable(values: Mapping[str, tuple[float, ...]]) -> dict[str, list[float | None]]:
    """Return values as JSON has them: NaN is null."""
    return {
        name: [None if math.isnan(value) else value for value in each]
        for name, each in values.items()
    }


def _floats(name: str, values: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return values as they were before :func:`_nullable`."""
    try:
        return {
            metric: tuple(math.nan if value is None else float(value) for value in each)
            for metric, each in values.items()
        }
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise InvalidArgumentError(name, "numbers by metric", repr(values)) from None


LIBRARIES = ("vicinal", "numpy", "scipy", "scikit-learn")


def provenance(dataset: Dataset | None = None) -> dict[str, str]:
    """Return the provenance to store with a result.

    Parameters
    ----------
    dataset : Dataset or None
        The data that was used; its hash is recorded.

    Examples
    --------
    >>> sorted(provenance())
    ['cores', 'cpu', 'date', 'numpy', 'python', 'scikit-learn', 'scipy', 'system', 'vicinal']
    """
    found = {name: version(name) for name in LIBRARIES}
    found |= machine() | {"date": datetime.now(UTC).date().isoformat()}
    return found if dataset is None else found | {"data": data_hash(dataset)}


def run_provenance() -> dict[str, str]:
    """Return the command of this process, and the Git commit of the folder if it has one.

    Absolute paths in the command are shortened to their names: folders are private.
    """
    absolute = re.compile(r"(?:(?<==)|^)(?:/|~|[A-Za-z]:[\\/]).*[\\/](?=.)")
    found = {"command": shlex.join(absolute.sub("", word) for word in sys.argv)}
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(describe, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return found
    commit = done.stdout.strip()
    return {**found, "commit": commit} if commit else found


def machine() -> dict[str, str]:
    """Return the processor, its cores, the system and the Python of this machine."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count() or 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def data_hash(dataset: Dataset) -> str:
    """Return the first 16 hex digits of the SHA-256 of a data set's features, labels and split.

    Examples
    --------
    >>> one = Dataset(X=[[0.5], [0.0]], Y=[[1], [0]], feature_names=("f",), label_names=("l",))
    >>> data_hash(one) == data_hash(one.subset([0, 1]))
    True
    >>> data_hash(one) == data_hash(one.subset([1, 0]))
    False
    """
    digest = hashlib.sha256(f"{dataset.X.shape} {dataset.Y.shape}".encode())
    for matrix in (dataset.X, dataset.Y):
        stored = sparse.csr_array(matrix)  # canonical in a Dataset
        digest.update(stored.indptr.astype("<i8").tobytes())
        digest.update(stored.indices.astype("<i8").tobytes())
        digest.update(stored.data.astype("<f8").tobytes())
    for rows in (dataset.train, dataset.test):
        digest.update(b"-" if rows is None else np.asarray(rows).astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def _cpu() -> str:
    """Return the processor's name as reported by the system."""
    facts = Path("/proc/cpuinfo")
    if facts.is_file():
        for line in facts.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


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
        found: dict[Key, Result] = {}
        for result in read_json_lines(self.path, "a result", Result.from_json):
            found[result.key] = result
        return list(found.values())

    def keys(self) -> set[Key]:
        """Return the keys of all results."""
        return {result.key for result in self.read()}

    def add(self, result: Result) -> None:
        """Append a result; it is on disk when this returns."""
        append_json_line(self.path, result.to_json())


__all__ = ["Result", "ResultStore", "data_hash", "machine", "provenance"]


def digest_of(*parts: object) -> str:
    """Return a digest of arrays, sparse matrices and plain values."""
    found = hashlib.sha256()
    with _full_precision():
        for part in parts:
            if isinstance(part, sparse.csr_array):
                found.update(repr(part.shape).encode())
                arrays: Sequence[object] = (part.indptr.astype(np.int64), part.indices, part.data)
            else:
                arrays = (part,)
            for array in arrays:
                if isinstance(array, np.ndarray):
                    found.update(f"{array.dtype} {array.shape}".encode())
                    found.update(np.ascontiguousarray(array).tobytes())
                else:
                    found.update(repr(array).encode())
    return found.hexdigest()


def source_hash(*values: object) -> str:
    """Return a hash of the code of classes and functions from outside the library; "" if none is.

    Covers the classes of `values`, their bases, and the classes, functions and estimators among
    their parameters, with the files that define them and those that these import from near by. An
    installed package is represented by its version.
    """
    kinds: dict[Any, None] = {}
    for value in values:
        _collect_kinds(value, kinds)
    parts = sorted({part for kind in kinds for part in _code_of(kind)})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] if parts else ""


def _collect_kinds(value: object, kinds: dict[Any, None]) -> None:
    """Add the classes and functions that a value consists of."""
    if value is None or isinstance(value, str | bytes | bool | int | float | np.ndarray):
        return
    if isinstance(value, list | tuple | set | frozenset):
        for each in value:
            _collect_kinds(each, kinds)
    elif isinstance(value, Mapping):
        for each in value.values():
            _collect_kinds(each, kinds)
    elif isinstance(value, type) or inspect.isroutine(value):
        kinds[value] = None
    elif type(value) not in kinds or hasattr(value, "get_params"):
        of_library = type(value).__module__.partition(".")[0] == "vicinal"
        kinds.update(dict.fromkeys([type(value)] if of_library else type(value).__mro__))
        params = value.get_params(deep=False) if hasattr(value, "get_params") else {}
        for each in params.values():
            _collect_kinds(each, kinds)


def _code_of(kind: Any) -> list[str]:
    """Return the hashes of the files that define a class or function, or its package's version."""
    module = getattr(kind, "__module__", None) or "builtins"
    top = module.partition(".")[0]
    if top in ("vicinal", "builtins") or top in sys.stdlib_module_names:
        return []
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not Path(file).is_file() or Path(file).suffix != ".py":
        return [f"{module}.{kind.__qualname__} {_text_of(kind)}"]
    if {"site-packages", "dist-packages"} & set(Path(file).parts):
        return [f"{top} {getattr(sys.modules.get(top), '__version__', '')}"]
    root = Path(file).parents[module.count(".")] if module != "__main__" else Path(file).parent
    return [
        f"{each.name} {sha256_of(each)[:16]}" for each in sorted(_files_beside(Path(file), root))
    ]


def _text_of(kind: Any) -> str:
    """Return the source of a class that no file defines, or else its compiled code."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        members = vars(kind).values() if isinstance(kind, type) else [kind]
        codes = [getattr(each, "__code__", None) for each in members]
        return repr([(code.co_code, code.co_consts, code.co_names) for code in codes if code])


def _files_beside(file: Path, root: Path) -> set[Path]:
    """Return a Python file and the files below `root` or next to it that it imports, and so on."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found.add(each)
        waiting += [near for near in _imported_files(each, root) if near not in found]
    return found


def _imported_files(file: Path, root: Path) -> list[Path]:
    """Return the files that the import statements of a file refer to, if they lie near it."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return []
    names: list[tuple[Path, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [(base, name.name) for name in node.names for base in (file.parent, root)]
        elif isinstance(node, ast.ImportFrom):
            bases = [file.parents[node.level - 1]] if node.level else [file.parent, root]
            stem = f"{node.module}." if node.module else ""
            parts = [node.module or "", *(stem + name.name for name in node.names)]
            names += [(base, part) for base in bases for part in parts if part]
    places = [base.joinpath(*name.split(".")) for base, name in names]
    files = [f for at in places for f in (at.with_suffix(".py"), at / "__init__.py")]
    return [each for each in files if each.is_file()]


def _full_precision() -> AbstractContextManager[object]:
    """Let ``repr`` show all array elements, so that only equal ones look the same."""
    return np.printoptions(threshold=sys.maxsize, floatmode="unique")


def full_text(value: object) -> str:
    """Return ``repr(value)`` with all array elements at full precision."""
    with _full_precision():
        return repr(value)


def plain(value: object) -> object:
    """Return a parameter as a JSON value that is equal exactly for equal parameters."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return f"{value.dtype} of shape {value.shape}, {digest}"
    return re.sub(r" at 0x[0-9a-f]+", "", full_text(value))
