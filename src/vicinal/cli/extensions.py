"""Commands and figures of other distributions, found through their entry points."""

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import typer

from vicinal._base.errors import MissingDistributionError

if TYPE_CHECKING:
    from vicinal.report.reported import ReportedCell

COMMANDS = "vicinal.commands"
"""Entry points of this group are commands: functions whose signature Typer reads."""

REPORTED_FIGURES = "vicinal.reported_figures"
"""Entry points of this group return figures that papers report, as ``ReportedCell`` values."""

FORWARDED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings of a command that passes all arguments, even ``--help``, to another command."""


def add_reproduce(app: typer.Typer) -> None:
    """Add ``reproduce``, which is found and loaded only when it is called."""

    @app.command(context_settings=FORWARDED)
    def reproduce(context: typer.Context) -> object:
        """Reproduce the experiments of the papers and compare with the published figures."""
        found = find_command("reproduce", "vicinal-reproduction")
        inner = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        inner.command("reproduce")(found)
        command = typer.main.get_command(inner)
        return command.main(context.args, context.command_path, standalone_mode=False)


def find_command(name: str, distribution: str) -> Callable[..., None]:
    """Return the function of a command, or raise an error that names its distribution."""
    for found in entry_points(group=COMMANDS, name=name):
        command: Callable[..., None] = found.load()
        return command
    raise MissingDistributionError(f"vicinal {name}", distribution)


def reported_figures() -> Iterator["ReportedCell"]:
    """Yield the published figures that other installed distributions provide, if any."""
    for found in entry_points(group=REPORTED_FIGURES):
        cells: Any = found.load()
        yield from cells()
