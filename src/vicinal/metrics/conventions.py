"""Edge cases that implementations treat differently, declared as data.

The definitions of the metrics are the same everywhere; the treatment of empty sets and tied scores
is not, and it can change published figures by more than the differences between methods.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option

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
MEKA = Conventions(
    "meka",
    both_empty_f1=0.0,
    loss_ties="higher",
    average_precision_empty=1.0,
)

CONVENTIONS: Mapping[str, Conventions] = MappingProxyType(
    {each.name: each for each in (VICINAL, SKLEARN, MULAN, MEKA)}
)


def check_conventions(conventions: object) -> Conventions:
    """Return conventions by name, or the given :class:`Conventions`.

    Examples
    --------
    >>> check_conventions("mulan").unused_label
    1.0
    """
    if isinstance(conventions, Conventions):
        _check_rules(conventions)
        return conventions
    return CONVENTIONS[check_option("conventions", conventions, CONVENTIONS)]


def _check_rules(conventions: Conventions) -> None:
    """Raise for invalid tie rules, as types are not checked at run time."""
    for rule in (conventions.ties, conventions.graded_ties, conventions.loss_ties):
        check_option("conventions", rule, ("lower", "higher", "worst"))
    if not 0 <= conventions.tie_tolerance < float("inf"):
        raise InvalidArgumentError(
            "conventions", "a tie_tolerance of at least 0", conventions.tie_tolerance
        )
