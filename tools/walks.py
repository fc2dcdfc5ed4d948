"""Print which files of the library run, in the order in which they are reached, in five walks.

A profiler notes each call of a function of ``src/vicinal``. Each walk runs once before it is
traced, so that imports do not count.
"""

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import vicinal
from vicinal.preprocess import TextVectorizer

SOURCES = str(Path(vicinal.__file__).parent) + os.sep

TARGETS = {
    "Blend().fit": 40,
    "Blend().predict": 28,
    "LCIF().partial_fit, one row": 22,
    "vicinal train notes.csv": 65,
    "POST learn": 28,
}
"""The walks, and the most files that each may run."""

Step = Callable[[], object]


@dataclass
class Trace:
    """The files that ran while the trace was on, with the function that was called first."""

    files: dict[str, str] = field(default_factory=dict)
    is_on: bool = False

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Note the file of a call; the profiler of every thread."""
        code = frame.f_code
        if self.is_on and event == "call" and code.co_filename.startswith(SOURCES):
            name = code.co_filename.removeprefix(SOURCES).replace(os.sep, "/")
            if code.co_name != "<module>":
                self.files.setdefault(name, code.co_qualname)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Profile this thread, and those that are started inside the block."""
        threading.setprofile(self.note)
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def of(self, step: Step) -> dict[str, str]:
        """Return the files that one step runs."""
        self.files, self.is_on = {}, True
        step()
        self.is_on = False
        return self.files


def texts() -> tuple[list[str], list[list[str]]]:
    """Return a few notes with their labels."""
    words = ("invoice", "letter", "garden", "travel", "school", "music", "doctor", "winter")
    rng = np.random.default_rng(0)
    chosen = [rng.choice(words, 3, replace=False).tolist() for _ in range(400)]
    return [f"a note about {' and '.join(row)}" for row in chosen], [row[:2] for row in chosen]


def rows() -> tuple[Any, Any]:
    """Return features and labels of the notes."""
    documents, labels = texts()
    return TextVectorizer().fit_transform(documents), labels


def blend_steps() -> tuple[Step, Step]:
    """Return the steps that fit a blend and predict with it."""
    X, Y = rows()
    model = vicinal.Blend().fit(X, Y)
    return lambda: vicinal.Blend().fit(X, Y), lambda: model.predict(X[:3])


def learn_step() -> Step:
    """Return the step by which LCIF learns one row."""
    X, Y = rows()
    model = vicinal.LCIF(3).fit(X[:390], Y[:390])
    model.partial_fit(X[390:391], Y[390:391])
    return lambda: model.partial_fit(X[391:392], Y[391:392])


def train_step(folder: Path) -> Step:
    """Return the step that trains a model on a table."""
    from vicinal.cli.program import app

    lines = ["text,labels"]
    lines += [f'"{text}","{"; ".join(names)}"' for text, names in zip(*texts(), strict=True)]
    (folder / "notes.csv").write_text("\n".join(lines) + "\n")
    command = ["train", str(folder / "notes.csv"), "-o", str(folder / "model")]
    return lambda: app(command, standalone_mode=False)


@contextmanager
def post_step(folder: Path) -> Iterator[Step]:
    """Give the step that teaches one row to a served model."""
    from fastapi.testclient import TestClient

    from vicinal.service import create_app

    documents, labels = texts()
    steps = [("words", TextVectorizer()), ("estimator", vicinal.LCIF(3))]
    vicinal.save(vicinal.Pipeline(steps).fit(documents, labels), folder / "served")
    token = {"Authorization": "Bearer write-token"}
    models = {"m": folder / "served"}
    app = create_app(models, store=folder / "rows.sqlite", write_token="write-token")
    body = {"rows": [{"text": documents[0], "labels": labels[0]}]}
    with TestClient(app, base_url="http://localhost", headers=token) as client:

        def post() -> None:
            reply = client.post("/v1/models/m/learn", json=body)
            if reply.status_code != 200:
                raise RuntimeError(reply.text)

        yield post


def walks(folder: Path) -> dict[str, dict[str, str]]:
    """Return the files of each walk."""
    trace, found = Trace(), {}

    def walk(name: str, step: Step) -> None:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            step()
            found[name] = trace.of(step)

    names = iter(TARGETS)
    with trace.installed():
        for step in (*blend_steps(), learn_step(), train_step(folder)):
            walk(next(names), step)
        with post_step(folder) as post:
            walk(next(names), post)
    return found


def main() -> None:
    """Print the walks; with ``--counts`` only their lengths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", action="store_true", help="print the number of files only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = walks(Path(folder))
    for name, files in found.items():
        sys.stdout.write(f"{name}: {len(files)} files (at most {TARGETS[name]})\n")
        if not options.counts:
            for number, (file, function) in enumerate(files.items(), start=1):
                sys.stdout.write(f"  {number:2d}. {file:36s} {function}\n")


if __name__ == "__main__":
    main()
