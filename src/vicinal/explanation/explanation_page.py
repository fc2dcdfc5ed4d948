"""Explanations as one self-contained HTML file, in light and dark mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from vicinal._core.html import Html, class_names, contents, document, element, together
from vicinal.explanation.terminal import (
    facts_line,
    largest_and_rest,
    measure_name,
    number,
    part_note,
    removal_sentences,
    signed,
    weights_of,
)
from vicinal.explanation.values import Explanation, LabelExplanation, Neighbor, Word

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
    """Return the bars of a label: the base, the largest parts, the others together, the sum."""
    largest, rest = largest_and_rest(one, MOST_PARTS)
    found = [Step("base", number(one.base), 0.0, one.base, kind="total")]
    at = one.base
    for part in largest:
        note = part_note(part, metric)
        side = "for" if part.share > 0 else "against"  # a CSS class
        found.append(Step(part.name, signed(part.share), at, at + part.share, note, side))
        at += part.share
    if rest:
        share = sum(part.share for part in rest)
        note = "" if share else "no share"
        found.append(Step(f"{len(rest)} others", signed(share), at, at + share, note, "rest"))
    found.append(Step("sum", number(one.value), 0.0, one.value, kind="total"))
    return found


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


STRENGTHS = 4
"""Number of shades; a word with less than an eighth of the largest weight is not marked."""


def marked(text: str, words: Sequence[Word], weights: Mapping[str, float]) -> Html:
    """Return the text as HTML; a word's weight is the sum over its features."""
    weighed = [(word, sum(weights.get(name, 0.0) for name in word.features)) for word in words]
    strongest = max((abs(weight) for _, weight in weighed), default=0.0)
    pieces: list[str] = []
    done = 0
    for word, weight in weighed:
        shade = round(STRENGTHS * abs(weight) / strongest) if strongest else 0
        if shade == 0 or word.start < done:
            continue
        side = "for" if weight > 0 else "against"
        pieces += [
            text[done : word.start],
            element(
                "mark", text[word.start : word.stop], class_=f"{side}-{shade}", title=signed(weight)
            ),
        ]
        done = word.stop
    return together(*pieces, text[done:])


POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Forbids browsers to load anything else for the page, whatever its texts contain."""
MOST_SHARED = 12
"""How many shared features of a neighbour to show."""


def explanations_page(explanations: Sequence[Explanation]) -> str:
    """Return an HTML document with one section per row; its text is deterministic."""
    title = "Why these labels"
    methods = ", ".join(sorted({one.method for one in explanations})) or "no method"
    count = "1 row" if len(explanations) == 1 else f"{len(explanations)} rows"
    lead = (
        f"{count}, {methods}. Each score is exactly its base plus the shares of its parts. "
        "Open a label to see its sum."
    )
    sections = [row_section(one, place) for place, one in enumerate(explanations)]
    links = {f"row-{place}": _row_title(one) for place, one in enumerate(explanations)}
    style = resources.files("vicinal.explanation").joinpath("page.css").read_text(encoding="utf-8")
    return document(
        title,
        style,
        POLICY,
        element("header", element("h1", title), element("p", lead)),
        contents(links, "Rows"),
        element("main", *sections),
    )


def _row_title(explanation: Explanation) -> str:
    """Return the title of a row."""
    return f"Row {explanation.row}"


def row_section(explanation: Explanation, place: int) -> Html:
    """Return the section of one row: its labels, then its neighbours."""
    chips = [element("li", label) for label in explanation.predicted]
    predicted = (
        element("ul", *chips, class_="chips", aria_label="Predicted labels")
        if chips
        else element("p", "No label is predicted.")
    )
    labels = [
        label_details(explanation, one, is_open=first == 0)
        for first, one in enumerate(explanation.labels)
    ]
    return element(
        "section",
        element("h2", _row_title(explanation)),
        predicted,
        element("h3", "Labels"),
        *labels,
        _neighbors(explanation),
        id=f"row-{place}",
    )


def label_details(explanation: Explanation, one: LabelExplanation, *, is_open: bool) -> Html:
    """Return the sum behind one score, and the text with its relevant words marked."""
    filled = 100 * min(max(one.score, 0.0), 1.0)
    meter = element("span", style=f"width:{filled:.2f}%")
    summary = element(
        "summary",
        element("span", one.label, class_="label"),
        element("span", number(one.score), class_="score"),
        element("span", meter, class_="meter", aria_hidden="true"),
        element("span", "predicted" if one.predicted else "not predicted", class_="state"),
    )
    text = None
    if explanation.text is not None:
        shown = marked(explanation.text, explanation.words, weights_of(one.highlights))
        text = together(
            element("h4", "Words that matter"), element("p", shown, class_="text", tabindex=0)
        )
    sentences = [element("li", sentence) for sentence in removal_sentences(one)]
    return element(
        "details",
        summary,
        text,
        element("h4", "The sum" if one.scale == "score" else "The sum, as log-odds"),
        waterfall(one, explanation.metric),
        element("p", facts_line(one), class_="facts") if one.facts else None,
        element("h4", "What if") if sentences else None,
        element("ul", *sentences) if sentences else None,
        open=is_open,
        class_="predicted" if one.predicted else None,
    )


def _neighbors(explanation: Explanation) -> Html | None:
    """Return the neighbours, each compared with the row."""
    if not explanation.neighbors:
        return None
    shown = [
        neighbor_details(explanation, neighbor, is_open=place == 0)
        for place, neighbor in enumerate(explanation.neighbors)
    ]
    return together(element("h3", "Neighbours"), *shown)


def neighbor_details(explanation: Explanation, neighbor: Neighbor, *, is_open: bool) -> Html:
    """Return one neighbour: its labels, and the features it shares with the row."""
    measure = f"{measure_name(explanation.metric)} {number(neighbor.value)}"
    summary = element(
        "summary",
        element("span", neighbor.name, class_="label"),
        element("span", measure, class_="score"),
        element("span", ", ".join(neighbor.labels) or "no labels", class_="state"),
    )
    return element(
        "details",
        summary,
        _side_by_side(explanation, neighbor),
        _shared(neighbor, explanation.metric),
        open=is_open,
    )


def _side_by_side(explanation: Explanation, neighbor: Neighbor) -> Html | None:
    """Return the two texts with their common words marked, if the neighbour's text is known."""
    if explanation.text is None or neighbor.text is None:
        return None
    weights = weights_of(neighbor.shared)

    def column(title: str, text: str, words: Sequence[Word]) -> Html:
        return element(
            "div",
            element("h4", title),
            element("p", marked(text, words, weights), class_="text", tabindex=0),
        )

    return element(
        "div",
        column(_row_title(explanation), explanation.text, explanation.words),
        column(neighbor.name, neighbor.text, neighbor.words),
        class_="pair",
    )


def _shared(neighbor: Neighbor, metric: str) -> Html:
    """Return the features that row and neighbour share, largest first."""
    if not neighbor.shared:
        return element("p", "No feature in common.")
    shown = neighbor.shared[:MOST_SHARED]
    chips = [
        element("li", part.name, " ", element("span", number(part.share), class_="amount"))
        for part in shown
    ]
    product = "dot product" if metric == "dot" else "cosine"
    more = len(neighbor.shared) - len(shown)
    rest = element("li", f"{more} more", class_="more") if more else None
    return together(
        element("h4", f"Features in common, with their terms in the {product}"),
        element("ul", *chips, rest, class_="chips", aria_label="Features in common"),
    )
