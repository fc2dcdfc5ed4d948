"""The oracle itself, against sums written out in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.index.reference import reference_query, reference_query_self

VALUES = [0.0, 0.0, 1.0, -1.0, 0.1, 0.3, 1e-170, 1e170, 1e150]


def expected(rows, query, metric, skip):
    found = []
    for i, row in enumerate(rows):
        if i == skip:
            continue
        pairs = list(zip(query, row, strict=True))
        if metric == "euclidean":
            key = 0.0
            for q, x in pairs:
                key += (q - x) * (q - x)
            found.append((key, i, math.sqrt(key)))
        elif any(q and x for q, x in pairs):
            similarity = 0.0
            for q, x in pairs:
                similarity += q * x
            if metric == "cosine":
                size = norm(query) * norm(row)
                similarity = similarity / size if size else math.nan
            if math.isnan(similarity):
                similarity = 0.0
            found.append((-similarity, i, similarity))
    return sorted(found)


def norm(row):
    total = 0.0
    for x in row:
        total += x * x
    return math.sqrt(total)


matrices = st.integers(0, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.sampled_from(VALUES), min_size=m, max_size=m), min_size=1, max_size=6
    )
)


@given(matrices, st.integers(1, 7), st.sampled_from(["euclidean", "cosine", "dot"]))
@settings(deadline=None, max_examples=200)
def test_reference_is_the_definition(rows, k, metric):
    X = np.array(rows).reshape(len(rows), -1)
    for graph, leave_out in (
        (reference_query(X, sparse.csr_array(X), k, metric), False),
        (reference_query_self(X, k, metric), True),
    ):
        for i, row in enumerate(rows):
            best = expected(rows, row, metric, i if leave_out else None)[:k]
            n = len(best)
            assert graph.ids[i, :n].tolist() == [b[1] for b in best]
            assert graph.values[i, :n].tolist() == [b[2] for b in best]
            assert (graph.ids[i, n:] == -1).all()


def test_by_hand():
    X = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 0.0], [2.0, 0.0]]
    cosine = reference_query(X, [[3.0, 0.0]], 5, "cosine")
    assert cosine.ids.tolist() == [[0, 4, 2, -1, -1]]
    assert cosine.values.tolist() == [[1.0, 1.0, -1.0, 0.0, 0.0]]
    distance = reference_query_self(X, 2, "euclidean")
    assert distance.ids.tolist() == [[3, 4], [3, 0], [3, 1], [0, 1], [0, 3]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_no_queries(metric):
    assert reference_query(np.ones((2, 3)), np.ones((0, 3)), 4, metric).ids.shape == (0, 4)
