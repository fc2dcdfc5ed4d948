"""The metrics of each label, as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vicinal._core.arrays import Float, Int
from vicinal._core.html import Cells, Tabular
from vicinal.errors import InvalidArgumentError
from vicinal.metrics._sums import check_labels, check_ranking, check_truth, ratio
from vicinal.metrics.auc import tallied
from vicinal.metrics.evaluate import together
from vicinal.metrics.label_based import count_labels


@dataclass(frozen=True, eq=False)
class LabelTable(Tabular):
    """Metrics of each label.

    Parameters
    ----------
    names : tuple of str
        Names of the labels.
    rows : ndarray of int64
        How many rows have each label.
    values : dict of str to ndarray of float64
        By metric; NaN where it is undefined.
    """

    names: tuple[str, ...]
    rows: Int
    values: dict[str, Float]

    def __repr__(self) -> str:
        """Summarise the table in one line."""
        return f"LabelTable({len(self.names)} labels: {', '.join(self.values)})"

    def cells(self) -> Cells:
        """Return one row per label, the most frequent first."""
        order = np.argsort(-self.rows, kind="stable")
        rows: list[list[object]] = [
            [self.names[at], int(self.rows[at]), *(float(v[at]) for v in self.values.values())]
            for at in order
        ]
        return Cells(["label", "rows", *self.values], rows)


def label_table(
    Y_true: object,
    labels: object = None,
    scores: object = None,
    *,
    label_names: Sequence[str] | None = None,
) -> LabelTable:
    """Return precision, recall and F1 of each label, and the areas under its curves.

    Parameters
    ----------
    Y_true, labels, scores
        As for :func:`vicinal.metrics.evaluate`.
    label_names : sequence of str or None
        Names of the labels; their numbers by default.

    Examples
    --------
    >>> table = label_table([[1, 0], [1, 1]], [[1, 0], [0, 1]], label_names=["red", "round"])
    >>> table.cells().rows
    [['red', 2, 1.0, 0.5, 0.6666666666666666], ['round', 1, 1.0, 1.0, 1.0]]
    """
    if labels is None and scores is None:
        raise InvalidArgumentError("labels, scores", "at least one of the two", "neither")
    Y_true, labels, scores = together(Y_true, labels, scores, label_names)
    truth = check_truth(Y_true)
    n_labels = int(truth.shape[1])
    names = tuple(map(str, range(n_labels) if label_names is None else label_names))
    if len(names) != n_labels:
        raise InvalidArgumentError("label_names", f"{n_labels} names", len(names))
    values: dict[str, Float] = {}
    if labels is not None:
        counts = count_labels(truth, check_labels(labels, truth))
        tp, fp, fn = counts.tp, counts.fp, counts.fn
        values["precision"] = ratio(tp, tp + fp, np.nan)
        values["recall"] = ratio(tp, tp + fn, np.nan)
        values["f1"] = ratio(2 * tp, 2 * tp + fp + fn, np.nan)
    if scores is not None:
        tally = tallied(truth, check_ranking(scores, truth))
        values["auc"], values["auc-pr"] = tally.label_areas(), tally.label_pr_areas()
    rows = np.bincount(truth.indices, minlength=n_labels).astype(np.int64)
    return LabelTable(names, rows, values)
