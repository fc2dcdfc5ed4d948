"""Text that the terminal and the page share: numbers, names of parts, sentences on removals."""

from collections.abc import Sequence

from vicinal.distances import get_distance
from vicinal.explain.breakdown import Fact
from vicinal.explain.parts import Part, Removal
from vicinal.explain.values import LabelExplanation

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
    """Return a number with four significant digits and a typographic minus sign.

    Examples
    --------
    >>> number(0.123456), number(-2.5), number(0)
    ('0.1235', '−2.5', '0')
    """
    return f"{value:.4g}".replace("-", "−")


def signed(value: float) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> signed(0.25), signed(-0.25), signed(0.0)
    ('+0.25', '−0.25', '0')
    """
    return f"+{number(value)}" if value > 0 else number(value)


def facts_line(one: LabelExplanation) -> str:
    """Return the additional facts of a label on one line; empty if there are none.

    Examples
    --------
    >>> one = LabelExplanation("x", 0.5, True, "score", 0.5, 0.5, [], {"votes": 3, "prior": 0.25})
    >>> facts_line(one)
    'votes: 3 · prior: 0.25'
    """
    return " · ".join(
        f"{FACT_WORDS.get(name, name.replace('_', ' '))}: {_fact(value)}"
        for name, value in one.facts.items()
    )


def _fact(value: Fact) -> str:
    """Return a fact as text."""
    return number(value) if isinstance(value, float) else str(value)


def largest_and_rest(one: LabelExplanation, most: int) -> tuple[list[Part], list[Part]]:
    """Return the parts to show one by one, largest first, and those to sum up.

    Examples
    --------
    >>> parts = [Part("neighbor", name, share, 0) for name, share in [("a", 0.1), ("b", 0.4)]]
    >>> shown, rest = largest_and_rest(LabelExplanation("x", 0.5, True, "score", 0.5, 0, parts), 1)
    >>> [part.name for part in shown], [part.name for part in rest]
    (['b'], ['a'])
    """
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
        without = "without the label" if part.has_label is False else ""
        return ", ".join(filter(None, ["neighbour", measure, without]))
    return part.kind if part.value is None else f"{part.kind}, value {number(part.value)}"


def measure_name(metric: str) -> str:
    """Return the word for a neighbour's value."""
    return "similarity" if get_distance(metric).is_similarity else "distance"


def removal_sentences(one: LabelExplanation) -> list[str]:
    """Return one sentence per removal after which the label is not predicted.

    If there is none, one sentence says so; without ``what_if`` there is no sentence.

    Examples
    --------
    >>> removal = Removal("feature", (4, 7), ("buy", "bread"), 0.125)
    >>> one = LabelExplanation("x", 0.5, True, "score", 0.5, 0.5, [], what_if=[removal])
    >>> removal_sentences(one)
    ['Not predicted without the features “buy” and “bread” (score 0.125).']
    """
    if one.what_if is None:
        return []
    if not one.what_if:
        return ["Still predicted without the neighbours or features that support it."]
    return [
        f"Not predicted without {_kind(removal)} {_listed(removal.names)} "
        f"(score {number(removal.score)})."
        for removal in one.what_if
    ]


def _kind(removal: Removal) -> str:
    """Return the word for what is removed, in singular or plural."""
    word = "neighbour" if removal.kind == "neighbor" else "feature"
    return f"the {word}" if len(removal.names) == 1 else f"the {word}s"


def _listed(names: tuple[str, ...]) -> str:
    """Return names in quotation marks, with commas and "and"."""
    quoted = [f"“{name}”" for name in names]
    return " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
