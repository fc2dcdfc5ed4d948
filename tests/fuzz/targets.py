"""What is tried: each target makes an input from random numbers and hands it to the library.

A target returns whether the library took the input or refused it as it promises. Anything else it
raises, a crash, much time or much memory is a fault.
"""

import hashlib
import io
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.fuzz.corpus import ROWS, TEXTS, files, folders
from tests.fuzz.mutation import changed, damaged

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
    """Change a manifest or an array, make all checksums right again, load and predict."""
    name = rng.choice(sorted(folders()))
    whole = dict(folders()[name])
    body = json.loads(whole["manifest.json"].split(b"\n", 1)[1])
    kind = rng.randrange(3)
    if kind == 0:
        for _ in range(rng.choice([1, 1, 2])):
            changed(body["model"], rng)
    elif kind == 1:
        file = rng.choice(sorted(set(whole) - {"manifest.json"}))
        stream = io.BytesIO()
        np.save(stream, _other_array(np.load(io.BytesIO(whole[file])), rng))
        whole[file] = stream.getvalue()
    else:
        file = rng.choice(sorted(set(whole) - {"manifest.json"}))
        whole[file] = damaged(whole[file], rng)
    for entry in body["arrays"].values():
        content = whole[entry["file"]]
        entry.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    text = json.dumps(body, ensure_ascii=False, indent=1)
    whole["manifest.json"] = f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n".encode()
    for file, content in whole.items():
        (folder / file).write_bytes(content)
    try:
        model = vicinal.load(folder, mmap=rng.choice([True, False, "auto"]))
    except ModelFormatError:
        return False
    return _is_used(model, name == "texts")


def _is_used(model: Any, reads_text: bool) -> bool:
    """Predict; a model that was let in may refuse rows of another width, and nothing else."""
    try:
        model.predict(TEXTS[:3] if reads_text else ROWS[:3])
    except (InvalidArgumentError, ValueError):
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
    "stores": stores,
    "matrices": matrices,
}
