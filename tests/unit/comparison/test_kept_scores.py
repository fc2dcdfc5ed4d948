"""Scores that a comparison keeps: what comes back, and what cannot be computed from them."""

import numpy as np
import pytest
from scipy import sparse

from vicinal import Scores
from vicinal.comparison import kept_scores
from vicinal.comparison.kept_scores import ScoreStore, kept_fold
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import evaluate
from vicinal.results import Result

pytestmark = pytest.mark.native
RNG = np.random.default_rng(0)


def problem(n_labels, base=0.0):
    Y = sparse.csr_array((RNG.random((20, n_labels)) < 0.1).astype(np.int32))
    values = sparse.random_array((20, n_labels), density=0.4, rng=RNG, format="csr")
    return Y, Scores.sparse(values, np.full(n_labels, base))


@pytest.mark.parametrize("dense", [False, True])
def test_all_scores_of_few_labels_come_back(tmp_path, dense):
    Y, scores = problem(30, base=0.25)
    if dense:
        scores = Scores.dense(scores.toarray())
    result = Result("compare/2 folds", "d", "m", {"one-error": (0.5, 0.5)}, seed=0)
    store, labels = ScoreStore(tmp_path / "r"), sparse.csr_array((scores.toarray() > 0.6) * 1)
    for fold in range(2):
        store.add(result.key, fold, kept_fold(Y, labels.astype(np.int32), scores, Y))
    metrics = ["micro-auc", "log-loss", "micro-f1", "psp@3", "average-precision"]
    expected = evaluate(Y, labels, scores, metrics=metrics, train_label_counts=Y)
    for fold in store.read(result):
        assert fold.measure(metrics) == expected


def test_of_many_labels_the_best_scores_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_scores, "FEW_LABELS", 10)
    Y, scores = problem(40)
    kept = kept_fold(Y, Y, scores, Y, top=6)
    store = ScoreStore(tmp_path / "r")
    store.add(("e", "d", "m", 0), 0, kept)
    (fold,) = store.read(Result("e", "d", "m", {"one-error": (0.5,)}, seed=0))
    metrics = ["precision@1", "recall@6", "ndcg@5", "hamming-loss"]
    assert fold.measure(metrics) == evaluate(Y, Y, scores, metrics=metrics)
    for name in ("recall@7", "micro-auc", "ranking-loss"):
        with pytest.raises(InvalidArgumentError, match="only the 6 best of each row are kept"):
            fold.measure([name])


def test_a_damaged_file_is_named(tmp_path):
    store, result = ScoreStore(tmp_path / "r"), Result("e", "d", "m", {"one-error": (0.5,)}, seed=0)
    with pytest.raises(InvalidArgumentError, match="scores of m on d"):
        list(store.read(result))
    Y, scores = problem(5)
    store.add(result.key, 0, kept_fold(Y, Y, scores, Y))
    path = store.path(result.key, 0)
    whole = path.read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(InvalidArgumentError, match="with scores"):
            list(store.read(result))
