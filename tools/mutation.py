"""Mutation tests: change one operator or number in the library, and see whether a test notices.

``make mutation`` takes a sample of the mutants of scoring, decision and metrics. Each runs in a
forked process, in which an import hook compiles the changed module; no file is touched. A mutant
is *killed* when a test fails, *survives* when none does, and *times out* when the tests take far
longer than without it. The score is killed / all: a timeout does not count as killed. Survivors
are listed, to be answered by a test or to be recognised as equivalent.
"""

import argparse
import ast
import copy
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
TESTS = {
    "scoring": (
        "tests/oracle/test_brknn_lpknn.py",
        "tests/oracle/test_mlknn_family.py",
        "tests/oracle/test_lcif.py",
        "tests/oracle/test_iblr.py",
        "tests/unit/scoring",
        "tests/property/test_explanations.py",
    ),
    "decision": (
        "tests/unit/decision",
        "tests/property/test_decision_rules.py",
        "tests/property/test_threshold_blocks.py",
    ),
    "metrics": (
        "tests/unit/metrics",
        "tests/oracle/test_metrics_sklearn.py",
        "tests/property/test_metrics_bipartition.py",
        "tests/property/test_metrics_first_labels.py",
        "tests/property/test_metrics_ranking.py",
    ),
}
"""The tests that guard each package."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
Outcome = Literal["killed", "survived", "timed out"]


@dataclass(frozen=True)
class Mutant:
    """One change of one module: the changed tree, and where and what it is."""

    path: Path
    line: int
    change: str
    tree: ast.Module

    @property
    def module(self) -> str:
        """The name under which the module is imported."""
        return ".".join(self.path.relative_to(SOURCE).with_suffix("").parts)

    def __str__(self) -> str:
        """Return place and change, as an editor takes them."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.change}"


def changed(node: ast.AST) -> ast.AST | None:
    """Return a changed copy of a node, or None where it stays as it is.

    Examples
    --------
    >>> ast.unparse(changed(ast.parse("a < b", mode="eval").body))
    'a <= b'
    >>> changed(ast.parse("a", mode="eval").body) is None
    True
    """
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            return ast.Compare(node.left, [COMPARISONS[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            return ast.BinOp(node.left, OPERATORS[type(op)](), node.right)
        case ast.BoolOp(op=op):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            return ast.Constant(value + 1)
    return None


def places(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that may be changed: not those of annotations, decorators and defaults."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from places(child)


class _Replace(ast.NodeTransformer):
    """Replaces the node at one place of :func:`places`."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def mutants(path: Path) -> list[Mutant]:
    """Return every mutant of a module."""
    text = path.read_text(encoding="utf-8")
    n_places = sum(1 for _ in places(ast.parse(text)))
    found = []
    original = ast.parse(text)
    for place, node in zip(range(n_places), places(original), strict=True):
        if changed(node) is None:
            continue
        tree = copy.deepcopy(original)
        old = next(one for at, one in enumerate(places(tree)) if at == place)
        new = changed(old)
        if new is None:
            raise AssertionError("a copy of a tree has the same places")
        ast.copy_location(new, old)
        line = getattr(old, "lineno", 0)
        change = f"{ast.unparse(node)} → {ast.unparse(new)}"
        _Replace(old, new).visit(tree)
        ast.fix_missing_locations(tree)
        found.append(Mutant(path, line, change, tree))
    return found


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the changed module in place of the file."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self.tree = mutant.tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the changed module before anything else does."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self.mutant.path, loader=_Loader(self.mutant)
        )


def run_tests(mutant: Mutant | None, tests: Sequence[str]) -> int:
    """Run tests in this process, quietly; return pytest's exit code."""
    import pytest

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    options = [
        "-x",
        "-q",
        "-m",
        "not slow and not data",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    return int(pytest.main([*options, *tests]))


def tried(mutant: Mutant | None, tests: Sequence[str], limit: float) -> Outcome:
    """Run tests in a forked process, and stop it when the limit has passed."""
    child = os.fork()
    if child == 0:
        os._exit(run_tests(mutant, tests))
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timed out"


def tests_of(package: str, path: Path) -> list[str]:
    """Return the tests that guard a module, those of its own name first."""
    own = ROOT / "tests" / "unit" / package / f"test_{path.stem}.py"
    first = [str(own.relative_to(ROOT))] if own.exists() else []
    return [*first, *TESTS[package]]


def chosen(packages: Sequence[str], sample: int | None, seed: int) -> list[tuple[str, Mutant]]:
    """Return mutants of packages, all or a random sample of each package."""
    draw = random.Random(seed)
    found = []
    for package in packages:
        paths = sorted((SOURCE / "vicinal" / package).glob("*.py"))
        every = [mutant for path in paths for mutant in mutants(path)]
        if sample is not None and sample < len(every):
            every = sorted(draw.sample(every, sample), key=str)
        found += [(package, mutant) for mutant in every]
    return found


def main() -> int:
    """Try mutants, list those that no test noticed, and print the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=list(TESTS), help=f"of {', '.join(TESTS)}")
    parser.add_argument("--sample", type=int, default=20, help="mutants per package; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # set before NumPy is loaded, because of the forks
    for library in ("numpy", "scipy.sparse", "sklearn.base", "pytest"):
        importlib.import_module(library)
    limits = {}
    for package in options.packages:
        began = time.monotonic()
        if tried(None, TESTS[package], 3600) != "survived":
            sys.exit(f"the tests of {package} fail without any change")
        limits[package] = 3 * (time.monotonic() - began) + 10
    counts: dict[Outcome, int] = {"killed": 0, "survived": 0, "timed out": 0}
    for package, mutant in chosen(options.packages, options.sample or None, options.seed):
        outcome = tried(mutant, tests_of(package, mutant.path), limits[package])
        counts[outcome] += 1
        if outcome != "killed":
            sys.stdout.write(f"{outcome}: {mutant}\n")
            sys.stdout.flush()
    total = sum(counts.values())
    said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    sys.stdout.write(f"{total} mutants: {said}; score {counts['killed'] / max(total, 1):.1%}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
