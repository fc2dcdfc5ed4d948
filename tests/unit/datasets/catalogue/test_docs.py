"""The page on data is in step with the catalogue."""

import importlib
from pathlib import Path

import pytest

from vicinal.datasets.catalogue import ENTRIES

TOOLS = Path(__file__).parents[4] / "tools"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("catalogue_table")


def test_the_table_is_what_the_tool_writes(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.rewritten(page) == page
    assert all(f"| `{name}`" in page for name in ENTRIES)


def test_the_file_has_what_the_table_leaves_out(tool):
    facts = tool.FACTS.read_text(encoding="utf-8")
    assert facts == tool.facts()
    assert all(entry.licence in facts for entry in ENTRIES.values())
