"""The API reference describes every parameter of every public name."""

import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.native

ROOT = Path(__file__).parents[3]
NOT_DESCRIBED = {"self", "cls", "args", "kwargs", "unsupported"}


@pytest.fixture(scope="module")
def pages():
    pytest.importorskip("sphinx")
    before = sys.path[:]
    sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT)]
    yield import_module("generated_pages")
    sys.path[:] = before


def documented(pages, what, name, value):
    """Return the parameters that the reference describes."""
    from numpydoc.docscrape import FunctionDoc

    lines = (inspect.getdoc(value) or "").split("\n")
    pages.add_parameters(None, what, name, value, None, lines)
    sections = FunctionDoc(None, doc="\n".join(lines))
    return {
        each.strip().lstrip("*")
        for parameter in sections["Parameters"]
        for each in parameter.name.split(",")
        if any(line.strip() for line in parameter.desc)
    }


def described(pages, package):
    """Yield what a page documents: its kind, its name and the object."""
    for name in pages.public_names(package):
        value = getattr(import_module(package), name)
        if inspect.isclass(value) and not issubclass(value, BaseException):
            yield "class", f"{package}.{name}", value
            for member, method in inspect.getmembers(value, inspect.isroutine):
                own = str(getattr(method, "__module__", "")).startswith("vicinal")
                if own and not member.startswith("_"):
                    yield "method", f"{package}.{name}.{member}", method
        elif inspect.isroutine(value):
            yield "function", f"{package}.{name}", value


def test_every_parameter_is_described(pages):
    missing, count = [], 0
    for package in pages.packages():
        for what, name, value in described(pages, package):
            known = documented(pages, what, name, value)
            for parameter in set(inspect.signature(value).parameters) - NOT_DESCRIBED:
                count += 1
                missing += [f"{name}({parameter})"] if parameter not in known else []
    assert not missing
    assert count > 1500


def test_errors_are_documented_as_they_are(pages):
    """A class of errors without an ``__init__`` has no signature on every Python."""

    class PlainError(RuntimeError):
        """Raised for a reason."""

    PlainError.__module__ = "vicinal.errors"
    lines = ["Raised for a reason."]
    pages.add_parameters(None, "class", "vicinal.errors.PlainError", PlainError, None, lines)
    assert lines == ["Raised for a reason."]
