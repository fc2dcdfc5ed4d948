"""Steps of a pipeline that come from scikit-learn, written and read by skops.

skops writes an object as JSON and small arrays, and builds only types that it is told to trust. It
checks types, not values, and writes one JSON object per word of a vocabulary. Therefore

- large pieces (vocabularies, names, arrays, sparse matrices) and transformers of vicinal are set
  apart, written as parts of the model file, and put back after loading;
- the description is audited before skops sees it: node kinds, types, functions, archive members;
- the parameters and fitted values of every estimator are checked before the step is used.
"""

import copy
import io
import json
import re
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr
from vicinal._core.state import Saveable, State, read_array, read_names, read_part, read_value
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.saved_types import TRUSTED, name_of, register, type_named

PACKAGES = (
    "cluster", "compose", "cross_decomposition", "decomposition", "discriminant_analysis",
    "feature_extraction", "feature_selection", "frozen", "impute", "kernel_approximation",
    "linear_model", "pipeline", "preprocessing", "random_projection",
)  # fmt: skip
"""Packages of scikit-learn whose estimators are trusted. Trees, forests, SVMs and neighbour
searches are not: their compiled code trusts indices that a file could forge."""
_UNIVARIATE = ("chi2", "f_classif", "f_oneway", "f_regression", "r_regression")
_MUTUAL = ("mutual_info_classif", "mutual_info_regression")
FUNCTIONS = {
    "numpy.mean",
    *(f"sklearn.feature_selection._univariate_selection.{name}" for name in _UNIVARIATE),
    *(f"sklearn.feature_selection._mutual_info.{name}" for name in _MUTUAL),
}
"""Functions that may be parameters: how scikit-learn rates and pools features."""
SELECTOR = "sklearn.compose._column_transformer.make_column_selector"
CONTAINERS = {
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "SetNode": {"builtins.set"},
    "TupleNode": {"builtins.tuple"},
    "SliceNode": {"builtins.slice"},
    "JsonNode": {"builtins.str"},
    "DTypeNode": {"numpy.dtype"},
}
"""Kinds of nodes with plain values, and the only types that each may build."""
TYPES = re.compile(r"builtins\.(str|int|float|bool)|numpy\.(float|u?int)(8|16|32|64)|numpy\.bool_?")
"""Types that may be values themselves, such as ``dtype=float``."""
ARRAYS = re.compile(r"numpy\.(ndarray|str_|bool_?|(float|u?int)(8|16|32|64))")
PER_COLUMN = {
    *("mean_", "var_", "scale_", "center_", "min_", "data_min_", "data_max_", "data_range_"),
    *("max_abs_", "idf_", "variances_", "statistics_", "lambdas_", "n_features_"),
}
"""Attributes with one number per column, if they are arrays of one axis."""
SPLINE = "scipy.interpolate._bsplines.BSpline"
"""What ``SplineTransformer`` learns: stored apart, and built again by SciPy, which checks it."""
PLAIN_TYPES = (dict, list, tuple, set, frozenset, slice, np.ndarray, np.generic, np.dtype)
RANDOM = (np.random.RandomState, np.random.Generator)
FEW_BYTES, FEW_NAMES = 1024, 50
"""Smaller arrays and shorter vocabularies are left to skops."""
MOST_JOBS = 1024
FIRST_PROTOCOL = 2
"""Older numbers of skops's format were never written, and have laxer checks."""
_WRONG_VALUES = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, ImportError, OSError,
    EOFError, MemoryError, RuntimeError, SyntaxError, AssertionError, NotFittedError, Warning,
    zipfile.BadZipFile, zlib.error, tokenize.TokenError, re.error,
)  # fmt: skip
"""Exceptions that a damaged description may raise in skops, NumPy, zipfile and scikit-learn."""


class StoredPiece:
    """Stands in a description for a piece that is stored apart, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number


PIECE = f"{StoredPiece.__module__}.{StoredPiece.__qualname__}"


@dataclass(frozen=True, eq=False)
class SklearnStep:
    """A fitted transformer, to be saved or just read."""

    estimator: Any
    trusted: frozenset[str] = frozenset()
    name: str = ""

    def get_state(self) -> dict[str, State]:
        """Return skops's description of the transformer and its pieces."""
        try:
            return self._described()
        except _WRONG_VALUES as error:
            reason, where = str(error).partition("\n")[0], f"step {self.name!r}"
            raise InvalidArgumentError(where, "a step that can be saved", reason) from None

    def _described(self) -> dict[str, State]:
        """Return the state of a step that can be saved."""
        check_step(self.estimator, self.trusted)
        pieces: list[State] = []
        memo: dict[int, Any] = {}
        for value in _walk(self.estimator):
            if isinstance(value, RANDOM):
                memo[id(value)] = None  # of no use to a transformer that is fitted
            elif (piece := _piece(value, with_arrays=not self.trusted)) is not None:
                memo[id(value)] = StoredPiece(len(pieces))
                pieces.append(piece)
        content = _numbered(_skops().dumps(copy.deepcopy(self.estimator, memo)))
        _audit(content, self.trusted)
        skops = np.frombuffer(content, dtype=np.uint8)
        return {"kind": _type_name(self.estimator), "skops": skops, "pieces": pieces}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, audited first and checked afterwards."""
        trusted = TRUSTED.get()
        content = read_array(state, "skops", np.uint8, (None,)).tobytes()
        pieces = [_restored_piece(piece) for piece in read_part(state, "pieces", list)]
        try:
            _audit(content, trusted)
            known = {*FUNCTIONS, SELECTOR, PIECE, "numpy.dtype", *trusted}
            model = _skops().loads(content, trusted=sorted(known))
            memo = {
                id(value): pieces[value.number]
                for value in _walk(model)
                if isinstance(value, StoredPiece)
            }
            model = copy.deepcopy(model, dict(memo)) if memo else model
            check_step(model, trusted)
            if _type_name(model) != read_value(state, "kind"):
                raise ValueError(f"got a {_type_name(model)}, which the header does not name")
        except ModelFormatError:
            raise
        except _WRONG_VALUES as error:
            reason = str(error).partition("\n")[0]
            raise ModelFormatError(f"a scikit-learn step: {reason}") from None
        return cls(model, trusted)


register("persistence.SklearnStep", SklearnStep)


def as_part(name: str, step: Any, trusted: Collection[str] = ()) -> Saveable:
    """Return a step of a pipeline as a part that can be saved."""
    return step if isinstance(step, Saveable) else SklearnStep(step, frozenset(trusted), name)


def restored(part: object) -> Any:
    """Return the transformer that a part holds, or the part itself."""
    return part.estimator if isinstance(part, SklearnStep) else part


def _skops() -> Any:
    """Import skops late: it imports all of scikit-learn."""
    return import_module("skops.io")


def _walk(root: Any) -> Iterator[Any]:
    """Yield an object and what it contains, each once; parts of vicinal are not entered."""
    seen: set[int] = set()
    left = [root]
    while left:
        value = left.pop()
        if id(value) in seen or value is None or isinstance(value, str | int | float | type):
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            left.extend(value)
        elif isinstance(value, np.ndarray):
            left.extend(value.tolist() if value.dtype == object else ())
        elif hasattr(value, "__dict__") and not isinstance(value, Saveable) and not callable(value):
            left.extend(vars(value).values())  # a spline can be called


def _piece(value: Any, with_arrays: bool) -> State:
    """Return a value that is stored apart as a state, or None if skops describes it."""
    if isinstance(value, Saveable):
        return _saved_transformer(value)
    if sparse.issparse(value):
        matrix: Any = value
        if matrix.format != "csr":
            raise ValueError(f"a sparse matrix in {matrix.format} format cannot be saved")
        rows: Csr = sparse.csr_array(matrix)
        return {"csr": rows, "is_matrix": sparse.isspmatrix(value)}
    if _type_name(value) == SPLINE:
        return {"spline": [value.k, value.extrapolate, value.axis], "t": value.t, "c": value.c}
    if isinstance(value, dict) and len(value) > FEW_NAMES:
        is_vocabulary = all(type(word) is str for word in value) and _is_numbering(value)
        return {"words": sorted(value, key=value.__getitem__)} if is_vocabulary else None
    if not isinstance(value, np.ndarray) or not with_arrays:
        return None
    if value.dtype.kind in "fiub" and value.nbytes > FEW_BYTES and value.dtype.itemsize <= 8:
        return {"array": value}
    if value.dtype == object and value.ndim == 1 and len(value) > FEW_NAMES:
        names = value.tolist()
        return {"names": names} if all(type(name) is str for name in names) else None
    return None


def _saved_transformer(part: Any) -> State:
    """Return a transformer of vicinal: fitted, or its parameters if it is not."""
    try:
        check_is_fitted(part)
    except NotFittedError:
        params = part.get_params(deep=False)
        return {"kind": name_of(part), "params": {key: _tagged(params[key]) for key in params}}
    return {"part": part}


def _tagged(value: Any) -> Any:
    """Return a parameter with tuples marked, which JSON does not have."""
    return {"tuple": [_tagged(each) for each in value]} if isinstance(value, tuple) else value


def _untagged(value: Any) -> Any:
    """Return a parameter as it was given."""
    if isinstance(value, dict) and value.keys() == {"tuple"} and isinstance(value["tuple"], list):
        return tuple(_untagged(each) for each in value["tuple"])
    return value


def _is_numbering(vocabulary: dict[Any, Any]) -> bool:
    """Tell whether the values are the numbers from 0 on, each once."""
    numbers = list(vocabulary.values())
    if not all(isinstance(number, int | np.integer) for number in numbers):
        return False
    return sorted(map(int, numbers)) == list(range(len(numbers)))


def _restored_piece(piece: State) -> Any:
    """Return a piece from its state."""
    if not isinstance(piece, dict):
        raise ModelFormatError("a piece of a scikit-learn step is not one")
    if "part" in piece:
        return read_part(piece, "part", Saveable)
    if "params" in piece:
        params = read_part(piece, "params", dict)
        kind = type_named(str(read_value(piece, "kind")))
        return kind(**{key: _untagged(value) for key, value in params.items()})
    if "csr" in piece:
        matrix = read_part(piece, "csr", sparse.csr_array)
        return sparse.csr_matrix(matrix) if piece.get("is_matrix") else matrix
    if "spline" in piece:
        knots, values = (read_part(piece, name, np.ndarray) for name in ("t", "c"))
        BSpline = import_module("scipy.interpolate").BSpline
        return BSpline(knots, values, *read_part(piece, "spline", list))
    if "words" in piece:
        words = read_names(piece, "words")
        vocabulary = {word: column for column, word in enumerate(words)}
        if len(vocabulary) != len(words):
            raise ModelFormatError("words: expected each word once")
        return vocabulary
    if "names" in piece:
        return np.array(read_names(piece, "names"), dtype=object)
    array: NDArray[Any] = read_part(piece, "array", np.ndarray)
    return array if isinstance(array, np.memmap) else array.copy()


def _numbered(content: bytes) -> bytes:
    """Return a description without addresses and times, so that equal steps have equal files."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members.pop("schema.json"))
    numbers: dict[int, int] = {}
    files: dict[str, str] = {}
    for node in _nodes(schema):
        node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if "file" in node:
            node["file"] = files.setdefault(node["file"], f"{len(files)}.npy")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, file in files.items():
            archive.writestr(zipfile.ZipInfo(file), members[name])
        archive.writestr(zipfile.ZipInfo("schema.json"), json.dumps(schema))
    return buffer.getvalue()


def _audit(content: bytes, trusted: Collection[str]) -> None:
    """Check skops's description: an archive without compression that names trusted types only."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ValueError("expected an archive without compression")
        if sum(info.file_size for info in archive.infolist()) > len(content):
            raise ValueError("the members of the archive overlap")
        schema = json.loads(archive.read("schema.json"))
    protocol = schema.get("protocol") if isinstance(schema, dict) else None
    if type(protocol) is not int or protocol < FIRST_PROTOCOL:
        raise ValueError("not written by a known version of skops")
    users: dict[str, Any] = {}
    for node in _nodes(schema):
        _check_node(node, trusted)
        file = node.get("file")
        if file is not None and (
            file not in sizes or users.setdefault(file, node["__id__"]) != node["__id__"]
        ):
            raise ValueError("a member of the archive is missing or used twice")


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every node of a description."""
    left: list[Any] = [schema]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if "__loader__" in value:
                yield value
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


def _check_node(node: dict[str, Any], trusted: Collection[str]) -> None:
    """Raise unless a node builds a trusted type; the error names the type."""
    loader, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
    if type(node.get("__id__")) is not int:
        raise ValueError("a node without a number")
    if loader in CONTAINERS:
        is_known = name in CONTAINERS[loader]
    elif loader == "TypeNode":
        is_known = bool(TYPES.fullmatch(name))
    elif loader == "NdArrayNode":
        is_known = bool(ARRAYS.fullmatch(name))
    elif loader == "FunctionNode":
        is_known = name in FUNCTIONS
    else:
        is_ours = name in (PIECE, SELECTOR)
        is_known = loader == "ObjectNode" and (is_ours or _is_estimator(name))
    if not is_known and not (name in trusted and loader not in CONTAINERS):
        raise ValueError(_untrusted(name))


def check_step(step: Any, trusted: Collection[str] = ()) -> None:
    """Raise ``ValueError`` if an object within a step is not trusted or has harmful values."""
    for value in _walk(step):
        name = _type_name(value)
        if (
            isinstance(value, (Saveable, *PLAIN_TYPES, *RANDOM))
            or name in trusted
            or name == SPLINE
            or sparse.issparse(value)
        ):
            continue
        if callable(value) and not _is_estimator(name):
            _check_function(value, trusted, "")
        elif not _is_estimator(name) or not hasattr(value, "get_params"):
            raise ValueError(_untrusted(name))
        else:
            _check_estimator(value, trusted)
    if not hasattr(step, "transform"):
        raise ValueError(f"a {type(step).__name__} does not transform rows")


def _type_name(value: Any) -> str:
    """Return the full name of the type of a value."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_estimator(name: str) -> bool:
    """Tell whether this is the name of an estimator of scikit-learn that is trusted."""
    root, _, rest = name.partition(".")
    return root == "sklearn" and rest.partition(".")[0] in PACKAGES and name != SELECTOR


def _untrusted(name: str) -> str:
    """Return the message that a type or function is not trusted, and how to trust it."""
    return f"{name} is not trusted (pass trusted=[{name!r}] to save and to load if you trust it)"


def _check_function(function: Any, trusted: Collection[str], where: str) -> None:
    """Raise unless a function, or an object that can be called, is trusted."""
    owner = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(owner, "__module__", None) or type(function).__name__
    name = f"{module}.{owner.__qualname__}"
    if name not in {*FUNCTIONS, SELECTOR, *trusted}:
        raise ValueError(where + _untrusted(name))


def _check_estimator(model: Any, trusted: Collection[str]) -> None:
    """Check the parameters and fitted values of one estimator of scikit-learn."""
    kind, params = type(model).__name__, model.get_params(deep=False)
    for name in vars(model):
        if name.startswith("__") or (name not in params and hasattr(type(model), name)):
            raise ValueError(f"{kind}.{name} is not a fitted value")
    if hasattr(model, "_parameter_constraints"):
        model._validate_params()
    if params.get("input", "content") != "content" and "decode_error" in params:
        raise ValueError(f"{kind}(input=…): expected 'content', got {params['input']!r:.60}")
    if params.get("memory") is not None:
        raise ValueError(f"{kind}(memory=…): expected None, got {params['memory']!r:.60}")
    jobs = params.get("n_jobs")
    if jobs is not None and abs(jobs) > MOST_JOBS:
        raise ValueError(f"{kind}(n_jobs=…): expected at most {MOST_JOBS}, got {jobs}")
    for name, value in params.items():
        if callable(value) and not (isinstance(value, type) and name.startswith("dtype")):
            _check_function(value, trusted, f"{kind}({name}=…): ")
    _check_vocabulary(model)
    _check_lengths(model)


def _check_vocabulary(model: Any) -> None:
    """Check that a vectorizer numbers its words from 0 on."""
    vocabulary = getattr(model, "vocabulary_", None)
    if vocabulary is None:
        return
    if not isinstance(vocabulary, dict) or not vocabulary or not _is_numbering(vocabulary):
        raise ValueError(f"{type(model).__name__}.vocabulary_ does not number its words from 0 on")
    weights = getattr(model, "_tfidf", None)
    if weights is not None and getattr(weights, "use_idf", False):
        idf = np.asarray(weights.idf_)
        if idf.dtype.kind != "f" or idf.shape != (len(vocabulary),):
            raise ValueError(f"{type(model).__name__}: expected one idf per word")


def _check_lengths(model: Any) -> None:
    """Check that arrays with one number per column have one for each."""
    count = getattr(model, "n_features_in_", None)
    if count is not None and (type(count) is not int or count < 0):
        raise ValueError(f"{type(model).__name__}.n_features_in_: expected a number of columns")
    for name in PER_COLUMN & vars(model).keys() if count is not None else ():
        value = vars(model)[name]
        if isinstance(value, np.ndarray) and value.ndim == 1 and len(value) != count:
            owner = f"{type(model).__name__}.{name}"
            raise ValueError(f"{owner}: expected {count} numbers, got {len(value)}")
