"""Commands on any terminal, with labels that hold anything, from files that are damaged."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from vicinal.datasets import Dataset, write_file

pytestmark = pytest.mark.native

LABELS = ("été", "\x1b[2Jred", "a\nb\x9b\x7f", "\u202eright")
PLAIN = ("--method", "mlknn")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def strange(tmp_path):
    """Data whose labels and rows have names that a terminal must not see as they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    rows = tuple(f"row {i} \x1b]0;title\x07" for i in range(40))
    write_file(Dataset(X, (X > 0).astype(int), tuple("abcd"), LABELS, rows), tmp_path / "data.npz")
    return tmp_path / "data.npz"


ENCODINGS = ("ascii", "latin-1")
PROGRAM = """
import json, sys
from vicinal.cli import main
for encoding, commands in json.loads(sys.argv[1]):
    if sys.stdout.encoding != encoding:
        sys.stdout.reconfigure(encoding=encoding)
    for words in commands:
        sys.argv = ["vicinal", *words]
        try:
            main()
        except SystemExit as end:
            print(f"\\f{end.code or 0}\\f", end="", flush=True)
"""


def run_apart(commands):
    """Run the commands of each encoding in one process, whose output has that encoding then.

    Return what each command wrote.
    """
    first, *_ = commands
    environment = {**os.environ, "PYTHONIOENCODING": first, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([*commands.items()], default=str)],
        capture_output=True,
        env=environment,
        check=True,
        timeout=120,
    )
    *parts, rest = done.stdout.split(b"\f")
    n_commands = [len(words) for words in commands.values()]
    assert (len(parts), rest) == (2 * sum(n_commands), b""), done.stderr
    assert set(parts[1::2]) == {b"0"}, done.stderr
    written = iter(parts[::2])
    return {
        encoding: [next(written).decode(encoding) for _ in range(count)]
        for encoding, count in zip(commands, n_commands, strict=True)
    }


def test_terminals_that_lack_characters(strange, tmp_path):
    models = {encoding: tmp_path / f"modèle {encoding}" for encoding in ENCODINGS}
    commands = {
        encoding: [
            ("train", strange, "-o", model, *PLAIN),
            ("evaluate", model, strange),
            ("predict", model, strange),
            ("data", "describe", strange),
            ("predict", model, strange, "--json"),
        ]
        for encoding, model in models.items()
    }
    for outputs in run_apart(commands).values():
        assert all(outputs)
        found = [json.loads(line) for line in outputs[-1].splitlines()]
        assert len(found) == 40
        assert {label for row in found for label in row["labels"]} == set(LABELS)


def test_control_characters_are_shown_escaped(run, strange, tmp_path):
    assert run("train", strange, "-o", tmp_path / "m")[0] == 0
    for words in (
        ("predict", tmp_path / "m", strange),
        ("predict", tmp_path / "m", strange, "--json"),
        ("data", "describe", strange),
        ("evaluate", tmp_path / "m", strange),
    ):
        code, out, _ = run(*words)
        assert code == 0
        assert not CONTROL.search(out), words
    _, out, _ = run("predict", tmp_path / "m", strange)
    assert len(out.splitlines()) == 40
    assert r"\x1b[2Jred" in out
    assert r"a\nb\x9b\x7f" in out


def test_an_error_shows_what_came_escaped(run, tmp_path):
    path = tmp_path / "bad.xc"
    path.write_bytes(b"1 2 2\n0 \x1b[2J:1\n")
    code, _, errors = run("data", "describe", path)
    assert code == 2
    assert not CONTROL.search(errors)
    assert errors.count("\n") == 1


def damaged_npz(path):
    np.savez(path, X=np.eye(3), Y=np.eye(3))
    parts = {"Y_indices": np.zeros(3, np.int32), "Y_shape": np.array([3, 3])}
    indptr = np.array([0, 2, 2_000_000, -(2**31)], dtype=np.int32)
    np.savez(path, X=np.eye(3), Y_indptr=indptr, **parts)


def test_damaged_files_end_with_one_line(run, tmp_path):
    damaged_npz(tmp_path / "wraps.npz")
    (tmp_path / "header.npz").write_bytes(b"PK\x03\x04" + bytes(40))
    (tmp_path / "deep.jsonl").write_text('{"text": ' + "[" * 100_000 + "\n")
    (tmp_path / "number.jsonl").write_text('{"text": "a", "labels": [' + "9" * 10_000 + "]}\n")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for file in sorted(tmp_path.iterdir()):
        code, out, errors = run("data", "describe", file)
        assert (code, out) == (2, ""), file
        assert errors.startswith("error: ")
        assert errors.count("\n") == 1


def test_damaged_models_end_with_one_line(run, data_file, tmp_path):
    assert run("train", data_file, "-o", tmp_path / "m")[0] == 0
    file = tmp_path / "m"
    whole = file.read_bytes()
    for content in (b"", whole[:-2], b"x" * len(whole), b"[" * 100_000, whole[:700]):
        file.write_bytes(content)
        code, out, errors = run("evaluate", file, data_file)
        assert (code, out) == (2, ""), content[:20]
        assert errors.count("\n") == 1
    file.write_bytes(whole)
    assert run("evaluate", tmp_path / "m", data_file)[0] == 0
