"""``vicinal data``: list, describe and convert data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.options import DataArgument, RowsOption, TableChoice, with_options
from vicinal.cli.output import JsonFlag, check_target, print_facts, print_json, print_table, say

if TYPE_CHECKING:
    from vicinal.datasets import Listing


data_app = typer.Typer(help="List, describe and convert data sets.", no_args_is_help=True)


@data_app.command("list")
def list_data(json: JsonFlag = False) -> None:
    """List the data sets known by name, and which are available locally."""
    from vicinal.datasets import available

    listed = available()
    if json:
        print_json([_facts(listing) for listing in listed])
        return
    rows = [list(_facts(listing).values()) for listing in listed]
    print_table("Data sets", list(_facts(listed[0])), rows)


def _facts(listing: "Listing") -> dict[str, object]:
    """Return the columns of the list for one data set."""
    name, size = listing.entry.name, listing.entry.size
    return {
        "name": name,
        "rows": size.rows,
        "features": size.features,
        "labels": size.labels,
        "split": None if size.split is None else " + ".join(f"{n:,}" for n in size.split),
        "available locally": listing.at_hand,
    }


@data_app.command()
@with_options
def describe(data: DataArgument, json: JsonFlag = False, *, table: TableChoice) -> None:
    """Show shape, label statistics and split of a data set."""
    from vicinal.cli.data_source import whole_dataset

    dataset = whole_dataset(data, table)
    print_facts(dataset.source or data, dataset.statistics(), json)


@data_app.command()
@with_options
def convert(
    data: DataArgument,
    target: Annotated[Path, typer.Argument(help="File to write; its extension sets the format.")],
    rows: RowsOption = "all",
    *,
    table: TableChoice,
) -> None:
    """Write a data set in another format."""
    from vicinal.cli.data_source import choose_rows, whole_dataset
    from vicinal.datasets import write_file

    check_target("TARGET", target)
    dataset = choose_rows(whole_dataset(data, table), rows, auto="all")
    write_file(dataset, target)
    say(f"{dataset.n_rows:,} rows written to {target}")
