"""The meaning of a table's columns: texts, features and labels. Saved with a model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State, read_names
from vicinal.datasets.tables.options import TableOptions


@dataclass(frozen=True)
class Reading:
    """The meaning of the columns of a table.

    Parameters
    ----------
    text : tuple of str
        Columns of text.
    numbers, categories : tuple of str
        Further columns to learn from.
    labels : str or None
        Column of label names.
    label_columns : tuple of str
        Columns of 0 and 1, one per label.
    separator : str or None
        Separator of the labels in a cell; ``""`` if a cell is one label or a list.
    row_names : str or None
    decimal : str
        Decimal sign of the numbers.
    encoding, delimiter : str or None
        Those of the file that was read; tried first for the next file.
    """

    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: str | None = None
    label_columns: tuple[str, ...] = ()
    separator: str | None = None
    row_names: str | None = None
    decimal: str = "."
    encoding: str | None = None
    delimiter: str | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """All columns to learn from, texts first."""
        return self.text + self.numbers + self.categories

    @property
    def reads_text_only(self) -> bool:
        """Whether rows consist of texts only."""
        return not self.numbers and not self.categories

    def for_options(self, options: TableOptions) -> Self:
        """Return the reading for another file, with `options` taking precedence."""
        features = options.feature_columns
        if features is not None and sorted(features) != sorted(self.features):
            expected = f"the columns that the model learned from ({', '.join(self.features)})"
            raise InvalidArgumentError("feature_columns", expected, ", ".join(features))
        one, many = options.labels, options.label_columns
        given = one is not None or many is not None
        return replace(
            self,
            text=self.text if options.text is None else tuple(options.text),
            labels=one if given else self.labels,
            label_columns=tuple(many or ()) if given else self.label_columns,
            separator=self.separator if options.separator is None else options.separator,
            row_names=self.row_names if options.row_names is None else options.row_names,
        )

    def get_state(self) -> dict[str, State]:
        """Return the fields as plain values."""
        return {
            "text": list(self.text),
            "numbers": list(self.numbers),
            "categories": list(self.categories),
            "labels": self.labels,
            "label_columns": list(self.label_columns),
            "separator": self.separator,
            "row_names": self.row_names,
            "decimal": self.decimal,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        found = cls(
            read_names(state, "text"),
            read_names(state, "numbers"),
            read_names(state, "categories"),
            _word(state, "labels"),
            read_names(state, "label_columns"),
            _word(state, "separator"),
            _word(state, "row_names"),
            _word(state, "decimal") or ".",
            _word(state, "encoding"),
            _word(state, "delimiter"),
        )
        if not found.features:
            raise ModelFormatError("reading: expected columns to learn from, got none")
        if found.decimal not in (".", ","):
            raise ModelFormatError(f"decimal: expected a point or a comma, got {found.decimal!r}")
        return found


def _word(state: Mapping[str, State], key: str) -> str | None:
    """Return a string or None."""
    value = state.get(key)
    if value is None or isinstance(value, str):
        return value
    raise ModelFormatError(f"{key}: expected text or null, got {type(value).__name__}")
