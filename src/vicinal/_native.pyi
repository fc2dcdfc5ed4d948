"""What the compiled core offers. Each layer calls it through one thin module of its own."""

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int, Int32

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
    ) -> None: ...
    def search(
        self,
        indptr: Int,
        indices: Int32,
        values: Float,
        k: int,
        excluded: Int32,
        removed: NDArray[np.uint8],
        n_threads: int,
        batch: int,
    ) -> tuple[Int32, Float]: ...
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
    ) -> None: ...
    def search(
        self,
        indptr: Int,
        indices: Int32,
        values: Float,
        k: int,
        excluded: Int32,
        removed: NDArray[np.uint8],
        n_threads: int,
        batch: int,
    ) -> tuple[Int32, Float]: ...
    def bytes(self) -> int: ...

class DenseBatch:
    def __init__(
        self, n_queries: int, k: int, excluded: Int32, removed: NDArray[np.uint8]
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

class DenseIndexFloat32:
    def __init__(self, rows: NDArray[np.float32], metric: int) -> None: ...
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
    def __init__(self, rows: Float, metric: int) -> None: ...
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
