"""What the compiled core offers. Each layer calls it through one thin module of its own."""

import numpy as np
from numpy.typing import NDArray

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
