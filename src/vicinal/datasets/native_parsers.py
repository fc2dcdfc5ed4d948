"""Call the compiled parsers: bytes in, arrays out. No other module calls them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int, Int32
from vicinal._base.errors import DataFormatError
from vicinal._native import ParseError, read_arff_rows
from vicinal._native import read_xc as xc_rows
from vicinal.datasets.files import FilePath


class XcParts(NamedTuple):
    """A parsed XC file: three counts, then rows of features and of labels."""

    n_rows: int
    n_features: int
    n_labels: int
    indptr: Int
    indices: Int32
    values: Float
    label_indptr: Int
    label_indices: Int32


class ArffParts(NamedTuple):
    """Parsed ARFF rows: features and labels."""

    indptr: Int
    indices: Int32
    values: Float
    label_indptr: Int
    label_indices: Int32


class ArffPlan(NamedTuple):
    """How to parse the values of each attribute.

    Parameters
    ----------
    kind : ndarray of uint8, shape (n_attributes,)
        0 number, 1 nominal, 2 label as number, 3 nominal label, 4 dropped.
    column : ndarray of int32, shape (n_attributes,)
        The column of X or Y for a number.
    value_start : ndarray of int64, shape (n_attributes + 1,)
        Where an attribute's values start in `values`.
    values : list of bytes
        Values of the nominal attributes, sorted within each attribute.
    value_column : ndarray of int32, shape (n_values,)
        The column that a value sets to 1; −1 for none.
    default_column : ndarray of int32, shape (n_attributes,)
        The column that is 1 if the attribute is absent from a sparse row; −1 for none.
    """

    kind: NDArray[np.uint8]
    column: Int32
    value_start: Int
    values: list[bytes]
    value_column: Int32
    default_column: Int32


def parse_xc(text: bytes, path: FilePath) -> XcParts:
    """Parse extreme-classification text."""
    try:
        return XcParts(*xc_rows(text))
    except ParseError as error:
        raise _format_error(error, path) from None


def parse_arff_rows(
    text: bytes, start: int, first_line: int, plan: ArffPlan, path: FilePath
) -> ArffParts:
    """Parse the rows of an ARFF file, which start at byte `start`, on line `first_line`."""
    ends = np.cumsum([len(value) for value in plan.values], dtype=np.int64)
    try:
        return ArffParts(
            *read_arff_rows(
                text,
                start,
                first_line,
                plan.kind,
                plan.column,
                plan.value_start,
                b"".join(plan.values),
                ends,
                plan.value_column,
                plan.default_column,
            )
        )
    except ParseError as error:
        raise _format_error(error, path) from None


def _format_error(error: "ParseError", path: FilePath) -> DataFormatError:
    """Return the error for the user; the offending text may be in any encoding."""
    line, expected, got = error.args
    return DataFormatError(
        str(path), expected.decode(), got.decode(errors="backslashreplace"), line
    )
