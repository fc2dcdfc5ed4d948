"""A search that tells how far it is finds what one that does not finds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal import BRkNN
from vicinal._core import progress
from vicinal._core.progress import shown
from vicinal.index import TrainingRows

pytestmark = pytest.mark.native

ROWS = [(0, 0), (0, 1), (0, 2), (-1, 1)]
"""Few, so that there are more duplicates of a row than neighbours asked for."""


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(st.sampled_from(ROWS), min_size=1, max_size=16),
    metric=st.sampled_from(["euclidean", "cosine", "dot"]),
    is_sparse=st.booleans(),
    k=st.integers(0, 5) | st.just(20),
)
def test_block_by_block_finds_the_same(
    rows: Any, metric: str, is_sparse: bool, k: int, bars: list[Any]
) -> None:
    bars.clear()
    X: Any = np.array(rows, dtype=np.float64)
    search = TrainingRows(sparse.csr_array(X) if is_sparse else X, metric, 1)
    whole = search.query_self(k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "FEWEST_ROWS", 4)
        with shown():
            by_blocks = search.query_self(k)
    assert np.array_equal(by_blocks.ids, whole.ids)
    assert np.array_equal(by_blocks.values, whole.values)
    assert (by_blocks.metric, by_blocks.n_rows) == (whole.metric, whole.n_rows)
    assert sum(sum(bar.moves) for bar in bars) == (len(rows) if k else 0)


def test_rows_forgotten_before_are_left_out(
    sample: Any, bars: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FEWEST_ROWS", 7)
    model = BRkNN(3).fit(sparse.csr_array(sample.X), sample.Y).forget([0, 4, 30])
    whole = model.search_.query_self(5)
    with shown():
        by_blocks = model.search_.query_self(5)
    assert np.array_equal(by_blocks.ids, whole.ids)
    assert np.array_equal(by_blocks.values, whole.values)
    assert [bar.description for bar in bars] == ["Searching"]
    assert bars[0].moves == [7] * 6 + [5]
