"""What the compiled core offers. Each layer calls it through one thin module of its own."""

import numpy as np
from numpy.typing import NDArray

# -- ranking
class ScoreRows:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        base: NDArray[np.float64],
        n_rows: int,
        n_labels: int,
    ) -> None: ...

def place_true_labels(
    scores: ScoreRows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    tolerance: float,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]: ...
def top_labels(
    scores: ScoreRows, width: int, n_threads: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def true_scores(
    scores: ScoreRows, indptr: NDArray[np.int64], indices: NDArray[np.int32]
) -> NDArray[np.float64]: ...
def label_areas(
    scores: ScoreRows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    starts: NDArray[np.int64],
    positives: NDArray[np.float64],
    n_threads: int,
) -> NDArray[np.int64]: ...
def pooled_area(
    scores: ScoreRows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    n_true: NDArray[np.int64],
    positives: NDArray[np.float64],
    n_threads: int,
) -> float: ...

# -- rows
class SparseMatrix:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        n_columns: int,
    ) -> None: ...

def row_sums(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    ids: NDArray[np.int32],
    weights: NDArray[np.float64],
    matrix: SparseMatrix,
    take_max: bool,
    start: SparseMatrix,
    start_totals: NDArray[np.float64],
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]: ...
def column_search(
    items: SparseMatrix, others: SparseMatrix, k: int, n_threads: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
