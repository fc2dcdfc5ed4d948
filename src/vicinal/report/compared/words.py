"""Wording used in the report: lists of names, probabilities, metrics."""

from collections.abc import Sequence

from vicinal.metrics import METRICS, metric_info

ARROWS = {"low": "\N{NO-BREAK SPACE}↓", "high": "\N{NO-BREAK SPACE}↑", "none": ""}
COUNTS = ("coverage", "cardinality")
"""Metrics that count labels, for which two decimals are enough."""


def listed(names: Sequence[str]) -> str:
    """Return names as a list in running text.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(number: int, thing: str) -> str:
    """Return a number and a noun, with a plural s if needed.

    Examples
    --------
    >>> counted(1, "data set"), counted(7, "data set")
    ('1 data set', '7 data sets')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def probability(p: float) -> str:
    """Return a probability as papers print it.

    Examples
    --------
    >>> probability(0.0312), probability(0.00001)
    ('p = 0.031', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def metric_title(metric: str) -> str:
    r"""Return a metric's name with an arrow in the direction that is better.

    Examples
    --------
    >>> metric_title("hamming-loss")
    'hamming-loss\xa0↓'
    """
    return metric + ARROWS[metric_info(metric).better]


def metric_form(metric: str) -> str:
    """Return the format of a metric's values."""
    return ".2f" if metric in COUNTS else ".3f"


def sorted_metrics(names: Sequence[str]) -> list[str]:
    """Return metrics in the order of the catalogue, those at k by increasing k."""
    families = list(METRICS)

    def place(name: str) -> tuple[int, int]:
        k = metric_info(name).k
        return families.index(name if k is None else name.partition("@")[0] + "@k"), k or 0

    return sorted(names, key=place)
