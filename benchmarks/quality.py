"""Predictions of ``Blend()`` beside those of the models people train instead.

``python -m benchmarks.quality medical bibtex`` runs data sets (all of them without names), skips
what is stored already, and writes ``docs/evidence/quality.md`` from what is stored. Test rows
are used in ``quality_scores.measure`` and nowhere else: models and thresholds are chosen on
training rows.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.quality_models import (
    Answers,
    blend,
    linear_svc,
    logistic,
    other_environment,
    own_method,
    random_forest,
)
from benchmarks.quality_page import DENSE, OWN, UNSEEN, write_page
from benchmarks.quality_scores import measure
from benchmarks.quality_split import Split, load_split
from vicinal.results import Result, ResultStore, provenance

STORED = Path(__file__).with_name("quality_results")
WORDS = (
    "medical",
    "enron",
    "slashdot",
    "stackex-chess",
    "stackex-cooking",
    "bibtex",
    "corel5k",
    "rcv1sub1",
    "reuters21578",
    "tmc2007-500",
    "delicious",
    "debtags",
    "ohsumed",
    "eurlex57k",
)
MANY_LABELS = 1000
"""Labels past which one model per label takes hours."""


def models_for(split: Split, python: Path | None) -> dict[str, Callable[[Split], Answers]]:
    """Return the models that a data set is for, by name; the most telling ones first."""
    chosen: dict[str, Callable[[Split], Answers]] = {"blend": blend}
    if split.Y.shape[1] <= MANY_LABELS:
        chosen["linear-svc"] = linear_svc
    if python is not None and not split.is_dense:
        for name in ("xr-linear", "omikuji", "bonsai"):
            chosen[name] = other_environment(name, python)
    if split.is_dense:
        chosen["random-forest"] = random_forest
    if split.Y.shape[1] <= MANY_LABELS:
        chosen["logistic-regression"] = logistic
    for name in OWN:
        chosen[name] = own_method(name)
    return chosen


def run(name: str, python: Path | None, wanted: set[str], store: ResultStore) -> None:
    """Run the models on a data set that have no stored result."""
    split = load_split(name)
    done = {result.method for result in store.read() if result.data == name}
    for method, model in models_for(split, python).items():
        if method in done or (wanted and method not in wanted):
            continue
        start = time.perf_counter()
        answers = model(split)
        measured = measure(split, answers)
        np.savez_compressed(STORED / f"{name}.{method}.npz", rows=measured.rows.astype(np.float32))
        store.add(
            Result(
                "quality",
                name,
                method,
                {metric: (value,) for metric, value in measured.values.items()},
                settings={"model": answers.settings},
                provenance=provenance() | {"data": split.digest},
            )
        )
        shown = " ".join(f"{key} {value:.3f}" for key, value in measured.values.items())
        total = time.perf_counter() - start
        sys.stdout.write(f"{name} {method} {shown} ({total:.0f} s)\n")
        sys.stdout.flush()


def main() -> None:
    """Run what is asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="data sets; all by default")
    parser.add_argument("--peers", type=Path, help="Python that has libpecos and omikuji")
    parser.add_argument("--models", default="", help="models separated by commas; all by default")
    given = parser.parse_args()
    STORED.mkdir(exist_ok=True)
    store = ResultStore(STORED / "results.jsonl")
    for name in given.names or dict.fromkeys((*DENSE, *WORDS, *UNSEEN)):
        run(name, given.peers, {each for each in given.models.split(",") if each}, store)
    write_page(store.read(), STORED, Path(__file__).parents[1] / "docs" / "evidence" / "quality.md")


if __name__ == "__main__":
    main()
