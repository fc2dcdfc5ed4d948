"""Arguments and options that several commands share; this module imports only Typer.

The help texts list methods and steps without loading the packages that define them; a test checks
that the lists are complete.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

import vicinal

BASELINES = ("adtboost", "br-svm", "boostexter", "frequency", "rank-svm")
"""Baselines that ``vicinal compare`` accepts besides the methods."""
STEPS = ("minmax", "binary", "tfidf", "bm25", "unit")
"""The steps that ``--preprocess`` accepts."""


def command_name(estimator: str) -> str:
    """Return the name of an estimator class on the command line.

    Examples
    --------
    >>> command_name("MLkNN"), command_name("InstanceKNN"), command_name("LCIF")
    ('mlknn', 'instance-knn', 'lcif')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", estimator.replace("kNN", "knn")).lower()


METHODS = ", ".join(sorted(map(command_name, vicinal.estimator_names())))

DataArgument = Annotated[
    str, typer.Argument(help="A name from `vicinal data list`, or a file.", metavar="DATA")
]
ModelArgument = Annotated[
    Path, typer.Argument(help="Folder of a saved model.", metavar="MODEL", exists=True)
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
