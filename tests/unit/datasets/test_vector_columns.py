"""Examples of functions that other tests reach only on the way."""

from vicinal.datasets.vector_files import numbered_columns


def test_numbered_columns():
    assert numbered_columns(["id", "e1", "e0", "e2", "year"]) == ["e0", "e1", "e2"]
    assert numbered_columns(["q1", "q3"]) == []
