"""The tool that builds the embedded data set."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[4] / "tools"


@pytest.fixture(scope="session")
def build() -> ModuleType:
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("build_debtags")
    finally:
        sys.path.remove(str(TOOLS))
