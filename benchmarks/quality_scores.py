"""From scores to figures: thresholds on training rows, metrics on test rows, paired bootstrap."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.quality_models import Answers
from benchmarks.quality_split import Split
from vicinal._core.arrays import Csr
from vicinal.decision import MetricThreshold, NeverEmpty
from vicinal.metrics import evaluate
from vicinal.scores import Scores

Counts = NDArray[np.float64]
METRICS = (
    "precision@1",
    "precision@3",
    "precision@5",
    "ndcg@5",
    "micro-f1",
    "macro-f1",
    "example-f1",
    "example-accuracy",
)


@dataclass(frozen=True, eq=False)
class Measured:
    """Metrics, and the counts of every test row that paired bootstrap draws from.

    Parameters
    ----------
    values : dict of str to float
    rows : ndarray, shape (n_test, 9)
        Hits among the first 1, 3 and 5 labels; true positives, predicted and true labels at the
        threshold for micro-F1; example-F1 and example-accuracy at theirs; nDCG@5.
    """

    values: dict[str, float]
    rows: Counts


def measure(split: Split, answers: Answers) -> Measured:
    """Choose thresholds on training rows and count on test rows.

    One threshold for micro-F1 by the model's rule (which also gives macro-F1), one for the best
    example-F1, where rows without a label get the best one.
    """
    known = split.Y[answers.training_rows]
    micro = answers.rule.fit(answers.training, known).decide(answers.test)
    example_rule = NeverEmpty(MetricThreshold("example-f1")).fit(answers.training, known)
    sets = example_rule.decide(answers.test)
    truth = split.Y_test
    values = evaluate(truth, micro, answers.test, k=(1, 3, 5))
    by_example = evaluate(truth, sets)
    chosen = {name: values[name] for name in METRICS}
    chosen |= {name: by_example[name] for name in ("example-f1", "example-accuracy")}
    if answers.is_probability:
        chosen |= calibration(answers.test, truth)
    return Measured(chosen, _row_counts(answers.test, micro, sets, truth))


def calibration(scores: Scores, truth: Csr, n_bins: int = 15) -> dict[str, float]:
    """Return expected calibration error and log loss over the cells that have a probability.

    Bins have equally many cells; log loss is per cell, probabilities clipped to [1e-6, 1 − 1e-6].
    """
    stored = sparse.csr_array(scores.values)
    row_of = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
    p = np.clip(stored.data, 1e-6, 1 - 1e-6)
    y = cells_of(truth, row_of, stored.indices)
    order = np.argsort(p, kind="stable")
    gaps = [abs(p[part].sum() - y[part].sum()) for part in np.array_split(order, n_bins)]
    log_loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    return {"calibration-error": float(sum(gaps) / len(p)), "log-loss": float(log_loss)}


def _row_counts(scores: Scores, micro: Csr, sets: Csr, truth: Csr) -> Counts:
    """Return what each test row adds to the metrics."""
    best, _ = scores.top(5)
    row_of = np.repeat(np.arange(truth.shape[0]), best.shape[1])
    hits = cells_of(truth, row_of, best.ravel()).reshape(best.shape)
    gains = hits / np.log2(np.arange(2, 2 + best.shape[1]))
    n_true = np.diff(truth.indptr)
    ideal = np.cumsum(1 / np.log2(np.arange(2, 7)))[np.clip(n_true, 1, 5) - 1]
    both = _shared(micro, truth)
    shared, n_sets = _shared(sets, truth), np.diff(sets.indptr)
    return np.column_stack(
        [
            hits[:, :1].sum(axis=1),
            hits[:, :3].sum(axis=1) / 3,
            hits[:, :5].sum(axis=1) / 5,
            gains.sum(axis=1) / ideal,
            both,
            np.diff(micro.indptr),
            n_true,
            np.where(n_sets + n_true == 0, 1.0, 2 * shared / np.maximum(n_sets + n_true, 1)),
            np.where(n_sets + n_true == 0, 1.0, shared / np.maximum(n_sets + n_true - shared, 1)),
        ]
    )


def cells_of(truth: Csr, row_of: NDArray[np.int64], labels: NDArray[np.integer[Any]]) -> Counts:
    """Return 1 where a row has a label."""
    return np.asarray(truth.astype(np.float64)[row_of, labels]).ravel()


def _shared(first: Csr, second: Csr) -> Counts:
    """Return how many labels two sets of each row share."""
    return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()


def bootstrap(ours: Counts, theirs: Counts, n_draws: int = 2000) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of our value less theirs, for each metric of rows.

    Test rows are drawn with replacement, the same for both. Macro-F1 has no interval: it is no mean
    over rows.
    """
    n_rows = len(ours)
    rng = np.random.default_rng(0)
    draws = np.array(
        [_metrics_of(ours, theirs, rng.integers(0, n_rows, n_rows)) for _ in range(n_draws)]
    )
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    names = [name for name in METRICS if name != "macro-f1"]
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(names)}


def _metrics_of(ours: Counts, theirs: Counts, rows: NDArray[np.int64]) -> Counts:
    """Return the differences of the metrics on some rows, in the order of ``METRICS``."""
    weights = np.bincount(rows, minlength=len(ours)).astype(np.float64)
    values = []
    for counts in (ours, theirs):
        sums = weights @ counts
        means = sums / len(ours)
        micro = 2 * sums[4] / max(sums[5] + sums[6], 1.0)
        values.append(np.array([*means[:4], micro, means[7], means[8]]))
    difference: Counts = values[0] - values[1]
    return difference
