"""Every metric by name, with its requirements and whether high or low is better."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from vicinal._base.errors import InvalidArgumentError

Better: TypeAlias = Literal["low", "high", "none"]
Needs: TypeAlias = Literal["labels", "scores"]


@dataclass(frozen=True)
class MetricInfo:
    """Facts about a metric other than its formula.

    Parameters
    ----------
    name : str
        As in the result of ``evaluate``; metrics at k are listed as ``"precision@k"``.
    better : {"low", "high", "none"}
    needs : {"labels", "scores"}
        Predicted label sets or a ranking.
    group : str
        Heading in tables.
    k : int or None
        The k of a metric at k.
    needs_counts : bool
        Whether it also needs the label counts of the training rows.
    """

    name: str
    better: Better
    needs: Needs
    group: str
    k: int | None = None
    needs_counts: bool = False


def _group(group: str, needs: Needs, **better_by_name: Better) -> tuple[MetricInfo, ...]:
    """List the metrics of one group; underscores stand for hyphens."""
    return tuple(
        MetricInfo(name.replace("_", "-"), better, needs, group)
        for name, better in better_by_name.items()
    )


_ALL = (
    *_group(
        "example-based",
        "labels",
        hamming_loss="low",
        subset_accuracy="high",
        example_accuracy="high",
        jaccard_loss="low",
        example_precision="high",
        example_recall="high",
        example_f1="high",
        example_f1_of_means="high",
    ),
    *_group(
        "label-based",
        "labels",
        micro_precision="high",
        micro_recall="high",
        micro_f1="high",
        macro_precision="high",
        macro_recall="high",
        macro_f1="high",
    ),
    *_group("predicted sets", "labels", cardinality="none", empty_share="none"),
    *_group(
        "ranking",
        "scores",
        one_error="low",
        coverage="low",
        coverage_normalised="low",
        ranking_loss="low",
        average_precision="high",
        macro_auc="high",
        micro_auc="high",
    ),
    MetricInfo("precision@k", "high", "scores", "first k labels"),
    MetricInfo("ndcg@k", "high", "scores", "first k labels"),
    MetricInfo("psp@k", "high", "scores", "first k labels", needs_counts=True),
    MetricInfo("psndcg@k", "high", "scores", "first k labels", needs_counts=True),
)

METRICS: Mapping[str, MetricInfo] = MappingProxyType({info.name: info for info in _ALL})
"""All metrics, in the order of tables."""


DEPTHS = (1, 3, 5)
"""Default values of k for the metrics at k."""


def every_metric(depths: Sequence[int] = DEPTHS) -> list[str]:
    """Return the names of all metrics, with metrics at k listed once per k.

    Examples
    --------
    >>> every_metric([2])[-5:]
    ['micro-auc', 'precision@2', 'ndcg@2', 'psp@2', 'psndcg@2']
    """
    return [
        name.removesuffix("k") + str(depth) if depth else name
        for name in METRICS
        for depth in (depths if name.endswith("@k") else [0])
    ]


def metric_info(name: object) -> MetricInfo:
    """Look a metric up by name, ``"precision@3"`` included.

    Examples
    --------
    >>> metric_info("micro-f1").better
    'high'
    >>> metric_info("ndcg@3").k
    3
    >>> metric_info("micro-f2")
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: metrics: expected the name of a metric (did you mean
    'micro-f1' or 'macro-f1'?), got 'micro-f2'
    """
    if isinstance(name, str):
        at_k = re.fullmatch(r"(\w+@)([1-9][0-9]{0,8})", name, flags=re.ASCII)
        if at_k and at_k[1] + "k" in METRICS:
            return replace(METRICS[at_k[1] + "k"], name=name, k=int(at_k[2]))
        if name in METRICS and not name.endswith("@k"):
            return METRICS[name]
    raise InvalidArgumentError("metrics", f"the name of a metric{_hint(name)}", repr(name))


def _hint(name: object) -> str:
    """Suggest metrics with similar names, including how to write k."""
    close = difflib.get_close_matches(str(name), METRICS, n=2)
    if not close:
        return f" ({', '.join(METRICS)})"
    return f" (did you mean {' or '.join(repr(each.replace('@k', '@1')) for each in close)}?)"
