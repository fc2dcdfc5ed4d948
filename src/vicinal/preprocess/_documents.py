"""Validation of documents: one string per row."""

from collections.abc import Iterable, Mapping

from vicinal._base.errors import InvalidArgumentError


def read_documents(X: object, name: str = "X") -> list[str]:
    """Return the documents of a list, an array, a pandas or polars series, or any iterable.

    Examples
    --------
    >>> read_documents(("a title", "another"))
    ['a title', 'another']
    >>> read_documents(["a title", None])
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: X: expected strings, got NoneType in row 1
    """
    expected = "a one-dimensional collection of strings"
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise InvalidArgumentError(name, expected, type(X).__name__)
    shape = getattr(X, "shape", (0,))
    if len(shape) != 1:
        # This refuses data frames too: iterating one would give its column names.
        raise InvalidArgumentError(name, expected, f"shape {shape}")
    documents = []
    for row, document in enumerate(X):
        if not isinstance(document, str):
            raise InvalidArgumentError(name, "strings", f"{type(document).__name__} in row {row}")
        documents.append(str(document))
    return documents
