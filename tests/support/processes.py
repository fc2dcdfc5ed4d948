"""Run tests in several processes: ``pytest --processes 3``.

Each process of pytest-xdist imports and collects every test itself. Here one process collects,
and copies of it (``os.fork``) ask it for tests, run them and send back what they have to report.
A process that dies fails the test it was running, and a new copy takes the tests it had left.

Only Linux copies a process safely that has loaded large libraries; elsewhere, and with ``--pdb``,
all tests run in the first process.
"""

import faulthandler
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.config import create_terminal_writer
from _pytest.runner import pytest_sessionfinish as tear_down_everything

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

DEAR = ("tests/cluster/", "tests/service/test_server.py", "tests/browser/")
"""Tests that share something that takes seconds to start, and then mostly wait."""
TOGETHER = 40
"""Most tests of another file that a process gets at once."""
FEW = 4
"""Number of processes up to which one takes all tests of ``DEAR``."""
GRACE = 30.0
"""Seconds that a process has to end after its tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=1, help="Run tests in this many processes.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that mostly wait first."""
    items.sort(key=lambda item: not item.nodeid.startswith(DEAR))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    options = session.config.option
    if options.processes < 2 or options.usepdb or options.collectonly or session.testsfailed:
        return None  # pytest's own loop
    if sys.platform != "linux":
        session.config.get_terminal_writer().line("one process: --processes needs Linux")
        return None
    Run(session, options.processes).oversee()
    return True


def shares(items: Iterable[pytest.Item], processes: int) -> Iterator[list[int]]:
    """Yield the places of tests that go to one process together.

    These are tests of one file, so that what a file makes once is made once. On few processes one
    takes all tests that mostly wait, so that the others compute meanwhile.
    """

    def share(place_item: tuple[int, pytest.Item]) -> str:
        name = place_item[1].nodeid
        for start in DEAR:
            if name.startswith(start):
                return DEAR[0] if processes <= FEW else start
        return name.partition("::")[0]

    for name, found in groupby(enumerate(items), share):
        places = [place for place, _ in found]
        size = len(places) if name in DEAR else TOGETHER
        for first in range(0, len(places), size):
            yield places[first : first + size]


@dataclass
class Copy:
    """A process that runs tests, as the first process sees it."""

    process: "ForkProcess"
    line: Connection
    left: deque[int]
    """Places of the tests that it was sent and has not finished; it runs the first of them."""
    ended: int = field(init=False)
    """A file that becomes readable when the process ends."""

    def __post_init__(self) -> None:
        self.ended = os.pidfd_open(self.process.pid)


class Run:
    """The first process: it hands out tests and reports what their processes send."""

    def __init__(self, session: pytest.Session, processes: int) -> None:
        self.session = session
        self.hook = session.config.hook
        self.waiting = deque(shares(session.items, processes))
        self.copies: list[Copy] = []
        self.started = 0
        self.processes = processes
        self.folder = session.config._tmp_path_factory.getbasetemp()

    def oversee(self) -> None:
        try:
            for _ in range(min(self.processes, len(self.waiting))):
                self.start(self.waiting.popleft())
            while self.copies:
                ready = wait([source for copy in self.copies for source in (copy.line, copy.ended)])
                for copy in self.copies.copy():
                    if copy.line in ready or copy.ended in ready:
                        self.listen(copy)
        finally:
            self.stop()

    def start(self, places: Iterable[int]) -> None:
        """Start a process with these tests."""
        forked = get_context("fork")
        ours, theirs = forked.Pipe()
        folder = self.folder / f"process-{self.started}"
        process = forked.Process(target=work, args=(self.session, theirs, folder))
        self.session.config.get_terminal_writer().flush()  # or the copy would write it once more
        process.start()
        theirs.close()
        left = deque(places)
        ours.send(list(left))
        self.started += 1
        self.copies.append(Copy(process, ours, left))

    def listen(self, copy: Copy) -> None:
        """Take in what a process has sent, or that it has ended."""
        ended = bool(wait([copy.ended], 0))
        try:
            while copy.line.poll():
                self.take(copy, *copy.line.recv())
        except (EOFError, ConnectionError):
            ended = True
        if ended:
            self.dismiss(copy)

    def take(self, copy: Copy, kind: str, content: Any) -> None:
        if kind == "more":
            places = self.waiting.popleft() if self.waiting else []
            copy.left.extend(places)
            copy.line.send(places)
        elif kind == "reports":
            read = self.hook.pytest_report_from_serializable
            reports = [read(config=self.session.config, data=data) for data in content]
            self.report(copy.left.popleft(), reports)
        else:  # a warning
            self.hook.pytest_warning_recorded.call_historic(kwargs=content)

    def report(self, place: int, reports: Iterable[pytest.TestReport]) -> None:
        """Let pytest know of a test that was run, as if it had been run here."""
        item = self.session.items[place]
        self.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            self.hook.pytest_runtest_logreport(report=report)
        self.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)

    def dismiss(self, copy: Copy) -> None:
        """Forget a process that has ended; if it died, its test has failed."""
        self.copies.remove(copy)
        copy.line.close()
        os.close(copy.ended)
        copy.process.join()
        code = copy.process.exitcode
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if not copy.left:
            if code:
                raise RuntimeError(f"{copy.process.name} ended after its tests by {cause}")
            return
        place = copy.left.popleft()
        item = self.session.items[place]
        died = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"the process of this test ended by {cause}",
            when="call",
        )
        if copy.left or self.waiting:
            self.start(copy.left or self.waiting.popleft())
        self.report(place, [died])

    def stop(self) -> None:
        """End the processes of a run that is stopped: by an interrupt, and at last by force."""
        for patience, sent in ((1.0, None), (GRACE, signal.SIGINT), (GRACE, signal.SIGKILL)):
            until = time.monotonic() + patience
            for copy in self.copies:
                if sent is not None:
                    os.kill(copy.process.pid, sent)
            for copy in self.copies.copy():
                if wait([copy.ended], max(0.0, until - time.monotonic())):
                    self.copies.remove(copy)
                    copy.process.join()


class Reporter:
    """Stands for the terminal in a process that runs tests: what is reported goes to the first."""

    def __init__(self, config: pytest.Config, line: Connection) -> None:
        self.config = config
        self.line = line
        self.reports: list[dict[str, Any]] = []
        self._tw = create_terminal_writer(config, sys.stderr)  # for stacks by pytest-timeout

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self.config.hook
        data = hook.pytest_report_to_serializable(config=self.config, report=report)
        self.reports.append(data)

    def pytest_warning_recorded(
        self, warning_message: Any, when: str, nodeid: str, location: Any
    ) -> None:
        warning_message.source = None  # may be anything
        message = {"warning_message": warning_message, "when": when}
        self.line.send(("warning", {**message, "nodeid": nodeid, "location": location}))

    def send(self) -> None:
        self.line.send(("reports", self.reports))
        self.reports = []


def work(session: pytest.Session, line: Connection, folder: Path) -> None:
    """Run the tests that the first process sends."""
    try:
        reporter = Reporter(session.config, line)
        make_own(session.config, reporter, folder)
        for item, following in received_items(session, line):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            reporter.send()
    except (KeyboardInterrupt, EOFError, BrokenPipeError):
        pass  # the run is stopped
    finally:
        faulthandler.dump_traceback_later(GRACE, exit=True, file=sys.__stderr__)  # or it may hang
        tear_down_everything(session)
        # joblib ends its processes when threads are asked to end; multiprocessing, which has a
        # part in this process's end, would wait for them first.
        threading._shutdown()


def make_own(config: pytest.Config, reporter: Reporter, folder: Path) -> None:
    """Replace what a process must not share with the others: terminal, captured output, folders."""
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(reporter, "terminalreporter")
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.option.basetemp = folder
    config._tmp_path_factory = pytest.TempPathFactory.from_config(config, _ispytest=True)


def received_items(
    session: pytest.Session, line: Connection
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test and the one after it, which decides what is torn down between them."""
    ahead: deque[int] = deque(line.recv())
    while ahead:
        place = ahead.popleft()
        if not ahead:
            line.send(("more", None))
            ahead.extend(line.recv())
        yield session.items[place], session.items[ahead[0]] if ahead else None
