"""docs/quality.md, written from stored results."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.quality_scores import METRICS, bootstrap
from vicinal.results import Result

OURS = "blend"
SHORT = {
    "precision@1": "P@1",
    "precision@3": "P@3",
    "precision@5": "P@5",
    "ndcg@5": "nDCG@5",
    "micro-f1": "micro-F1",
    "macro-f1": "macro-F1",
    "example-f1": "example-F1",
    "example-accuracy": "example-accuracy",
}
HEAD = """# Predictions: the blend beside the models people train instead

This page is written from stored results by `make bench-quality`. Every model learns from the
training rows of the published split (70 % of a fixed shuffle where a data set has none) and is
measured on the test rows. Nothing is chosen on test rows: the regularisation of the peers and every
threshold come from scores of training rows by models that have not seen them (3 folds for the
peers, the blend's own held-out scores for the blend). One threshold is chosen for micro-F1, which
also gives macro-F1, and one for example-F1, where rows without a label get the best one.

Test figures of these data sets were seen while the blend was developed, so differences of about .01
on the smaller ones say little; data sets that nobody looked at are the better check.

- `blend`: `vicinal.Blend()` on the rows as they are, with no parameter set.
- `linear-svc`, `logistic-regression`: one scikit-learn model per label on tf-idf rows (standardised
  rows where they are dense), C chosen among three values where rows × labels allow it.
- `xr-linear`, `omikuji`: PECOS XR-Linear and Omikuji (Parabel) with their own defaults on the same
  tf-idf rows.
- `random-forest`: 500 trees, for the dense data sets.

**Bold** is the best of a column. A peer's value is marked `−` where the blend is better and `+`
where the blend is worse, outside the 95 % interval of a paired bootstrap over the test rows (2,000
draws; macro-F1 has no interval). A table lists the models that have been run on its data set.
Seconds are those of a fit and the scores of all test rows; compare them only where the machine was
idle, which the stored results do not record.
"""


def write_page(results: Sequence[Result], folder: Path, path: Path) -> None:
    """Write the page."""
    quality = [result for result in results if result.experiment == "quality"]
    names = list(dict.fromkeys(result.data for result in quality))
    tables = {name: [result for result in quality if result.data == name] for name in names}
    whole = {name: rows for name, rows in tables.items() if _ours(rows) and len(rows) > 1}
    text = [HEAD, _summary(whole, folder), *(_table(name, whole[name], folder) for name in whole)]
    path.write_text("\n".join(text), encoding="utf-8")


def _ours(rows: Sequence[Result]) -> Result | None:
    """Return the blend's result."""
    return next((row for row in rows if row.method == OURS), None)


def _signs(name: str, peer: str, folder: Path) -> dict[str, str]:
    """Return the mark of a peer's metrics that differ beyond chance."""
    ours, theirs = (np.load(folder / f"{name}.{each}.npz")["rows"] for each in (OURS, peer))
    intervals = bootstrap(ours.astype(np.float64), theirs.astype(np.float64))
    return {
        metric: " −" if low > 0 else " +" if high < 0 else ""
        for metric, (low, high) in intervals.items()
    }


def _summary(tables: dict[str, list[Result]], folder: Path) -> str:
    """Return how often the blend is at least as good as the best peer, and significantly worse."""
    cells = equal = worse = 0
    for name, rows in tables.items():
        ours = _ours(rows)
        peers = [row for row in rows if row.method != OURS]
        signs = [_signs(name, peer.method, folder) for peer in peers]
        for metric in METRICS:
            best = max(peer.mean(metric) for peer in peers)
            cells += 1
            equal += ours is not None and ours.mean(metric) >= best
            worse += any(sign.get(metric) == " +" for sign in signs)
    share = 100 * equal / max(cells, 1)
    return (
        f"In {equal} of {cells} cells ({share:.0f} %) the blend is at least as good as the best "
        f"peer; in {worse} it is significantly worse than one.\n"
    )


def _table(name: str, rows: Sequence[Result], folder: Path) -> str:
    """Return the table of a data set."""
    lines = [
        f"## {name}\n",
        "| model | " + " | ".join(SHORT.values()) + " | ECE | log loss | seconds | MB |",
        "|---|" + "---|" * (len(SHORT) + 4),
    ]
    best = {metric: max(row.mean(metric) for row in rows) for metric in METRICS}
    for row in sorted(rows, key=lambda row: row.method != OURS):
        signs = {} if row.method == OURS else _signs(name, row.method, folder)
        cells = []
        for metric in METRICS:
            shown = f"{row.mean(metric):.3f}"
            is_best = row.mean(metric) == best[metric]
            cells.append((f"**{shown}**" if is_best else shown) + signs.get(metric, ""))
        cells += [
            f"{row.mean(metric):.4f}" if metric in row.values else "–"
            for metric in ("calibration-error", "log-loss")
        ]
        memory = row.settings.get("memory_mb")
        cells += [f"{row.seconds['fit and predict']:.1f}", "–" if memory is None else str(memory)]
        lines.append(f"| {row.method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
