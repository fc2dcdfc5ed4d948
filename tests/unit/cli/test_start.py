"""What a command loads: help and version load next to nothing, prediction no tuning, no plots."""

import importlib
import json
import subprocess
import sys

import pytest
from model_files import edit_manifest

from vicinal.cli import options
from vicinal.comparison.candidates import BASELINES
from vicinal.datasets import write_file
from vicinal.methods import METHODS, MLkNN
from vicinal.preprocess import STEPS

pytestmark = pytest.mark.native

CODE = """
import json, sys
from vicinal.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["vicinal", *words]
    try:
        main()
    except SystemExit as end:
        print("\\nloaded", json.dumps([end.code or 0, sorted(sys.modules)]))
"""
COMMANDS = (
    "train",
    "evaluate",
    "predict",
    "explain",
    "tune",
    "compare",
    "bench",
    "demo",
    "serve",
    "plan",
    "measure",
    "info",
)


def loaded(*commands):
    """Run commands in a new process; return the packages and modules after each of them."""
    words = json.dumps([list(map(str, command)) for command in commands])
    found = subprocess.run(
        [sys.executable, "-c", CODE, words], capture_output=True, text=True, check=True
    )
    lines = [line for line in found.stdout.splitlines() if line.startswith("loaded [")]
    return [json.loads(line.removeprefix("loaded ")) for line in lines]


def packages(modules, names):
    return [name for name in names if any(f"{each}.".startswith(f"{name}.") for each in modules)]


def test_help_and_version_load_no_library_of_numbers():
    heavy = ("numpy", "scipy", "sklearn", "matplotlib", "vicinal.methods", "vicinal.datasets")
    commands = [("--version",), ("--help",), *((command, "--help") for command in COMMANDS)]
    for words, (code, modules) in zip(commands, loaded(*commands), strict=True):
        assert (code, packages(modules, heavy)) == (0, []), words


def test_prediction_loads_no_tuning_and_no_plotting(dataset, data_file, tmp_path):
    MLkNN(3).fit(dataset.X, dataset.Y).save(tmp_path / "model")
    ((code, modules),) = loaded(("predict", tmp_path / "model", data_file))
    assert code == 0
    assert packages(modules, ["vicinal.methods"]) == ["vicinal.methods"]
    unwanted = ("matplotlib", *(f"vicinal.{n}" for n in ("selection", "comparison", "report")))
    assert packages(modules, (*unwanted, "vicinal.baselines")) == []


def test_the_help_lists_what_there_is():
    assert ", ".join(sorted(METHODS)) == options.METHODS
    assert set(options.BASELINE_NAMES) == set(BASELINES)
    assert tuple(STEPS) == options.STEPS
    for name, kind in METHODS.items():
        assert options.command_name(kind.__name__) == name


def test_a_file_that_names_code_imports_none(run, dataset, tmp_path, monkeypatch):
    """A manifest may name any module: it is not imported."""
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write_file(dataset, tmp_path / "data.npz")
    MLkNN(3).fit(dataset.X, dataset.Y).save(tmp_path / "model")
    edit_manifest(tmp_path / "model", lambda body: body["model"].update({"$part": "trap:Trap"}))
    code, _, errors = run("predict", "model", "data.npz")
    assert code == 2
    assert "import 'trap' before loading" in " ".join(errors.split())
    with pytest.raises(SystemExit, match="imported"):
        importlib.import_module("trap")
