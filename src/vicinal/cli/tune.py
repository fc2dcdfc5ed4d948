"""``vicinal tune``: find the best settings of methods on a data set."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vicinal.cli.options import (
    METHODS,
    CommonOptions,
    DataArgument,
    PreprocessOption,
    RerunOption,
    RowsOption,
    StoreOption,
    TableChoice,
    option,
    with_options,
)
from vicinal.cli.output import check_target, errors, out, print_json, print_table

if TYPE_CHECKING:
    from vicinal.cli.data_source import Source
    from vicinal.selection import Best, TuningResult

MANY_ROWS = 10_000
"""Number of rows above which ``--fast`` is the default."""


class TuneOptions(CommonOptions):
    """The options of ``vicinal tune``."""

    methods: str = option(
        f"quick, all, or separated by commas: {METHODS}, module:Class. "
        "The quick methods are those whose cost grows with rows × k only.",
        default="quick",
    )
    metric: str = option("Metric to choose the model by.", default="example-f1")
    metrics: str = option(
        "Further metrics to compute: names separated by commas, or all (much slower). "
        "By default only --metric.",
        default="",
    )
    folds: int = option("Number of cross-validation folds.", default=10, min=2)
    fast: bool | None = option(
        "Try every third value first, then those around the best; "
        f"the default for more than {MANY_ROWS:,} rows.",
        "--fast/--full",
    )
    seed: int = option("Random seed for the folds and for stochastic methods.", default=0)
    grid: list[str] | None = option("Values to try, as name=value,value or method.name=…")
    settings: list[str] | None = option("A fixed parameter of all settings: name=value.", "--set")
    preprocess: PreprocessOption = "auto"
    per_fold: bool = option(
        "Fit the preprocessing steps in each fold, not only once.", "--per-fold", default=False
    )
    rows: RowsOption = "auto"
    store: StoreOption = None
    values: Path | None = option("Write every value to this .csv or .json file.", "--table")
    plots: Path | None = option("Folder for plots.")
    save: Path | None = option("File to save the best model in.")
    rerun: RerunOption = False


@with_options
def tune_settings(chosen: TuneOptions, table: TableChoice, data: DataArgument = "debtags") -> None:
    """Tune methods by cross-validation from one search; show the best settings per metric."""
    from vicinal.cli.data_source import refuse_vectors, training_source
    from vicinal.cli.settings import check_saveable, method_words, parse_grid, parse_settings
    from vicinal.selection import tune

    _check_files(chosen)
    names = chosen.methods.split(",")
    further = chosen.metrics.split(",") if chosen.metrics else None
    chosen.import_modules([*names, chosen.metric, *(further or ())])
    names = method_words(names)
    if chosen.save is not None:
        check_saveable("--methods", names)
    refuse_vectors(table)
    source, steps = training_source(data, chosen.rows, table, chosen.preprocess)
    began = time.perf_counter()
    found = tune(
        names,
        source.X,
        source.labels(),
        chosen.metric,
        chosen.folds,
        parse_grid(chosen.grid or []),
        params=parse_settings(chosen.settings or []),
        metrics=chosen.metrics if chosen.metrics == "all" else further,
        fast=source.n_rows > MANY_ROWS if chosen.fast is None else chosen.fast,
        random_state=chosen.seed,
        store=chosen.store,
        preprocess=steps,
        per_fold=chosen.per_fold,
        refit=chosen.save is not None or chosen.plots is not None,
        label_names=source.label_names,
        rerun=chosen.rerun,
    )
    saved = _write(found, source, chosen)
    show(found, source, time.perf_counter() - began, as_json=chosen.json)
    if not found.complete:
        _report_interrupt(chosen, saved)


def _check_files(chosen: TuneOptions) -> None:
    """Raise for files that cannot be written, before any work is done."""
    from vicinal._core.checks import check_option
    from vicinal.persistence import check_replaceable

    if chosen.values is not None:
        check_option("--table", chosen.values.suffix, (".csv", ".json"))
    check_target("--table", chosen.values)
    if chosen.save is not None:
        check_replaceable(chosen.save)


def _write(found: "TuningResult", source: "Source", chosen: TuneOptions) -> Path | None:
    """Write the table, the plots and the model, if their options are given."""
    from vicinal.cli.predict import save_named

    table, save = chosen.values, chosen.save
    if table is not None:
        write = found.table.to_csv if table.suffix == ".csv" else found.table.to_json
        write(table)
    if chosen.plots is not None:
        draw_all(found, chosen.plots)
    if save is None or found.estimator is None:
        return None
    target = save if found.complete else save.with_name(f"{save.name}.interrupted")
    save_named(found.estimator, source, target)
    return target


def _report_interrupt(chosen: TuneOptions, saved: Path | None) -> None:
    """State what an interrupted run left behind, and end with the exit code of an interrupt."""
    notes = ["interrupted: these are the best settings so far"]
    if saved is not None:
        notes.append(f"{chosen.save} is not changed; the best model so far is in {saved}")
    if chosen.store is not None:
        notes.append(f"the same command resumes from {chosen.store}")
    for note in notes:
        errors.print(note, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(130)


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


SHORT = {
    "n_neighbors": "k",
    "n_neighbors_instance": "k",
    "n_neighbors_feature": "k_feat",
    "mixing": "λ",
}
"""Short names of parameters in printed tables; JSON and files have the full names."""


def show(found: "TuningResult", source: "Source", seconds: float, *, as_json: bool) -> None:
    """Print the best setting for each metric, and each method's best for the chosen metric."""
    names = list(dict.fromkeys(found.table.methods))
    by_method = {name: found.table.best(found.metric, name) for name in names}
    if as_json:
        facts = {
            "data": source.name,
            "rows": source.n_rows,
            "settings": len(found.table),
            "folds": int(found.table.done.shape[1]),
            "seconds": seconds,
            "complete": found.complete,
            "metric": found.metric,
            "preprocess": list(found.preprocess),
            "best": {name: _facts(best) for name, best in found.best.items()},
            "methods": {name: _facts(best) for name, best in by_method.items() if best},
        }
        print_json(facts)
    else:
        _print(found, source, seconds, by_method)


def _print(
    found: "TuningResult", source: "Source", seconds: float, by_method: "dict[str, Best | None]"
) -> None:
    """Print tables for people."""
    header = ["metric", "method", "settings", "mean", "±"]
    rows = [[name, *_cells(best)] for name, best in found.best.items()]
    print_table(f"{source.name}, {source.n_rows:,} rows: best for each metric", header, rows)
    rows = [_cells(best) for best in by_method.values() if best]
    print_table(f"Best of each method for {found.metric}", header[1:], rows)
    measured = f"{len(found.table):,} settings on {found.table.done.shape[1]} folds"
    steps = ", ".join(found.preprocess) or "none"
    out.print(f"{measured} in {seconds:.1f} s; preprocessing: {steps}")


def _facts(best: "Best") -> dict[str, object]:
    """Return a setting as plain values for JSON."""
    from vicinal.results import plain

    params = {name: plain(value) for name, value in best.params.items()}
    return {"method": best.method, "params": params, "mean": best.mean, "std": best.std}


def _cells(best: "Best") -> list[object]:
    """Return a setting as a row of a table."""
    from vicinal.results import plain

    params = [f"{SHORT.get(name, name)}={plain(value)}" for name, value in best.params.items()]
    return [best.method, ", ".join(params), best.mean, best.std]
