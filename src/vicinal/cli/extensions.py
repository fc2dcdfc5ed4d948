"""What other distributions add to the program, found through their entry points."""

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
"""Settings of a command that leaves its whole line, ``--help`` too, to the command it finds."""


def add_reproduce(app: typer.Typer) -> None:
    """Add ``reproduce``, which is looked up and loaded when it is called."""

    @app.command(context_settings=FORWARDED)
    def reproduce(context: typer.Context) -> object:
        """Run the experiments of the papers and show their figures beside ours."""
        found = find_command("reproduce", "vicinal-reproduction")
        inner = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        inner.command("reproduce")(found)
        command = typer.main.get_command(inner)
        return command.main(context.args, context.command_path, standalone_mode=False)


def find_command(name: str, distribution: str) -> Callable[..., None]:
    """Return the function behind a command, or say which distribution has it."""
    for found in entry_points(group=COMMANDS, name=name):
        command: Callable[..., None] = found.load()
        return command
    raise MissingDistributionError(f"vicinal {name}", distribution)


def reported_figures() -> Iterator["ReportedCell"]:
    """Yield the figures that installed distributions know from papers; none without them."""
    for found in entry_points(group=REPORTED_FIGURES):
        cells: Any = found.load()
        yield from cells()
