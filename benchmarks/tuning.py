"""The grid of LCIF from one search, against scikit-learn's ``GridSearchCV`` on our own estimator.

``python -m benchmarks.tuning`` takes bibtex from ``$VICINAL_DATA``; ``--full`` adds delicious.
Both sides have the same folds, settings and metrics, thresholds fitted again for each setting.
``GridSearchCV`` would take hours, so it gets a few settings, spread over the grid, and its time is
taken times the settings there are.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.methods import Line, load, report
from vicinal import LCIF
from vicinal.metrics import evaluate
from vicinal.selection import tune
from vicinal.selection.splits import read_splits

METRICS = (
    "hamming-loss",
    "subset-accuracy",
    "example-accuracy",
    "example-f1",
    "micro-f1",
    "macro-f1",
)
SAMPLE = 3
LIMITS = {"bibtex": 120.0, "delicious": 600.0}


def clocked(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a run took, and its answer."""
    start = time.perf_counter()
    answer = run()
    return time.perf_counter() - start, answer


def measured(model: LCIF, X: Any, Y: Any) -> Mapping[str, float]:
    """Return the metrics of a fitted model, under names that scikit-learn takes."""
    found = evaluate(Y, model.predict(X), metrics=METRICS)
    return {name.replace("-", "_"): value for name, value in found.items()}


def against_grid_search(name: str) -> list[Line]:
    """Time the whole grid, and a sample of it the other way; compare their values too."""
    split = load(name)
    X, Y = split.X, split.Y
    cv = [(fold.train, fold.test) for fold in read_splits(10, X, Y)]
    options: dict[str, Any] = {"cv": cv, "metrics": METRICS, "edge_metrics": (), "refit": False}
    ours, found = clocked(lambda: tune("lcif", X, Y, "example-f1", **options))
    table = found.table
    rows = np.linspace(0, len(table) - 1, SAMPLE + 2, dtype=np.int64)[1:-1]
    sample = [{key: [value] for key, value in table.params[row].items()} for row in rows]
    search = GridSearchCV(LCIF(), sample, scoring=measured, cv=cv, refit=False)
    taken, _ = clocked(lambda: search.fit(X, Y))
    theirs = taken / len(rows) * len(table)
    same = all(
        np.array_equal(
            [
                search.cv_results_[f"split{fold}_test_{metric.replace('-', '_')}"]
                for fold in range(10)
            ],
            table.of(metric)[rows].T,
        )
        for metric in METRICS
    )
    settings = f"{len(table):,} settings × 10 folds × {len(METRICS)} metrics, {name}"
    limit = LIMITS[name]
    return [
        Line(f"LCIF, {settings}", f"{ours:.1f} s", f"at most {limit:g} s", ours <= limit),
        Line(
            f"the same by GridSearchCV, from {len(rows)} settings",
            f"{theirs / 3600:.1f} h, {theirs / ours:.0f} ×",
            "the same values",
            same,
        ),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="delicious too: minutes more")
    names = ["bibtex", "delicious"] if parser.parse_args().full else ["bibtex"]
    report([line for name in names for line in against_grid_search(name)])


if __name__ == "__main__":
    main()
