"""Which lines of a package each test reaches, and how long the test takes."""

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from mutation.collecting import run_item
from mutation.mutants import SOURCE, Mutant


@dataclass
class Reached:
    """What the tests do without any change: who reaches which line, and how long each takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    """Processor seconds of each test, by its name."""
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """The tests that reach each line of each file."""
    failed: list[str] = field(default_factory=list)

    def in_function(self, mutant: Mutant) -> bool:
        """Tell whether some test runs the change; otherwise an import has to make it.

        A function that only imports call, to build a table, has run before the tests do.
        """
        return mutant.in_function and bool(self._reaching(mutant))

    def tests(self, mutant: Mutant, most: float) -> list[str]:
        """Return tests that may notice a change and take no more than so many seconds together.

        Those that reach a change in a function; for a change that an import makes, those that reach
        its file and then all others, which may use its constants by way of other files.
        """
        if self.in_function(mutant):
            return self._quickest(self._reaching(mutant), most)
        near = set().union(*self.lines.get(str(mutant.path), {}).values())
        first = self._quickest(near, most)
        spent = sum(self.seconds[name] for name in first)
        return [*first, *self._quickest({*self.seconds} - near, most - spent)]

    def _reaching(self, mutant: Mutant) -> set[str]:
        """Return the tests that reach the changed lines."""
        lines = self.lines.get(str(mutant.path), {})
        return set().union(*(lines.get(line, ()) for line in mutant.lines))

    def _quickest(self, names: Iterable[str], most: float) -> list[str]:
        """Return tests that take no more than so many seconds together.

        Where all would take more, the quickest of each file. Those of a file stay together, so that
        what they share is made once; files and tests that take less time come first.
        """
        files: dict[str, list[str]] = {}
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            files.setdefault(name.partition("::")[0], []).append(name)
        rounds = itertools.zip_longest(*files.values())
        in_turn = [name for each in rounds for name in each if name is not None]
        total = itertools.accumulate(self.seconds[name] for name in in_turn)
        kept = {name for name, seconds in zip(in_turn, total, strict=True) if seconds <= most}
        shorter = [[name for name in names if name in kept] for names in files.values()]
        shorter.sort(key=lambda names: sum(self.seconds[name] for name in names))
        return list(itertools.chain.from_iterable(shorter))


def reach(items: Sequence[pytest.Item], package: str) -> Reached:
    """Run every test once, and note which lines of a package it reaches."""
    import coverage

    found = Reached()
    watch = coverage.Coverage(
        data_file=None, config_file=False, include=[f"{SOURCE}/vicinal/{package}/*"]
    )
    watch.start()
    for item in items:
        watch.switch_context(item.nodeid)
        began = time.process_time()
        if not run_item(item):
            found.failed.append(item.nodeid)
        found.seconds[item.nodeid] = time.process_time() - began
    watch.stop()
    data = watch.get_data()
    for file in data.measured_files():
        by_line = data.contexts_by_lineno(file)
        found.lines[file] = {line: {*names} - {""} for line, names in by_line.items()}
    return found
