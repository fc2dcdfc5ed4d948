"""What counts and word pairs add to texts, for the blend and for plain neighbours.

``python -m benchmarks.quality_text reuters21578`` takes some training rows of each data set, learns
from two thirds of them and measures on the other third: these figures choose. Then the best form
and plain words, both learned from all of these rows, are measured on test rows, once. What is
stored is skipped; ``benchmarks.quality`` writes it into ``docs/evidence/quality.md``.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vicinal import Blend, InstanceKNN, datasets
from vicinal._core.arrays import Csr, Int
from vicinal._core.labels import indicator_of
from vicinal.datasets.catalogue import entry
from vicinal.datasets.catalogue.corpora import (
    Corpus,
    read_debtags,
    read_eurlex,
    read_reuters,
    read_yso,
)
from vicinal.datasets.catalogue.download import finder
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES
from vicinal.decision import MetricThreshold, NeverEmpty
from vicinal.methods import NeighborEstimator
from vicinal.metrics import evaluate
from vicinal.preprocess import TextVectorizer, TfIdf
from vicinal.results import Result, ResultStore, provenance

STORED = Path(__file__).with_name("quality_results") / "text.jsonl"
ADAPTERS = {
    "debtags-text": read_debtags,
    "eurlex57k": read_eurlex,
    "reuters21578": read_reuters,
    "yso-finna-en": read_yso,
}
NAMES = ("reuters21578", "debtags", "eurlex57k", "yso-finna-en")
N_ROWS, N_TEST = 6000, 2000
MORE_ROWS = {"yso-finna-en": 30_000}
"""Of 25,000 labels, 6,000 short texts show too few."""
PLAIN = "words"
FORMS: dict[str, dict[str, Any]] = {
    PLAIN: {"min_df": 2},
    "words, counted": {"min_df": 2, "weighting": "counts"},
    "words, 1 + ln count": {"min_df": 2, "weighting": "counts", "sublinear": True},
    "words and pairs": {"min_df": 3, "ngram_range": (1, 2)},
    "words and pairs, 1 + ln count": {
        "min_df": 3,
        "ngram_range": (1, 2),
        "weighting": "counts",
        "sublinear": True,
    },
}
DAMPED_ALREADY = "words, 1 + ln count"
"""The blend takes 1 + ln of counts itself, so that this form is for the neighbours only."""


def neighbors() -> NeighborEstimator:
    """Return plain neighbours."""
    return InstanceKNN(20, power=2.0, threshold=NeverEmpty(MetricThreshold("micro-f1")))


MODELS: dict[str, Callable[[], NeighborEstimator]] = {"blend": Blend, "instance-knn": neighbors}


class Texts:
    """Training texts, texts to judge forms by, and test texts."""

    def __init__(self, name: str) -> None:
        corpus = _corpus("debtags-text" if name == "debtags" else name)
        train, test = corpus.train, corpus.test
        if name == "debtags":
            train, test = _debtags_split(corpus)
        rng = np.random.default_rng(0)
        if train is None or test is None:
            order = rng.permutation(len(corpus.texts))
            train, test = order[: len(order) // 2], order[len(order) // 2 :]
        self.train = rng.permutation(train)[: MORE_ROWS.get(name, N_ROWS)]
        self.test = rng.permutation(test)[:N_TEST]
        self._texts = corpus.texts
        self._Y = indicator_of(corpus.labels, range(len(corpus.label_names)))

    def of(self, rows: Int) -> tuple[list[str], Csr]:
        """Return some texts and their labels."""
        return [self._texts[row] for row in rows], self._Y[rows]


def _corpus(name: str) -> Corpus:
    """Read the texts of a data set."""
    return ADAPTERS[name](finder(entry(name)), DEFAULT_MAX_BYTES)


def _debtags_split(corpus: Corpus) -> tuple[Int, Int]:
    """Return the split of the embedded data set, whose rows have the same names."""
    embedded = datasets.load("debtags")
    if corpus.row_names is None or embedded.row_names is None:
        raise ValueError("debtags has names of rows")
    place = {name: row for row, name in enumerate(corpus.row_names)}
    train, test = embedded.train, embedded.test
    if train is None or test is None:
        raise ValueError("debtags has a split")
    of = np.array([place[name] for name in embedded.row_names])
    return of[train], of[test]


def micro_f1(model: str, form: str, texts: Texts, learned: Int, judged: Int) -> float:
    """Learn from some texts and return the micro-F1 on others."""
    vectorizer = TextVectorizer(**FORMS[form])
    (documents, Y), (others, truth) = texts.of(learned), texts.of(judged)
    X, Q = vectorizer.fit_transform(documents), vectorizer.transform(others)
    if model == "instance-knn":
        weights = TfIdf().fit(X)
        X, Q = weights.transform(X), weights.transform(Q)
    fitted = MODELS[model]().fit(X, Y)
    return float(evaluate(truth, fitted.predict(Q))["micro-f1"])


def run(name: str, store: ResultStore) -> None:
    """Measure every form on training rows, then the best and the plain one on test rows."""
    done = {(r.data, r.method) for r in store.read()}
    texts = Texts(name)
    cut = 2 * len(texts.train) // 3
    for model in MODELS:
        if (name, model) in done:
            continue
        values = {}
        for form in FORMS:
            if model == "blend" and form == DAMPED_ALREADY:
                continue
            values[form] = micro_f1(model, form, texts, texts.train[:cut], texts.train[cut:])
            sys.stdout.write(f"{name} {model} {form} {values[form]:.4f}\n")
            sys.stdout.flush()
        best = max(values, key=lambda form: values[form])
        for form in dict.fromkeys((PLAIN, best)):
            values[f"test: {form}"] = micro_f1(model, form, texts, texts.train, texts.test)
        found = {form: (value,) for form, value in values.items()}
        store.add(Result("text", name, model, found, provenance=provenance()))


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="data sets; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.names or NAMES:
        run(name, ResultStore(STORED))


if __name__ == "__main__":
    main()
