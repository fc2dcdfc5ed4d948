"""All metrics of one prediction, by name."""

from collections.abc import Iterable, Sequence

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer, check_sequence
from vicinal.metrics.alignment import together
from vicinal.metrics.catalogue import DEPTHS, MetricInfo, every_metric, metric_info
from vicinal.metrics.conventions import Conventions, check_conventions
from vicinal.metrics.evidence import Evidence
from vicinal.metrics.extreme import inverse_propensities
from vicinal.metrics.inputs import check_labels, check_ranking, check_truth


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
    and 16 per predicted one, in addition to the input. For rows that come in blocks, see
    :class:`MetricAccumulator`.

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
    return _allowed(evidence, k) if metrics is None else _named(evidence, metrics)


def _allowed(evidence: Evidence, k: int | Iterable[int]) -> list[MetricInfo]:
    """List the metrics that the input allows, with metrics at k listed once per k."""
    if evidence.labels is None and evidence.scores is None:
        raise InvalidArgumentError("labels, scores", "at least one of the two", "neither")
    infos = map(metric_info, every_metric(_depths(k)))
    return [info for info in infos if evidence.lacks(info) is None]


def _depths(k: int | Iterable[int]) -> list[int]:
    """Return the distinct values of k."""
    depths = list(k) if isinstance(k, Iterable) else [k]
    return list(dict.fromkeys(check_integer("k", depth, low=1) for depth in depths))


def _named(evidence: Evidence, metrics: str | Iterable[str]) -> list[MetricInfo]:
    """Look up the requested metrics and check that the input allows them."""
    names = [metrics] if isinstance(metrics, str) else check_sequence("metrics", metrics)
    chosen = [metric_info(name) for name in names]
    for info in chosen:
        lacking = evidence.lacks(info)
        if lacking is not None:
            raise InvalidArgumentError(lacking, f"a value, which {info.name} needs", None)
    return chosen
