"""Arguments and options that several commands share; this module imports only Typer.

The help texts list methods and steps without loading the packages that define them; a test checks
that the lists are complete.

A command decorated with :func:`reads_tables` has these options, and gets their values as one
argument, ``table``. This module imports only Typer.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import vicinal
from vicinal.errors import InvalidArgumentError

BASELINE_NAMES = ("adtboost", "br-svm", "boostexter", "frequency", "rank-svm")
"""Baselines that ``vicinal compare`` accepts besides the methods."""
STEPS = ("minmax", "binary", "tfidf", "bm25", "unit")
"""The steps that ``--preprocess`` accepts."""


def command_name(estimator: str) -> str:
    """Return the name of an estimator class on the command line."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", estimator.replace("kNN", "knn")).lower()


METHODS = ", ".join(sorted(map(command_name, vicinal.estimator_names())))

DataArgument = Annotated[
    str, typer.Argument(help="A name from `vicinal data list`, or a file.", metavar="DATA")
]
ModelArgument = Annotated[
    Path, typer.Argument(help="File of a saved model.", metavar="MODEL", exists=True)
]
MethodOption = Annotated[
    str, typer.Option(help=f"One of: {METHODS}; or module:Class for your own class.")
]
ImportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        help="Module to import first, for methods defined outside vicinal; repeatable.",
    ),
]
PreprocessOption = Annotated[
    str,
    typer.Option(
        help=f"Steps separated by commas: {', '.join(STEPS)}; or none; auto: minmax if dense."
    ),
]
RowsOption = Annotated[
    str,
    typer.Option(help="Rows to use: train, test or all; auto: the train/test split, else all."),
]


PANEL = "Tables (CSV, TSV, JSON, Parquet, spreadsheets) and other data files"
SEPARATORS = {"tab": "\t", "space": " ", "newline": "\n", "comma": ",", "none": ""}
"""Names for separators that are hard to type."""


def _option(*names: str, text: str) -> Any:
    """Return an option in the panel of the help text."""
    return typer.Option(*names, help=text, rich_help_panel=PANEL)


@dataclass(frozen=True)
class TableChoice:
    """How to read a data file; what is None is inferred from the file's content."""

    text: Annotated[str | None, _option("--text", text="Columns of text, separated by commas.")] = (
        None
    )
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
            "--separator",
            text="Separator of the labels in a cell, such as ;, tab, space, newline or none.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _option("--encoding", text="Encoding of the file: utf-8, utf-16, cp1252, latin-1, …"),
    ] = None
    delimiter: Annotated[
        str | None, _option("--delimiter", text="Separator of the cells of a CSV file.")
    ] = None
    columns: Annotated[
        str | None,
        _option("--columns", text="Names of the columns of a CSV file without a header: a,b."),
    ] = None
    quotes: Annotated[
        bool | None,
        _option(
            "--quotes/--no-quotes",
            text="Whether quotes enclose cells of a CSV file, or are characters like others.",
        ),
    ] = None
    sheet: Annotated[
        str | None, _option("--sheet", text="Sheet of a spreadsheet; by default the first.")
    ] = None
    language: Annotated[
        str,
        _option(
            "--language",
            text="Language of the texts, such as fi: words become lemmas. auto guesses it, none "
            "leaves words as they are.",
        ),
    ] = "auto"
    characters: Annotated[
        bool,
        _option("--characters", text="Use parts of long words too, five characters each."),
    ] = False
    tokens: Annotated[
        str, _option("--tokens", text="Which words to find: unicode (every script), or ascii.")
    ] = "unicode"
    ngrams: Annotated[
        int, _option("--ngrams", text="Longest n-grams of words to use as features: 2 adds pairs.")
    ] = 1
    min_df: Annotated[int, _option("--min-df", text="Ignore words that occur in fewer texts.")] = 1
    stop_words: Annotated[
        str | None,
        _option("--stop-words", text="Words to ignore: english, or a file with one word per line."),
    ] = None
    vectors: Annotated[
        Path | None,
        _option(
            "--vectors",
            text="A vector for each row of DATA, in its order: .npy, .npz or .parquet.",
        ),
    ] = None
    vocabulary: Annotated[
        Path | None,
        _option("--vocabulary", text="Names of the labels: .tsv, .csv, .json, or SKOS."),
    ] = None
    names_in: Annotated[
        str | None,
        _option("--names-in", text="Language of the names of labels, such as fi."),
    ] = None
    xml: Annotated[
        Path | None, _option("--xml", text="XML file with the label names of an ARFF file.")
    ] = None
    label_count: Annotated[
        int | None,
        _option(
            "--label-count",
            text="Number of label attributes in an ARFF file: n for the first n, -n for the last.",
        ),
    ] = None

    def separator_sign(self) -> str | None:
        """Return the separator as a character, also for a name such as ``tab``."""
        given = self.separator
        return None if given is None else SEPARATORS.get(given, given)

    def delimiter_sign(self) -> str | None:
        """Return the delimiter as a character, also for a name such as ``tab``."""
        given = self.delimiter
        return None if given is None else SEPARATORS.get(given, given)

    def column_list(self, name: str) -> list[str] | None:
        """Return the columns that an option lists."""
        given: str | None = getattr(self, name)
        if given is None:
            return None
        columns = [column.strip() for column in given.split(",") if column.strip()]
        if not columns:
            option = "--" + name.replace("_", "-")
            raise InvalidArgumentError(option, "column names separated by commas", repr(given))
        return columns


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of :class:`TableChoice` to a command, which gets them as ``table``."""
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


def import_modules(modules: Sequence[str] | None, names: Sequence[str] = ()) -> None:
    """Import modules, and let `names` be found as ``module:variable`` in the current folder.

    The folder is searched last, so that it hides no other module.
    """
    here = str(Path.cwd())
    if (modules or any(":" in name for name in names)) and here not in sys.path:
        sys.path.append(here)
    for module in modules or ():
        try:
            import_module(module)
        except (ImportError, SyntaxError, ValueError) as error:
            expected = f"a module that can be imported ({error})"
            raise InvalidArgumentError("--import", expected, repr(module)) from error
