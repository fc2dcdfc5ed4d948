"""``vicinal serve`` in processes forked from one that has imported it: a start takes no second."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import typer
from forked_process import forking

from vicinal import service
from vicinal.cli import serve as command
from vicinal.service.limits import Limits
from vicinal.service.store import EventStore


class Process:
    """A server that writes its output to a file; `before` runs first, to change the library."""

    def __init__(
        self, arguments: list[str], log: Path, token: str, before: Callable[[], None] | None
    ) -> None:
        self._process = forking().Process(target=_serve, args=(arguments, log, token, before))
        self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def wait(self, seconds: float) -> int:
        self._process.join(seconds)
        assert self._process.exitcode is not None, "the server still runs"
        return self._process.exitcode


def _serve(arguments: list[str], log: Path, token: str, before: Callable[[], None] | None) -> None:
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["VICINAL_WRITE_TOKEN"] = token
    if before is not None:
        before()
    sys.argv = ["serve", *arguments]
    typer.run(command.serve)


def die_after_a_commit() -> None:
    append = EventStore.append

    def append_and_die(store: EventStore, events: object) -> None:
        append(store, events)
        os._exit(9)

    EventStore.append = append_and_die


def die_before_a_commit() -> None:
    EventStore.append = lambda store, events: os._exit(9)


def limit_seconds(seconds: float) -> None:
    """Let clients wait no longer than that for their headers and bodies."""
    use_limits(Limits(header_seconds=seconds, body_seconds=seconds, connections=20))


def use_limits(limits: Limits) -> None:
    """Let ``vicinal serve`` use other limits than its own."""
    service.Limits = lambda: limits
