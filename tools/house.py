"""Check the layout of the sources: no helper module of a single user, no name twice.

A module with one importer belongs to its importer. Exceptions: a module that its package exports
(a method, an index, a metric), a command, a file format, and the modules of ``REASONS``. No module
name and no class name occurs twice in ``src/vicinal``, and no constant is defined twice with the
same name and value. ``tests/unit/test_house.py`` checks this; names of packages do not count.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "vicinal"

REASONS = {
    "vicinal.__main__": "python -m vicinal",
    "vicinal.datasets.catalogue.corpora": "data: entries of text corpora, apart for their length",
    "vicinal.datasets.catalogue.download": "the only code that uses the network",
    "vicinal.datasets.tables.spreadsheet": "a file format",
    "vicinal.datasets.debtags": "a data set: the embedded one",
    "vicinal.datasets.generated": "a data source, for benchmarks and tests too",
    "vicinal.explanation.explanation_page": "an output format, loaded only when a page is written",
    "vicinal.gpu.kernels": "imports Triton, which runs on a GPU only",
    "vicinal.integrations.annif": "imported by Annif",
    "vicinal.persistence.encoding": "a file format: what arrays and values look like in JSON",
    "vicinal.report.curves": "plots, loaded only when they are drawn",
    "vicinal.report.paper": "an output format: LaTeX, CSV and Parquet",
    "vicinal.selection.lcif_grid": "the grid of one method, computed in one pass",
    "vicinal.service.label_studio": "the dialect of another program",
    "vicinal.service.pages": "endpoints: the web pages",
    "vicinal.service.server": "the web server, which apps of other servers do not load",
}
"""Modules with one importer, and why they stand alone."""


def modules(folder: Path = SOURCES) -> dict[str, Path]:
    """Return the files of a package by the names of their modules."""
    parts = {
        file: (folder.name, *file.relative_to(folder).with_suffix("").parts)
        for file in sorted(folder.rglob("*.py"))
    }
    return {".".join(each).removesuffix(".__init__"): file for file, each in parts.items()}


def importers(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return which modules import each module, anywhere in their code."""
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for imported in _imported(ast.parse(file.read_text(encoding="utf-8"))):
            for target in (imported, imported.rpartition(".")[0]):
                if target in found:
                    found[target] |= {name} - {target}
                    break
    return found


def _imported(tree: ast.Module) -> Iterable[str]:
    """Yield the full names that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def single_importers(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the modules that belong to their only importer, with its name."""
    found = {}
    for name, users in importers(files).items():
        is_package = files[name].name == "__init__.py"
        exported = users == {name.rpartition(".")[0]}
        is_listed = users in ({"vicinal.cli.program"}, {"vicinal.datasets.formats"})
        if len(users) < 2 and not (is_package or exported or is_listed or name in REASONS):
            found[name] = next(iter(users), "nobody")
    return found


def repeated_modules(files: Mapping[str, Path]) -> dict[str, list[str]]:
    """Return the names of modules that occur more than once."""
    named = ((file.stem, name) for name, file in files.items() if file.stem != "__init__")
    return _repeated(named)


def repeated_classes(files: Mapping[str, Path]) -> dict[str, list[str]]:
    """Return the names of classes that occur more than once."""
    trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in files.items()}
    return _repeated(
        (node.name, name)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )


def repeated_constants(files: Mapping[str, Path]) -> dict[str, list[str]]:
    """Return the constants that more than one module defines with the same value."""
    return _repeated(
        (constant, name)
        for name, file in files.items()
        for constant in _constants(ast.parse(file.read_text(encoding="utf-8")))
    )


def _constants(tree: ast.Module) -> Iterable[str]:
    """Yield ``NAME = value`` for each constant of a module, also of those assigned together."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
        for name, value in pairs:
            if isinstance(name, ast.Name) and name.id.isupper():
                yield f"{name.id} = {ast.unparse(value)}"


def _repeated(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def main() -> None:
    """Print the modules that belong to their importer; exit with 1 if there are any."""
    files = modules()
    lines = [
        f"{name}: only {user} imports it; merge them, or give a reason in tools/house.py"
        for name, user in single_importers(files).items()
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
