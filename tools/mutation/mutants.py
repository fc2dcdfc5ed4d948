"""Mutants of a module: one operator or number changed, and how the change gets into a process."""

import ast
import gc
import importlib.machinery
import importlib.util
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

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
UNCHANGED_FIELDS = ("annotation", "returns", "decorator_list", "type_params", "format_spec")


def module_of(path: Path) -> str:
    """Return the name under which a file is imported.

    Examples
    --------
    >>> module_of(SOURCE / "vicinal" / "metrics" / "auc.py")
    'vicinal.metrics.auc'
    >>> module_of(SOURCE / "vicinal" / "metrics" / "__init__.py")
    'vicinal.metrics'
    """
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Mutant:
    """One change of one module: where and what it is."""

    path: Path
    lines: range
    """From the start of the statement to the end of the change."""
    line: int
    column: int
    change: str
    place: int
    """Which of the module's nodes that may be changed."""
    in_function: bool
    """Whether the change is inside a function; otherwise an import makes it."""

    @property
    def module(self) -> str:
        """The name under which the module is imported."""
        return module_of(self.path)

    def tree(self) -> ast.Module:
        """Return the changed module."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        old = next(itertools.islice(places(tree), self.place, None)).node
        new = changed(old)
        if new is None:
            raise RuntimeError(f"{self}: the file has changed since")
        _Replace(old, ast.copy_location(new, old)).visit(tree)
        return ast.fix_missing_locations(tree)

    def __str__(self) -> str:
        """Return place and change, as an editor takes them."""
        return f"{self.path.relative_to(ROOT)}:{self.line}:{self.column}: {self.change}"


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


@dataclass(frozen=True)
class _Place:
    """A node that may be changed, the statement it is part of, and whether in a function."""

    node: ast.AST
    statement: ast.stmt | None
    in_function: bool


def places(
    node: ast.AST, statement: ast.stmt | None = None, in_function: bool = False
) -> Iterator[_Place]:
    """Yield the nodes that may be changed.

    Annotations, decorators and the texts of errors are left as they are.
    """
    for field, value in ast.iter_fields(node):
        if field in UNCHANGED_FIELDS:
            continue
        is_function = isinstance(node, ast.FunctionDef | ast.Lambda) and field == "body"
        inside = in_function or is_function
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise):
                continue
            part_of = child if isinstance(child, ast.stmt) else statement
            yield _Place(child, part_of, inside)
            yield from places(child, part_of, inside)


class _Replace(ast.NodeTransformer):
    """Replaces one node by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def mutants(path: Path) -> list[Mutant]:
    """Return every mutant of a module."""
    original = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for at, place in enumerate(places(original)):
        new = changed(place.node)
        if new is None or place.statement is None:
            continue
        line = getattr(place.node, "lineno", place.statement.lineno)
        column = getattr(place.node, "col_offset", place.statement.col_offset) + 1
        last = getattr(place.node, "end_lineno", None) or line
        lines = range(place.statement.lineno, last + 1)
        change = f"{ast.unparse(place.node)} → {ast.unparse(new)}"
        found.append(Mutant(path, lines, line, column, change, at, place.in_function))
    return found


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the changed module in place of the file."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self.tree = mutant.tree()

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


def change_at_import(mutant: Mutant) -> None:
    """Let the changed module be found by whoever imports it first in this process."""
    if mutant.module in sys.modules:
        raise AssertionError(f"{mutant.module} is imported already")
    sys.meta_path.insert(0, _Finder(mutant))


def live_functions(path: Path) -> list[FunctionType]:
    """Return the functions of a file that this process holds."""
    gc.unfreeze()  # the tests freeze what is imported, and the collector does not list that
    found = [
        one
        for one in gc.get_objects()
        if type(one) is FunctionType and one.__code__.co_filename == str(path)
    ]
    if not found:
        raise RuntimeError(f"{path}: expected functions in this process, found none")
    return found


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of every function inside code."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from codes(one)


def change_functions(mutant: Mutant, functions: Sequence[FunctionType]) -> None:
    """Give functions that exist already the changed code: whoever holds them runs the change."""
    original = ast.parse(mutant.path.read_text(encoding="utf-8"))
    old, new = (
        codes(compile(tree, str(mutant.path), "exec", dont_inherit=True))
        for tree in (original, mutant.tree())
    )
    changed_codes = dict(zip(old, new, strict=True))
    for function in functions:
        function.__code__ = changed_codes[function.__code__]
