"""What the compiled core offers. Each layer calls it through one thin module of its own."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import Float, Int, Int32

# -- search

def simd_levels() -> list[str]: ...

class InvertedIndexFloat32:
    def __init__(
        self,
        indptr: Int,
        indices: Int32,
        values: NDArray[np.float32],
        n_columns: int,
        metric: int,
        block_rows: int,
        simd: str,
        patterns: bool,
        stored: NDArray[np.uint8] | None = None,
    ) -> None: ...
    def store(self, write: Callable[[NDArray[np.uint8]], object]) -> None: ...
    def search(
        self,
        indptr: Int,
        indices: Int32,
        values: Float,
        excluded: Int32,
        removed: NDArray[np.uint8],
        first_id: int,
        n_rows: int,
        ids: Int32,
        keys: Float,
        n_threads: int,
        batch: int,
    ) -> None: ...
    def search_self(
        self,
        removed: NDArray[np.uint8],
        first_id: int,
        n_rows: int,
        ids: Int32,
        keys: Float,
        n_threads: int,
        batch: int,
    ) -> bool: ...
    def bytes(self) -> int: ...

class InvertedIndexFloat64:
    def __init__(
        self,
        indptr: Int,
        indices: Int32,
        values: Float,
        n_columns: int,
        metric: int,
        block_rows: int,
        simd: str,
        patterns: bool,
        stored: NDArray[np.uint8] | None = None,
    ) -> None: ...
    def store(self, write: Callable[[NDArray[np.uint8]], object]) -> None: ...
    def search(
        self,
        indptr: Int,
        indices: Int32,
        values: Float,
        excluded: Int32,
        removed: NDArray[np.uint8],
        first_id: int,
        n_rows: int,
        ids: Int32,
        keys: Float,
        n_threads: int,
        batch: int,
    ) -> None: ...
    def search_self(
        self,
        removed: NDArray[np.uint8],
        first_id: int,
        n_rows: int,
        ids: Int32,
        keys: Float,
        n_threads: int,
        batch: int,
    ) -> bool: ...
    def bytes(self) -> int: ...

class DenseBatch:
    def __init__(
        self, n_queries: int, k: int, excluded: Int32, removed: NDArray[np.uint8], simd: str
    ) -> None: ...
    def collect(
        self,
        products: NDArray[np.float32],
        first: int,
        sizes: NDArray[np.float32],
        biases: NDArray[np.float32],
        errors: NDArray[np.float32],
        constants: NDArray[np.float32],
    ) -> None: ...

def dense_norms(rows: NDArray[np.float32] | Float) -> Float: ...

class DenseIndexFloat32:
    def __init__(self, rows: NDArray[np.float32], norms: Float, metric: int) -> None: ...
    def finish(self, batch: DenseBatch, queries: Float, ids: Int32, values: Float) -> Int: ...
    def compare_with_all(
        self,
        batch: DenseBatch,
        queries: Float,
        chosen: Int,
        ids: Int32,
        values: Float,
        n_threads: int,
    ) -> None: ...

class DenseIndexFloat64:
    def __init__(self, rows: Float, norms: Float, metric: int) -> None: ...
    def finish(self, batch: DenseBatch, queries: Float, ids: Int32, values: Float) -> Int: ...
    def compare_with_all(
        self,
        batch: DenseBatch,
        queries: Float,
        chosen: Int,
        ids: Int32,
        values: Float,
        n_threads: int,
    ) -> None: ...

# -- votes

class VoteTable:
    def __init__(self, indptr: Int, indices: Int32, ids: Int32) -> None: ...
    def extend(self, start: int, stop: int, n_threads: int) -> None: ...
    def counts(self) -> tuple[Int, Int32, Int32]: ...

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
def merged_counts(
    labels: NDArray[np.int32],
    values: NDArray[np.float64],
    n_true: NDArray[np.int64],
    n_all: NDArray[np.int64],
    n_labels: int,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
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

# -- parsing
class ParseError(ValueError):
    args: tuple[int, bytes, bytes]

def read_xc(
    text: bytes,
) -> tuple[
    int,
    int,
    int,
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int32],
]: ...
def read_arff_rows(
    text: bytes,
    start: int,
    first_line: int,
    kind: NDArray[np.uint8],
    column: NDArray[np.int32],
    value_start: NDArray[np.int64],
    values: bytes,
    value_ends: NDArray[np.int64],
    value_column: NDArray[np.int32],
    default_column: NDArray[np.int32],
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int32],
]: ...

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
    items: SparseMatrix, others: SparseMatrix, k: int, n_threads: int, norms: Float
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...

# -- quadratic forms
def quadratic_forms(
    rows: SparseMatrix, matrix: NDArray[np.float64] | NDArray[np.float32], n_threads: int
) -> NDArray[np.float64]: ...
def column_products(
    rows: SparseMatrix, products: NDArray[np.float64] | NDArray[np.float32], n_threads: int
) -> None: ...

# -- trees
def tree_sums(
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    roots: NDArray[np.int32],
    cells: NDArray[np.float32],
    n_threads: int,
) -> NDArray[np.float64]: ...

MOST_BINS: int

def boosted_trees(
    cells: NDArray[np.float32],
    is_true: NDArray[np.uint8],
    thresholds: NDArray[np.float32],
    folds: NDArray[np.uint8],
    n_folds: int,
    n_rounds: int,
    n_leaves: int,
    patience: int,
    rate: float,
    l2: float,
    least_curvature: float,
    n_threads: int,
) -> tuple[
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    float,
    NDArray[np.float64],
]: ...

# -- dml
class DmlCounts:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        votes: NDArray[np.int32],
        label_indptr: NDArray[np.int64],
        label_indices: NDArray[np.int32],
        n_labels: int,
    ) -> None: ...
    def count(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        votes: NDArray[np.int32],
        tolerance: int,
        n_threads: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...

# -- selection
class LcifGrid:
    def __init__(
        self,
        training: list[SparseMatrix],
        held_out: list[SparseMatrix],
        truth_indptr: NDArray[np.int64],
        truth_indices: NDArray[np.int32],
        mixings: NDArray[np.float64],
        two_pass: bool,
        n_true: int,
        when_all_zero: int,
        n_threads: int,
    ) -> None: ...
    def counts(
        self,
        training: SparseMatrix,
        held_out: SparseMatrix,
        first: int,
        last: int,
        n_threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...

# -- baselines
class SplitSearch:
    def __init__(
        self, indptr: Int, rows: Int32, values: Float, n_rows: int, n_labels: int
    ) -> None: ...
    def best(
        self, weights: Float, members: NDArray[np.uint8], n_threads: int
    ) -> tuple[float, int, float, float]: ...

class RankDual:
    def __init__(
        self, kernel: Float, indptr: Int, indices: Int32, n_labels: int, cost: float
    ) -> None: ...
    def sweep(self, order: Int) -> None: ...
    def weights(self) -> Float: ...
    def total(self) -> float: ...

# -- live
class LiveGraphFloat32:
    def __init__(
        self,
        indptr: Int,
        indices: Int32,
        values: NDArray[np.float32],
        n_columns: int,
        metric: int,
        k: int,
        spare: int,
        ids: Int32,
        label_indptr: Int,
        label_indices: Int32,
        n_labels: int,
        groups: Int32,
        n_groups: int,
    ) -> None: ...
    def learn(
        self,
        columns: Int32,
        values: NDArray[np.float32],
        labels: Int32,
        n_labels: int,
        group: int,
    ) -> int: ...
    def forget(self, slot: int) -> None: ...
    def take_out(self, slot: int) -> Int32: ...
    def refill(self, forgotten: int, rows: Int32, ids: Int32) -> None: ...
    def compact(self) -> Int32: ...
    def tables(self, width: int) -> tuple[Int, Int]: ...
    def nearest(self, width: int) -> tuple[Int32, Float]: ...
    def n_slots(self) -> int: ...
    def n_live(self) -> int: ...
    def bytes(self) -> int: ...

class LiveGraphFloat64:
    def __init__(
        self,
        indptr: Int,
        indices: Int32,
        values: Float,
        n_columns: int,
        metric: int,
        k: int,
        spare: int,
        ids: Int32,
        label_indptr: Int,
        label_indices: Int32,
        n_labels: int,
        groups: Int32,
        n_groups: int,
    ) -> None: ...
    def learn(
        self, columns: Int32, values: Float, labels: Int32, n_labels: int, group: int
    ) -> int: ...
    def forget(self, slot: int) -> None: ...
    def take_out(self, slot: int) -> Int32: ...
    def refill(self, forgotten: int, rows: Int32, ids: Int32) -> None: ...
    def compact(self) -> Int32: ...
    def tables(self, width: int) -> tuple[Int, Int]: ...
    def nearest(self, width: int) -> tuple[Int32, Float]: ...
    def n_slots(self) -> int: ...
    def n_live(self) -> int: ...
    def bytes(self) -> int: ...
