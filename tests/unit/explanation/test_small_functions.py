"""Examples of functions that other tests reach only on the way."""

from vicinal.explanation.terminal import facts_line, largest_and_rest, part_note, removal_sentences
from vicinal.explanation.values import LabelExplanation, Part, Removal


def test_facts_line():
    one = LabelExplanation("x", 0.5, True, "score", 0.5, 0.5, [], {"votes": 3, "prior": 0.25})
    assert facts_line(one) == "votes: 3 · prior: 0.25"


def test_largest_and_rest():
    parts = [Part("neighbor", name, share, 0) for name, share in [("a", 0.1), ("b", 0.4)]]
    shown, rest = largest_and_rest(LabelExplanation("x", 0.5, True, "score", 0.5, 0, parts), 1)
    assert ([part.name for part in shown], [part.name for part in rest]) == (["b"], ["a"])


def test_part_note():
    assert (
        part_note(Part("neighbor", "row 3", -0.125, 3, 0.5, has_label=True), "cosine")
        == "neighbour, similarity 0.5, has the label but counts against it"
    )


def test_removal_sentences():
    removal = Removal("feature", (4, 7), ("buy", "bread"), 0.125)
    one = LabelExplanation("x", 0.5, True, "score", 0.5, 0.5, [], what_if=[removal])
    assert removal_sentences(one) == [
        "Not predicted without the features “buy” and “bread” (score 0.125)."
    ]
