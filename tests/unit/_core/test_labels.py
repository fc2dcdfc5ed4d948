"""Labels as users have them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from vicinal._core.labels import further_labels, indicator_of, is_names, read_labels
from vicinal.errors import InvalidArgumentError

INDICATOR = [[1, 0, 1], [0, 0, 0]]
POLARS = pl.DataFrame(INDICATOR, schema=["c", "b", "a"], orient="row")
TWICE = pd.DataFrame(INDICATOR, columns=["a", "b", "a"])


@pytest.mark.parametrize(
    ("Y", "kind", "names", "dtype"),
    [
        (INDICATOR, "dense", ("0", "1", "2"), "int64"),
        (np.array(INDICATOR, dtype=np.uint8), "dense", ("0", "1", "2"), "uint8"),
        (np.array(INDICATOR, dtype=object), "dense", ("0", "1", "2"), "int64"),
        (np.array(INDICATOR, dtype=">i2"), "dense", ("0", "1", "2"), "int16"),
        (np.array(INDICATOR, dtype=np.float16), "dense", ("0", "1", "2"), "float64"),
        (np.array(INDICATOR, dtype=np.longdouble), "dense", ("0", "1", "2"), "float64"),
        (pd.DataFrame(INDICATOR, columns=["c", "b", "a"]), "dense", ("c", "b", "a"), "int64"),
        (pd.DataFrame(INDICATOR), "dense", ("0", "1", "2"), "int64"),
        (
            pl.DataFrame(INDICATOR, schema=["c", "b", "a"], orient="row"),
            "dense",
            ("c", "b", "a"),
            "int64",
        ),
        (sparse.csr_array(INDICATOR), "sparse", ("0", "1", "2"), "int64"),
        (sparse.coo_matrix(np.array(INDICATOR, dtype=bool)), "sparse", ("0", "1", "2"), "bool"),
    ],
)
def test_indicators(Y: Any, kind: str, names: tuple[str, ...], dtype: str) -> None:
    labels = read_labels(Y, n_rows=2)
    assert labels.matrix.toarray().tolist() == INDICATOR
    assert (labels.kind, labels.names, labels.dtype) == (kind, names, dtype)
    assert labels.matrix.dtype == np.int32


@pytest.mark.parametrize(
    "Y",
    [
        [["c", "a"], []],
        [("c", "a", "c"), ()],
        ({"c", "a"}, set()),
        [frozenset("ac"), []],
        pd.Series([["c", "a"], []]),
        pd.Series([np.array(["c", "a"]), np.array([], dtype=object)]),
        pl.Series([["c", "a"], []]),
        pd.Series([["c", "a"], []]).to_numpy(),
    ],
)
def test_names(Y: Any) -> None:
    labels = read_labels(Y, n_rows=2)
    assert labels.names == ("a", "c")
    assert labels.matrix.toarray().tolist() == [[1, 1], [0, 0]]
    assert (labels.kind, labels.dtype) == ("sparse", "int32")


def test_given_names_set_order_and_further_labels() -> None:
    labels = read_labels([["c"], ["a"]], 2, label_names=["c", "b", "a"])
    assert labels.matrix.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    for given in (["x", "y", "z"], np.array(["x", "y", "z"]), pd.Index(["x", "y", "z"])):
        assert read_labels(INDICATOR, 2, label_names=given).names == ("x", "y", "z")
    assert read_labels([[], []], 2, label_names=["x"]).matrix.shape == (2, 1)


@pytest.mark.parametrize("kind", [np.array, pd.Index, pd.Series, iter])
@pytest.mark.parametrize("Y", [INDICATOR, [["x"], ["y", "z"]]], ids=["indicator", "names"])
def test_names_may_be_any_collection(kind: Any, Y: Any) -> None:
    names = read_labels(Y, 2, label_names=kind(["z", "x", "y"])).names
    assert names == ("z", "x", "y")
    assert {type(name) for name in names} == {str}


@pytest.mark.parametrize(
    ("Y", "names", "message"),
    [
        (INDICATOR, ["x", "y"], "label_names: expected 3 different names"),
        (INDICATOR, ["x", "y", "x"], "label_names: expected 3 different names"),
        (
            pd.DataFrame(INDICATOR, columns=["a", "b", "a"]),
            None,
            "label_names: expected 3 different",
        ),
        (INDICATOR, [], "label_names: expected 3 different names"),
        (INDICATOR, "xyz", "label_names: expected a sequence of values, got 'xyz'"),
        (INDICATOR, [1, 2, 3], "label_names: expected strings, got 1"),
        ([[], []], None, "Y: expected at least one label"),
        (INDICATOR, ["x", "y", None], "label_names: expected strings, got None"),
        ([["c"], ["a"]], ["c"], "Y: expected known label names, got 'a' in row 1"),
        ([["c"], [None]], None, "Y: expected label names"),
        ([["c"]], None, "Y: expected 2 rows"),
        (None, None, "Y: expected labels, got None"),
    ],
)
def test_refused(Y: Any, names: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        read_labels(Y, 2, label_names=names)


def test_text_is_never_a_collection_of_letters() -> None:
    assert not is_names(["ab", "cd"])
    assert not is_names("ab")
    assert not is_names(np.array([["a"]]))
    assert is_names([["ab"], []])


def test_indicator_of_is_canonical() -> None:
    matrix = indicator_of([["b", "a", "b"], [], ["c"]], ["a", "b", "c"])
    assert matrix.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert matrix.has_canonical_format


def test_further_rows_may_have_no_label_at_all() -> None:
    known = read_labels([["a"], ["b"]], n_rows=2)
    matrix, names = further_labels(known.names, [[], []], n_rows=2)
    assert names == ("a", "b")
    assert matrix.toarray().tolist() == [[0, 0], [0, 0]]


def test_further_rows_with_another_number_of_columns_are_refused_by_name() -> None:
    known = read_labels(INDICATOR, n_rows=2)
    with pytest.raises(InvalidArgumentError, match="Y: expected 3 labels, as in the model, got 2"):
        further_labels(known.names, [[1, 0]], n_rows=1)
