"""What the person who starts the service says about a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class About:
    """Example texts, metrics and names of the labels of one model.

    Parameters
    ----------
    examples : sequence of (title, text)
        Texts to try on the page; by default, words of a few training rows.
    metrics : mapping or None
        Metrics of the last evaluation.
    vocabulary : mapping
        For the Annif dialect: label name → (label in words, notation).
    """

    examples: Sequence[tuple[str, str]] = ()
    metrics: Mapping[str, float | None] | None = None
    vocabulary: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
