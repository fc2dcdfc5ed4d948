"""Models that read columns of several kinds: texts, numbers, dates and categories by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from vicinal.datasets import Reading
from vicinal.datasets.tables.content import content_of
from vicinal.datasets.tables.reading import Record, gather
from vicinal.errors import optional_module
from vicinal.methods.blend import Blend
from vicinal.methods.feature_views import Views
from vicinal.methods.frame_columns import FrameColumns


def frame_columns(model: Any) -> list[str] | None:
    """Return the columns of the frame that a model was fitted on; None for other models."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if isinstance(first, Views):
        first = first.transformers_[0]
    if isinstance(first, Blend):
        first = first._frame_columns()
    if isinstance(first, FrameColumns):
        return list(first.kinds_)
    # A table that was read for such a step has its columns by number.
    if isinstance(first, ColumnTransformer) and getattr(model, "reading_", None) is None:
        names = vars(first).get("feature_names_in_")
        return None if names is None else list(map(str, names))
    return None


@dataclass(frozen=True)
class ModelColumns:
    """The columns that a model reads, and the steps that turn them into features."""

    names: tuple[str, ...]
    steps: tuple[Any, ...]
    reading: Reading | None = None

    @classmethod
    def of(cls, model: Any) -> Self | None:
        """Return the columns of a model; None for those of texts, of numbers or of views."""
        steps = [step for _, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
        first = steps[0] if steps else model
        reading: Reading | None = getattr(model, "reading_", None)
        if reading is not None and isinstance(first, ColumnTransformer):
            return cls(reading.features, tuple(steps), reading)
        names = None if isinstance(first, Views) else frame_columns(model)
        if names is None:
            return None
        own = model.steps[-1][1] if isinstance(model, Pipeline) else model
        if not steps and isinstance(own, Blend):
            steps = [own._frame_columns()]
        return cls(tuple(names), tuple(steps))

    def features(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return rows, which map columns to cells, as the last step of the model takes them.

        Texts and categories may be absent; what else is missing raises what a table would raise.
        """
        X = self._table(rows)
        for step in self.steps:
            X = step.transform(X)
        return X

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        if self.reading is not None:
            blank = dict.fromkeys((*self.reading.text, *self.reading.categories), "")
            records = (Record({**blank, **row}, place) for place, row in enumerate(rows, 1))
            return content_of(gather("rows", records), self.reading, None, row_names=None).X
        return optional_module("pandas", "frames").DataFrame(
            [dict(row) for row in rows], columns=list(self.names)
        )
