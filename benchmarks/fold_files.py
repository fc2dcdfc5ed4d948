"""Data sets with their folds as ``.npz`` files, and a file of results, one JSON line each.

Read with NumPy alone, so that a machine with a GPU needs no more.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Bool = NDArray[np.bool_]

N_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Folds:
    """A data set whose rows are each in one fold's test part.

    Parameters
    ----------
    name : str
    X : ndarray of float64, shape (n, m)
    Y : ndarray of bool, shape (n, L)
    fold_of : ndarray of int64, shape (n,)
    n_components : int
        To how many columns the paper reduces it.
    """

    name: str
    X: Float
    Y: Bool
    fold_of: Int
    n_components: int

    def train(self, fold: int) -> tuple[Float, Bool]:
        """Return the training rows of a fold and their labels."""
        rows = self.fold_of != fold
        return self.X[rows], self.Y[rows]

    def test(self, fold: int) -> tuple[Float, Bool]:
        """Return the test rows of a fold and their labels."""
        rows = self.fold_of == fold
        return self.X[rows], self.Y[rows]

    def write(self, folder: Path) -> None:
        """Write the file of this set; labels as bits, features with their zeros left out."""
        places = np.flatnonzero(self.X)
        np.savez_compressed(
            folder / f"{self.name}.npz",
            shape=np.array([*self.X.shape, self.Y.shape[1], self.n_components]),
            places=places.astype(np.uint32),
            values=self.X.ravel()[places],
            labels=np.packbits(self.Y),
            fold_of=self.fold_of.astype(np.uint8),
        )

    @classmethod
    def read(cls, folder: Path, name: str) -> "Folds":
        """Read the file of a set."""
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            n, m, n_labels, r = (int(size) for size in file["shape"])
            X = np.zeros(n * m)
            X[file["places"]] = file["values"]
            bits = np.unpackbits(file["labels"], count=n * n_labels)
            Y = bits.reshape(n, n_labels).astype(np.bool_)
            return cls(name, X.reshape(n, m), Y, file["fold_of"].astype(np.int64), r)


@dataclass(frozen=True)
class Result:
    """The Hamming loss of one method on the test rows of one fold, and how it came about."""

    dataset: str
    method: str
    fold: int
    hamming_loss: float
    seconds: float
    evaluations: int = 0
    first_loss: float | None = None
    last_loss: float | None = None
    path: list[tuple[int, float, float]] = field(default_factory=list)
    """Evaluations, training loss and test loss on the way."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What a run needs not do again."""
        return self.dataset, self.method, self.fold


def min_max(X: Float, X_test: Float) -> tuple[Float, Float]:
    """Scale columns to [0, 1] by the training rows; constant ones to 0."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return (X - low) / width, (X_test - low) / width


def read_results(path: Path) -> Iterator[Result]:
    """Yield the results of a file, none if there is none; a line cut short is left out."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.endswith("}"):
            yield Result(**json.loads(line))


def append_result(path: Path, result: Result) -> None:
    """Add a line to a file of results."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result.__dict__) + "\n")
