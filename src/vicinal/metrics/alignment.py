"""Align labels given as names with labels given as columns."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.indicator import check_indicator
from vicinal._base.labels import aligned, as_column, indicator_of, is_names, label_rows, listed
from vicinal._base.validation import check_option, check_sequence
from vicinal.scores import Scores, check_scores


def align_labels(
    Y: object,
    label_names: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    unknown: str = "add",
) -> tuple[Csr, tuple[str, ...]]:
    """Return labels as an indicator whose columns are those of a model.

    Parameters
    ----------
    Y : list of label-name collections, data frame, or indicator
        The labels of each row. `names` are the names of an indicator's columns.
    label_names : sequence of str
        The labels of the model: ``model.label_names_``.
    names : sequence of str or None
        Names of the columns of an indicator; None for those of a data frame.
    unknown : {"add", "ignore", "error"}
        What to do with labels that the model does not have: append columns, drop them, or raise.

    Returns
    -------
    indicator : csr_array of int32
    names : tuple of str
        The names of its columns.

    Examples
    --------
    >>> Y, names = align_labels([["b"], ["x", "a"]], ["a", "b"])
    >>> names, Y.toarray().tolist()
    (('a', 'b', 'x'), [[0, 1, 0], [1, 0, 1]])
    >>> align_labels([["b"], ["x", "a"]], ["a", "b"], unknown="ignore")[0].toarray().tolist()
    [[0, 1], [1, 0]]
    """
    check_option("unknown", unknown, ("add", "ignore", "error"))
    known = tuple(map(str, check_sequence("label_names", label_names)))
    own, matrix = _named_columns(Y, names)
    strange = [name for name in own if name not in set(known)]
    if strange and unknown == "error":
        raise InvalidArgumentError("Y", "only labels in label_names", repr(strange[0]))
    moved, everything = aligned(matrix, own, known)
    if unknown == "add":
        return moved, everything
    kept: Csr = sparse.csr_array(moved[:, : len(known)])
    return kept, known


def _named_columns(Y: object, names: Sequence[str] | None) -> tuple[tuple[str, ...], Csr]:
    """Return an indicator and the names of its columns."""
    rows = listed(Y)
    if is_names(rows):
        own = tuple(sorted({str(label) for row in label_rows(rows, "Y") for label in row}))
        return own, indicator_of(rows, own)
    matrix = check_indicator(Y)
    given = getattr(Y, "columns", None) if names is None else names
    if given is None or len(given) != matrix.shape[1]:
        count = matrix.shape[1]
        raise InvalidArgumentError("names", f"the names of the {count} columns of Y", given)
    return tuple(map(str, given)), matrix


def together(
    Y_true: object, labels: object, scores: object, label_names: Sequence[str] | None
) -> tuple[object, object, object]:
    """Return true labels, predicted labels and scores with the same columns.

    If neither labels are names, all three are returned unchanged, one-dimensional ones as a column.
    """
    Y_true, labels, scores = (as_column(given) for given in (Y_true, labels, scores))
    truth_named, labels_named = is_names(listed(Y_true)), is_names(listed(labels))
    if not truth_named and not labels_named:
        return Y_true, labels, scores
    known = _columns(Y_true, labels, scores, label_names)
    truth, everything = align_labels(Y_true, known, names=known)
    if labels is not None:
        labels, everything = align_labels(labels, everything, names=known)
        truth = widen_labels(truth, len(everything) - truth.shape[1])
    if scores is not None:
        given = check_scores(scores)
        scores = widen(given, len(everything) - given.shape[1])
    return truth, labels, scores


def _columns(
    Y_true: object, labels: object, scores: object, label_names: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the column names of the argument that is an array, or all names in sorted order."""
    if label_names is not None:
        return tuple(map(str, check_sequence("label_names", label_names)))
    for name, given in (("Y_true", Y_true), ("labels", labels), ("scores", scores)):
        if given is not None and not is_names(listed(given)):
            columns = getattr(given, "columns", None)
            if columns is None:
                expected = f"the names of the columns of {name}, such as model.label_names_"
                raise InvalidArgumentError("label_names", expected, None)
            return tuple(map(str, columns))
    rows = [row for side in (listed(Y_true), listed(labels)) if is_names(side) for row in side]
    return tuple(sorted({str(label) for row in rows for label in row}))


LOWEST = -float(np.finfo(np.float64).max)
"""The score of labels that a model does not know: below every other, in every block of rows."""


def widen(scores: Scores, n_more: int) -> Scores:
    """Return the scores with further labels, which rank below all others.

    Examples
    --------
    >>> widen(Scores.dense(np.array([[0.5, -1.0]])), 1).top(3)[0]
    array([[0, 1, 2]], dtype=int32)
    """
    if not n_more:
        return scores
    if isinstance(scores.values, sparse.csr_array):
        base = np.concatenate([scores.base, np.full(n_more, LOWEST)])
        return Scores.sparse(widen_labels(scores.values, n_more), base)
    padded = np.pad(scores.values, ((0, 0), (0, n_more)), constant_values=LOWEST)
    return Scores.dense(padded)


def widen_labels(labels: Csr, n_more: int) -> Csr:
    """Return the matrix with empty columns appended."""
    shape = (labels.shape[0], labels.shape[1] + n_more)
    return sparse.csr_array((labels.data, labels.indices, labels.indptr), shape=shape)
