"""The oracles that several tests share."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def oracle():
    """The methods as methods.md defines them, in plain Python."""
    path = Path(__file__).with_name("methods_oracle.py")
    spec = importlib.util.spec_from_file_location("methods_oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
