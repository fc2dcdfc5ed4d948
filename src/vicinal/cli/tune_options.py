"""The options of ``vicinal tune``."""

from pathlib import Path
from typing import Annotated

import typer

from vicinal.cli.options import METHODS

MANY_ROWS = 10_000
"""Number of rows above which ``--fast`` is the default."""

MethodsOption = Annotated[
    str,
    typer.Option(
        help=f"quick, all, or separated by commas: {METHODS}, module:Class. "
        "The quick methods are those whose cost grows with rows × k only."
    ),
]
MetricsOption = Annotated[
    str, typer.Option(help="Other metrics to measure: all, or names separated by commas.")
]
FoldsOption = Annotated[int, typer.Option(help="Number of cross-validation folds.", min=2)]
FastOption = Annotated[
    bool | None,
    typer.Option(
        "--fast/--full",
        help="Try every third value first, then those around the best; "
        f"the default for more than {MANY_ROWS:,} rows.",
    ),
]
SeedOption = Annotated[
    int, typer.Option(help="Random seed for the folds and for stochastic methods.")
]
GridOption = Annotated[
    list[str] | None,
    typer.Option("--grid", help="Values to try, as name=value,value or method.name=…"),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A fixed parameter of all settings: name=value.")
]
PerFoldOption = Annotated[
    bool,
    typer.Option("--per-fold", help="Fit the preprocessing steps in each fold, not only once."),
]
StoreOption = Annotated[
    Path | None, typer.Option(help="Results file; an interrupted run resumes from it.")
]
TableOption = Annotated[
    Path | None, typer.Option("--table", help="Write every value to this .csv or .json file.")
]
