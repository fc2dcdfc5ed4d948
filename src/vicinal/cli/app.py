"""The ``vicinal`` program."""

import io
import sys
from importlib.metadata import version
from typing import Annotated, Any, cast

import typer
from rich.markup import escape

from vicinal._base.errors import (
    DataNotFoundError,
    MissingDistributionError,
    MissingExtraError,
)
from vicinal.cli.bench import bench
from vicinal.cli.compare import compare
from vicinal.cli.data import data_app
from vicinal.cli.demo import demo
from vicinal.cli.evaluate import evaluate_model
from vicinal.cli.explain import explain_rows
from vicinal.cli.extensions import add_reproduce
from vicinal.cli.notes import printed_notes
from vicinal.cli.output import errors, say
from vicinal.cli.plan import plan_search
from vicinal.cli.predict import predict
from vicinal.cli.serve import serve
from vicinal.cli.train import train
from vicinal.cli.tune import tune_settings
from vicinal.cli.visible import never_fail_to_print, visible

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
app.command()(train)
app.command("evaluate")(evaluate_model)
app.command()(predict)
app.command("explain")(explain_rows)
app.command("tune")(tune_settings)
app.command()(compare)
app.command()(bench)
app.command()(demo)
app.command("plan")(plan_search)
app.command()(serve)
add_reproduce(app)


def show_version(wanted: bool) -> None:
    """Print the version and exit, if the option is given."""
    if wanted:
        say(f"vicinal {version('vicinal')}")
        raise typer.Exit


@app.callback()
def program(
    _show: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Multi-label learning from neighbours."""


INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended."""

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The base class of Typer's errors for invalid arguments; Typer does not export it."""


def run() -> None:
    """Run the program; errors that a user can cause are one line on stderr and exit code 2."""
    if sys.stdout is None:  # the caller has closed it
        sys.stdout = io.StringIO()
    never_fail_to_print()
    try:
        with printed_notes():
            code = app(standalone_mode=False)
    except UsageError as error:
        _fail(cast("Any", error).format_message())
    except (
        ValueError,
        DataNotFoundError,
        MissingDistributionError,
        MissingExtraError,
        OSError,
    ) as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"not enough memory: {error}")
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    sys.exit(code)


def _fail(message: str) -> None:
    """Print a message on one line without interpreting markup, and exit with code 2.

    The message is empty, and nothing is printed, if Typer has shown a help text instead.
    """
    line = escape(visible(" ".join(message.split())))
    if line:
        errors.print(f"[bold red]error[/]: {line}", soft_wrap=True, highlight=False)
    sys.exit(2)
