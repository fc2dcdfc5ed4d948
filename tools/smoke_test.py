"""Use an installed vicinal as a newcomer would: import, fit, predict, save, load, command line.

Run it with the Python installation to be tested, outside the source tree: ``make test-minimum``
runs it with the lowest declared version of every dependency.
"""

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import vicinal

METHODS = {name: getattr(vicinal, name) for name in vicinal.estimator_names()}
"""Every estimator that the package exports."""


def check_method(kind: Any, folder: Path) -> None:
    """Fit, predict, save and load one method on sparse rows; both models must answer the same."""
    train, test = vicinal.datasets.load("debtags").split()
    rows, queries = train.X[:300], test.X[:20]
    model = kind().fit(rows, train.Y[:300])
    model.save(folder / kind.__name__)
    loaded: Any = vicinal.load(folder / kind.__name__)
    if model.predict_names(queries) != loaded.predict_names(queries):
        raise AssertionError(f"{kind.__name__}: the loaded model predicts something else")


def command(*words: str) -> str:
    """Run the installed ``vicinal`` command and return what it prints."""
    program = Path(sysconfig.get_path("scripts")) / "vicinal"
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"vicinal {' '.join(words)}: {done.stderr}")
    return done.stdout


def main() -> None:
    """Try everything once; an exception is a failure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in METHODS.values():
            check_method(kind, folder)
        table = folder / "notes.csv"
        table.write_text("text,labels\n" + "red apple,fruit\nblue sky,air\n" * 10, encoding="utf-8")
        model = str(folder / "notes.model")
        command("--version")
        command("data", "describe", str(table))
        command("train", str(table), "-o", model, "--method", "mlknn")
        command("evaluate", model, str(table))
        command("predict", model, str(table))
    sys.stdout.write(
        f"{len(METHODS)} methods and the command line work with NumPy {np.__version__}\n"
    )


if __name__ == "__main__":
    main()
