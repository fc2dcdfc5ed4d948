"""Rows that a blend was taught: they get exactly the labels that they were taught last.

A taught row is told by its features, whatever its place. Steps before the model that multiply
matrices, such as a PCA, give a row other last bits among other rows, so features that differ by
less than rounding are the same. Among the scores of a taught row the labels that it was taught have
1, which no probability of the mixture reaches, and all others almost 0.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.csr import checked_csr, take_rows
from vicinal._core.validation import csr_parts
from vicinal.decision.rule import FittedDecision
from vicinal.index import TrainingRows
from vicinal.methods.blend.parts import labels_of
from vicinal.methods.blend.scoring import LEAST_PROBABILITY, BlendScoring
from vicinal.scores import Scores

AS_TAUGHT = 1e-3
"""What the probabilities of other labels of a row that was taught are multiplied by."""
FIRST = np.zeros(1, dtype=np.int32)
"""The first label, stored for a row that was taught no label and has no candidate."""


def teach(taught: dict[bytes, tuple[int, ...]], X: Features, ids: np.ndarray) -> int:
    """Remember taught rows by their features; return how many have none, by which to tell them."""
    empty = 0
    for features, row in zip(_rows(X), ids.tolist(), strict=True):
        if features is None:
            empty += 1
        else:
            taught[features.digest] = (*taught.get(features.digest, ()), row)
    return empty


LEVELS = 2**20
"""Levels of a row's largest value to which the features are rounded by which it is looked up."""
ROUNDING = 1e-12
"""Share of a row's largest value up to which features are the same."""


class _Row(NamedTuple):
    """The features of one row, without those that are only rounding errors."""

    columns: Int
    values: Float
    largest: float

    @property
    def digest(self) -> bytes:
        """Under which the row is looked up: few others have the same."""
        levels = np.rint(LEVELS * (self.values / self.largest))
        kept = levels != 0
        found = self.columns[kept].tobytes() + levels[kept].tobytes()
        return hashlib.blake2b(found + b"%.7e" % self.largest, digest_size=16).digest()

    def is_same(self, other: "_Row") -> bool:
        """Tell whether two rows have the same features, but for rounding."""
        if not np.array_equal(self.columns, other.columns):
            return False
        return bool(np.abs(self.values - other.values).max() <= ROUNDING * self.largest)


def _rows(X: Features) -> Iterator[_Row | None]:
    """Yield the features of each row; None for rows of zeros."""
    rows = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    for row in range(rows.shape[0]):
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        values = rows.data[entries].astype(np.float64)
        sizes = np.abs(values)
        largest = float(sizes.max(initial=0.0))
        if not largest:
            yield None
            continue
        kept = sizes > ROUNDING * largest
        yield _Row(rows.indices[entries][kept].astype(np.int64), values[kept], largest)


def taught_places(scoring: BlendScoring, rows: TrainingRows, X: Features) -> list[tuple[int, int]]:
    """Return the rows of `X` that were taught, each with the place that was taught last."""
    if not scoring.taught:
        return []
    found = []
    for row, features in enumerate(_rows(X)):
        if features is None:
            continue
        for row_id in reversed(scoring.taught.get(features.digest, ())):
            place = place_of(rows, row_id)
            known = None if place is None else next(_rows(take_rows(rows.X, np.array([place]))))
            if place is not None and known is not None and features.is_same(known):
                found.append((row, place))
                break
    return found


def place_of(rows: TrainingRows, row_id: int) -> int | None:
    """Return the place of a row by its id; None if it is not there."""
    place = int(np.searchsorted(rows.place_ids, row_id))
    if place >= rows.n_places or rows.place_ids[place] != row_id:
        return None
    return None if rows.n_empty and rows.gone[place] else place


def still_taught(
    taught: Mapping[bytes, tuple[int, ...]], rows: TrainingRows
) -> dict[bytes, tuple[int, ...]]:
    """Return what was taught, without rows that are gone."""
    kept = {
        features: tuple(each for each in ids if place_of(rows, each) is not None)
        for features, ids in list(taught.items())
    }
    return {features: ids for features, ids in kept.items() if ids}


def as_taught(scores: Scores, places: list[tuple[int, int]], Y: Csr) -> Scores:
    """Return scores in which taught rows have 1 for their labels and almost 0 for all others."""
    if not places:
        return scores
    return Scores.sparse(
        _with_rows(
            cast("Csr", scores.values),
            [(row, *_taught_values(scores, row, labels_of(Y, place))) for row, place in places],
        ),
        scores.base,
    )


def decided_as_taught(rule: FittedDecision, scores: Scores) -> Csr:
    """Return the labels that a rule decides on, and of rows that were taught, what was taught."""
    decided, values = rule.decide(scores), scores.values
    if not isinstance(values, sparse.csr_array):
        return decided
    indptr, indices = csr_parts(values)
    filled = np.flatnonzero(np.diff(indptr))
    best = np.maximum.reduceat(values.data, indptr[filled]) if len(filled) else np.empty(0)
    replaced = []
    for row in filled[(best == 1.0) | (best < LEAST_PROBABILITY)].tolist():
        entries = slice(indptr[row], indptr[row + 1])
        labels = indices[entries][values.data[entries] == 1.0]
        replaced.append((row, labels, np.ones(len(labels), dtype=np.int32)))
    return _with_rows(decided, replaced) if replaced else decided


def _taught_values(scores: Scores, row: int, labels: Int32) -> tuple[Int32, Float]:
    """Return the labels and values of a row with 1 for the labels that were taught."""
    values = cast("Csr", scores.values)
    entries = slice(values.indptr[row], values.indptr[row + 1])
    old = values.data[entries]
    if not len(labels):  # below every candidate, and at least one of them stored
        lower = np.where(old < LEAST_PROBABILITY, old, LEAST_PROBABILITY * (0.8 + 0.1 * old))
        return (values.indices[entries], lower) if len(old) else (FIRST, scores.base[FIRST])
    every = np.union1d(values.indices[entries], labels).astype(np.int32)
    new = scores.base[every]
    lower = np.where(old < LEAST_PROBABILITY, old, LEAST_PROBABILITY + AS_TAUGHT * old)
    new[np.searchsorted(every, values.indices[entries])] = lower
    new[np.searchsorted(every, labels)] = 1.0
    return every, new


def _with_rows(matrix: Csr, rows: Sequence[tuple[int, Int32, np.ndarray]]) -> Csr:
    """Return a matrix in which some rows are replaced."""
    indptr, indices = csr_parts(matrix)
    pieces, values, sizes = [], [], np.diff(indptr)
    start = 0
    for row, columns, data in rows:
        pieces += [indices[start : indptr[row]], columns]
        values += [matrix.data[start : indptr[row]], data]
        sizes[row] = len(columns)
        start = int(indptr[row + 1])
    pieces.append(indices[start:])
    values.append(matrix.data[start : indptr[-1]])
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    shape = (int(matrix.shape[0]), int(matrix.shape[1]))
    return checked_csr(np.concatenate(values), np.concatenate(pieces), starts, shape)
