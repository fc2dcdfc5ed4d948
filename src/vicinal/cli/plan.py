"""``vicinal plan``: estimate the resources and cost of a search over many rows."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.output import JsonFlag, errors, print_facts, print_json

if TYPE_CHECKING:
    from vicinal.index.cost_model import Constants, Plan, Workload


def plan_search(
    rows: Annotated[float, typer.Option(help="Number of rows, such as 1e9.")],
    nnz: Annotated[float, typer.Option(help="Mean number of non-zero features per row.")] = 40.0,
    features: Annotated[float, typer.Option(help="Number of features.")] = 1e6,
    labels: Annotated[float, typer.Option(help="Number of labels.")] = 1e5,
    labels_per_row: Annotated[float, typer.Option(help="Mean number of labels per row.")] = 3.0,
    neighbors: Annotated[int, typer.Option(help="Neighbours per query.", min=1)] = 15,
    queries: Annotated[float, typer.Option(help="Number of queries.")] = 1e6,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of machines; by default enough to hold the postings in memory.", min=1
        ),
    ] = None,
    cores: Annotated[int, typer.Option(help="Cores per machine.", min=1)] = 16,
    memory: Annotated[float, typer.Option(help="GB of memory per machine.", min=0.1)] = 64.0,
    max_memory: Annotated[
        float, typer.Option(help="GB of memory for postings while they are built.", min=0.001)
    ] = 1.0,
    price: Annotated[float, typer.Option(help="Price of a machine per hour.", min=0)] = 0.0,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure this machine first (a minute).")
    ] = False,
    constants: Annotated[
        Path | None,
        typer.Option(help="File of measured speeds; written by --calibrate, else read."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Estimate disk, memory, machines, time and cost of a search over many rows."""
    from vicinal.index.cost_model import Machines, Workload, plan

    work = Workload(rows, nnz, features, labels, labels_per_row, neighbors, queries)
    measured = _constants(work, calibrate, constants)
    found = plan(work, Machines(workers, cores, memory, price, max_memory), measured)
    facts = {"rows": int(rows), **_facts(found), "constants": _origin(calibrate, constants)}
    if json:
        print_json({**facts, **{f"constant {k}": v for k, v in asdict(measured).items()}})
    else:
        print_facts("Plan", facts)


def _constants(work: "Workload", calibrate: bool, file: Path | None) -> "Constants":
    """Return the speeds of a machine: measured now, read from a file, or the defaults."""
    from vicinal.index.calibration import calibrated
    from vicinal.index.cost_model import Constants

    if not calibrate:
        return Constants() if file is None else read_constants(file)
    with errors.status("Measuring this machine"):
        measured = calibrated(work.entries, work.features, work.neighbors)
    if file is not None:
        file.write_text(json_format.dumps(asdict(measured), indent=1) + "\n")
    return measured


def _facts(found: "Plan") -> dict[str, object]:
    """Return the estimates by name."""
    return {
        "rows and postings on disk, GB": found.disk_gb,
        "of these postings, GB": found.postings_gb,
        "ranges of rows with postings of their own": found.ranges,
        "labels in memory, GB": found.labels_gb,
        "leave-one-out graph, GB": found.graph_gb,
        "machines": found.workers,
        "postings fit in their memory": found.fits_in_memory,
        "writing rows and postings, seconds": found.seconds_to_write,
        "building postings, seconds": found.seconds_to_build_postings,
        "seconds per million queries": found.seconds_per_million_queries,
        "all queries, hours": found.seconds_for_queries / 3600,
        "leave-one-out graph, hours": found.seconds_for_graph / 3600,
        "network, kB per query": found.network_kb_per_query,
        "cost": found.cost,
    }


def _origin(calibrate: bool, constants: Path | None) -> str:
    """Return where the constants come from, and how to get better ones."""
    if calibrate:
        return "measured on this machine"
    if constants is not None:
        return f"read from {constants}"
    return "binary rows on an AMD EPYC core (--calibrate measures yours)"


def read_constants(file: Path) -> "Constants":
    """Return the constants in a file that ``--calibrate`` wrote."""
    from vicinal._base.errors import InvalidArgumentError
    from vicinal.index.cost_model import Constants

    try:
        found = Constants(**json_format.loads(file.read_text()))
        is_sound = all(isinstance(v, int | float) and v > 0 for v in asdict(found).values())
    except (ValueError, TypeError):
        is_sound = False
    if not is_sound:
        expected = "a file that vicinal plan --calibrate --constants FILE wrote"
        raise InvalidArgumentError("--constants", expected, str(file))
    return found
