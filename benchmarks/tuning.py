"""The grid of LCIF from one search, compared with ``GridSearchCV`` on the same estimator.

``python -m benchmarks.tuning`` takes bibtex from ``$VICINAL_DATA``; ``--full`` adds delicious. Both
sides have the same folds, settings and metrics, thresholds fitted again for each setting.
``GridSearchCV`` would take hours, so it runs a few settings spread over the grid, and its time is
extrapolated to all settings.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.methods import Line, load, report
from benchmarks.recording import Measurement
from vicinal import LCIF
from vicinal.metrics import evaluate
from vicinal.selection import tune
from vicinal.selection.stratification import read_splits

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


class Taken(NamedTuple):
    """How long a run took, by the clock and by the processor, and its answer."""

    seconds: float
    processor: float
    answer: Any


def clocked(run: Callable[[], Any]) -> Taken:
    """Run and time."""
    start, used = time.perf_counter(), time.process_time()
    answer = run()
    return Taken(time.perf_counter() - start, time.process_time() - used, answer)


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
    ours = clocked(lambda: tune("lcif", X, Y, "example-f1", **options))
    table = ours.answer.table
    rows = np.linspace(0, len(table) - 1, SAMPLE + 2, dtype=np.int64)[1:-1]
    sample = [{key: [value] for key, value in table.params[row].items()} for row in rows]
    search = GridSearchCV(LCIF(), sample, scoring=measured, cv=cv, refit=False)
    theirs = clocked(lambda: search.fit(X, Y))
    times = len(table) / len(rows)
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
    figure = f"{ours.seconds:.1f} s ({ours.processor:.1f} s of processor)"
    hours = theirs.seconds * times / 3600
    ratios = [theirs.seconds * times / ours.seconds, theirs.processor * times / ours.processor]
    slower = f"{hours:.1f} h: {ratios[0]:.0f} × ({ratios[1]:.0f} × the processor)"
    from_sample = f"the same by GridSearchCV, taken from {len(rows)} settings"
    what = f"LCIF, {settings}"
    taken = Measurement(f"{what}, processor time", ours.processor, "s")
    ratio = Measurement(f"GridSearchCV against tune, {settings}", ratios[1], "×", "high")
    return [
        Line(what, figure, f"at most {limit:g} s", ours.seconds <= limit, taken),
        Line(from_sample, slower, "the same values", same, ratio),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="delicious too: minutes more")
    names = ["bibtex", "delicious"] if parser.parse_args().full else ["bibtex"]
    report("tuning", [line for name in names for line in against_grid_search(name)])


if __name__ == "__main__":
    main()
