"""The files that five tasks run stay few (``tools/walks.py``)."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "walks.py"
pytestmark = [pytest.mark.native, pytest.mark.slow]


def test_no_walk_is_longer_than_its_target(tmp_path):
    pytest.importorskip("fastapi", reason="needs the extra [serve]")
    spec = importlib.util.spec_from_file_location("walks", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    found = tool.walks(tmp_path)
    assert found.keys() == tool.TARGETS.keys()
    assert next(iter(found["POST learn"])) == "service/access.py"
    for name, files in found.items():
        assert 10 < len(files) <= tool.TARGETS[name], name
