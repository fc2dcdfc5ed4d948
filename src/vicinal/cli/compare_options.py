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
    typer.Option(help="Metric to rank by; repeatable, the first decides the order."),
]
FoldsOption = Annotated[
    str | None, typer.Option(help="Number of folds (10), or split: the published one.")
]
SeedsOption = Annotated[int, typer.Option(help="Sets of folds, each with its own seed.", min=1)]
NeighborsOption = Annotated[
    str | None,
    typer.Option(help="Numbers of neighbours, separated by commas; every method at each."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A parameter, as method.name=value, or name=value for all that have it."
    ),
]
TuneOption = Annotated[
    bool,
    typer.Option("--tune", help="Choose settings inside each fold's training rows, by --metric."),
]
StoreOption = Annotated[Path | None, typer.Option(help="Results file; completed runs are reused.")]
FromOption = Annotated[
    Path | None, typer.Option("--from", help="Show the results of this file; run nothing.")
]
ReportOption = Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")]
AlphaOption = Annotated[float, typer.Option(help="Level of significance.", min=0, max=1)]
