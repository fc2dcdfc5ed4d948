"""Pages that are written when the site is built: the API reference, and files of the repository.

- ``api/``: one page per public package, with every name of its ``__all__``, and one per class.
- ``project/``: the Markdown files at the top of the repository, links adapted.
- Links to Python files, which readers of the repository follow, lead to the page or the definition
  that the site has instead, and a picture with a caption in italics below it becomes a figure.
- ``OTHER-PAGES`` in a table of contents stands for the Markdown pages of this folder that no table
  of contents names, so that a new page is found without further work.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import cast

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

PACKAGES = (
    "vicinal",
    "vicinal.methods",
    "vicinal.datasets",
    "vicinal.preprocess",
    "vicinal.distances",
    "vicinal.index",
    "vicinal.graph",
    "vicinal.decision",
    "vicinal.explanation",
    "vicinal.metrics",
    "vicinal.reduction",
    "vicinal.baselines",
    "vicinal.selection",
    "vicinal.comparison",
    "vicinal.results",
    "vicinal.report",
    "vicinal.persistence",
    "vicinal.gpu",
)
"""The public packages in the order in which data passes through them."""

NOT_LISTED = ("vicinal.cli", "vicinal.integrations.annif")
"""Documented elsewhere: the command line, other programs' plugins."""

OTHERS = "BaseEstimator, ClassifierMixin, TransformerMixin, NamedTuple, tuple, Protocol"
"""Base classes of other libraries, whose methods are not listed again for each class."""

FIRST_METHODS = (
    *("fit", "predict_names", "predict", "predict_proba", "scores", "rank", "explain"),
    *("partial_fit", "forget", "recalibrate", "save", "kneighbors", "transform"),
)
"""Methods that most readers look for; the others follow by name."""

COPIED = {
    "ARCHITECTURE.md": "architecture",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "SECURITY.md": "security",
    "reproduction/README.md": "reproduction-package",
    "src/vicinal/datasets/debtags.md": "debtags",
}
"""Markdown files of the repository and the names of their pages in ``project/``."""

ON_THE_SITE = {
    "docs/examples": "/gallery/index",
    "src/vicinal/__init__.py": "/api/index",
    "benchmarks/results": "/evidence/measurements",
}
"""Files and folders of the repository, and the pages that the site has for them."""

COMMON_PARAMETERS = {
    "name": "Name of a metric, such as ``precision@3``.",
    "Y_true": "True labels: an indicator, dense or sparse, or lists of label names.",
    "labels": "Predicted labels, in any form that `Y_true` may have.",
    "scores": "Scores of all labels: an array, a sparse array or `vicinal.Scores`.",
    "conventions": "How edge cases count: ``vicinal``, ``sklearn``, ``mulan`` or ``meka``.",
    "k": "How many of the best labels of a row are used.",
    "train_label_counts": "How many training rows have each label.",
    "n_train_rows": "Number of training rows.",
}
"""Parameters that all metrics share; their docstrings define the metric only."""

METHOD_PARAMETERS = {
    "X": "Rows, in a form that `fit` takes.",
    "Q": "Rows to search for, in a form that the index was built from.",
    "Y": "Labels of the rows: lists of names, or an indicator, dense or sparse.",
    "y": "Labels of the rows: lists of names, or an indicator, dense or sparse.",
    "graph": "Neighbours of the rows that were searched before; they are searched if it is None.",
    "scores": "Scores of all labels.",
    "state": "What `get_state` returned.",
    "path": "File.",
    "top": "How many of the best labels of a row.",
    "k": "Number of neighbours.",
    "n_neighbors": "Number of neighbours; None for the model's own.",
    "return_distance": "Whether distances are returned as well.",
    "view": "Name of a view, if the model has several; the first if it is None.",
    "rows": "Ids of training rows.",
    "blocks": "Rows in blocks, as an iterable.",
    "weights": "Weights of the rows.",
    "labels": "Names or numbers of labels.",
    "label_names": "Names of the columns of an indicator.",
    "row_names": "Names of the rows.",
    "classes": "Names of labels that may come later.",
    "input_features": "Names of the features.",
    "fit_params": "Not used.",
    "groups": "Not used.",
    "unsupported": "Not used.",
    "metric": "Name of a metric.",
    "method": "Name of a method.",
    "first": "Name of a method.",
    "second": "Name of another method.",
    "start": "First row.",
    "stop": "The row after the last one.",
    "queries": "Which rows of the graph.",
    "X_blocks": "Rows in blocks, as an iterable.",
    "trusted": "Names of functions and types that the file may refer to.",
    "params": "Passed on to the steps.",
    "options": "Passed on to the method.",
    "document": "A text.",
    "n": "How many.",
    "label": "Name of a label.",
    "winner": "Name of a method.",
    "loser": "Name of another method.",
    "counts": "How many training rows have each label.",
    "factor": "The number by which base and shares are multiplied.",
    "share": "The part of each share that goes to the first of two breakdowns.",
    "other": "A breakdown of the same row and label.",
    "result": "A result.",
    "keys": "Values of the distance, smaller is nearer.",
    "values": "Values of a graph.",
    "kept": "Which rows are kept.",
    "P": "A projection: features × columns.",
    "ids": "Ids of the neighbours, one line per row, from near to far.",
    "n_rows": "Number of training rows.",
    "base": "The score of each label that is not stored; 0 if it is None.",
    "neighbor_cardinality": "Mean number of labels of each row's neighbours, if known.",
    "label_sets": "The label set that each row's neighbours suggest, if known.",
    "parts": "What `to_json` returned.",
    "device": "Name of a device of PyTorch; None chooses one.",
    "fused": "Whether the fused kernels are used; None decides by device and size.",
    "function": "Runs on a worker; its first argument is `shared`.",
    "shared": "What all calls need; sent once to each worker.",
    "arguments": "The further arguments of each call.",
}
"""Parameters that the methods of many classes share, if their docstrings do not describe them."""

FUNCTION_PARAMETERS = {
    "steps": "Transformers, and an estimator as the last one.",
    "options": "Options of scikit-learn's ``make_pipeline``.",
    "model": "A fitted estimator, or a pipeline that ends in one.",
    "X": "Rows, in a form that the model takes.",
    "metric": "Name of a distance, or a distance.",
    "name": "The name.",
    "distance": "A distance with its name and its definition.",
    "n_methods": "Number of methods.",
    "n_samples": "Number of samples, such as data sets.",
    "alpha": "Level of significance.",
    "p": "Probabilities, one per test.",
    "results": "What `compare` returned.",
    "metrics": "Names of metrics, the main one first.",
    "reported": "Published figures to show next to these.",
    "curves": "Curves over k to show in addition.",
    "title": "Title of the page.",
    "part": "An object, or for a registration a class, with ``get_state`` and ``from_state``.",
    "path": "File.",
    "device": "Name of a device of PyTorch; None chooses one.",
    "indptr": "Where the entries of each row start, as in CSR.",
    "indices": "Columns of the entries.",
    "values": "Values.",
    "shape": "Numbers of rows and columns.",
    "dataset": "A data set.",
    "address": "Address of the scheduler, such as ``tcp://scheduler:8786``.",
    "timeout": "Seconds to wait for it.",
}
"""Parameters of functions whose docstrings describe them in the first sentence only."""

CLASS_PARAMETERS = {
    "algorithm": "Index: a name, or a function of rows, metric and threads; ``auto`` chooses one.",
    "at_hand": "Whether all its files are on this machine.",
    "conventions": "How edge cases count: ``vicinal``, ``sklearn``, ``mulan`` or ``meka``.",
    "entry": "What the catalogue knows about the data set.",
    "equivalent": "Probability that the methods are equivalent in practice.",
    "fills": "Whether rows without a label get one.",
    "first": "The first method, or its probability to be better.",
    "high": "Upper end of the interval.",
    "iterable": "Explanations of rows.",
    "label_when_all_zero": "The label of rows whose scores are all 0.",
    "labels": "Label names of each text, if the file has them.",
    "loser": "Name of the worse method.",
    "low": "Lower end of the interval.",
    "mean": "Mean difference.",
    "metric": "Name of a distance or metric.",
    "n_jobs": "Number of threads; None uses what the caller allows, -1 all cores.",
    "never_empty": "Whether each row gets a label; None leaves it to the rule.",
    "p": "Probability of such a difference by chance.",
    "reading": "How a table was read; None for other files.",
    "row_names": "Names of the rows, if the file has them.",
    "rule": "The fitted rule.",
    "second": "The second method, or its probability to be better.",
    "t": "The t statistic.",
    "texts": "One string per row.",
    "threshold": "Decision rule; None is that of the method.",
    "winner": "Name of the better method.",
}
"""Fields of classes whose docstrings describe them in the first sentence only."""

_LINK = re.compile(r"(\]\()([^)\s#:]+\.md)((?:#[^)]*)?\))")
_ANY_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#:]+)\)")
_FIGURE = re.compile(r"^!\[([^\]]+)\]\(([^)\s]+)\)\n\*([^*]+)\*$", re.MULTILINE)
_REQUEST = re.compile(r"set_\w+_request$")
_OTHER = re.compile(r"^OTHER-PAGES$", re.MULTILINE)


def write_if_changed(path: Path, text: str) -> None:
    """Write a page unless it already says the same, so that Sphinx need not read it again."""
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def packages() -> list[str]:
    """Return the packages to document: the known ones in their order, then any others."""
    found = [f"vicinal.{module.name}" for module in iter_modules(import_module("vicinal").__path__)]
    others = [name for name in sorted(found) if name not in (*PACKAGES, *NOT_LISTED)]
    public = [name for name in others if not name.startswith("vicinal._") and public_names(name)]
    return [*PACKAGES, *public]


def public_names(package: str) -> list[str]:
    """Return the names a package exports, except packages and what ``vicinal`` itself exports."""
    module = import_module(package)
    top = import_module("vicinal")
    exported = getattr(module, "__all__", [])
    names = [name for name in exported if not inspect.ismodule(getattr(module, name))]
    if package == "vicinal":
        return names
    return [name for name in names if getattr(top, name, None) is not getattr(module, name)]


def directive(package: str, name: str) -> str:
    """Return the directive that documents one name."""
    value = getattr(import_module(package), name)
    if inspect.isclass(value):
        first = [each for each in FIRST_METHODS if is_own_method(value, each)]
        options = f"   :members:\n   :inherited-members: {OTHERS}\n"
        options += f"   :exclude-members: {', '.join(first)}\n\n" if first else ""
        methods = indented(f".. automethod:: {each}" for each in first)
        return f".. autoclass:: {name}\n{options}{methods}\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {name}\n"
    return f".. autodata:: {name}\n   :no-value:\n"


def is_own_method(kind: type, name: str) -> bool:
    """Tell whether a class has a method of that name which another library did not define."""
    method = getattr(kind, name, None)
    return inspect.isroutine(method) and str(method.__module__).startswith("vicinal")


def package_page(package: str) -> str:
    """Return the reference page of a package, as reStructuredText; classes have their own pages."""
    names = sorted(public_names(package), key=lambda name: (name != "Blend", name.lower()))
    classes = [name for name in names if is_class(package, name)]
    about = "currentmodule" if package == "vicinal" else "automodule"
    parts = [f"{package}\n{'=' * len(package)}\n", f".. {about}:: {package}\n"]
    parts.append(f".. autosummary::\n   :nosignatures:\n\n{indented(names)}\n")
    if classes:
        pages = indented(f"{package}.{name}" for name in classes)
        parts.append(f".. toctree::\n   :hidden:\n\n{pages}\n")
    others = [name for name in names if name not in classes]
    parts += [f"{name}\n{'-' * len(name)}\n\n{directive(package, name)}" for name in others]
    return "\n".join(parts)


def class_page(package: str, name: str) -> str:
    """Return the reference page of a class."""
    return (
        f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: {package}\n\n{directive(package, name)}"
    )


def is_class(package: str, name: str) -> bool:
    """Tell whether a public name is a class."""
    return inspect.isclass(getattr(import_module(package), name))


def indented(lines: Iterable[str]) -> str:
    """Return lines as the content of a directive."""
    return "\n".join(f"   {line}" for line in lines)


def write_reference() -> None:
    """Write the pages of the API reference, and remove those of names that are gone."""
    pages = {package: package_page(package) for package in packages()}
    for package in packages():
        for name in public_names(package):
            if is_class(package, name):
                pages[f"{package}.{name}"] = class_page(package, name)
    pages["index"] = (
        "Python API\n==========\n\nEvery public name, by package. Data passes through the "
        "packages in this order. The estimators at the top level put them together.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{indented(packages())}\n"
    )
    for page, text in pages.items():
        write_if_changed(DOCS / "api" / f"{page}.rst", text)
    for old in (DOCS / "api").glob("*.rst"):
        if old.stem not in pages:
            old.unlink()


def adapted_links(text: str, folder: Path, page: Path) -> str:
    """Return text whose links from `folder` lead to the same files from the place of `page`.

    A link to a folder becomes plain text: a site has no page for it.
    """

    def adapt(found: re.Match[str]) -> str:
        target = (folder / found[2]).resolve()
        inside = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
        if inside in COPIED:
            target = DOCS / "project" / f"{COPIED[inside]}.md"
        if not target.is_relative_to(DOCS):
            return found[0]
        return found[1] + os.path.relpath(target, page.parent) + found[3]

    def without_folder(found: re.Match[str]) -> str:
        return found[1] if (folder / found[2]).is_dir() else found[0]

    return _ANY_LINK.sub(without_folder, _LINK.sub(adapt, text))


def write_copies() -> None:
    """Write the pages of ``project/`` from the files of the repository."""
    for name, page in COPIED.items():
        source = ROOT / name
        target = DOCS / "project" / f"{page}.md"
        text = source.read_text(encoding="utf-8")
        write_if_changed(target, adapted_links(text, source.parent, target))


def other_pages() -> list[str]:
    """Return the pages at the top of ``docs/`` that no table of contents names."""
    written = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*/index.md"))
    written += (DOCS / "index.md").read_text(encoding="utf-8")
    pages = sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")
    return [page for page in pages if not re.search(rf"^(/|\.\./)?{page}$", written, re.MULTILINE)]


def to_site(text: str, folder: Path) -> str:
    """Return text whose links to programs and modules lead to what the site shows of them."""

    def adapt(found: re.Match[str]) -> str:
        name, target = found[1], (folder / found[2]).resolve()
        inside = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
        module = inside.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
        if inside in ON_THE_SITE:
            return f"{{doc}}`{name} <{ON_THE_SITE[inside]}>`"
        if inside.startswith("docs/examples/plot_"):
            return f"{{doc}}`{name} </gallery/{target.stem}>`"
        if name == "Definition" and inside.startswith("src/vicinal/"):
            return f"```{{eval-rst}}\n.. automodule:: {module.replace('/', '.')}\n```"
        if name.startswith("`vicinal.") and inside.startswith("src/vicinal/"):
            return f"{{py:obj}}{name}"
        return found[0]

    def figure(found: re.Match[str]) -> str:
        alternative = " ".join(found[1].split())
        return f"```{{figure}} {found[2]}\n:alt: {alternative}\n\n{found[3]}\n```"

    return _FIGURE.sub(figure, _ANY_LINK.sub(adapt, text))


def adapt_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Adapt links that leave ``docs/`` or lead to files to download, and list the other pages."""
    page = Path(app.srcdir) / f"{name}.md"
    if page.exists():
        source[0] = adapted_links(to_site(source[0], page.parent), page.parent, page)
        for file in (each for each in app.config.exclude_patterns if each.endswith(".md")):
            name = re.escape(Path(file).name)
            source[0] = re.sub(rf"\[([^\]]+)\]\(({name})\)", r"{download}`\1 <\2>`", source[0])
        source[0] = _OTHER.sub("\n".join(f"/{other}" for other in other_pages()), source[0])


def skip_foreign(
    app: Sphinx, what: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    foreign = str(getattr(member, "__module__", "")).startswith("sklearn")
    return True if foreign or _REQUEST.match(name) else None


def plain_headings(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Turn the headings of a module's docstring into rubrics, as numpydoc does for classes."""
    for place in range(len(lines) - 1):
        if what == "module" and lines[place] and set(lines[place + 1]) == {"-"}:
            lines[place : place + 2] = [f".. rubric:: {lines[place]}", ""]


def add_parameters(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Describe the parameters of a metric, and those that the methods of many classes share."""
    metric = what == "function" and name.startswith("vicinal.metrics.")
    own = str(getattr(value, "__module__", "")).startswith("vicinal")
    tables = {
        "method": METHOD_PARAMETERS,
        "class": CLASS_PARAMETERS,
        "function": FUNCTION_PARAMETERS,
    }
    is_error = inspect.isclass(value) and issubclass(value, BaseException)
    if "Parameters" in lines or not own or what not in tables or is_error:
        return
    known = COMMON_PARAMETERS if metric else tables[what]
    signature = inspect.signature(cast("Callable[..., object]", value))
    described = [each for each in signature.parameters if each not in ("self", "cls")]
    if not described or not set(described) <= set(known):
        return
    place = next((at for at, line in enumerate(lines) if line == "Examples"), len(lines))
    added = ["", "Parameters", "----------"]
    for parameter in described:
        added += [parameter, f"    {known[parameter]}"]
    lines[place:place] = [*added, ""]


def write_pages(app: Sphinx) -> None:
    """Write every page that is made, not kept."""
    write_reference()
    write_copies()


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages, priority=1)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", plain_headings)
    app.connect("autodoc-process-docstring", add_parameters, priority=400)  # before numpydoc
    app.connect("source-read", adapt_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
