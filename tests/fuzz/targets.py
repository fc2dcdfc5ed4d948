"""What is tried: each target makes an input from random numbers and hands it to the library.

A target returns whether the library took the input or refused it as it promises. Anything else it
raises, a crash, much time or much memory is a fault.
"""

import io
import json
import random
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.fuzz.corpus import ROWS, TEXTS, files, model_files
from tests.fuzz.mutation import NODES, changed, damaged
from tests.support.model_files import metadata, parts_of, put_together, taken_apart, with_header

import vicinal
from vicinal.datasets import read_file, read_texts
from vicinal.errors import DataFormatError, InvalidArgumentError, ModelFormatError
from vicinal.index import InvertedIndex
from vicinal.metrics import evaluate
from vicinal.preprocess import TfIdf
from vicinal.results import Result, ResultStore

Target = Callable[[random.Random, Path], bool]


def readers(rng: random.Random, folder: Path) -> bool:
    """Damage one file of a data set, and read it."""
    name = rng.choice(sorted(files()))
    whole = files()[name]
    victim = rng.choice(sorted(whole))
    for file, content in whole.items():
        (folder / file).write_bytes(damaged(content, rng) if file == victim else content)
    read = read_texts if rng.random() < 0.1 else read_file
    try:
        found = read(folder / name)
    except DataFormatError:
        return False
    if read is read_file:
        assert found.Y.shape == (found.n_rows, found.n_labels)
        assert len(found.feature_names) == found.n_features
    return True


def archives(rng: random.Random, folder: Path) -> bool:
    """Put an array of another kind, shape or content into an .npz that is sound otherwise."""
    with np.load(io.BytesIO(files()["d.npz"]["d.npz"])) as stored:
        arrays = dict(stored)
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(sorted(arrays))
        arrays[name] = _other_array(arrays[name], rng)
    np.savez(folder / "d.npz", **arrays)
    try:
        read_file(folder / "d.npz")
    except DataFormatError:
        return False
    return True


def models(rng: random.Random, folder: Path) -> bool:
    """Change manifest, header or arrays, make all checksums right again, load and predict."""
    name = rng.choice(sorted(model_files()))
    manifest, arrays = taken_apart(model_files()[name])
    kind = rng.randrange(4)
    if kind == 0:
        for _ in range(rng.choice([1, 1, 2])):
            changed(manifest["model"], rng)
    elif kind == 1:
        array = rng.choice(sorted(arrays))
        arrays[array] = _other_array(arrays[array], rng)
    content = put_together(manifest, arrays)
    if kind == 2:
        header, data = parts_of(content)
        header.pop("__metadata__")
        changed(header, rng)
        about = metadata(json.dumps(manifest, ensure_ascii=False))
        content = with_header({**about, **header}) + data
    elif kind == 3:
        header, data = parts_of(content)
        content = with_header(header) + damaged(data, rng)
    (folder / "m").write_bytes(content)
    return _is_taken(folder / "m", name, rng, verify=kind < 2 or rng.random() < 0.5)


def damaged_models(rng: random.Random, folder: Path) -> bool:
    """Damage the bytes of a model file: whatever is changed is noticed."""
    name = rng.choice(sorted(model_files()))
    content = damaged(model_files()[name], rng)
    (folder / "m").write_bytes(content)
    is_taken = _is_taken(folder / "m", name, rng, verify=True)
    assert not is_taken or content == model_files()[name], "damage was not noticed"
    return is_taken


def steps(rng: random.Random, folder: Path) -> bool:
    """Change what skops wrote about a step, make all checksums right again, load and predict."""
    name = rng.choice([name for name in sorted(model_files()) if "sklearn" in name])
    manifest, arrays = taken_apart(model_files()[name])
    (skops,) = [each for each in arrays if each.endswith("skops")]
    whole = arrays[skops].tobytes()
    whole = damaged(whole, rng) if rng.random() < 0.2 else _changed_archive(whole, rng)
    arrays[skops] = np.frombuffer(whole, dtype=np.uint8)
    (folder / "m").write_bytes(put_together(manifest, arrays))
    return _is_taken(folder / "m", name, rng)


def _changed_archive(whole: bytes, rng: random.Random) -> bytes:
    """Change values of a description by skops, or the bytes of one of its arrays."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    schema = json.loads(members.pop("schema.json"))
    if members and rng.random() < 0.3:
        victim = rng.choice(sorted(members))
        members[victim] = damaged(members[victim], rng)
    else:
        for _ in range(rng.choice([1, 1, 2, 4])):
            changed(schema, rng, NODES)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for each, content in {**members, "schema.json": json.dumps(schema).encode()}.items():
            archive.writestr(each, content)
    return buffer.getvalue()


def _is_taken(file: Path, name: str, rng: random.Random, verify: bool = True) -> bool:
    """Load a model and predict: neither may open another file, and loading raises one error."""
    with warnings.catch_warnings(), _no_other_file(file):
        warnings.simplefilter("ignore")
        try:
            model = vicinal.load(file, verify=verify, mmap=rng.choice([True, False, "auto"]))
        except ModelFormatError as error:
            if "\n" in str(error):
                raise AssertionError("an error of several lines") from error
            return False
        return _is_used(model, "texts" in name, "sklearn" in name)


OPENED: list[str] = []
_WATCHED: list[Path] = []


def _note(event: str, values: tuple[Any, ...]) -> None:
    """Note files that are opened while a model is loaded and used, besides Python's own."""
    if not _WATCHED or event not in ("open", "os.system", "subprocess.Popen", "os.exec"):
        return
    path = str(values[0])
    is_python = path.startswith((sys.prefix, sys.base_prefix)) or path.endswith((".py", ".pyc"))
    if event != "open" or not (is_python or path == str(_WATCHED[0]) or isinstance(values[0], int)):
        OPENED.append(f"{event} {path}")


@cache
def _watch() -> None:
    """Hear of every file that this process opens; this cannot be undone."""
    sys.addaudithook(_note)


@contextmanager
def _no_other_file(file: Path) -> Iterator[None]:
    """Fail if another file is opened, or a program started, inside the block."""
    _watch()
    OPENED.clear()
    _WATCHED.append(file)
    try:
        yield
    finally:
        _WATCHED.clear()
    others = [each for each in OPENED if not each.startswith(HARMLESS)]
    assert not others, others


HARMLESS = ("open /proc/", "open /sys/", f"open {Path(__file__).parents[2]}")
"""What threads and Python read about the machine, and the library's own files."""


def _is_used(model: Any, reads_text: bool, is_sklearn: bool) -> bool:
    """Predict; a model that was let in may refuse rows of another width, and nothing else.

    A forged step of scikit-learn may raise any exception, but must not end the process.
    """
    try:
        model.predict(TEXTS[:3] if reads_text else ROWS[:3])
    except (InvalidArgumentError, ValueError):
        return False
    except (TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, MemoryError):
        if not is_sklearn:
            raise
        return False
    return True


def stores(rng: random.Random, folder: Path) -> bool:
    """Damage a file of results, read it, and add to it."""
    path = folder / "results.jsonl"
    store = ResultStore(path)
    for seed in range(3):
        store.add(Result("compare", "yeast", "mlknn", {"hamming-loss": (0.2, 0.3)}, seed=seed))
    if rng.random() < 0.5:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        changed(lines, rng)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        path.write_bytes(damaged(path.read_bytes(), rng))
    try:
        store.read()
        store.keys()
        store.add(Result("compare", "yeast", "brknn", {"hamming-loss": (0.1,)}))
        assert "brknn" in {result.method for result in store.read()}
    except DataFormatError:
        return False
    return True


STARTS = (0, 0, 1, 2, 3, -1, 2**31 - 1, -(2**31), 2_000_000, 1_500_000_000, -1_294_967_296)


def matrices(rng: random.Random, folder: Path) -> bool:
    """Hand sparse matrices whose arrays are wrong to everything that takes one."""
    form = rng.choice([sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.bsr_array])
    matrix = form(np.eye(4))
    for name in rng.sample(["indptr", "indices", "data", "row", "col"], 2):
        if hasattr(matrix, name) and name != "data":
            old = getattr(matrix, name)
            new = _wrong_ids(len(old), rng)
            if form is sparse.coo_array:
                coords = (new, matrix.col) if name == "row" else (matrix.row, new)
                matrix.coords = coords
            else:
                setattr(matrix, name, new)
    try:
        rng.choice(USES)(matrix)
    except (InvalidArgumentError, ValueError):
        return False
    return True


def _wrong_ids(length: int, rng: random.Random) -> np.ndarray:
    """Return ids or row starts of about that length, some of them wrong."""
    length = max(0, length + rng.choice([0, 0, 0, 0, 1, -1]))
    values = [rng.choice(STARTS) for _ in range(length)]
    if length and rng.random() < 0.8:
        values[0], values[-1] = 0, rng.choice([0, 3, 4, 5])
    if rng.random() < 0.3:
        values.sort()
    dtype = rng.choice([np.int32, np.int32, np.int64, np.uint32, np.uint64, np.int8, np.float64])
    with np.errstate(all="ignore"):
        return np.array(values, dtype=np.int64).astype(dtype)


USES: tuple[Callable[[Any], object], ...] = (
    lambda X: vicinal.BRkNN(1).fit(X, np.eye(4)),
    lambda X: vicinal.BRkNN(1).fit(np.eye(4), X),
    lambda X: vicinal.MLkNN(1).fit(np.eye(4), np.eye(4)).predict(X),
    lambda X: vicinal.MLkNN(1).fit(np.eye(4), np.eye(4)).partial_fit(X, np.eye(4)),
    lambda X: InvertedIndex(X).query(X, 2),
    lambda X: InvertedIndex(sparse.csr_array(np.eye(4))).add(X),
    lambda X: TfIdf().fit_transform(X),
    lambda X: evaluate(X, np.eye(4)),
    lambda X: evaluate(np.eye(4), X, np.eye(4)),
    lambda X: evaluate(np.eye(4), scores=X),
    vicinal.Scores.sparse,
)


def _other_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return an array of another type, shape or content."""
    kind = rng.randrange(5)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if kind == 0:
            return array.astype(rng.choice(["i4", "i8", "u4", "u8", "f4", "f8", "b1", ">i4", "f2"]))
        if kind == 1:
            return array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
        if kind == 2:
            return np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)
        if kind == 3 and array.size:
            changed_array = array.copy()
            place = rng.randrange(array.size)
            value = rng.choice([*STARTS, float("nan"), float("inf"), 1e308, 0.5])
            changed_array.flat[place] = np.array(value).astype(array.dtype)
            return changed_array
        return (
            array.ravel()[::-1].reshape(array.shape[::-1]) if array.ndim == 2 else array[..., None]
        )


TARGETS: dict[str, Target] = {
    "readers": readers,
    "archives": archives,
    "models": models,
    "damaged models": damaged_models,
    "steps": steps,
    "stores": stores,
    "matrices": matrices,
}
