"""AUC-PR, probabilities, recall@k, F1@k and R-precision against their definitions, cell by cell."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import average_precision_score

from vicinal import Scores
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import METRICS, Metric, MetricAccumulator, evaluate, metric_info, reliability
from vicinal.selection import tune

pytestmark = pytest.mark.native

AREAS = ("macro-auc-pr", "micro-auc-pr")
PROBABILITIES = ("log-loss", "brier-score", "calibration-error")
RANKED = ("r-precision", "recall@1", "recall@3", "f1@1", "f1@3")


def ranks(row):
    """Return the rank of each label: by score descending, then by label."""
    order = sorted(range(len(row)), key=lambda each: (-row[each], each))
    return {label: place + 1 for place, label in enumerate(order)}


def of_rows(Y, S, value):
    return sum(
        value({label for label, t in enumerate(y) if t}, ranks(s))
        for y, s in zip(Y, S, strict=True)
    ) / len(Y)


def recall(k):
    return lambda true, r: sum(r[label] <= k for label in true) / len(true) if true else 0.0


def f1(k):
    return lambda true, r: 2 * sum(r[label] <= k for label in true) / (k + len(true))


def r_precision(true, r):
    return sum(r[label] <= len(true) for label in true) / len(true) if true else 0.0


def area(true, scores):
    """Return the sum over thresholds of precision times the recall that is added."""
    positive = sum(true)
    found, before = 0.0, 0
    for threshold in sorted(set(scores), reverse=True):
        above = [t for t, s in zip(true, scores, strict=True) if s >= threshold]
        found += (sum(above) - before) / positive * (sum(above) / len(above))
        before = sum(above)
    return found


def macro_area(Y, S):
    columns = list(zip(zip(*Y, strict=True), zip(*S, strict=True), strict=True))
    areas = [area(list(true), list(scores)) for true, scores in columns if sum(true)]
    return sum(areas) / len(areas) if areas else math.nan


def cells(Y, S):
    return [(t, p) for y, s in zip(Y, S, strict=True) for t, p in zip(y, s, strict=True)]


def log_loss(Y, S):
    kept = [(t, min(max(p, 1e-15), 1 - 1e-15)) for t, p in cells(Y, S)]
    return sum(-math.log(p) if t else -math.log1p(-p) for t, p in kept) / len(kept)


def brier(Y, S):
    return sum((p - t) ** 2 for t, p in cells(Y, S)) / len(cells(Y, S))


def calibration(Y, S):
    bins = {}
    for t, p in cells(Y, S):
        bins.setdefault(min(int(p * 15), 14), []).append((t, p))
    gaps = (abs(sum(p - t for t, p in each)) for each in bins.values())
    return sum(gaps) / len(cells(Y, S))


ORACLES = {
    "macro-auc-pr": macro_area,
    "micro-auc-pr": lambda Y, S: (
        area(*map(list, zip(*cells(Y, S), strict=True))) if any(map(any, Y)) else math.nan
    ),
    "log-loss": log_loss,
    "brier-score": brier,
    "calibration-error": calibration,
    "r-precision": lambda Y, S: of_rows(Y, S, r_precision),
    **{f"recall@{k}": lambda Y, S, k=k: of_rows(Y, S, recall(k)) for k in (1, 3)},
    **{f"f1@{k}": lambda Y, S, k=k: of_rows(Y, S, f1(k)) for k in (1, 3)},
}


def problem(seed):
    """Return labels and scores with ties, empty rows, unused labels; scores are stored in part."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    Y = (rng.random((n, n_labels)) < rng.choice([0.0, 0.3, 0.8, 1.0])).astype(int)
    palette = np.array([0.0, 0.1, 0.2, 0.5, 2 / 3, 0.99, 1.0])
    S = rng.choice(palette, size=(n, n_labels))
    base = rng.choice(palette, size=n_labels) * rng.integers(0, 2)
    S = np.where(rng.random(S.shape) < 0.5, base, S)
    stored = sparse.csr_array(np.where(base == S, 0, 1).astype(float))
    stored.data = S[stored.nonzero()]
    return Y, S, {"dense": S, "sparse": Scores.sparse(stored, base)}


@given(st.integers(0, 2**32 - 1), st.sampled_from(["dense", "sparse"]))
@settings(deadline=None, max_examples=150)
def test_metrics_equal_their_definitions(seed, kind):
    Y, S, forms = problem(seed)
    found = evaluate(Y, scores=forms[kind], metrics=list(ORACLES))
    for name, oracle in ORACLES.items():
        expected = oracle(Y.tolist(), S.tolist())
        assert found[name] == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), name


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(deadline=None, max_examples=80)
def test_blocks_give_the_same(seed, size):
    Y, _S, forms = problem(seed)
    whole = evaluate(Y, scores=forms["sparse"], metrics=list(ORACLES))
    blocks = MetricAccumulator(metrics=list(ORACLES))
    for start in range(0, len(Y), size):
        blocks.add(Y[start : start + size], scores=forms["sparse"].rows(start, start + size))
    found = blocks.result()
    assert found == pytest.approx(whole, rel=1e-12, abs=1e-12, nan_ok=True)
    assert (found["micro-auc-pr"] == whole["micro-auc-pr"]) or not Y.any()


def test_areas_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    Y, S = (rng.random((200, 5)) < 0.3).astype(int), rng.random((200, 5)).round(1)
    found = evaluate(Y, scores=S, metrics=AREAS)
    for kind in ("macro", "micro"):
        assert found[f"{kind}-auc-pr"] == pytest.approx(average_precision_score(Y, S, average=kind))


def test_many_labels_stay_sparse():
    """2,000 rows × 300,000 labels would take 4.8 GB as a matrix."""
    rng = np.random.default_rng(0)
    n, n_labels = 2000, 300_000
    Y = sparse.random_array((n, n_labels), density=1e-5, rng=rng, format="csr")
    Y.data[:] = 1
    S = sparse.random_array((n, n_labels), density=1e-4, rng=rng, format="csr")
    found = evaluate(Y, scores=S, metrics=list(ORACLES))
    assert all(math.isfinite(value) for value in found.values())


def test_scores_that_are_no_probabilities_have_none():
    found = evaluate([[1, 0]], scores=[[1.5, 0.2]], metrics=PROBABILITIES)
    assert all(math.isnan(value) for value in found.values())


def test_reliability_counts_every_cell():
    Y, S, _ = problem(5)
    predicted, true, count = reliability(Y, S)
    assert count.sum() == Y.size
    gaps = np.nansum(np.abs(predicted - true) * count) / Y.size
    (error,) = evaluate(Y, scores=S, metrics="calibration-error").values()
    assert gaps == pytest.approx(error)


def test_the_new_metrics_are_in_the_catalogue():
    assert {*AREAS, *PROBABILITIES, "r-precision", "recall@k", "f1@k"} <= set(METRICS)
    assert metric_info("recall@7").k == 7
    assert metric_info("log-loss").better == "low"


def share_of_first(Y, scores):
    """Return 1 for rows whose first label is true."""
    ids = scores.top(1)[0][:, 0]
    return np.array([Y[row, label] for row, label in enumerate(ids)], dtype=float)


def test_a_metric_of_ones_own_is_declared_once():
    Metric("test-first-hit", share_of_first, better="high", needs="scores", per_row=True)
    Metric("test-n-labels", lambda Y, labels: labels.nnz, better="none", needs="labels")
    rng = np.random.default_rng(1)
    Y, S = (rng.random((20, 3)) < 0.5).astype(int), rng.random((20, 3))
    own = ["test-first-hit", "test-n-labels"]
    found = evaluate(Y, S > 0.5, S, metrics=[*own, "one-error"])
    assert found["test-first-hit"] == pytest.approx(1 - found["one-error"])
    assert found["test-n-labels"] == (S > 0.5).sum()
    blocks = MetricAccumulator(metrics=own[:1]).add(Y[:7], scores=S[:7]).add(Y[7:], scores=S[7:])
    assert blocks.result()["test-first-hit"] == pytest.approx(found["test-first-hit"])
    with pytest.raises(InvalidArgumentError, match="by blocks"):
        MetricAccumulator(metrics=own[1:]).add(Y, S > 0.5).result()
    tuned = tune("brknn", S, Y, own[0], 2, {"n_neighbors": [1, 5]}, metrics=["one-error"])
    assert np.allclose(tuned.table.of(own[0]), 1 - tuned.table.of("one-error"))
    assert "test-first-hit" not in METRICS


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "micro-f1"}, "a name that vicinal does not use"),
        ({"name": "a@k"}, "a name without"),
        ({"function": 3}, "function: expected a function"),
        ({"better": "up"}, "better: expected one of"),
    ],
)
def test_bad_declarations_are_named(arguments, says):
    usual = {"name": "x", "function": len, "better": "high", "needs": "labels"}
    with pytest.raises(InvalidArgumentError, match=says):
        Metric(**{**usual, **arguments})


def test_a_metric_of_a_module_is_found_by_its_place(tmp_path, monkeypatch):
    (tmp_path / "my_test_metrics.py").write_text(
        "from vicinal.metrics import Metric\n"
        "def count(Y, labels):\n    return float(labels.nnz)\n"
        "size = Metric('test-size', count, better='none', needs='labels')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert evaluate([[1, 0]], [[1, 1]], metrics=["my_test_metrics:size"]) == {"test-size": 2.0}
    with pytest.raises(InvalidArgumentError, match="a Metric in my_test_metrics"):
        metric_info("my_test_metrics:count")
    with pytest.raises(InvalidArgumentError, match="can be imported"):
        metric_info("no_such_module:size")
