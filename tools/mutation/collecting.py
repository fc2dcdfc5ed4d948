"""Tests that pytest collects and this tool runs, in its own order."""

import traceback
from collections.abc import Callable, Sequence
from typing import Generic

import hypothesis
import pytest

from mutation.forks import Answer, print_line

OPTIONS = (
    *("-q", "-s", "--tb=no", "--assert=plain", "--timeout=0", "-p", "no:cacheprovider"),
    *("-m", "not slow and not data", "--hypothesis-profile=mutation"),
)


def register_profile() -> None:
    """Let generated examples be the same in every run, and no test fail on a busy machine."""
    hypothesis.settings.register_profile(
        "mutation",
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        database=None,
        derandomize=True,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    )


class _Loop(Generic[Answer]):
    """A plugin that hands the collected tests to a function, in place of running them."""

    def __init__(self, use: Callable[[Sequence[pytest.Item]], Answer]) -> None:
        self._use = use
        self._answers: list[Answer] = []
        self._called = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:  # some file cannot be imported
            return True
        self._called = True
        try:
            self._answers.append(self._use(session.items))
        finally:
            if not self._answers:  # pytest would keep the error to itself
                print_line(traceback.format_exc())
        return True

    def answer(self) -> Answer | None:
        """Return what the function returned; None if it was never called."""
        if self._called and not self._answers:
            raise RuntimeError("the collected tests could not be run")
        return self._answers[0] if self._answers else None


def collected(
    tests: Sequence[str], use: Callable[[Sequence[pytest.Item]], Answer]
) -> Answer | None:
    """Collect tests, hand them to a function and return its answer; None if one is broken."""
    loop: _Loop[Answer] = _Loop(use)
    pytest.main([*OPTIONS, *tests], plugins=[loop])
    return loop.answer()


def run_item(item: pytest.Item, following: pytest.Item | None = None) -> bool:
    """Run a test, with fixtures that only the following one may share; tell whether it passed."""
    failed = item.session.testsfailed
    item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
    return item.session.testsfailed == failed
