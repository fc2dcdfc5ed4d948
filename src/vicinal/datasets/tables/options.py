"""Options that describe a table; those that are not given are guessed."""

from collections.abc import Sequence
from dataclasses import dataclass

from vicinal._base.errors import InvalidArgumentError
from vicinal.datasets.files import DEFAULT_MAX_BYTES


@dataclass(frozen=True)
class TableOptions:
    """How to read a table. Options that are None are guessed from the content.

    Parameters
    ----------
    text : sequence of str or None
        Columns of text, joined by line breaks.
    labels : str or None
        Column of the labels.
    label_columns : sequence of str or None
        Columns of 0 and 1, one per label; ``"first:last"`` for a range of columns.
    feature_columns : sequence of str or None
        Columns of numbers, categories or texts to learn from; ranges as above.
    row_names : str or None
        Column of the row names.
    separator : str or None
        Separator of the labels in a cell; ``""`` if a cell is one label.
    encoding : str or None
        Any encoding that Python supports.
    delimiter : str or None
        Delimiter of the cells of a CSV file.
    columns : sequence of str or None
        Names of the columns of a CSV file without a header.
    quoting : bool
        Whether quotes in a CSV file enclose cells; False treats them as ordinary characters.
    max_bytes : int
        Maximum size of the file in bytes after unpacking.
    """

    text: Sequence[str] | None = None
    labels: str | None = None
    label_columns: Sequence[str] | None = None
    feature_columns: Sequence[str] | None = None
    row_names: str | None = None
    separator: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    columns: Sequence[str] | None = None
    quoting: bool = True
    max_bytes: int = DEFAULT_MAX_BYTES

    def __post_init__(self) -> None:
        """Check the options as far as possible without the file."""
        for name in ("text", "label_columns", "feature_columns"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, str) or not len(value)):
                raise InvalidArgumentError(name, "one or more column names", repr(value))
        if self.labels is not None and self.label_columns is not None:
            raise InvalidArgumentError("label_columns", "None if labels is given", self.labels)
        if self.text is not None and self.feature_columns is not None:
            raise InvalidArgumentError("feature_columns", "None if text is given", [*self.text])
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise InvalidArgumentError("delimiter", "one character", repr(self.delimiter))
        if self.encoding is not None:
            _check_encoding(self.encoding)


def _check_encoding(encoding: str) -> None:
    """Raise unless Python supports the encoding for text."""
    try:
        "a".encode(encoding)
    except (LookupError, ValueError):
        raise InvalidArgumentError(
            "encoding", "an encoding such as utf-8, utf-16, cp1252 or latin-1", repr(encoding)
        ) from None
