"""Scores and predictions of a comparison, kept so that further metrics need no new run.

Each fold of a result is one file in the folder ``STORE.scores`` next to the results file ``STORE``:
the true labels, the predicted labels and the scores of the held-out rows, and the label counts of
the training rows, in the format of saved models.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.checks import check_integer
from vicinal._core.state import SaveableRecord
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.metrics import evaluate, metric_info
from vicinal.persistence import read_model, register, write_model
from vicinal.results import Key, Result, digest_of
from vicinal.scores import LOWEST, Scores

TOP = 100
"""Number of scores kept per row where there are many labels."""

FEW_LABELS = 1000
"""Up to this many labels, all scores are kept."""


@dataclass(frozen=True, eq=False)
class KeptFold(SaveableRecord):
    """The held-out rows of one fold; `values` and `base` are those of their scores, if any."""

    truth: Csr
    labels: Csr
    values: Float | Csr | None
    base: Float | None
    top: int | None
    train_counts: Int
    n_train: int

    @property
    def scores(self) -> Scores | None:
        """The scores; None if the method has none."""
        if self.values is None or self.base is None:
            return None
        return Scores(self.values, self.base)

    def measure(self, metrics: Sequence[str]) -> dict[str, float]:
        """Return metrics of the fold; those that need scores are left out if there are none."""
        infos = [metric_info(name) for name in metrics]
        wanted = [each for each in infos if self.base is not None or each.needs == "labels"]
        for each in wanted:
            deep_enough = each.k is not None and self.top is not None and each.k <= self.top
            if each.needs == "scores" and self.top is not None and not deep_enough:
                why = f"needs all scores, but only the {self.top} best of each row are kept"
                expected = f"metrics at k ≤ {self.top}, or of labels: this one {why}"
                raise InvalidArgumentError("metrics", expected, repr(each.name))
        return evaluate(
            self.truth,
            self.labels,
            self.scores,
            metrics=[each.name for each in wanted],
            train_label_counts=self.train_counts,
            n_train_rows=max(self.n_train, 3),
        )


class ScoreStore:
    """A folder with the scores of each fold of the results in a file; 12 bytes per score."""

    def __init__(self, store: str | os.PathLike[str]) -> None:
        path = Path(store)
        self.folder = path.with_name(f"{path.name}.scores")

    def path(self, key: Key, fold: int) -> Path:
        """Return the file of one fold of a result."""
        return self.folder / f"{digest_of(*key)[:24]}-{fold + 1}.scores"

    def has(self, key: Key, n_folds: int) -> bool:
        """Tell whether all folds of a result are there."""
        return all(self.path(key, fold).is_file() for fold in range(n_folds))

    def add(self, key: Key, fold: int, kept: KeptFold) -> None:
        """Write the scores of one fold, all or nothing."""
        write_model(kept, self.path(key, fold))

    def read(self, result: Result) -> Iterator[KeptFold]:
        """Yield the folds of a result."""
        n_folds = max(map(len, result.values.values()), default=0)
        for fold in range(n_folds):
            path = self.path(result.key, fold)
            if not path.is_file():
                expected = f"scores of {result.method} on {result.data} (compare --keep-scores)"
                raise InvalidArgumentError("STORE", expected, f"no {path.name}")
            try:
                kept = read_model(path, mmap=False)
            except ModelFormatError as error:
                raise InvalidArgumentError("STORE", f"{path.name} with scores", error) from None
            if not isinstance(kept, KeptFold):
                raise InvalidArgumentError("STORE", f"{path.name} with scores", type(kept))
            yield kept


def kept_fold(
    truth: Csr, labels: Csr, scores: Scores | None, train: Csr, top: int = TOP
) -> KeptFold:
    """Return what is kept of a fold: all scores if there are few labels, else the best per row."""
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(np.int64)
    n_train = int(train.shape[0])
    if scores is None or truth.shape[1] <= max(FEW_LABELS, top):
        base = None if scores is None else scores.base
        values = None if scores is None else scores.values
        return KeptFold(truth, labels, values, base, None, counts, n_train)
    top = check_integer("top", top, low=1)
    ids, values = scores.top(top)
    order = np.argsort(ids, axis=1)
    indptr = np.arange(len(ids) + 1, dtype=np.int64) * ids.shape[1]
    flat = tuple(np.take_along_axis(each, order, axis=1).ravel() for each in (values, ids))
    matrix: Any = sparse.csr_array((flat[0], flat[1], indptr), shape=truth.shape)
    lowest = np.full(truth.shape[1], LOWEST)
    return KeptFold(truth, labels, matrix, lowest, top, counts, n_train)


register("comparison.KeptFold", KeptFold)


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
