"""The sum behind a score as a waterfall chart: a table whose bars show the running sum."""

from dataclasses import dataclass

from vicinal._base.markup import Html, class_names, element
from vicinal.explain.parts import Part
from vicinal.explain.values import LabelExplanation
from vicinal.explain.wording import largest_and_rest, number, part_note, signed

MOST_PARTS = 12
"""How many of the largest parts to show; the others are one bar."""


@dataclass(frozen=True)
class Step:
    """One bar, from the running sum before a part to the sum after it."""

    name: str
    shown: str
    begin: float
    end: float
    note: str = ""
    kind: str = ""


def steps(one: LabelExplanation, metric: str) -> list[Step]:
    """Return the bars of a label: the base, the largest parts, the others together, the sum.

    Examples
    --------
    >>> parts = [Part("neighbor", "a", 0.25, 0), Part("neighbor", "b", 0.5, 1)]
    >>> one = LabelExplanation("x", 0.75, True, "score", 0.75, 0.0, parts)
    >>> [(step.name, step.begin, step.end) for step in steps(one, "cosine")]
    [('base', 0.0, 0.0), ('b', 0.0, 0.5), ('a', 0.5, 0.75), ('sum', 0.0, 0.75)]
    """
    largest, rest = largest_and_rest(one, MOST_PARTS)
    found = [Step("base", number(one.base), 0.0, one.base, kind="total")]
    at = one.base
    for part in largest:
        note = part_note(part, metric)
        found.append(Step(part.name, signed(part.share), at, at + part.share, note, _side(part)))
        at += part.share
    if rest:
        share = sum(part.share for part in rest)
        note = "" if share else "no share"
        found.append(Step(f"{len(rest)} others", signed(share), at, at + share, note, "rest"))
    found.append(Step("sum", number(one.value), 0.0, one.value, kind="total"))
    return found


def _side(part: Part) -> str:
    """Return whether a part raises or lowers the score, as a CSS class."""
    return "for" if part.share > 0 else "against"


def waterfall(one: LabelExplanation, metric: str) -> Html:
    """Return the chart as an HTML table."""
    bars = steps(one, metric)
    low = min(0.0, *(min(bar.begin, bar.end) for bar in bars))
    high = max(0.0, *(max(bar.begin, bar.end) for bar in bars))
    span = (high - low) or 1.0
    head = element(
        "thead",
        element(
            "tr",
            element("th", "part", scope="col"),
            element("th", "share", scope="col"),
            element("th", "sum so far", scope="col", class_="bars"),
        ),
    )
    rows = [_row(bar, low, span) for bar in bars]
    return element("table", head, element("tbody", *rows), class_="waterfall")


def _row(bar: Step, low: float, span: float) -> Html:
    """Return one line of the table."""
    left = 100 * (min(bar.begin, bar.end) - low) / span
    width = max(100 * abs(bar.end - bar.begin) / span, 0.4)
    note = element("span", bar.note, class_="note") if bar.note else None
    return element(
        "tr",
        element("th", bar.name, note, scope="row"),
        element("td", bar.shown, class_="number"),
        element(
            "td",
            element(
                "span",
                class_="bar",
                style=f"margin-left:{min(left, 99.6):.2f}%;width:{width:.2f}%",
                title=f"{number(bar.begin)} to {number(bar.end)}",
            ),
            class_="bars",
        ),
        class_=class_names(bar.kind),
    )
