"""What is printed: names as they stand, the version, nothing where nobody reads."""

import json
import runpy
import sys
from importlib.metadata import version

import numpy as np
import pytest

from vicinal.datasets import Dataset, write_file

pytestmark = pytest.mark.native


def test_brackets_in_names_are_no_markup(run, dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_file(dataset, "x[red].npz")
    for words, shown in {
        ("data", "describe", "x[red].npz"): "x[red].npz",
        ("data", "convert", "x[red].npz", "y[blue].npz"): "y[blue].npz",
        ("train", "x[red].npz", "-o", "[m"): "[m",
        ("evaluate", "[m", "x[red].npz"): "x[red].npz",
        ("predict", "[m", "x[red].npz", "-o", "z[dim].jsonl"): "z[dim].jsonl",
    }.items():
        code, out, _ = run(*words)
        assert code == 0
        assert shown in out


def test_a_long_path_is_shown_whole(run, data_file, tmp_path):
    target = tmp_path / ("long" * 50 + ".npz")
    code, out, _ = run("data", "convert", data_file, target)
    assert (code, out) == (0, f"60 rows written to {target}\n")
    code, out, _ = run("train", data_file, "-o", tmp_path / ("z" * 200))
    assert (code, out.count("z")) == (0, 200)


def test_the_version(run):
    assert run("--version")[:2] == (0, f"vicinal {version('vicinal')}\n")


def test_the_command_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["vicinal", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("vicinal", run_name="__main__")
    assert (ended.value.code, capsys.readouterr().out) == (0, f"vicinal {version('vicinal')}\n")


def test_what_machines_read_is_json(run, dataset, data_file, tmp_path):
    same = Dataset(dataset.X, np.ones((60, 3)), dataset.feature_names, dataset.label_names)
    write_file(same, tmp_path / "same.npz")
    assert run("train", data_file, "-o", tmp_path / "model")[0] == 0
    code, out, _ = run("evaluate", tmp_path / "model", tmp_path / "same.npz", "--json")
    assert code == 0
    values = json.loads(out, parse_constant=pytest.fail)
    assert values["macro-auc"] is None


class Interrupts:
    """Stands for Ctrl-C at the moment when a module is looked for."""

    def find_spec(self, name, path=None, target=None):
        if name == "vicinal.cli.program":
            raise KeyboardInterrupt


def test_ctrl_c_while_the_program_is_loaded(run, monkeypatch):
    monkeypatch.delitem(sys.modules, "vicinal.cli.program", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupts(), *sys.meta_path])
    assert run("data", "list") == (130, "", "interrupted\n")


def test_ctrl_c_within_a_command_ends_it_with_one_line(run, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("vicinal.datasets.available", interrupted)
    code, out, err = run("data", "list")
    assert (code, out, err.strip()) == (130, "", "interrupted")


def test_nobody_reads_the_output(run, data_file, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    code, _, errors = run("data", "describe", data_file, "--json")
    assert (code, errors) == (0, "")
