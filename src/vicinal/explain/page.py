"""Explanations as one self-contained HTML file, in light and dark mode."""

from collections.abc import Sequence
from importlib import resources

from vicinal._base.markup import Html, element, together
from vicinal.explain.marked import marked
from vicinal.explain.parts import Neighbor, Word
from vicinal.explain.values import Explanation, LabelExplanation
from vicinal.explain.waterfall import waterfall
from vicinal.explain.wording import facts_line, measure_name, number, removal_sentences, weights_of

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Forbids browsers to load anything else for the page, whatever its texts contain."""
MOST_SHARED = 12
"""How many shared features of a neighbour to show."""


def explanations_page(explanations: Sequence[Explanation]) -> str:
    """Return an HTML document with one section per row; its text is deterministic."""
    title = "Why these labels"
    sections = [row_section(one, place) for place, one in enumerate(explanations)]
    contents = [
        element("li", element("a", _row_title(one), href=f"#row-{place}"))
        for place, one in enumerate(explanations)
    ]
    navigation = (
        element("nav", element("ul", *contents), aria_label="Rows") if len(contents) > 1 else None
    )
    body = element(
        "body",
        element("header", element("h1", title), element("p", _lead(explanations))),
        navigation,
        element("main", *sections),
    )
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def _head(title: str) -> Html:
    """Return the ``head`` element: title, content policy, style."""
    style = resources.files("vicinal.explain").joinpath("page.css").read_text(encoding="utf-8")
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(style)),
    )


def _lead(explanations: Sequence[Explanation]) -> str:
    """Return the introductory sentences."""
    methods = ", ".join(sorted({one.method for one in explanations}))
    rows = "1 row" if len(explanations) == 1 else f"{len(explanations)} rows"
    return (
        f"{rows}, {methods or 'no method'}. Each score is exactly its base plus the shares of its "
        "parts. Open a label to see its sum."
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
    summary = element(
        "summary",
        element("span", one.label, class_="label"),
        element("span", number(one.score), class_="score"),
        element("span", _meter(one.score), class_="meter", aria_hidden="true"),
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


def _meter(score: float) -> Html:
    """Return a bar whose length is the score, from 0 to 1."""
    width = 100 * min(max(score, 0.0), 1.0)
    return element("span", style=f"width:{width:.2f}%")


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
