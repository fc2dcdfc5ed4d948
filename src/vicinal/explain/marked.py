"""Mark the words of a text in shades that show how much they contribute."""

from collections.abc import Mapping, Sequence

from vicinal._base.markup import Html, element, together
from vicinal.explain.parts import Word
from vicinal.explain.wording import signed

STRENGTHS = 4
"""Number of shades; a word with less than an eighth of the largest weight is not marked."""


def marked(text: str, words: Sequence[Word], weights: Mapping[str, float]) -> Html:
    """Return the text as HTML; a word's weight is the sum over its features.

    Examples
    --------
    >>> words = [Word(0, 3, ("row",)), Word(4, 8, ("boat",))]
    >>> marked("row boat", words, {"boat": 0.5})
    'row <mark class="for-4" title="+0.5">boat</mark>'
    """
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
