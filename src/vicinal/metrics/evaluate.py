"""All metrics of one prediction, by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Float
from vicinal._core.checks import check_integer, check_option, check_sequence
from vicinal._core.labels import (
    aligned,
    as_column,
    check_indicator,
    indicator_of,
    is_names,
    label_rows,
    listed,
)
from vicinal.errors import InvalidArgumentError
from vicinal.metrics._sums import Size, SummedMetric, Sums, check_labels, check_ranking, check_truth
from vicinal.metrics.at_k import AT_K, inverse_propensities
from vicinal.metrics.auc import AREAS, ScoreTally, tallied
from vicinal.metrics.catalogue import (
    DEPTHS,
    Conventions,
    MetricInfo,
    check_conventions,
    every_metric,
    metric_info,
)
from vicinal.metrics.example_based import EXAMPLE_BASED, RowCounts, count_rows
from vicinal.metrics.label_based import LABEL_BASED, LabelCounts, count_labels
from vicinal.metrics.probability import PROBABILITY, CellCounts
from vicinal.metrics.ranking import RANKING, TrueRanks, rank_truth
from vicinal.scores import LOWEST, Scores, check_scores

Given = TypeVar("Given")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Validated true labels, predictions and conventions; parts that were not given are None."""

    truth: Csr
    labels: Csr | None
    scores: Scores | None
    inverse_propensity: Float | None
    rules: Conventions
    n_jobs: int | None = None

    def lacks(self, info: MetricInfo) -> str | None:
        """Return the name of an argument that the metric needs and that was not given."""
        if info.needs == "labels":
            return "labels" if self.labels is None else None
        if self.scores is None:
            return "scores"
        if info.needs_counts and self.inverse_propensity is None:
            return "train_label_counts"
        return None

    def value(self, info: MetricInfo) -> float:
        """Compute one metric."""
        if info.name in LABEL_BASED:
            return LABEL_BASED[info.name](self.label_counts, self.rules)
        if info.name in AREAS:
            return AREAS[info.name](self._tally, self.rules)
        if info.function is not None and not info.per_row:
            found = info.function(*self._given_to(info))
            if not isinstance(found, int | float | np.number):
                expected = f"a function that returns a number for {info.name}"
                raise InvalidArgumentError("metrics", expected, type(found))
            return float(found)
        return summed_metric(info).value(self.sums(info), Size(*self.truth.shape))

    def sums(self, info: MetricInfo) -> Sums:
        """Return the sums over rows that a metric follows from."""
        metric = summed_metric(info)
        if info.function is not None:
            return metric.sums(info, self._given_to(info))
        if info.name in PROBABILITY:
            return metric.sums(self._cells, self.rules)
        if info.name in EXAMPLE_BASED:
            return metric.sums(self._row_counts, self.rules)
        further: list[Any] = [] if info.k is None else [info.k]
        if info.needs_counts:
            further.append(_given(self.inverse_propensity, "train_label_counts"))
        return metric.sums(self._ranks, self.rules, *further)

    def _given_to(self, info: MetricInfo) -> tuple[Csr, Any]:
        """Return what a metric from outside the library gets: truth, and labels or scores."""
        if info.needs == "labels":
            return self.truth, _given(self.labels, "labels")
        return self.truth, _given(self.scores, "scores")

    @cached_property
    def _cells(self) -> CellCounts:
        return CellCounts(self.truth, _given(self.scores, "scores"))

    @cached_property
    def _row_counts(self) -> RowCounts:
        return count_rows(self.truth, _given(self.labels, "labels"))

    @cached_property
    def label_counts(self) -> LabelCounts:
        """The tp, fp and fn of each label."""
        return count_labels(self.truth, _given(self.labels, "labels"))

    @cached_property
    def _tally(self) -> ScoreTally:
        return tallied(self.truth, _given(self.scores, "scores"), self.n_jobs)

    @cached_property
    def _ranks(self) -> TrueRanks:
        scores = _given(self.scores, "scores")
        return rank_truth(self.truth, scores, self.rules, self.n_jobs)


SUMMED = {**EXAMPLE_BASED, **RANKING, **PROBABILITY, **AT_K}


def summed_metric(info: MetricInfo) -> SummedMetric:
    """Return a metric that follows from sums over rows: all but label-based ones and areas."""
    if info.function is None:
        return SUMMED[info.family]
    if not info.per_row:
        expected = "metrics that can be computed by blocks (per_row=True)"
        raise InvalidArgumentError("metrics", expected, repr(info.name))
    return SummedMetric(own_rows)


def own_rows(info: MetricInfo, given: tuple[Csr, Any]) -> Float:
    """Return the value of each row of a metric from outside the library."""
    found = np.asarray([] if info.function is None else info.function(*given), dtype=np.float64)
    n_rows = int(given[0].shape[0])
    if found.shape != (n_rows,):
        expected = f"a function that returns one number per row for {info.name}"
        raise InvalidArgumentError("metrics", expected, f"shape {found.shape}")
    return found


def _given(value: Given | None, name: str) -> Given:
    """Return a value, or raise if it is missing."""
    if value is None:
        raise InvalidArgumentError(name, "a value, which the metric needs", None)
    return value


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
    """Return true labels, predicted labels and scores with the same columns."""
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
                if name != "scores" and isinstance(next(iter(cast("Any", given)), None), str):
                    hint = "split cells of several labels: [cell.split(';') for cell in column]"
                    raise InvalidArgumentError(name, "a list of names per row", "strings", hint)
                expected = f"the names of the columns of {name}, such as model.label_names_"
                raise InvalidArgumentError("label_names", expected, None)
            return tuple(map(str, columns))
    rows = [row for side in (listed(Y_true), listed(labels)) if is_names(side) for row in side]
    return tuple(sorted({str(label) for row in rows for label in row}))


def widen(scores: Scores, n_more: int) -> Scores:
    """Return the scores with further labels, which rank below all others."""
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


def evaluate(
    Y_true: object,
    labels: object = None,
    scores: object = None,
    *,
    conventions: str | Conventions = "vicinal",
    k: int | Iterable[int] = DEPTHS,
    train_label_counts: object = None,
    n_train_rows: int | None = None,
    metrics: str | Iterable[str] | None = None,
    label_names: Sequence[str] | None = None,
    n_jobs: int | None = None,
) -> dict[str, float]:
    """Compute every metric that the input allows.

    Parameters
    ----------
    Y_true : array-like or SciPy sparse, shape (n, L), or list of label-name collections
        True labels: 0/1, or the names of each row's labels.
    labels : same, or None
        Predicted labels, for the example-based and label-based metrics.
    scores : Scores, array-like or SciPy sparse (absent = 0), shape (n, L), or None
        Finite scores, for the ranking metrics.
    conventions : {"vicinal", "sklearn", "mulan", "meka"} or Conventions
        Conventions for edge cases.
    k : int or iterable of int
        Values of k for the metrics at k.
    train_label_counts : array-like of shape (L,), training indicator of shape (N, L), or None
        For the propensity-scored metrics.
    n_train_rows : int or None
        N for the propensities; see :func:`vicinal.metrics.propensities`.
    metrics : str, iterable of str, or None
        Compute only these metrics, in this order; any k is allowed, e.g. ``"ndcg@10"``.
    label_names : sequence of str or None
        Names of the columns of arrays if other arguments are label names: ``model.label_names_``.
        Labels that only occur in `Y_true` always count as missed.
    n_jobs : int or None
        Number of threads; None for all cores. The result does not depend on it.

    Returns
    -------
    dict of str to float
        By the names of :data:`METRICS`, in that order. NaN if a metric is undefined.

    Notes
    -----
    No n × L array is created unless the input has that size. Memory: about 100 bytes per true label
    and 16 per predicted one, in addition to the input; for areas under curves also 100 per stored
    score. For rows that come in blocks, see :class:`MetricAccumulator`.

    Examples
    --------
    >>> Y = [[1, 0, 1], [0, 1, 0]]
    >>> evaluate(Y, labels=[[1, 0, 0], [0, 1, 0]], metrics=["subset-accuracy", "micro-recall"])
    {'subset-accuracy': 0.5, 'micro-recall': 0.6666666666666666}
    >>> evaluate(Y, scores=[[0.9, 0.5, 0.1], [0.2, 0.8, 0.1]], metrics="coverage")
    {'coverage': 1.0}
    >>> evaluate([["sad"], []], labels=[["sad", "calm"], []], metrics="hamming-loss")
    {'hamming-loss': 0.25}
    """
    Y_true, labels, scores = together(Y_true, labels, scores, label_names)
    truth = check_truth(Y_true)
    evidence = Evidence(
        truth,
        None if labels is None else check_labels(labels, truth),
        None if scores is None else check_ranking(scores, truth),
        None
        if train_label_counts is None
        else inverse_propensities(train_label_counts, n_train_rows, truth.shape[1]),
        check_conventions(conventions),
        n_jobs,
    )
    return {info.name: evidence.value(info) for info in chosen_metrics(evidence, k, metrics)}


def chosen_metrics(
    evidence: Evidence, k: int | Iterable[int], metrics: str | Iterable[str] | None
) -> list[MetricInfo]:
    """List the metrics that were asked for, or all that the input allows."""
    if metrics is None:
        if evidence.labels is None and evidence.scores is None:
            raise InvalidArgumentError("labels, scores", "at least one of the two", "neither")
        given = k if isinstance(k, Iterable) else [k]
        depths = dict.fromkeys(check_integer("k", depth, low=1) for depth in given)
        every = map(metric_info, every_metric(list(depths)))
        return [info for info in every if evidence.lacks(info) is None]
    names = [metrics] if isinstance(metrics, str) else check_sequence("metrics", metrics)
    chosen = [metric_info(name) for name in names]
    for info in chosen:
        lacking = evidence.lacks(info)
        if lacking is not None:
            hint = "model.scores(X)" if lacking == "scores" else ""
            raise InvalidArgumentError(lacking, f"a value, which {info.name} needs", None, hint)
    return chosen
