"""Commands and figures that other distributions bring along, present and absent."""

from importlib.metadata import EntryPoint
from typing import Annotated

import pytest
import typer

from vicinal.cli import program
from vicinal.report.reported import ReportedCell

CELL = ReportedCell("someone2020", "1", "emotions", "ml-knn", "hamming-loss", 0.2)


def cells():
    return [CELL]


def command(
    words: list[str],
    times: Annotated[int, typer.Option(min=1)] = 1,
    code: int = 0,
) -> None:
    """Say the words."""
    typer.echo(" ".join(words * times))
    if code < 0:
        raise ValueError("code: too low")
    if code:
        raise typer.Exit(code)


@pytest.fixture
def install(monkeypatch):
    """Let these objects, and no others, be the entry points that are installed."""

    class Installed(EntryPoint):
        def load(self):
            return globals()[self.value]

    def put(**found):
        points = [Installed(name, value, group) for name, (value, group) in found.items()]

        def entry_points(**wanted):
            return [each for each in points if each.matches(**wanted)]

        monkeypatch.setattr(program, "entry_points", entry_points)

    return put


@pytest.mark.parametrize("words", [(), ("--help",), ("zhang2007", "2", "--shipped")])
def test_an_absent_distribution_is_named_in_one_line(run, install, words):
    install()
    code, out, err = run("reproduce", *words)
    assert (code, out) == (2, "")
    assert err == (
        "error: vicinal reproduce is installed separately: pip install vicinal-reproduction\n"
    )


def test_reproduce_is_listed_whether_installed_or_not(run, install):
    install()
    code, out, _ = run("--help")
    assert code == 0
    assert "reproduce" in out


def test_an_installed_command_gets_the_whole_line(run, install):
    install(reproduce=("command", "vicinal.commands"))
    assert run("reproduce", "a", "--times", "2", "b") == (0, "a b a b\n", "")
    code, out, _ = run("reproduce", "--help")
    assert code == 0
    assert "vicinal reproduce" in out
    assert "Say the words." in out
    assert "--times" in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("a", "--code", "3"), 3, ""),
        (("a", "--code", "-1"), 2, "code: too low"),
        (("a", "--times", "0"), 2, "--times"),
        (("a", "--nothing"), 2, "--nothing"),
        ((), 2, "words"),
    ],
)
def test_its_failures_are_those_of_any_command(run, install, words, code, said):
    install(reproduce=("command", "vicinal.commands"))
    found, _, err = run("reproduce", *words)
    assert found == code
    assert said in err
    assert err.count("\n") <= 1


def test_reported_figures_are_those_of_what_is_installed(install):
    install()
    assert list(program.reported_figures()) == []
    install(papers=("cells", "vicinal.reported_figures"), other=("command", "vicinal.commands"))
    assert list(program.reported_figures()) == [CELL]
