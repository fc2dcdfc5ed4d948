"""Parsing speed on one core in megabytes per second, compared with common readers."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.io import arff as scipy_arff
from sklearn.datasets import load_svmlight_file

from benchmarks.recording import Measurement, record
from vicinal.datasets import Dataset, write_file
from vicinal.datasets.arff import read_meka
from vicinal.datasets.data_files import FilePath
from vicinal.datasets.dataset import by_content
from vicinal.datasets.xc import read_xc

ROWS = 20_000
Reader: TypeAlias = Callable[[Path], object]


def made_up(n_features: int, density: float, whole: bool) -> Dataset:
    """Return random rows: counts, or numbers with all their digits."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random_array((ROWS, n_features), density=density, rng=rng))
    if whole:
        X.data = rng.integers(1, 12, X.nnz).astype(np.float64)
    return Dataset(
        X=by_content(X),
        Y=sparse.csr_array(rng.random((ROWS, 100)) < 0.03),
        feature_names=tuple(f"feature{i}" for i in range(n_features)),
        label_names=tuple(f"label{i}" for i in range(100)),
    )


def seconds(read: Reader, path: Path, repeats: int = 3) -> float:
    """Return the processor time of the best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        read(path)
        best = min(best, time.process_time() - start)
    return best


def _scikit_learn(path: FilePath) -> object:
    """Read the rows of an XC file, whose first line that reader cannot take."""
    return load_svmlight_file(str(path) + ".rows", multilabel=True, zero_based=True)


def _scipy(path: FilePath) -> object:
    return scipy_arff.loadarff(str(path))


def report(
    title: str, name: str, dataset: Dataset, readers: dict[str, Reader]
) -> list[Measurement]:
    """Write a file, print how fast each reader takes it in, and return the figures."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_file(dataset, path)
        text = path.read_bytes()
        Path(f"{path}.rows").write_bytes(text.split(b"\n", 1)[1])
        for who, read in readers.items():
            speed = len(text) / 1e6 / seconds(read, path)
            print(f"{title:14} {who:14} {speed:8.1f} MB/s")
            figures.append(Measurement(f"{title}, {who}", speed, "MB/s", "high"))
    return figures


def main() -> None:
    """Print a table of megabytes per second, and keep it."""
    xc: dict[str, Reader] = {"vicinal": read_xc, "scikit-learn": _scikit_learn}
    dense: dict[str, Reader] = {"vicinal": read_meka, "SciPy": _scipy}
    figures = report("XC, counts", "a.xc.txt", made_up(20_000, 0.003, whole=True), xc)
    figures += report("XC, numbers", "b.xc.txt", made_up(20_000, 0.003, whole=False), xc)
    sparse_rows = made_up(2_000, 0.03, whole=True)
    figures += report("ARFF, sparse", "c.meka.arff", sparse_rows, {"vicinal": read_meka})
    figures += report("ARFF, dense", "d.meka.arff", made_up(50, 1.0, whole=False), dense)
    record("parsing", figures)


if __name__ == "__main__":
    main()
