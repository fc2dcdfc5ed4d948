"""``vicinal tune``: find the best settings of methods on a data set."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.imports import import_modules
from vicinal.cli.options import DataArgument, ImportOption, PreprocessOption, RowsOption
from vicinal.cli.output import JsonFlag, check_target, errors
from vicinal.cli.table_options import TableChoice, reads_tables
from vicinal.cli.tune_options import (
    MANY_ROWS,
    FastOption,
    FoldsOption,
    GridOption,
    MethodsOption,
    MetricsOption,
    PerFoldOption,
    SeedOption,
    SetOption,
    StoreOption,
    TableOption,
)

if TYPE_CHECKING:
    from vicinal.cli.source import Source
    from vicinal.selection import TuningResult


@reads_tables
def tune_settings(
    data: DataArgument = "debtags",
    methods: MethodsOption = "quick",
    metric: Annotated[str, typer.Option(help="Metric to choose the model by.")] = "example-f1",
    metrics: MetricsOption = "all",
    folds: FoldsOption = 10,
    fast: FastOption = None,
    seed: SeedOption = 0,
    grid: GridOption = None,
    settings: SetOption = None,
    preprocess: PreprocessOption = "auto",
    per_fold: PerFoldOption = False,
    rows: RowsOption = "auto",
    store: StoreOption = None,
    values: TableOption = None,
    plots: Annotated[Path | None, typer.Option(help="Folder for plots.")] = None,
    save: Annotated[Path | None, typer.Option(help="Folder to save the best model in.")] = None,
    imports: ImportOption = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Tune methods by cross-validation from one search; show the best settings per metric."""
    from vicinal.cli.settings import check_saveable, method_words, parse_grid, parse_settings
    from vicinal.cli.source import training_source
    from vicinal.cli.tuned_settings import show
    from vicinal.selection import tune

    _check_files(values, save)
    names = methods.split(",")
    import_modules(imports, names)
    names = method_words(names)
    if save is not None:
        check_saveable("--methods", names)
    source, steps = training_source(data, rows, table, preprocess)
    began = time.perf_counter()
    found = tune(
        names,
        source.X,
        source.labels(),
        metric,
        folds,
        parse_grid(grid or []),
        params=parse_settings(settings or []),
        metrics=None if metrics == "all" else metrics.split(","),
        fast=source.n_rows > MANY_ROWS if fast is None else fast,
        random_state=seed,
        store=store,
        preprocess=steps,
        per_fold=per_fold,
        refit=save is not None or plots is not None,
        label_names=source.label_names,
    )
    _write(found, source, values, plots, save)
    show(found, source, time.perf_counter() - began, as_json=json)


def _check_files(table: Path | None, save: Path | None) -> None:
    """Raise for files that cannot be written, before any work is done."""
    from vicinal._base.validation import check_option
    from vicinal.persistence.folder import check_replaceable

    if table is not None:
        check_option("--table", table.suffix, (".csv", ".json"))
    check_target("--table", table)
    if save is not None:
        check_replaceable(save)


def _write(
    found: "TuningResult",
    source: "Source",
    table: Path | None,
    plots: Path | None,
    save: Path | None,
) -> None:
    """Write the table, the plots and the model, if their options are given."""
    from vicinal.cli.scoring import save_named

    if table is not None:
        write = found.table.to_csv if table.suffix == ".csv" else found.table.to_json
        write(table)
    if plots is not None:
        draw_all(found, plots)
    if save is not None and found.estimator is not None:
        save_named(found.estimator, source, save)


def draw_all(found: "TuningResult", folder: Path) -> None:
    """Draw every plot for which enough settings were tried."""
    folder.mkdir(parents=True, exist_ok=True)
    drawings = {
        "neighbors.png": found.plot_neighbors,
        "mixing.png": found.plot_mixing,
        "threshold.png": found.plot_threshold,
    }
    for name, draw in drawings.items():
        try:
            draw(folder / name)
        except ValueError as error:
            errors.print(f"{name} is not drawn: {error}", markup=False, highlight=False)
