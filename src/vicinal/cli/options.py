"""Arguments and options that several commands share; nothing here loads more than Typer.

What the help lists is known without loading the packages that do the work; a test compares it with
what they offer.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

import vicinal

BASELINES = ("adtboost", "br-svm", "boostexter", "frequency", "rank-svm")
"""What ``vicinal compare`` takes besides the methods."""
STEPS = ("minmax", "binary", "tfidf", "bm25", "unit")
"""What ``--preprocess`` takes."""


def command_name(estimator: str) -> str:
    """Return what the command line calls an estimator class.

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
    str, typer.Option(help=f"One of: {METHODS}; or module:Class for a class of your own.")
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
    typer.Option(help=f"none, or separated by commas: {', '.join(STEPS)}; auto: minmax if dense."),
]
RowsOption = Annotated[
    str, typer.Option(help="Which rows: train, test, all; auto is the split's, else all.")
]
