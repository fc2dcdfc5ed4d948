"""The components of explanations: parts of a sum, words of a text, neighbours, removals."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Part:
    """One term of a sum.

    Parameters
    ----------
    kind : {"neighbor", "feature", "input"}
    name : str
        Name of the training row, of the feature, or of a mixture's input.
    share : float
        What it adds to the score, on the scale of the explanation.
    id : int
        Row id, column, or number of the input.
    value : float or None
        Similarity or distance of a neighbour; the feature's value in the row.
    has_label : bool or None
        Whether a neighbour has the label.
    """

    kind: str
    name: str
    share: float
    id: int
    value: float | None = None
    has_label: bool | None = None


@dataclass(frozen=True)
class Word:
    """A word of a text: its position, and the features that contain it.

    Parameters
    ----------
    start, stop : int
        Positions in the original text; `stop` is excluded.
    features : tuple of str
        Names of the features (the word itself, and n-grams that contain it).
    """

    start: int
    stop: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class Neighbor:
    """A neighbour of the explained row.

    Parameters
    ----------
    id : int
        Row id, as in ``row_ids_``.
    name : str
    value : float
        Similarity, or distance if the metric is Euclidean.
    labels : tuple of str
        Its labels.
    shared : list of Part
        Features that both rows have, largest first, each with its term in the cosine,
        :math:`x_f y_f / (|x| |y|)`, or in the dot product, :math:`x_f y_f`, if that is the metric.
        The terms add up to the similarity.
    text : str or None
        Its text, if the texts of the training rows were given.
    words : list of Word
        The words of that text that are features.
    """

    id: int
    name: str
    value: float
    labels: tuple[str, ...]
    shared: list[Part] = field(default_factory=list)
    text: str | None = None
    words: list[Word] = field(default_factory=list)


@dataclass(frozen=True)
class Removal:
    """Neighbours or features without which a label is not predicted, found by recomputation.

    Parameters
    ----------
    kind : {"neighbor", "feature"}
    ids : tuple of int
        Row ids, or columns.
    names : tuple of str
    score : float
        The label's score without them.
    """

    kind: str
    ids: tuple[int, ...]
    names: tuple[str, ...]
    score: float


def plain(value: Part | Word | Removal) -> dict[str, Any]:
    """Return a component as a dictionary for JSON; fields that are None are left out."""
    fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
    return {
        name: list(each) if isinstance(each, tuple) else each
        for name, each in fields.items()
        if each is not None
    }


def plain_neighbor(neighbor: Neighbor) -> dict[str, Any]:
    """Return a neighbour as plain values."""
    return {
        "id": neighbor.id,
        "name": neighbor.name,
        "value": neighbor.value,
        "labels": list(neighbor.labels),
        "shared": [plain(part) for part in neighbor.shared],
        "text": neighbor.text,
        "words": [plain(word) for word in neighbor.words],
    }
