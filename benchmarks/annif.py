"""Annif's measures, training times and memory: the backend ``vicinal`` beside tfidf and Omikuji.

Every backend is trained and evaluated by the unmodified program ``annif`` on the same documents.
``make bench-annif`` sets ``VICINAL_ANNIF``; the corpora lie under ``VICINAL_DATA``.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.annif_program import AnnifProgram, Corpus, archaeology, yso_finna
from benchmarks.recording import Measurement, record

BACKENDS = {
    "vicinal": "backend=vicinal",
    "tfidf": "backend=tfidf",
    "omikuji": "backend=omikuji",
}
CORPORA: dict[str, Callable[[Path, Path], Corpus]] = {
    "archaeology": archaeology,
    "yso": yso_finna,
}


def compare(annif: AnnifProgram, corpus: Corpus) -> list[Measurement]:
    """Train and evaluate every backend on one corpus."""
    annif.configure(corpus, BACKENDS)
    annif.load_vocabulary(corpus)
    found: list[Measurement] = []
    for backend in BACKENDS:
        trained = annif.run("train", backend, str(corpus.train))
        measures = annif.evaluate(backend, corpus.test)
        what = f"Annif, {corpus.name}, {backend}"
        found += [
            Measurement(f"{what}: F1@5", measures["F1@5"], "", "high"),
            Measurement(f"{what}: NDCG", measures["NDCG"], "", "high"),
            Measurement(f"{what}: training", round(trained.seconds, 2), "s"),
            Measurement(f"{what}: peak memory", round(trained.peak_bytes / 1e6), "MB"),
        ]
        for one in found[-4:]:
            sys.stdout.write(f"{one.what}: {one.value:g} {one.unit}\n")
            sys.stdout.flush()
    return found


def main() -> None:
    """Compare the backends and record the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=list(CORPORA), action="append", help="Default: all.")
    options = parser.parse_args()
    data = Path(os.environ["VICINAL_DATA"])
    measured: list[Measurement] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        annif = AnnifProgram(os.environ["VICINAL_ANNIF"], folder)
        for corpus in options.corpus or CORPORA:
            measured += compare(annif, CORPORA[corpus](data, folder))
    record("annif", measured)


if __name__ == "__main__":
    main()
