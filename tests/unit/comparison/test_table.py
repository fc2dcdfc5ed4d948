"""Tables however they come."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from vicinal.comparison import rank_table, read_table

VALUES = [[0.1, 0.5, 0.3], [0.2, 0.4, 0.6]]
NAMES = ("A", "B", "C")


def test_every_form_gives_the_same_table() -> None:
    columns = dict(zip(NAMES, np.array(VALUES).T, strict=True))
    by_sample = {name: {"x": col[0], "y": col[1]} for name, col in columns.items()}
    by_sample["B"] = dict(reversed(by_sample["B"].items()))
    forms = [
        columns,
        by_sample,
        pd.DataFrame(VALUES, columns=list(NAMES)),
        pl.DataFrame(VALUES, schema=list(NAMES), orient="row"),
        read_table(VALUES, NAMES),
    ]
    for form in forms:
        table = read_table(form)
        assert table.methods == NAMES
        np.testing.assert_array_equal(table.values, VALUES)


def test_columns_without_names_are_numbered() -> None:
    assert read_table(VALUES).methods == ("1", "2", "3")
    assert rank_table(VALUES).methods == ("1", "2", "3")


@pytest.mark.parametrize("names", [["A", "B"], ["A", "A", "B"]])
def test_names_must_name_the_columns(names: list[str]) -> None:
    with pytest.raises(ValueError, match="3 different names, one per method"):
        read_table(VALUES, names)
