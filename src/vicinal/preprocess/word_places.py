"""Positions of the words in a document that a vectorizer uses as features."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple


class WordPlace(NamedTuple):
    """A word of a document that is part of at least one column.

    Parameters
    ----------
    start, stop : int
        Positions in the original document; `stop` is excluded.
    columns : tuple of int
        The columns of the word and of the n-grams that contain it, in increasing order.
    """

    start: int
    stop: int
    columns: tuple[int, ...]


def word_places(
    document: str,
    pattern: str,
    stop_words: Collection[str],
    ngram_range: tuple[int, int],
    vocabulary: Mapping[str, int],
) -> list[WordPlace]:
    """Return the words of a document that are in the vocabulary, alone or in an n-gram.

    Parameters
    ----------
    document : str
    pattern : str
        Regular expression of a word in the lower-case document.
    stop_words : collection of str
        Removed before n-grams are formed.
    ngram_range : (int, int)
        Smallest and largest length of n-grams.
    vocabulary : mapping of str to int

    Examples
    --------
    >>> vocabulary = {"row": 0, "row boat": 1, "a": 2}
    >>> word_places("Row the BOAT!", "[a-z]+", {"the"}, (1, 2), vocabulary)
    [WordPlace(start=0, stop=3, columns=(0, 1)), WordPlace(start=8, stop=12, columns=(1,))]
    """
    lowered = document.lower()
    original = _original_places(document, lowered)
    found = [match for match in re.finditer(pattern, lowered) if match[0] not in stop_words]
    columns: list[set[int]] = [set() for _ in found]
    for size in range(ngram_range[0], ngram_range[1] + 1):
        for first in range(len(found) - size + 1):
            run = found[first : first + size]
            column = vocabulary.get(" ".join(match[0] for match in run))
            if column is not None:
                for place in range(first, first + size):
                    columns[place].add(column)
    return [
        WordPlace(original[match.start()], original[match.end() - 1] + 1, tuple(sorted(of_word)))
        for match, of_word in zip(found, columns, strict=True)
        if of_word
    ]


def _original_places(document: str, lowered: str) -> list[int] | range:
    """Return the original position of each character of the lower-case document.

    They differ because one character may become several in lower case (``İ``).
    """
    if len(lowered) == len(document):
        return range(len(document))
    lengths = [len(character.lower()) for character in document]
    return [place for place, length in enumerate(lengths) for _ in range(length)]
