"""An explanation as tables for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vicinal.explain.parts import Part, Word
from vicinal.explain.values import Explanation, LabelExplanation
from vicinal.explain.wording import (
    facts_line,
    largest_and_rest,
    measure_name,
    number,
    part_note,
    removal_sentences,
    signed,
    weights_of,
)

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
        share = Text(signed(part.share), style="green" if part.share > 0 else "red")
        table.add_row(Text(part.name), share, _bar(part, longest), Text(part_note(part, metric)))
    if rest:
        others = sum(part.share for part in rest)
        table.add_row(Text(f"{len(rest)} others"), signed(others), "", "")
    table.add_row(Text("sum", style="bold"), Text(number(one.value), style="bold"), "", "")
    return table


def _bar(part: Part, longest: float) -> Text:
    """Return a bar whose length is proportional to the share."""
    length = max(1, round(BAR * abs(part.share) / longest))
    return Text("█" * length, style="green" if part.share > 0 else "red")


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
