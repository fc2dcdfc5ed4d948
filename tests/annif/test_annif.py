"""Annif itself, in its own environment: our backend inside it, and our service behind it.

Run by ``make annif-test``, which sets ``VICINAL_ANNIF`` to the ``annif`` program.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from vicinal import load

ANNIF = os.environ.get("VICINAL_ANNIF", "")
DATA = Path(os.environ.get("VICINAL_DATA", "")) / "annif-archaeology"
pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not ANNIF, reason="VICINAL_ANNIF is not set: make annif-test"),
    pytest.mark.skipif(not (DATA / "documents.tsv").exists(), reason="no annif-archaeology"),
]
TRAINED = 5000
PUNKT = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")
TEXT = "arkeologiset kaivaukset Turun linnassa"


class Annif:
    """The program, with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        english = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
        english.mkdir(parents=True)
        for name in PUNKT:  # the analyzers want these files to be there, not what is in them
            (english / name).touch()
        lines = (DATA / "documents.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "train.tsv").write_text("".join(lines[:TRAINED]), encoding="utf-8")
        (folder / "first.tsv").write_text("".join(lines[: TRAINED - 50]), encoding="utf-8")
        (folder / "rest.tsv").write_text("".join(lines[TRAINED - 50 : TRAINED]), encoding="utf-8")
        (folder / "test.tsv").write_text("".join(lines[TRAINED:]), encoding="utf-8")

    def configure(self, **projects: str) -> None:
        text = "".join(
            f"[{name}]\nname={name}\nlanguage=fi\nvocab=yso\nanalyzer=simple\nlimit=100\n"
            f"allow_learn=1\n{settings}\n\n"
            for name, settings in projects.items()
        )
        (self.folder / "projects.cfg").write_text(text, encoding="utf-8")

    def run(self, *words: str, text: str | None = None) -> str:
        environment = {
            **os.environ,
            "ANNIF_CONFIG": "vicinal.integrations.annif.Config",
            "NLTK_DATA": str(self.folder / "nltk"),
        }
        done = subprocess.run(
            [ANNIF, *words],
            cwd=self.folder,
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def suggest(self, project: str, text: str) -> dict[str, float]:
        """Return the suggested URIs with scores."""
        lines = self.run("suggest", "--limit", "10", project, text=text).splitlines()
        found = (line.split("\t") for line in lines)
        return {uri: float(score) for uri, *_, score in found}

    def evaluate(self, project: str) -> dict[str, float]:
        out = self.run("eval", "--limit", "10", project, "test.tsv")
        lines = (re.fullmatch(r"(\S.*?):\s+([0-9.]+)", line) for line in out.splitlines())
        return {match[1]: float(match[2]) for match in lines if match}


@pytest.fixture(scope="module")
def annif(tmp_path_factory: pytest.TempPathFactory) -> Annif:
    program = Annif(tmp_path_factory.mktemp("annif"))
    program.configure(whole="backend=vicinal", grown="backend=vicinal", tfidf="backend=tfidf")
    program.run("load-vocab", "-L", "fi", "yso", str(DATA / "subjects.tsv"))
    program.run("train", "whole", "train.tsv")
    return program


def test_suggestions_and_measures(annif) -> None:
    suggested = annif.suggest("whole", TEXT)
    assert suggested
    assert all(0 < score <= 1 for score in suggested.values())
    annif.run("train", "tfidf", "train.tsv")
    ours, theirs = annif.evaluate("whole"), annif.evaluate("tfidf")
    for name, found in (("vicinal", ours), ("tfidf", theirs)):
        sys.stdout.write(f"\n{name}: F1@5 {found['F1@5']:.4f}, NDCG {found['NDCG']:.4f}\n")
    assert ours["NDCG"] > theirs["NDCG"] - 0.02
    assert ours["F1@5"] > theirs["F1@5"] - 0.02


def test_learning_equals_retraining(annif) -> None:
    """After ``annif learn`` the model equals one fitted on all documents with the same words."""
    annif.run("train", "grown", "first.tsv")
    before = annif.suggest("grown", TEXT)
    annif.run("learn", "grown", "rest.tsv")
    learned = load(annif.folder / "data" / "projects" / "grown" / "vicinal-model")
    words, estimator = (step for _, step in learned.steps)
    subjects = (DATA / "subjects.tsv").read_text(encoding="utf-8").splitlines()
    number = {line.split("\t")[0]: str(place) for place, line in enumerate(subjects)}
    lines = (annif.folder / "train.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines]
    labels = [[number[uri] for uri in line.split("\t")[1].split()] for line in lines]
    whole = clone(estimator).fit(
        words.transform(texts), labels, label_names=list(estimator.label_names_)
    )
    asked = (annif.folder / "test.tsv").read_text(encoding="utf-8").splitlines()[:300]
    X = words.transform([TEXT, *(line.split("\t")[0] for line in asked)])
    for one, other in zip(estimator.rank(X, 10), whole.rank(X, 10), strict=True):
        assert np.array_equal(one, other)
    assert len(estimator.row_ids_) == TRAINED
    assert before


@pytest.fixture
def service(annif, tmp_path) -> Iterator[str]:
    """Serve the model that Annif trained, with the URIs of the subjects as its labels."""
    script = (
        "import sys\n"
        "from vicinal import load, save\n"
        "model = load(sys.argv[1])\n"
        "lines = open(sys.argv[3], encoding='utf-8').read().splitlines()\n"
        "uris = [line.split('\\t')[0].strip('<>') for line in lines]\n"
        "model.steps[-1][1].label_names_ = tuple(uris)\n"
        "save(model, sys.argv[2])\n"
    )
    trained = annif.folder / "data" / "projects" / "whole" / "vicinal-model"
    served = tmp_path / "archaeology"
    subjects = DATA / "subjects.tsv"
    command = [sys.executable, "-c", script, str(trained), str(served), str(subjects)]
    subprocess.run(command, check=True, timeout=120)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "import typer\nfrom vicinal.cli.serve import serve\ntyper.run(serve)"
    process = subprocess.Popen([sys.executable, "-c", start, str(served), "--port", str(port)])
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}/readyz"):
                break
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    yield address
    process.terminate()
    process.wait(30)


def test_annifs_http_backend_gives_what_the_backend_in_process_gives(annif, service) -> None:
    endpoint = f"{service}/v1/projects/archaeology/suggest"
    annif.configure(whole="backend=vicinal", remote=f"backend=http\nendpoint={endpoint}")
    for text in (TEXT, "kivikautiset asuinpaikat", "rahalöydöt keskiajalta"):
        here, there = annif.suggest("whole", text), annif.suggest("remote", text)
        assert here
        assert there == pytest.approx(here, abs=1e-3)
    with urllib.request.urlopen(f"{service}/v1/projects/archaeology") as reply:
        assert json.load(reply)["is_trained"]
