"""Annif itself, in its own environment: our backend inside it, and our service behind it.

Run by ``make annif-test``, which sets ``VICINAL_ANNIF`` to the ``annif`` program.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.annif_program import AnnifProgram, Corpus, archaeology, yso_finna
from sklearn.base import clone

from vicinal import load

ANNIF = os.environ.get("VICINAL_ANNIF", "")
DATA = Path(os.environ.get("VICINAL_DATA", ""))
pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not ANNIF, reason="VICINAL_ANNIF is not set: make annif-test"),
]
CORPORA = {
    "annif-archaeology": archaeology,
    "yso-finna-en": partial(yso_finna, train=3000, test=300),
}
ASKED = {
    "annif-archaeology": (
        "arkeologiset kaivaukset Turun linnassa",
        "kivikautiset asuinpaikat",
        "rahalöydöt keskiajalta",
    ),
    "yso-finna-en": (
        "Timber in the city : design and construction",
        "reading the postcolonial environment",
        "a history of railways in Finland",
    ),
}
LEARNED = 50
"""Documents that are learned after the training."""


class Trained(AnnifProgram):
    """Annif with a corpus: the project ``whole`` trained on it, ``grown`` taught its last part."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(ANNIF, folder)
        self.name = name
        self.corpus: Corpus = CORPORA[name](DATA, folder)
        self.projects = {
            "whole": "backend=vicinal",
            "grown": "backend=vicinal\nmethod=instance-knn",
            "tfidf": "backend=tfidf",
        }
        self.configure(self.corpus, self.projects)
        self.load_vocabulary(self.corpus)
        self.run("train", "whole", str(self.corpus.train))

    def model(self, project: str) -> Path:
        return self.folder / "data" / "projects" / project / "vicinal-model"

    def subjects(self) -> list[str]:
        """Return the URIs of the vocabulary, in its order."""
        lines = self.corpus.subjects.read_text(encoding="utf-8").splitlines()
        return [line.split("\t")[0].strip("<>") for line in lines]


@pytest.fixture(scope="module", params=list(CORPORA))
def annif(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    if not (DATA / request.param).exists():
        pytest.skip(f"no {request.param} under VICINAL_DATA")
    return Trained(tmp_path_factory.mktemp(request.param), request.param)


def test_suggestions_and_measures(annif) -> None:
    suggested = annif.suggest("whole", ASKED[annif.name][0])
    assert suggested
    assert all(0 < score <= 1 for score in suggested.values())
    annif.run("train", "tfidf", str(annif.corpus.train))
    ours, theirs = (annif.evaluate(name, annif.corpus.test) for name in ("whole", "tfidf"))
    assert ours["NDCG"] > theirs["NDCG"] - 0.02
    assert ours["F1@5"] > theirs["F1@5"] - 0.02


def test_learning_equals_retraining(annif) -> None:
    """After ``annif learn`` the model equals one fitted on all documents with the same words."""
    lines = annif.corpus.train.read_text(encoding="utf-8").splitlines(keepends=True)
    first, rest = annif.folder / "first.tsv", annif.folder / "rest.tsv"
    first.write_text("".join(lines[:-LEARNED]), encoding="utf-8")
    rest.write_text("".join(lines[-LEARNED:]), encoding="utf-8")
    annif.run("train", "grown", str(first))
    annif.run("learn", "grown", str(rest))
    words, estimator = (step for _, step in load(annif.model("grown")).steps)
    rows = [line.rstrip("\n").split("\t") for line in lines]
    labels = [[uri.strip("<>") for uri in uris.split()] for _, uris in rows]
    whole = clone(estimator).fit(
        words.transform([text for text, _ in rows]),
        labels,
        label_names=list(estimator.label_names_),
    )
    asked = annif.corpus.test.read_text(encoding="utf-8").splitlines()[:300]
    X = words.transform([*ASKED[annif.name], *(line.split("\t")[0] for line in asked)])
    for one, other in zip(estimator.rank(X, 10), whole.rank(X, 10), strict=True):
        assert np.array_equal(one, other)
    assert len(estimator.row_ids_) == len(lines)


@pytest.fixture
def service(annif, tmp_path) -> Iterator[str]:
    """Serve the model that Annif trained, from its folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "import typer\nfrom vicinal.cli.serve import serve\ntyper.run(serve)"
    words = [f"served={annif.model('whole')}", "--port", str(port)]
    words += ["--store", str(tmp_path / "taught.sqlite")]
    process = subprocess.Popen([sys.executable, "-c", start, *words])
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}/readyz"):
                break
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    yield f"{address}/v1/projects/served"
    process.terminate()
    process.wait(30)


def test_annifs_http_backend_gives_what_the_backend_in_process_gives(annif, service) -> None:
    remote = {"remote": f"backend=http\nendpoint={service}/suggest"}
    annif.configure(annif.corpus, annif.projects | remote)
    for text in ASKED[annif.name]:
        here, there = annif.suggest("whole", text), annif.suggest("remote", text)
        assert here
        assert there == pytest.approx(here, abs=1e-3)  # Annif prints four decimals
    with urllib.request.urlopen(service) as reply:
        assert json.load(reply)["is_trained"]


def test_documents_taught_over_http_are_suggested(annif, service) -> None:
    """The service learns as Annif's own server does: POST …/learn, then the next suggestion."""
    remote = {"remote": f"backend=http\nendpoint={service}/suggest"}
    annif.configure(annif.corpus, annif.projects | remote)
    text, uri = ASKED[annif.name][0], annif.subjects()[-1]
    assert uri not in annif.suggest("remote", text)
    documents = json.dumps([{"text": text, "subjects": [{"uri": uri}]}] * 5).encode()
    request = urllib.request.Request(
        f"{service}/learn", documents, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        assert reply.status == 204
    assert uri in annif.suggest("remote", text)
