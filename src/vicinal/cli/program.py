"""The ``vicinal`` program."""

import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points, version
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from vicinal.cli.bench import bench
from vicinal.cli.compare import compare
from vicinal.cli.data import data_app
from vicinal.cli.demo import demo
from vicinal.cli.evaluate_model import evaluate_model
from vicinal.cli.explain import explain_rows
from vicinal.cli.info import info
from vicinal.cli.measure_results import measure
from vicinal.cli.output import errors, never_fail_to_print, say, visible
from vicinal.cli.plan_search import plan_search
from vicinal.cli.predict import predict
from vicinal.cli.serve import serve
from vicinal.cli.train import train
from vicinal.cli.tune import tune_settings
from vicinal.errors import (
    InvalidArgumentError,
    MissingDistributionError,
    MissingExtraError,
    logger,
    similar_file,
)

if TYPE_CHECKING:
    from vicinal.report.reported import ReportedCell


COMMANDS = "vicinal.commands"
"""Entry points of this group are commands: functions whose signature Typer reads."""

REPORTED_FIGURES = "vicinal.reported_figures"
"""Entry points of this group return figures that papers report, as ``ReportedCell`` values."""

FORWARDED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings of a command that passes all arguments, even ``--help``, to another command."""


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


STYLES = {logging.WARNING: "[bold yellow]warning[/]", logging.INFO: "[dim]note[/]"}


class _Printer(logging.Handler):
    """Prints each message on one line, and once, although blocks of a file may repeat it."""

    def __init__(self) -> None:
        super().__init__()
        self.printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message without interpreting markup."""
        level = logging.WARNING if record.levelno >= logging.WARNING else logging.INFO
        line = escape(" ".join(record.getMessage().split()))
        if line in self.printed:
            return
        self.printed.add(line)
        errors.print(f"{STYLES[level]}: {line}", soft_wrap=True, highlight=False)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the line of source that raised it."""
    logger.warning("%s", message)


@contextmanager
def printed_notes() -> Iterator[None]:
    """Print log messages and warnings while a command runs, one line each."""
    printer, level, show = _Printer(), logger.level, warnings.showwarning
    logger.addHandler(printer)
    logger.setLevel(logging.INFO)
    warnings.showwarning = _show_warning
    try:
        yield
    finally:
        warnings.showwarning = show
        logger.removeHandler(printer)
        logger.setLevel(level)


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(data_app, name="data")
app.command()(train)
app.command("evaluate")(evaluate_model)
app.command()(predict)
app.command("explain")(explain_rows)
app.command()(info)
app.command("tune")(tune_settings)
app.command()(compare)
app.command()(measure)
app.command()(bench)
app.command()(demo)
app.command("plan")(plan_search)
app.command()(serve)


@app.command(context_settings=FORWARDED)
def reproduce(context: typer.Context) -> object:
    """Reproduce the experiments of the papers and compare with the published figures."""
    found = find_command("reproduce", "vicinal-reproduction")  # loaded only when it is called
    inner = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    inner.command("reproduce")(found)
    command = typer.main.get_command(inner)
    return command.main(context.args, context.command_path, standalone_mode=False)


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
    """Suggest labels for texts and other records, explain them, and learn from corrections."""


INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended."""

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The base class of Typer's errors for invalid arguments; Typer does not export it."""


def _as_typed(argument: str) -> str:
    """Return the option that was typed for an argument, such as ``--label`` for ``labels``."""
    typed = {word.partition("=")[0] for word in sys.argv[1:]}
    argument = "folds" if argument == "n_splits" else argument
    options = (f"--{argument}", f"--{argument.removesuffix('s')}")
    return next((option for option in options if option in typed), argument)


def _no_file(name: object) -> str:
    """Return the message about a file that does not exist; a text is no file."""
    is_text = " " in str(name)
    remedy = " (texts come from a file, or with - from standard input)" if is_text else ""
    return f"no such file: {name}{similar_file(name) or remedy}"


def _file_problem(error: OSError) -> str:
    """Return the message about a file that cannot be read or written."""
    if error.filename is None:
        return str(error)
    if isinstance(error, FileNotFoundError) and "written" not in str(error.strerror):
        return _no_file(error.filename)
    return f"{error.filename}: {error.strerror}"


def _usage(error: Any) -> str:
    """Return the message about an argument; one that is missing is described."""
    missing = error.param.help if type(error).__name__ == "MissingParameter" else ""
    return f"{error.format_message()}{f' ({missing})' if missing else ''}"


def run() -> None:
    """Run the program; errors that a user can cause are one line on stderr and exit code 2."""
    if sys.stdout is None:  # the caller has closed it
        sys.stdout = io.StringIO()
    never_fail_to_print()
    try:
        with printed_notes():
            code = app(standalone_mode=False)
    except UsageError as error:
        _fail(_usage(error))
    except InvalidArgumentError as error:
        _fail(f"{_as_typed(error.name)}{str(error).removeprefix(error.name)}")
    except (ValueError, MissingDistributionError, MissingExtraError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(_file_problem(error))
    except MemoryError as error:
        _fail(f"not enough memory: {error}")
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    sys.exit(code)


def _fail(message: str) -> None:
    """Print a message on one line without interpreting markup, and exit with code 2."""
    line = escape(visible(" ".join(message.split())))
    if line:
        errors.print(f"[bold red]error[/]: {line}", soft_wrap=True, highlight=False)
    sys.exit(2)
