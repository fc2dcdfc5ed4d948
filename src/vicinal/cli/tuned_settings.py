"""The best settings that ``vicinal tune`` found, as tables for people and as JSON."""

import typer

from vicinal.cli.output import errors, out, print_json, print_table
from vicinal.cli.source import Source
from vicinal.results.digest import plain
from vicinal.selection import Best, TuningResult

SHORT = {
    "n_neighbors": "k",
    "n_neighbors_instance": "k",
    "n_neighbors_feature": "k_feat",
    "mixing": "λ",
}
"""Short names of parameters in printed tables; JSON and files have the full names."""


def show(found: TuningResult, source: Source, seconds: float, *, as_json: bool) -> None:
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
            "best": {name: _facts(best) for name, best in found.best.items()},
            "methods": {name: _facts(best) for name, best in by_method.items() if best},
        }
        print_json(facts)
    else:
        _print(found, source, seconds, by_method)
    if not found.complete:
        errors.print("interrupted: these are the best settings so far")
        raise typer.Exit(130)


def _print(
    found: TuningResult, source: Source, seconds: float, by_method: dict[str, Best | None]
) -> None:
    """Print tables for people."""
    header = ["metric", "method", "settings", "mean", "±"]
    rows = [[name, *_cells(best)] for name, best in found.best.items()]
    print_table(f"{source.name}, {source.n_rows:,} rows: best for each metric", header, rows)
    rows = [_cells(best) for best in by_method.values() if best]
    print_table(f"Best of each method for {found.metric}", header[1:], rows)
    measured = f"{len(found.table):,} settings on {found.table.done.shape[1]} folds"
    out.print(f"{measured} in {seconds:.1f} s")


def _facts(best: Best) -> dict[str, object]:
    """Return a setting as plain values for JSON."""
    params = {name: plain(value) for name, value in best.params.items()}
    return {"method": best.method, "params": params, "mean": best.mean, "std": best.std}


def _cells(best: Best) -> list[object]:
    """Return a setting as a row of a table."""
    params = [f"{SHORT.get(name, name)}={plain(value)}" for name, value in best.params.items()]
    return [best.method, ", ".join(params), best.mean, best.std]
