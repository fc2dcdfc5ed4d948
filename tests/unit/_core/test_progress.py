"""Bars on a terminal, nothing elsewhere."""

import io
import sys
from typing import Any

import pytest

from vicinal._core import progress as module
from vicinal._core.progress import blocks, is_seen, part, progress, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work() -> None:
    """Two halves, the first of three rows in blocks."""
    with shown(), part("working", 2) as advance:
        assert list(blocks(3, 2, "rows")) == [(0, 2), (2, 3)]
        advance(1)
        advance(1)


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress([1, 2], "counting")) == [1, 2]
    work()
    assert capsys.readouterr().err == ""


def test_each_part_has_a_bar_that_moves_and_goes(bars: list[Any]) -> None:
    work()
    assert [(bar.description, bar.total, bar.moves) for bar in bars] == [
        ("working", 2, [1, 1]),
        ("rows", 3, [2, 1]),
    ]
    assert all(bar.gone for bar in bars)


def test_a_terminal_reads_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown(), part("working", 4) as advance:
        advance(1)
        with part("next"):  # a new bar is drawn at once, the others with it
            pass
    assert "working" in terminal.getvalue()
    assert "25%" in terminal.getvalue()
    assert "100%" not in terminal.getvalue()


def test_nobody_sees_a_part_unless_it_is_shown(bars: list[Any]) -> None:
    with part("working", 2) as advance:
        advance(2)
    with shown(False):
        assert not is_seen()
        assert list(blocks(3, 2, "rows")) == [(0, 2), (2, 3)]
    assert bars == []


def test_a_display_within_a_display_is_the_same_one(bars: list[Any]) -> None:
    with shown(), part("outer"):
        work()
        assert is_seen()
    assert not is_seen()
    assert [bar.description for bar in bars] == ["outer", "working", "rows"]


def test_items_counted_within_a_display_are_a_part_of_it(bars: list[Any]) -> None:
    with shown(), part("outer"):
        assert list(progress("ab", "items", total=2)) == ["a", "b"]
    assert [(bar.description, bar.total, bar.moves) for bar in bars[1:]] == [("items", 2, [1, 1])]


def test_an_error_leaves_no_bar_behind(bars: list[Any]) -> None:
    def interrupted() -> None:
        with shown(), part("working", 2):
            for _ in blocks(3, 2, "rows"):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [bar.gone for bar in bars] == [True, True]
    assert bars[1].moves == []
    assert not is_seen()


def test_blocks_are_a_hundredth_where_they_are_seen(
    bars: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEWEST_ROWS", 5)
    assert len(list(blocks(1000, 1000, "rows"))) == 1
    with shown():
        sizes = {stop - start for start, stop in blocks(1000, 1000, "rows")}
        assert sizes == {10}
        assert {stop - start for start, stop in blocks(100, 100, "rows")} == {5}
        assert list(blocks(4, 3, "rows")) == [(0, 3), (3, 4)]
        assert list(blocks(0, 3, "rows")) == []
