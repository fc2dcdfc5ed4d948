"""Arguments and options that several commands share.

The help texts list methods and steps without loading the packages that define them; a test checks
that the lists are complete.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import vicinal
from vicinal.cli.output import JsonFlag
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
ModelArgument = Annotated[Path, typer.Argument(help="File of a saved model.", metavar="MODEL")]
FileArgument = Annotated[str, typer.Argument(help="A data file, or a data set by name.")]
PreprocessOption = Annotated[
    str,
    typer.Option(
        help=f"Steps separated by commas: {', '.join(STEPS)}; or none; auto: minmax if dense."
    ),
]
RowsOption = Annotated[
    str, typer.Option(help="Rows to use: train, test or all; auto: the train/test split, else all.")
]
StoreOption = Annotated[
    Path | None, typer.Option(help="Results file; an interrupted run resumes from it.")
]
RerunOption = Annotated[
    bool, typer.Option("--rerun", help="Compute everything again, also what --store contains.")
]


class OptionGroup:
    """Options that a command gets as one value: the annotated attributes of a subclass."""

    def __init__(self, chosen: Mapping[str, Any]) -> None:
        vars(self).update(chosen)

    @classmethod
    def options(cls) -> dict[str, tuple[Any, Any]]:
        """Return the type and the default of each option, those that are common last."""
        kinds = {n: kind for base in cls.__mro__ for n, kind in _kinds(base).items()}
        return {name: (kind, getattr(cls, name)) for name, kind in kinds.items()}


def _kinds(group: type) -> dict[str, Any]:
    return inspect.get_annotations(group, eval_str=True)


def option(text: str, *names: str, default: Any = None, **facts: Any) -> Any:
    """Return an option of a group."""
    return typer.Option(default, *names, help=text, **facts)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let the options of each group among the parameters of a command be options of its own."""
    own = inspect.signature(command, eval_str=True)
    groups = {
        name: each.annotation
        for name, each in own.parameters.items()
        if isinstance(each.annotation, type) and issubclass(each.annotation, OptionGroup)
    }
    kept = [each for name, each in own.parameters.items() if name not in groups]
    for group in groups.values():
        for name, (kind, default) in group.options().items():
            kept.append(inspect.Parameter(name, KEYWORD_ONLY, default=default, annotation=kind))

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> None:
        for name, group in groups.items():
            chosen = {
                each: given.pop(each, getattr(default, "default", default))
                for each, (_, default) in group.options().items()
            }
            given[name] = group(chosen)
        command(*args, **given)

    described: Any = wrapped
    described.__signature__ = own.replace(parameters=kept)
    described.__annotations__ = {each.name: each.annotation for each in kept}
    return wrapped


class CommonOptions(OptionGroup):
    """Options of most commands."""

    imports: list[str] | None = option(
        "Module to import first, for methods defined outside vicinal; repeatable.", "--import"
    )
    json: JsonFlag = False

    def import_modules(self, names: Sequence[str] = ()) -> None:
        """Import modules, and let `names` be found as ``module:variable``, here last of all."""
        here = str(Path.cwd())
        modules = self.imports or []
        if (modules or any(":" in name for name in names)) and here not in sys.path:
            sys.path.append(here)
        for module in modules:
            try:
                import_module(module)
            except (ImportError, SyntaxError, ValueError) as error:
                expected = f"a module that can be imported ({error})"
                raise InvalidArgumentError("--import", expected, repr(module)) from error


KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
PANEL = "Tables (CSV, TSV, JSON, Parquet, spreadsheets) and other data files"
SEPARATORS = {"tab": "\t", "space": " ", "newline": "\n", "comma": ",", "none": ""}
"""Names for separators that are hard to type."""
_table_option = functools.partial(option, rich_help_panel=PANEL)


class TableChoice(OptionGroup):
    """How to read a data file; what is None is inferred from the file's content."""

    text: str | None = _table_option("Columns of text, separated by commas.")
    labels: str | None = _table_option(
        "Columns of the labels, such as tags; several separated by commas."
    )
    label_columns: str | None = _table_option(
        "Columns of 0 and 1, one per label: a,b or first:last."
    )
    feature_columns: str | None = _table_option(
        "Columns of numbers, categories and texts to learn from: a,b or first:last."
    )
    row_names: str | None = _table_option("Column of the row names.")
    separator: str | None = _table_option(
        "Separator of the labels in a cell, such as ;, tab, space, newline or none."
    )
    encoding: str | None = _table_option("Encoding of the file: utf-8, utf-16, cp1252, latin-1, …")
    delimiter: str | None = _table_option("Separator of the cells of a CSV file.")
    columns: str | None = _table_option("Names of the columns of a CSV file without a header: a,b.")
    quotes: bool | None = _table_option(
        "Whether quotes enclose cells of a CSV file, or are characters like others.",
        "--quotes/--no-quotes",
    )
    sheet: str | None = _table_option("Sheet of a spreadsheet; by default the first.")
    language: str = _table_option(
        "Language of the texts, such as fi: words become lemmas. auto guesses it, none leaves "
        "words as they are.",
        default="auto",
    )
    characters: bool = _table_option(
        "Use parts of long words too, five characters each.", "--characters", default=False
    )
    tokens: str = _table_option(
        "Which words to find: unicode (every script), or ascii.", default="unicode"
    )
    ngrams: int = _table_option(
        "Longest n-grams of words to use as features: 2 adds pairs.", default=1
    )
    min_df: int = _table_option("Ignore words that occur in fewer texts.", default=1)
    stop_words: str | None = _table_option(
        "Words to ignore: english, or a file with one word per line."
    )
    vectors: Path | None = _table_option(
        "A vector for each row of DATA, in its order: .npy, .npz or .parquet."
    )
    vocabulary: Path | None = _table_option("Names of the labels: .tsv, .csv, .json, or SKOS.")
    names_in: str | None = _table_option("Language of the names of labels, such as fi.")
    xml: Path | None = _table_option("XML file with the label names of an ARFF file.")
    label_count: int | None = _table_option(
        "Number of label attributes in an ARFF file: n for the first n, -n for the last."
    )

    def sign(self, name: str) -> str | None:
        """Return the separator or delimiter as a character, also for a name such as ``tab``."""
        given: str | None = getattr(self, name)
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
