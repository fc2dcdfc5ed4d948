"""Examples of functions that other tests reach only on the way."""

import re

import numpy as np
import pytest

from vicinal.errors import InvalidArgumentError
from vicinal.index._common import (
    check_room_for_ids,
    graph_width,
    mark_removed,
    places_of,
    row_chunks,
    simd_level,
)
from vicinal.index.build import index_factory


def test_mark_removed():
    np.testing.assert_equal(
        (mark_removed(np.zeros(0, dtype=np.uint8), np.array([1]), 3)),
        np.array([0, 1, 0], dtype=np.uint8),
    )


def test_check_room_for_ids():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape("rows: expected fewer than 2^31 - 1 row ids in all, got 2147483653"),
    ):
        check_room_for_ids(5, 2**31)


def test_places_of():
    np.testing.assert_equal(
        (places_of(np.array([7, 3, 4]), np.array([1, 3, 7], dtype=np.int32))), np.array([2, 1])
    )


def test_row_chunks():
    assert list(row_chunks(np.zeros((5, 2**21)))) == [(0, 2), (2, 4), (4, 5)]


def test_graph_width():
    assert (graph_width(5, 3), graph_width(10**9, 3), graph_width(10**9, 2000)) == (5, 1024, 2000)


def test_simd_level():
    assert simd_level("plain") == "plain"


def test_index_factory():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "algorithm: expected one of 'auto', 'inverted', 'dense', 'approximate', 'hnsw',"
            " 'reference', 'segmented' or a factory (X, metric, n_jobs) -> Index, got 'ball_tree'"
        ),
    ):
        index_factory("ball_tree")
