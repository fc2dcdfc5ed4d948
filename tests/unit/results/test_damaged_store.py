"""Lines of a results file that are JSON, and no results."""

import json

import pytest

from vicinal.errors import DataFormatError
from vicinal.results import Result, ResultStore

WRONG = [
    ("seed", []),
    ("seed", {}),
    ("seed", True),
    ("seed", 0.5),
    ("settings", []),
    ("seconds", 3),
    ("per_label", None),
    ("label_names", "abc"),
    ("note", {}),
    ("provenance", "x"),
    ("values", {"f1": 3}),
    ("values", {"f1": [10**400]}),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_parts_of_another_kind(tmp_path, name, value):
    store = ResultStore(tmp_path / "results.jsonl")
    store.add(Result("compare", "yeast", "mlknn", {"f1": (0.2,)}))
    line = json.loads(store.path.read_text()) | {name: value}
    store.path.write_text(json.dumps(line) + "\n")
    with pytest.raises(DataFormatError, match=f"line 1: expected a result, got {name}"):
        store.read()


def test_nesting_without_end(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.path.write_text("[" * 100_000 + "\n")
    with pytest.raises(DataFormatError, match="line 1: expected a result"):
        store.read()
