"""Where the words of a document stand, as the vectorizer takes it apart."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple


class WordPlace(NamedTuple):
    """A word of a document that is part of at least one column.

    Parameters
    ----------
    start, stop : int
        Places in the document as it stands, the second excluded.
    columns : tuple of int
        The word's own column and those of the runs of words that contain it, rising.
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
    """Return the words of a document that are in the vocabulary, alone or within a run of words.

    Parameters
    ----------
    document : str
    pattern : str
        What a word is, in the document in lower case.
    stop_words : collection of str
        Left out before runs of words are formed.
    ngram_range : (int, int)
        Fewest and most words of a run.
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
    """Return, for each character of the document in lower case, where it stood before.

    A character may become several in lower case (``İ``), so that places move.
    """
    if len(lowered) == len(document):
        return range(len(document))
    lengths = [len(character.lower()) for character in document]
    return [place for place, length in enumerate(lengths) for _ in range(length)]
