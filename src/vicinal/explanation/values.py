"""The explanation of a prediction, as named parts that add up to the score.

Explanations are immutable. They can be printed as tables (:mod:`vicinal.explanation.terminal`),
written as JSON (``to_dict``, ``to_json``) or as a web page
(:mod:`vicinal.explanation.explanation_page`), and converted to values of the ``shap`` package if
that is installed.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal._core.files import without_nan
from vicinal.errors import InvalidArgumentError, optional_module
from vicinal.explanation.breakdown import Fact, Scale

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True)
class Part:
    """One term of a sum.

    Parameters
    ----------
    kind : {"neighbor", "feature", "input"}
        What contributes: a training row, a feature, or an input of the mixture.
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
        Name of the training row, or its id.
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
        What contributes: a training row, a feature, or an input of the mixture.
    ids : tuple of int
        Row ids, or columns.
    names : tuple of str
        The neighbours or features that were removed.
    score : float
        The label's score without them.
    """

    kind: str
    ids: tuple[int, ...]
    names: tuple[str, ...]
    score: float


def plain(value: object) -> Any:
    """Return a value as JSON has it; a part, word or removal leaves out fields that are None."""
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value):
        found = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
        is_small = isinstance(value, Part | Word | Removal)
        return {name: x for name, x in found.items() if x is not None} if is_small else found
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class LabelExplanation:
    """The explanation of one row's score for one label: ``base + Σ share = value``.

    Parameters
    ----------
    label : str
        Name of the label.
    score : float
        The model's score.
    predicted : bool
        Whether the model predicts the label.
    scale : {"score", "log-odds"}
        Whether the parts add up to the score or to its log-odds.
    value : float
        The score on that scale.
    base : float
        The value before any part is added.
    parts : list of Part
        In the order of the sum: neighbours nearest first, features by column.
    facts : mapping
        Additional information: votes, prior, likelihoods, cluster, matching counts.
    highlights : list of Part
        How much each feature of the row contributes, largest first: its own share, plus each
        neighbour's share divided among the common features in proportion to their terms in the
        similarity.
    what_if : list of Removal or None
        The removals after which a predicted label is no longer predicted: every single neighbour or
        feature for which this holds, or else the smallest set found by removing the strongest
        first. None unless ``what_if=True``.
    """

    label: str
    score: float
    predicted: bool
    scale: Scale
    value: float
    base: float
    parts: list[Part]
    facts: Mapping[str, Fact] = field(default_factory=dict)
    highlights: list[Part] = field(default_factory=list)
    what_if: list[Removal] | None = None

    def __repr__(self) -> str:
        """Return label, score and number of parts only, because there may be many parts."""
        return f"LabelExplanation({self.label!r}, score={self.score:.4g}, {len(self.parts)} parts)"

    def largest(self, n: int) -> list[Part]:
        """Return the n parts with the largest absolute shares, largest first.

        Examples
        --------
        >>> parts = [Part("feature", name, share, i) for i, (name, share) in
        ...          enumerate([("a", 0.1), ("b", -0.4), ("c", 0.2)])]
        >>> one = LabelExplanation("x", 0.9, True, "score", 0.9, 1.0, parts)
        >>> [part.name for part in one.largest(2)]
        ['b', 'c']
        """
        return sorted(self.parts, key=lambda part: -abs(part.share))[:n]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        found: dict[str, Any] = plain(self)
        return found

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation`` with one feature per part (extra ``vicinal[shap]``)."""
        shap = optional_module("shap", "shap")
        values = [0.0 if part.value is None else part.value for part in self.parts]
        return shap.Explanation(
            values=np.array([part.share for part in self.parts]),
            base_values=self.base,
            data=np.array(values),
            feature_names=[f"{part.kind} {part.name}" for part in self.parts],
        )


@dataclass(frozen=True)
class Explanation:
    """The explanation of one row's labels.

    Parameters
    ----------
    row : str or int
        Name of the row, or its number among the explained rows.
    method : str
        Name of the estimator.
    metric : str
        The metric of the neighbours' values: ``"cosine"``, ``"dot"`` or ``"euclidean"``.
    predicted : tuple of str
        All labels that the model predicts.
    labels : list of LabelExplanation
        The requested labels, or the predicted and the best ones, best first.
    neighbors : list of Neighbor
        Nearest first.
    text : str or None
        The text of the row, if it is known.
    words : list of Word
        The words of the text that are features.
    """

    row: str | int
    method: str
    metric: str
    predicted: tuple[str, ...]
    labels: list[LabelExplanation]
    neighbors: list[Neighbor] = field(default_factory=list)
    text: str | None = None
    words: list[Word] = field(default_factory=list)

    def __repr__(self) -> str:
        """Return a summary on one line."""
        return (
            f"Explanation(row={self.row!r}, method={self.method!r}, "
            f"{len(self.labels)} labels, {len(self.neighbors)} neighbors)"
        )

    def __getitem__(self, label: str) -> LabelExplanation:
        """Return the explanation of a label by its name."""
        for one in self.labels:
            if one.label == label:
                return one
        names = ", ".join(repr(one.label) for one in self.labels)
        raise InvalidArgumentError("label", f"an explained label ({names})", repr(label))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        found: dict[str, Any] = plain(self)
        return found

    def to_json(self) -> str:
        """Return one JSON document on one line."""
        return json.dumps(without_nan(self.to_dict()), ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        return Explanations((self,)).to_html()

    def to_shap(self, label: str) -> Any:
        """Return the parts of one label as a ``shap.Explanation`` (extra ``vicinal[shap]``)."""
        return self[label].to_shap()

    def _repr_html_(self) -> str:
        """Show the explanation in a notebook."""
        return Explanations((self,))._repr_html_()

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Show the explanation in a terminal through ``rich``."""
        from vicinal.explanation.terminal import renderables

        yield from renderables(self)


class Explanations(tuple[Explanation, ...]):
    """Explanations of several rows: a tuple that can be shown and written to files."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return a summary on one line."""
        return f"Explanations of {len(self)} rows"

    def to_json(self) -> str:
        """Return one JSON array on one line."""
        rows = [one.to_dict() for one in self]
        return json.dumps(without_nan(rows), ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        from vicinal.explanation.explanation_page import explanations_page

        return explanations_page(self)

    def write_html(self, path: str | os.PathLike[str]) -> "Path":
        """Write :meth:`to_html` to a file and return its path."""
        from pathlib import Path

        target = Path(path)
        target.write_text(self.to_html(), encoding="utf-8", newline="\n")
        return target

    def _repr_html_(self) -> str:
        """Show the explanations in a notebook, in a frame that separates their style from its."""
        from vicinal._core.html import element

        return element(
            "iframe",
            srcdoc=self.to_html(),
            style="width:100%;height:40rem;border:0",
            title="Explanations",
        )
