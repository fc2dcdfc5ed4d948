"""Options that say how to read a data file, the same on every command that reads one.

A command with :func:`reads_tables` gets these options on its command line and their values as one
argument, ``table``. Nothing here loads more than Typer.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from vicinal._base.errors import InvalidArgumentError

PANEL = "Tables (CSV, TSV, JSON, Parquet) and other data files"
SEPARATORS = {"tab": "\t", "space": " ", "newline": "\n", "comma": ",", "none": ""}
"""Words for separators that are hard to type."""


def _option(*names: str, text: str) -> Any:
    """Return an option of the panel."""
    return typer.Option(*names, help=text, rich_help_panel=PANEL)


@dataclass(frozen=True)
class TableChoice:
    """What the command line says about a data file; None leaves the choice to its content."""

    text: Annotated[str | None, _option("--text", text="Columns of text, by commas.")] = None
    labels: Annotated[
        str | None, _option("--labels", text="Column of the labels, such as tags.")
    ] = None
    label_columns: Annotated[
        str | None,
        _option("--label-columns", text="Columns of 0 and 1, one per label: a,b or first:last."),
    ] = None
    feature_columns: Annotated[
        str | None,
        _option(
            "--feature-columns",
            text="Columns of numbers, categories and texts to learn from: a,b or first:last.",
        ),
    ] = None
    row_names: Annotated[str | None, _option("--row-names", text="Column of the row names.")] = None
    separator: Annotated[
        str | None,
        _option(
            "--separator", text="What separates the labels in a cell; tab, space, newline, none."
        ),
    ] = None
    encoding: Annotated[
        str | None, _option("--encoding", text="utf-8, utf-16, cp1252, latin-1, …")
    ] = None
    delimiter: Annotated[
        str | None, _option("--delimiter", text="What separates the cells of a CSV file.")
    ] = None
    tokens: Annotated[
        str, _option("--tokens", text="Words of texts: unicode (every script), or ascii.")
    ] = "unicode"
    ngrams: Annotated[
        int, _option("--ngrams", text="Most words in a row that make a feature: 2 adds pairs.")
    ] = 1
    min_df: Annotated[
        int, _option("--min-df", text="Keep words that are in at least so many texts.")
    ] = 1
    stop_words: Annotated[
        str | None, _option("--stop-words", text="english, or a file with one word per line.")
    ] = None
    xml: Annotated[
        Path | None, _option("--xml", text="XML file that names the labels of an ARFF file.")
    ] = None
    label_count: Annotated[
        int | None,
        _option(
            "--label-count",
            text="How many attributes of an ARFF file are labels: the first n, or the last for -n.",
        ),
    ] = None

    def separator_sign(self) -> str | None:
        """Return the separator itself, for a word such as ``tab``."""
        given = self.separator
        return None if given is None else SEPARATORS.get(given, given)

    def delimiter_sign(self) -> str | None:
        """Return the delimiter itself, for a word such as ``tab``."""
        given = self.delimiter
        return None if given is None else SEPARATORS.get(given, given)

    def column_list(self, name: str) -> list[str] | None:
        """Return the columns that an option lists by commas."""
        given: str | None = getattr(self, name)
        if given is None:
            return None
        columns = [column.strip() for column in given.split(",") if column.strip()]
        if not columns:
            option = "--" + name.replace("_", "-")
            raise InvalidArgumentError(option, "names of columns, by commas", repr(given))
        return columns


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`TableChoice`, passed to it as ``table``.

    Examples
    --------
    >>> @reads_tables
    ... def show(data: str, *, table: TableChoice) -> None:
    ...     print(data, table.separator)
    >>> show("x.csv", separator=";")
    x.csv ;
    """
    own = inspect.signature(command, eval_str=True)
    names = [field.name for field in fields(TableChoice)]
    annotations = inspect.get_annotations(TableChoice, eval_str=True)
    extra = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=annotations[field.name],
        )
        for field in fields(TableChoice)
    ]
    kept = [each for each in own.parameters.values() if each.name != "table"]

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in names if name in given}
        command(*args, **given, table=TableChoice(**chosen))

    described: Any = wrapped
    described.__signature__ = own.replace(parameters=[*kept, *extra])
    described.__annotations__ = {each.name: each.annotation for each in [*kept, *extra]}
    return wrapped
