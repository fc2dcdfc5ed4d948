"""Every metric by name, with its requirements and whether high or low is better.

The definitions of the metrics are the same everywhere; the treatment of empty sets and tied scores
is not, and it can change published figures by more than the differences between methods.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from vicinal._core.checks import check_option
from vicinal.errors import InvalidArgumentError

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
        Which values are better.
    needs : {"labels", "scores"}
        Predicted label sets or a ranking.
    group : str
        Heading in tables.
    k : int or None
        The k of a metric at k.
    needs_counts : bool
        Whether it also needs the label counts of the training rows.
    function : callable or None
        The function of a metric from outside the library, see :class:`Metric`.
    per_row : bool
        Whether that function returns one value per row, of which the metric is the mean.
    """

    name: str
    better: Better
    needs: Needs
    group: str
    k: int | None = None
    needs_counts: bool = False
    function: Callable[..., Any] | None = None
    per_row: bool = False

    @property
    def family(self) -> str:
        """The name in :data:`METRICS`: ``"precision@k"`` for every k."""
        return self.name if self.k is None else self.name.partition("@")[0] + "@k"


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
        r_precision="high",
        macro_auc="high",
        micro_auc="high",
        macro_auc_pr="high",
        micro_auc_pr="high",
    ),
    *_group("probabilities", "scores", log_loss="low", brier_score="low", calibration_error="low"),
    MetricInfo("precision@k", "high", "scores", "first k labels"),
    MetricInfo("recall@k", "high", "scores", "first k labels"),
    MetricInfo("f1@k", "high", "scores", "first k labels"),
    MetricInfo("ndcg@k", "high", "scores", "first k labels"),
    MetricInfo("psp@k", "high", "scores", "first k labels", needs_counts=True),
    MetricInfo("psndcg@k", "high", "scores", "first k labels", needs_counts=True),
)

METRICS: Mapping[str, MetricInfo] = MappingProxyType({info.name: info for info in _ALL})
"""All metrics, in the order of tables."""


_OWN: dict[str, MetricInfo] = {}
"""Metrics from outside the library, by name."""


class Metric:
    """Declare a custom metric, once, in any module.

    Every function and command that takes names of metrics then takes its name; commands import the
    module with ``--import module``, or by the name ``module:variable``.

    Parameters
    ----------
    name : str
        Its name in tables; other metrics must not have it.
    function : callable
        ``function(Y, labels)`` or ``function(Y, scores)``: `Y` and `labels` are 0/1 matrices
        (``csr_array``), `scores` is a :class:`vicinal.Scores`. Returns a number or, with
        `per_row`, one number per row.
    better : {"low", "high", "none"}
        Which values are better.
    needs : {"labels", "scores"}
        Whether the metric is computed from predicted labels or from scores.
    per_row : bool
        Whether the metric is the mean of one number per row. Rows can then be read in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.metrics import evaluate
    >>> def too_many(Y, labels):
    ...     return np.diff(labels.indptr) > np.diff(Y.indptr)
    >>> Metric("too-many-share", too_many, better="low", needs="labels", per_row=True)
    Metric('too-many-share')
    >>> evaluate([[1, 0], [0, 1]], [[1, 1], [0, 1]], metrics=["too-many-share"])
    {'too-many-share': 0.5}
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        better: Better,
        needs: Needs,
        per_row: bool = False,
    ) -> None:
        if not isinstance(name, str) or not name or set(name) & set("@:,"):
            raise InvalidArgumentError("name", "a name without '@', ':' and ','", repr(name))
        if name in METRICS:
            raise InvalidArgumentError("name", "a name that vicinal does not use", repr(name))
        if not callable(function):
            raise InvalidArgumentError("function", "a function", type(function))
        check_option("better", better, ("low", "high", "none"))
        check_option("needs", needs, ("labels", "scores"))
        self.info = MetricInfo(
            name, better, needs, "own metrics", function=function, per_row=per_row
        )
        _OWN[name] = self.info

    def __repr__(self) -> str:
        """Return the name."""
        return f"Metric({self.info.name!r})"


def _imported(name: str) -> MetricInfo:
    """Return the metric that a module defines, by ``module:variable``."""
    module, _, variable = name.partition(":")
    try:
        found: object = getattr(import_module(module), variable, None)
    except (ImportError, SyntaxError, ValueError) as error:
        expected = f"module:variable with a module that can be imported ({error})"
        raise InvalidArgumentError("metrics", expected, repr(name)) from error
    if not isinstance(found, Metric):
        raise InvalidArgumentError("metrics", f"a Metric in {module}", repr(name))
    return found.info


DEPTHS = (1, 3, 5)
"""Default values of k for the metrics at k."""


def every_metric(depths: Sequence[int] = DEPTHS) -> list[str]:
    """Return the names of all metrics, with metrics at k listed once per k."""
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
    vicinal.errors.InvalidArgumentError: metrics: expected the name of a metric (did you mean
    'micro-f1' or 'macro-f1'?), got 'micro-f2'
    """
    if isinstance(name, str):
        at_k = re.fullmatch(r"(\w+@)([1-9][0-9]{0,8})", name, flags=re.ASCII)
        if at_k and at_k[1] + "k" in METRICS:
            return replace(METRICS[at_k[1] + "k"], name=name, k=int(at_k[2]))
        if name in METRICS and not name.endswith("@k"):
            return METRICS[name]
        if name in _OWN:
            return _OWN[name]
        if ":" in name:
            return _imported(name)
    raise InvalidArgumentError("metrics", f"the name of a metric{_hint(name)}", repr(name))


def better_side(name: object, argument: str = "metric") -> Literal["low", "high"]:
    """Return which values of a metric are better, or raise if neither are."""
    side = metric_info(name).better
    if side == "none":
        raise InvalidArgumentError(argument, "a metric that can be optimised", repr(name))
    return side


def is_declared(name: str) -> bool:
    """Tell whether there is a metric of this name; an own one needs its module to be imported."""
    return name in _OWN or re.sub("@.*", "@k", name) in METRICS


def in_table_order(infos: Iterable[MetricInfo]) -> list[MetricInfo]:
    """Return metrics in the order of tables: at k by increasing k, own metrics at the end."""
    families = {name: at for at, name in enumerate(METRICS)}

    def place(info: MetricInfo) -> tuple[int, int, str]:
        return families.get(info.family, len(families)), info.k or 0, info.name

    return sorted(infos, key=place)


def _hint(name: object) -> str:
    """Suggest metrics with similar names, including how to write k."""
    known = [*METRICS, *_OWN]
    longer = [each for each in known if each.endswith(f"-{name}")]
    close = longer[:3] or difflib.get_close_matches(str(name), known, n=2)
    if not close:
        return f" ({', '.join(METRICS)})"
    return f" (did you mean {' or '.join(repr(each.replace('@k', '@1')) for each in close)}?)"


TieRule: TypeAlias = Literal["lower", "higher", "worst"]
"""Rank of a label among tied labels: after lower ids, after higher ids, or last."""


@dataclass(frozen=True)
class Conventions:
    r"""How a system treats cases that the definitions leave open.

    ========================================  =========  ============  ==========  ==============
    case                                      vicinal    scikit-learn  Mulan       MEKA
    ========================================  =========  ============  ==========  ==============
    Jaccard when Y = Z = ∅                    1          0             1           1
    precision, recall, F1 when Y = Z = ∅      1          0             1           0
    precision with Z = ∅ ≠ Y                  0          0             0           0
    recall with Y = ∅ ≠ Z                     0          0             0           0
    per-label value with tp = fp = fn = 0     0          0             1           0
    micro 0/0                                 0          0             0           0
    rank among tied scores                    lower id   lower id*     higher id†  lower id*
    coverage: taken from the rank             1          0             1           1*
    coverage, average-precision: tied rank    lower id   worst         higher id†  lower id*
    ranking-loss tie                          an error   an error      higher id†  higher id ahead
    coverage row with Y = ∅                   0          0             0           0*
    ranking-loss row with Y = ∅ or full       0          0             0           0
    average-precision row with Y = ∅          left out   1             left out    1
    one-error row with Y = ∅                  an error   an error*     an error    an error
    ndcg, precision@k row with Y = ∅          0          0*            0*          0*
    macro-auc, label of one class             left out   left out*     NaN         left out*
    ========================================  =========  ============  ==========  ==============

    \* The system does not have this metric or does not define the case; our choice. † Mulan treats
    scores within 1e-6 as equal: starting from the lowest score, a group contains all scores less
    than 1e-6 above its lowest one.

    Parameters
    ----------
    name : str
        Name used in tables.
    both_empty_jaccard, both_empty_f1 : float
        Value of a row with Y = Z = ∅; the second also for precision and recall.
    unused_label : float
        Per-label precision, recall and F1 of a label that no row has and that is never predicted.
    ties, graded_ties, loss_ties : {"lower", "higher", "worst"}
        Rank among tied scores: in one-error and the metrics at k; in coverage and
        average-precision; in ranking-loss, where ``"worst"`` makes each tie an error.
    tie_tolerance : float
        Scores closer than this tie.
    coverage_offset : int
        The value that coverage subtracts from the rank of the last true label.
    average_precision_empty : float or None
        Value of a row with Y = ∅; None excludes the row.
    auc_needs_all : bool
        Whether one label without both classes makes macro-auc NaN.
    """

    name: str
    both_empty_jaccard: float = 1.0
    both_empty_f1: float = 1.0
    unused_label: float = 0.0
    ties: TieRule = "lower"
    graded_ties: TieRule = "lower"
    loss_ties: TieRule = "worst"
    tie_tolerance: float = 0.0
    coverage_offset: int = 1
    average_precision_empty: float | None = None
    auc_needs_all: bool = False


VICINAL = Conventions("vicinal")
SKLEARN = Conventions(
    "sklearn",
    both_empty_jaccard=0.0,
    both_empty_f1=0.0,
    graded_ties="worst",
    coverage_offset=0,
    average_precision_empty=1.0,
)
MULAN = Conventions(
    "mulan",
    unused_label=1.0,
    ties="higher",
    graded_ties="higher",
    loss_ties="higher",
    tie_tolerance=1e-6,
    auc_needs_all=True,
)
MEKA = Conventions("meka", both_empty_f1=0.0, loss_ties="higher", average_precision_empty=1.0)

CONVENTIONS: Mapping[str, Conventions] = MappingProxyType(
    {each.name: each for each in (VICINAL, SKLEARN, MULAN, MEKA)}
)


def check_conventions(conventions: object) -> Conventions:
    """Return conventions by name, or the given :class:`Conventions`."""
    if isinstance(conventions, Conventions):
        for rule in (conventions.ties, conventions.graded_ties, conventions.loss_ties):
            check_option("conventions", rule, ("lower", "higher", "worst"))
        if not 0 <= conventions.tie_tolerance < float("inf"):
            raise InvalidArgumentError(
                "conventions", "a tie_tolerance of at least 0", conventions.tie_tolerance
            )
        return conventions
    return CONVENTIONS[check_option("conventions", conventions, CONVENTIONS)]
