"""An explanation as tables for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vicinal.distances import get_distance
from vicinal.explanation.values import Explanation, LabelExplanation, Part, Word

FACT_WORDS = {
    "votes": "votes",
    "neighbors": "neighbours",
    "neighbors_with_predicted_set": "neighbours with the predicted label set",
    "prior": "prior",
    "likelihood_with": "likelihood of the votes with the label",
    "likelihood_without": "and without it",
    "matching_with": "training rows with such votes and the label",
    "matching_without": "and without it",
    "cluster": "cluster",
    "cluster_rows": "training rows in the cluster",
    "features": "features of the row",
    "features_kept": "of them with a similarity to the label",
    "training_rows": "training rows with the label",
}


def number(value: float) -> str:
    """Return a number with four significant digits and a typographic minus sign."""
    return f"{value:.4g}".replace("-", "−")


def signed(value: float) -> str:
    """Return a number with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)


def facts_line(one: LabelExplanation) -> str:
    """Return the additional facts of a label on one line; empty if there are none."""
    return " · ".join(
        f"{FACT_WORDS.get(name, name.replace('_', ' '))}: "
        f"{number(value) if isinstance(value, float) else value}"
        for name, value in one.facts.items()
    )


def largest_and_rest(one: LabelExplanation, most: int) -> tuple[list[Part], list[Part]]:
    """Return the parts to show one by one, largest first, and those to sum up."""
    shown = [part for part in one.largest(most) if part.share != 0]
    chosen = {id(part) for part in shown}
    return shown, [part for part in one.parts if id(part) not in chosen]


def weights_of(features: Sequence[Part]) -> dict[str, float]:
    """Return the shares of features by name."""
    return {part.name: part.share for part in features}


def part_note(part: Part, metric: str) -> str:
    """Return the kind of a part and its value."""
    if part.kind == "neighbor":
        measure = "" if part.value is None else f"{measure_name(metric)} {number(part.value)}"
        note = "without the label" if part.has_label is False else ""
        if part.has_label and part.share < 0:
            note = "has the label but counts against it"
        return ", ".join(filter(None, ["neighbour", measure, note]))
    return part.kind if part.value is None else f"{part.kind}, value {number(part.value)}"


def measure_name(metric: str) -> str:
    """Return the word for a neighbour's value."""
    return "similarity" if get_distance(metric).is_similarity else "distance"


def removal_sentences(one: LabelExplanation) -> list[str]:
    """Return one sentence per removal after which the label is not predicted."""
    if one.what_if is None:
        return []
    if not one.what_if:
        return ["Still predicted without the neighbours or features that support it."]
    sentences = []
    for removal in one.what_if:
        word = "neighbour" if removal.kind == "neighbor" else "feature"
        *first, last = [f"“{name}”" for name in removal.names]
        listed = f"s {', '.join(first)} and {last}" if first else f" {last}"
        score = number(removal.score)
        sentences.append(f"Not predicted without the {word}{listed} (score {score}).")
    return sentences


MOST_PARTS = 10
"""How many parts of a label to show; the others are summed up in one line."""
MOST_SHARED = 6
"""How many shared features of a neighbour to show."""
MOST_NEIGHBORS = 8
"""How many neighbours to show, nearest first."""
MOST_CHARACTERS = 1200
"""How many characters of a text to show."""
BAR = 16
"""Width of the longest bar, in characters."""


def renderables(explanation: Explanation) -> Iterator[RenderableType]:
    """Yield the texts and tables that ``rich`` prints for an explanation."""
    predicted = ", ".join(explanation.predicted) or "(none)"
    yield Text(f"Row {explanation.row}", style="bold") + Text(
        f" · {explanation.method} predicts: {predicted}", style="not bold"
    )
    if explanation.text is not None and explanation.labels:
        first = explanation.labels[0]
        yield Text(f"Words that matter for {first.label}:", style="dim")
        yield marked_text(explanation.text, explanation.words, weights_of(first.highlights))
    for one in explanation.labels:
        yield label_table(one, explanation.metric)
        for sentence in removal_sentences(one):
            yield Text(f"  {sentence}")
    if explanation.neighbors:
        yield neighbors_table(explanation)


def label_table(one: LabelExplanation, metric: str) -> Table:
    """Return the sum behind one score, largest parts first."""
    mark = "predicted" if one.predicted else "not predicted"
    of_scale = "" if one.scale == "score" else f", log-odds {number(one.value)}"
    table = Table(
        title=Text(f"{one.label}: {number(one.score)}{of_scale} ({mark})"),
        title_justify="left",
        title_style="bold",
        header_style="bold",
        caption=Text(facts_line(one)) if one.facts else None,
        caption_justify="left",
    )
    table.add_column("part", overflow="fold")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold", style="dim")
    shown, rest = largest_and_rest(one, MOST_PARTS)
    longest = max((abs(part.share) for part in shown), default=1.0)
    table.add_row(Text("base"), number(one.base), "", "")
    for part in shown:
        style = "green" if part.share > 0 else "red"
        bar = Text("█" * max(1, round(BAR * abs(part.share) / longest)), style=style)
        share = Text(signed(part.share), style=style)
        table.add_row(Text(part.name), share, bar, Text(part_note(part, metric)))
    if rest:
        others = sum(part.share for part in rest)
        table.add_row(Text(f"{len(rest)} others"), signed(others), "", "")
    table.add_row(Text("sum", style="bold"), Text(number(one.value), style="bold"), "", "")
    return table


def neighbors_table(explanation: Explanation) -> Table:
    """Return the neighbours and the features that they share with the row."""
    shown = explanation.neighbors[:MOST_NEIGHBORS]
    title = "Neighbours"
    if len(shown) < len(explanation.neighbors):
        title = f"The nearest {len(shown)} of {len(explanation.neighbors)} neighbours"
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    table.add_column("row", overflow="fold")
    table.add_column(measure_name(explanation.metric), justify="right", no_wrap=True)
    table.add_column("labels", overflow="fold")
    table.add_column("in common", overflow="fold")
    for neighbor in shown:
        names = [part.name for part in neighbor.shared[:MOST_SHARED]]
        more = len(neighbor.shared) - len(names)
        shared = ", ".join(names) + (f" and {more} more" if more > 0 else "")
        table.add_row(
            Text(neighbor.name),
            number(neighbor.value),
            Text(", ".join(neighbor.labels)),
            Text(shared),
        )
    return table


def marked_text(text: str, words: Sequence[Word], weights: dict[str, float]) -> Text:
    """Return a text with its relevant words marked; a long text is cut."""
    shown = Text(text[:MOST_CHARACTERS] + ("…" if len(text) > MOST_CHARACTERS else ""))
    strongest = max(map(abs, weights.values()), default=0.0)
    for word in words:
        weight = sum(weights.get(name, 0.0) for name in word.features)
        if abs(weight) < strongest / 8 or weight == 0 or word.stop > MOST_CHARACTERS:
            continue
        colour = "green" if weight > 0 else "red"
        strength = "bold underline" if abs(weight) >= strongest / 2 else "underline"
        shown.stylize(f"{strength} {colour}", word.start, word.stop)
    return shown
