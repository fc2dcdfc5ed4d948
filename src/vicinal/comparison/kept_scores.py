"""Scores and predictions of a comparison, kept so that further metrics need no new run.

Each fold of a result is one file in the folder ``STORE.scores`` next to the results file ``STORE``:
the true labels, the predicted labels and the scores of the held-out rows, and the label counts of
the training rows, as plain arrays.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.checks import check_integer
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import evaluate, metric_info
from vicinal.results import Key, Result, digest_of
from vicinal.scores import Scores

TOP = 100
"""Number of scores kept per row where there are many labels."""

FEW_LABELS = 1000
"""Up to this many labels, all scores are kept."""

COMPLETE = "needs all scores, but only the {} best of each row are kept"


@dataclass(frozen=True, eq=False)
class KeptFold:
    """The held-out rows of one fold."""

    truth: Csr
    labels: Csr
    scores: Scores | None
    top: int | None
    train_counts: Int
    n_train: int

    def measure(self, metrics: Sequence[str]) -> dict[str, float]:
        """Return metrics of the fold; those that need scores are left out if there are none."""
        infos = [metric_info(name) for name in metrics]
        wanted = [each for each in infos if self.scores is not None or each.needs == "labels"]
        for each in wanted:
            deep_enough = each.k is not None and self.top is not None and each.k <= self.top
            if each.needs == "scores" and self.top is not None and not deep_enough:
                expected = f"metrics at k ≤ {self.top}, or of labels: this one "
                raise InvalidArgumentError(
                    "metrics", expected + COMPLETE.format(self.top), repr(each.name)
                )
        return evaluate(
            self.truth,
            self.labels,
            self.scores,
            metrics=[each.name for each in wanted],
            train_label_counts=self.train_counts,
            n_train_rows=max(self.n_train, 3),
        )


class ScoreStore:
    """A folder with the scores of each fold of the results in a file.

    Disk: about 12 bytes per kept score before compression; at most 100 scores per row where there
    are more than 1,000 labels.
    """

    def __init__(self, store: str | os.PathLike[str]) -> None:
        path = Path(store)
        self.folder = path.with_name(f"{path.name}.scores")

    def path(self, key: Key, fold: int) -> Path:
        """Return the file of one fold of a result."""
        return self.folder / f"{digest_of(*key)[:24]}-{fold + 1}.npz"

    def has(self, key: Key, n_folds: int) -> bool:
        """Tell whether all folds of a result are there."""
        return all(self.path(key, fold).is_file() for fold in range(n_folds))

    def add(self, key: Key, fold: int, kept: KeptFold) -> None:
        """Write the scores of one fold, all or nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(key, fold)
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **_arrays(kept))
        unfinished.replace(path)

    def read(self, result: Result) -> Iterator[KeptFold]:
        """Yield the folds of a result."""
        n_folds = max(map(len, result.values.values()), default=0)
        for fold in range(n_folds):
            path = self.path(result.key, fold)
            if not path.is_file():
                expected = f"scores of {result.method} on {result.data} (compare --keep-scores)"
                raise InvalidArgumentError("STORE", expected, f"no {path.name}")
            yield _read(path)


def kept_fold(
    truth: Csr, labels: Csr, scores: Scores | None, train: Csr, top: int = TOP
) -> KeptFold:
    """Return what is kept of a fold: all scores if there are few labels, else the best per row."""
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(np.int64)
    n_train = int(train.shape[0])
    if scores is None or truth.shape[1] <= max(FEW_LABELS, top):
        return KeptFold(truth, labels, scores, None, counts, n_train)
    top = check_integer("top", top, low=1)
    ids, values = scores.top(top)
    order = np.argsort(ids, axis=1)
    indptr = np.arange(len(ids) + 1, dtype=np.int64) * ids.shape[1]
    flat = tuple(np.take_along_axis(each, order, axis=1).ravel() for each in (values, ids))
    matrix: Any = sparse.csr_array((flat[0], flat[1], indptr), shape=truth.shape)
    lowest = np.full(truth.shape[1], -float(np.finfo(np.float64).max))
    return KeptFold(truth, labels, Scores.sparse(matrix, lowest), top, counts, n_train)


def _arrays(kept: KeptFold) -> dict[str, Any]:
    """Return the arrays of a file."""
    found: dict[str, Any] = {
        "shape": np.array(kept.truth.shape, dtype=np.int64),
        "train_counts": kept.train_counts,
        "facts": np.array([kept.n_train, -1 if kept.top is None else kept.top], dtype=np.int64),
    }
    for name, matrix in (("truth", kept.truth), ("labels", kept.labels)):
        found[f"{name}_indptr"], found[f"{name}_indices"] = matrix.indptr, matrix.indices
    if kept.scores is not None:
        found["base"] = kept.scores.base
        values = kept.scores.values
        if isinstance(values, sparse.csr_array):
            found["scores_indptr"], found["scores_indices"] = values.indptr, values.indices
            found["scores_data"] = values.data
        else:
            found["scores"] = values
    return found


def _read(path: Path) -> KeptFold:
    """Read a file; raise if it is damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        shape = (int(arrays["shape"][0]), int(arrays["shape"][1]))
        truth, labels = (
            _indicator(arrays[f"{name}_indptr"], arrays[f"{name}_indices"], shape)
            for name in ("truth", "labels")
        )
        n_train, top = arrays["facts"].tolist()
        scores = _scores(arrays, shape)
    except (BadZipFile, EOFError, KeyError, IndexError, OSError, ValueError) as error:
        raise InvalidArgumentError("STORE", f"{path.name} with scores", repr(error)) from None
    return KeptFold(
        truth, labels, scores, None if top < 0 else top, arrays["train_counts"], n_train
    )


def _indicator(indptr: Int, indices: Int, shape: tuple[int, int]) -> Csr:
    ones = np.ones(len(indices), dtype=np.int32)
    matrix: Csr = sparse.csr_array((ones, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _scores(arrays: dict[str, Any], shape: tuple[int, int]) -> Scores | None:
    if "scores" in arrays:
        dense: Float = arrays["scores"]
        return Scores.dense(dense)
    if "scores_data" not in arrays:
        return None
    parts = arrays["scores_data"], arrays["scores_indices"], arrays["scores_indptr"]
    matrix: Csr = sparse.csr_array(parts, shape=shape)
    matrix.check_format(full_check=True)
    return Scores.sparse(matrix, arrays["base"])


def measure_results(
    results: Sequence[Result], store: ScoreStore, metrics: Sequence[str]
) -> list[Result]:
    """Return results with further metrics, computed from the kept scores."""
    found = []
    for result in results:
        folds = [kept.measure(metrics) for kept in store.read(result)]
        more = {name: tuple(fold[name] for fold in folds) for name in folds[0]}
        found.append(replace(result, values={**result.values, **more}))
    return found
