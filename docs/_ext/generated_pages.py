"""Pages that are written when the site is built: the API reference, and files of the repository.

- ``api/``: one page per public package, with every name of its ``__all__``.
- ``project/``: the Markdown files at the top of the repository, links adapted.
- ``OTHER-PAGES`` in a table of contents stands for the Markdown pages of this folder that no table
  of contents names, so that a new page is found without further work.
"""

import inspect
import os
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

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
    "vicinal.methods",
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

COPIED = {
    "ARCHITECTURE.md": "architecture",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "SECURITY.md": "security",
    "reproduction/README.md": "reproduction-package",
    "src/vicinal/datasets/debtags.md": "debtags",
}
"""Markdown files of the repository and the names of their pages in ``project/``."""

_LINK = re.compile(r"(\]\()([^)\s#:]+\.md)((?:#[^)]*)?\))")
_ANY_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#:]+)\)")
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
        return f".. autoclass:: {name}\n   :members:\n   :inherited-members: {OTHERS}\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {name}\n"
    return f".. autodata:: {name}\n   :no-value:\n"


def package_page(package: str) -> str:
    """Return the reference page of a package, as reStructuredText."""
    names = public_names(package)
    rows = "\n".join(f"   {name}" for name in names)
    parts = [f"{package}\n{'=' * len(package)}\n"]
    about = "currentmodule" if package == "vicinal" else "automodule"
    parts.append(f".. {about}:: {package}\n")
    parts.append(f".. autosummary::\n   :nosignatures:\n\n{rows}\n")
    parts += [f"{name}\n{'-' * len(name)}\n\n{directive(package, name)}" for name in names]
    return "\n".join(parts)


def write_reference() -> None:
    """Write the pages of the API reference."""
    for package in packages():
        write_if_changed(DOCS / "api" / f"{package}.rst", package_page(package))
    listed = "\n".join(f"   {package}" for package in packages())
    write_if_changed(
        DOCS / "api" / "index.rst",
        "API reference\n=============\n\nEvery public name, by package. Data passes through the "
        "packages in this order; the estimators at the top level put them together.\n\n"
        f".. toctree::\n   :maxdepth: 2\n\n{listed}\n",
    )


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


def adapt_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Adapt links that leave ``docs/``, and list the other pages."""
    page = Path(app.srcdir) / f"{name}.md"
    if page.exists():
        source[0] = adapted_links(source[0], page.parent, page)
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


def write_pages(app: Sphinx) -> None:
    """Write every page that is made, not kept."""
    write_reference()
    write_copies()


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages, priority=1)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", plain_headings)
    app.connect("source-read", adapt_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
