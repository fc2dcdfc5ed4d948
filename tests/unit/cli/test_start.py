"""What a command loads: help and version load next to nothing, prediction no tuning, no plots."""

import hashlib
import json
import subprocess
import sys

import pytest

from vicinal.cli import options
from vicinal.comparison.candidates import BASELINES
from vicinal.datasets import write_file
from vicinal.estimators import METHODS, MLkNN
from vicinal.preprocess import STEPS

pytestmark = pytest.mark.native

CODE = """
import json, sys
from vicinal.cli import main
try:
    main()
except SystemExit as end:
    print()
    print(json.dumps([end.code or 0, sorted(sys.modules)]))
"""
COMMANDS = ("train", "evaluate", "predict", "explain", "tune", "compare", "bench", "demo", "serve")


def loaded(*words):
    """Return the packages and modules that are there when the program ends."""
    found = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, words)], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(found.stdout.splitlines()[-1])
    assert code == 0, found.stderr
    return modules


def packages(modules, names):
    return [name for name in names if any(f"{each}.".startswith(f"{name}.") for each in modules)]


@pytest.mark.parametrize(
    "words", [("--version",), ("--help",), *((command, "--help") for command in COMMANDS)]
)
def test_help_and_version_load_no_library_of_numbers(words):
    heavy = ("numpy", "scipy", "sklearn", "matplotlib", "vicinal.estimators", "vicinal.datasets")
    assert packages(loaded(*words), heavy) == []


def test_prediction_loads_no_tuning_and_no_plotting(dataset, data_file, tmp_path):
    MLkNN(3).fit(dataset.X, dataset.Y).save(tmp_path / "model")
    modules = loaded("predict", tmp_path / "model", data_file)
    assert packages(modules, ["vicinal.estimators"]) == ["vicinal.estimators"]
    unwanted = ("matplotlib", *(f"vicinal.{n}" for n in ("selection", "comparison", "report")))
    assert packages(modules, (*unwanted, "vicinal.baselines")) == []


def test_the_help_lists_what_there_is():
    assert ", ".join(sorted(METHODS)) == options.METHODS
    assert set(options.BASELINES) == set(BASELINES)
    assert tuple(STEPS) == options.STEPS
    for name, kind in METHODS.items():
        assert options.command_name(kind.__name__) == name


def test_a_file_that_names_code_imports_none(dataset, tmp_path):
    """A manifest may name any module: it is not imported."""
    write_file(dataset, tmp_path / "data.npz")
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    MLkNN(3).fit(dataset.X, dataset.Y).save(tmp_path / "model")
    manifest = tmp_path / "model" / "manifest.json"
    text = manifest.read_text().split("\n", 1)[1].rstrip("\n")
    text = text.replace('"estimators.MLkNN"', '"trap:Trap"')
    manifest.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n")
    found = subprocess.run(
        [sys.executable, "-c", CODE, "predict", "model", "data.npz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "import 'trap' before loading" in " ".join(found.stderr.split())
