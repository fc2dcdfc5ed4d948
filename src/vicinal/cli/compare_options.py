"""The options of ``vicinal compare``."""

from pathlib import Path
from typing import Annotated

import typer

from vicinal.cli.options import BASELINES, METHODS

DataArguments = Annotated[
    list[str] | None,
    typer.Argument(help="Names from `vicinal data list`, or files.", metavar="DATA..."),
]
MethodsOption = Annotated[
    str,
    typer.Option(
        help=f"quick, all, or separated by commas: {METHODS}; baselines: {', '.join(BASELINES)}; "
        "module:Class for any multi-label classifier."
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(help="Metric to rank by; repeatable. By default hamming-loss."),
]
FoldsOption = Annotated[
    str | None,
    typer.Option(help="Number of cross-validation folds (10 by default), or split: published."),
]
SeedsOption = Annotated[
    int, typer.Option(help="How often to repeat cross-validation, each with its own seed.", min=1)
]
NeighborsOption = Annotated[
    str | None,
    typer.Option(help="Numbers of neighbours to try with every method, separated by commas."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A parameter: method.name=value, or name=value for every method that has it.",
    ),
]
TuneOption = Annotated[
    bool,
    typer.Option("--tune", help="Tune each method for --metric on each fold's training rows."),
]
StoreOption = Annotated[Path | None, typer.Option(help="Results file; completed runs are reused.")]
FromOption = Annotated[
    Path | None, typer.Option("--from", help="Show the results of this file; run nothing.")
]
ReportOption = Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")]
AlphaOption = Annotated[float, typer.Option(help="Significance level.", min=0, max=1)]
