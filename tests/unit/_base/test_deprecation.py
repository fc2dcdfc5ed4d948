"""Deprecated names warn at the caller's line, keep working, and go when they are due."""

import warnings
from importlib.metadata import version
from pathlib import Path

import pytest

from vicinal._base.deprecation import DEPRECATIONS, Deprecation

OLD = Deprecation("vicinal.old", "vicinal.new", since="0.1", removed_in="0.3")


@OLD
def old(x: int, *, times: int = 2) -> int:
    """Multiply."""
    return x * times


def test_a_deprecated_function_answers_and_warns_where_it_is_called() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert old(3, times=4) == 12
    (warning,) = caught
    assert str(warning.message) == OLD.message
    assert warning.category is DeprecationWarning
    assert warning.filename == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[warning.lineno - 1]
    assert "old(3, times=4)" in line


def test_a_deprecated_function_keeps_its_name_and_documentation() -> None:
    assert old.__name__ == "old"
    assert old.__doc__ == "Multiply."


def test_the_level_of_the_stack_can_be_raised() -> None:
    def inner() -> None:
        OLD.warn(stacklevel=2)

    def outer() -> None:
        inner()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outer()
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[caught[0].lineno - 1]
    assert line.strip() == "outer()"


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("0.1.0", False),
        ("0.2.9", False),
        ("0.3", True),
        ("0.3.0", True),
        ("0.10", True),
        ("1", True),
    ],
)
def test_versions_are_compared_by_number(now: str, due: bool) -> None:
    assert OLD.is_due(now) is due


@pytest.mark.parametrize("deprecation", DEPRECATIONS, ids=lambda one: one.name)
def test_no_deprecated_name_outlives_its_version(deprecation: Deprecation) -> None:
    now = version("vicinal")
    assert not deprecation.is_due(now), f"remove {deprecation.name}: it was to go in {now}"
