"""Whether our figure matches the paper's, or is better or worse."""

from typing import Literal, TypeAlias

from vicinal.metrics import METRICS

Verdict: TypeAlias = Literal["matched", "better", "worse", "shown", "reduced", "no data", "not run"]

VERDICTS: tuple[Verdict, ...] = (
    *("matched", "better", "worse"),
    *("shown", "reduced", "no data", "not run"),
)
"""``shown`` cells are not judged; ``reduced`` ones come from a quick run and are not judged."""
LEAST = 0.0015
SHARE = 0.03
MUCH = 0.1
"""A figure that is better by more than this share of the paper's needs an explanation."""


def tolerance(value: float, std: float | None = None) -> float:
    """Return how much a figure may differ from the paper's and still match.

    0.0015 or 3 % of the paper's value, whichever is larger; or the paper's standard deviation, if
    it is reported and larger.

    Examples
    --------
    >>> tolerance(0.02), tolerance(0.5), tolerance(0.5, std=0.02)
    (0.0015, 0.015, 0.02)
    """
    return max(LEAST, SHARE * abs(value), std or 0.0)


def judge(metric: str, ours: float, value: float, std: float | None = None) -> Verdict:
    """Compare a figure with the paper's.

    Examples
    --------
    >>> judge("hamming-loss", 0.194, 0.195), judge("hamming-loss", 0.18, 0.195)
    ('matched', 'better')
    >>> judge("micro-f1", 0.5, 0.6)
    'worse'
    """
    better = better_side(metric)
    if better == "none":
        return "shown"
    # Rounded, so that a difference of exactly the tolerance does not depend on the last bit.
    apart = round(abs(ours - value) - tolerance(value, std), 12)
    if apart <= 0:
        return "matched"
    return "better" if (ours < value) == (better == "low") else "worse"


def better_side(metric: str) -> str:
    """Tell whether low or high figures are better, or ``"none"``.

    Examples
    --------
    Run times are not judged: machines differ more than methods.

    >>> better_side("micro-f1"), better_side("seconds"), better_side("mean neighbour count of fall")
    ('high', 'none', 'none')
    """
    if metric in METRICS:
        return METRICS[metric].better
    return "low" if "rank" in metric else "none"


def much_better(ours: float, value: float) -> bool:
    """Tell whether a figure differs from the paper's by more than a tenth of it.

    Examples
    --------
    >>> much_better(0.5, 0.6), much_better(0.55, 0.6)
    (True, False)
    """
    return abs(ours - value) > MUCH * abs(value)
