"""Bars on a terminal, nothing elsewhere."""

import io
import sys

import pytest

from vicinal._base.progress import progress, stepped


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress([1, 2], "counting")) == [1, 2]
    assert list(stepped([1, 2], [1, 9], "counting")) == [1, 2]
    assert capsys.readouterr().err == ""


def test_a_bar_moves_by_the_step_of_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    items = stepped(["small", "large"], [1, 3], "working")
    assert [next(items), next(items)] == ["small", "large"]
    items.close()  # as when the loop is left by an interrupt, one piece of four done
    assert "working" in terminal.getvalue()
    assert "25%" in terminal.getvalue()
    assert "100%" not in terminal.getvalue()
