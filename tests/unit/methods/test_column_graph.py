"""Neighbours between columns: the same as a search over the transposed matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.index.reference import reference_query
from vicinal.methods._formulas import column_graph, kept_similarities

pytestmark = pytest.mark.native

PALETTES = ([0.0, 1.0], [0.0, 0.1, 0.3, 0.7], [0.0, 1.0, -1.0, 2.0], [0.0, 1e-200, 1.0, 1e200])


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(0, 12))
    shapes = (n, draw(st.integers(0, 150))), (n, draw(st.integers(1, 9)))
    fill = draw(st.sampled_from([0.2, 0.6, 1.0]))
    palette = draw(st.sampled_from(PALETTES))
    return [rng.choice(palette, size=shape) * (rng.random(shape) < fill) for shape in shapes]


@given(problems(), st.integers(1, 12), st.booleans(), st.booleans(), st.integers(1, 3))
@settings(deadline=None, max_examples=150)
def test_it_is_the_definition(matrices, k, swapped, as_sparse, n_jobs):
    A, B = reversed(matrices) if swapped else matrices
    convert = sparse.csr_array if as_sparse else np.asarray
    graph = column_graph(convert(A), convert(B), k, n_jobs)
    expected = reference_query(B.T, A.T, graph.k, "cosine")
    assert graph.k == max(1, min(k, B.shape[1]))
    assert np.array_equal(graph.ids, expected.ids)
    assert np.array_equal(graph.values, expected.values)
    assert graph.n_rows == B.shape[1]


def test_float32_and_wide_ids_are_read():
    A = sparse.csr_array(np.array([[0.1, 0.2], [0.3, 0.0]], dtype=np.float32))
    wide = A.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    B = sparse.csr_array(np.eye(2, dtype=np.int32))
    expected = reference_query(np.eye(2), A.toarray().T, 2, "cosine")
    for matrix in (A, wide):
        graph = column_graph(matrix, B, 2)
        assert np.array_equal(graph.ids, expected.ids)
        assert np.array_equal(graph.values, expected.values)


def test_bad_input_is_named():
    with pytest.raises(InvalidArgumentError, match="B: expected 3 rows, got 2"):
        column_graph(np.eye(3), np.eye(2), 1)
    with pytest.raises(InvalidArgumentError, match="k: expected an integer of at least 1"):
        column_graph(np.eye(3), np.eye(3), 0)


def test_only_positive_similarities_are_kept():
    ids = np.array([[3, 0, 1], [2, -1, -1]], dtype=np.int32)
    values = np.array([[0.5, 0.0, -0.5], [0.25, 0.0, 0.0]])
    kept = kept_similarities(NeighborGraph(ids, values, "cosine", n_rows=4))
    assert kept.toarray().tolist() == [[0, 0, 0, 0.5], [0, 0, 0.25, 0]]
    assert kept.nnz == 2
