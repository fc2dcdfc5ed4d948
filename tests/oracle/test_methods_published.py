"""ML-kNN's figures on published splits, and the methods of votes by brute force on real data."""

import numpy as np
import pytest

from vicinal import IBLR, DMLkNN, LAMLkNN, MLkNN, datasets
from vicinal.datasets.catalogue import entry
from vicinal.datasets.catalogue.download import at_hand
from vicinal.index import build_index
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax

pytestmark = [pytest.mark.native, pytest.mark.data]

METRICS = ("hamming-loss", "one-error", "ranking-loss", "average-precision")


def load(name):
    """Return train and test, features scaled by the training rows."""
    if not at_hand(entry(name)):
        pytest.skip(f"{name} is not in a folder of $VICINAL_DATA")
    train, test = datasets.load(name).split()
    scale = MinMax().fit(train.X)
    return scale.transform(train.X), train.Y, scale.transform(test.X), test.Y


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("emotions", (0.2087, 0.2822, 0.1586, 0.7965)),
        ("yeast", (0.1980, 0.2421, 0.1707, 0.7574)),
        ("scene", (0.0953, 0.2425, 0.0925, 0.8513)),
    ],
)
def test_mlknn_gives_the_published_figures(name, figures):
    X, Y, X_test, Y_test = load(name)
    model = MLkNN(n_neighbors=10, smoothing=1.0).fit(X, Y)
    found = evaluate(Y_test, model.predict(X_test), model.scores(X_test))
    assert tuple(round(found[metric], 4) for metric in METRICS) == figures


def votes_of(graph, Y):
    """Return how many neighbours carry each label, a dense table."""
    with_nobody = np.vstack([Y, np.zeros_like(Y[:1])])
    return with_nobody[graph.ids].sum(axis=1)


@pytest.mark.parametrize(("name", "tolerance"), [("yeast", 2), ("yeast", 6), ("bibtex", 2)])
def test_dmlknn_by_brute_force(name, tolerance):
    X, Y, X_test, _ = load(name)
    Y = np.asarray(Y.todense() if hasattr(Y, "todense") else Y).astype(np.int64)
    index = build_index(X, "euclidean")
    known, graph = votes_of(index.query_self(10), Y), index.query(X_test[:60], 10)
    n_rows, n_labels = Y.shape
    positives = Y.sum(axis=0)
    prior = (1 + positives) / (2 + n_rows)
    wanted = []
    for asked in votes_of(graph, Y):
        difference = np.abs(known - asked)
        too_far = difference > tolerance
        others_near = too_far.sum(axis=1, keepdims=True) - too_far == 0
        match = others_near & (difference == 0)
        with_label = (1 + (match & (Y == 1)).sum(axis=0)) / (n_labels + positives)
        without_label = (1 + (match & (Y == 0)).sum(axis=0)) / (n_labels + n_rows - positives)
        one, other = prior * with_label, (1 - prior) * without_label
        wanted.append(one / (one + other))
    model = DMLkNN(10, 1.0, tolerance).fit(X, Y, graph=index.query_self(10))
    scores = model.predict_proba(X_test[:60], graph=graph)
    assert np.array_equal(scores, np.array(wanted))


@pytest.mark.parametrize("name", ["emotions", "bibtex"])
def test_one_cluster_is_mlknn_to_the_bit(name):
    X, Y, X_test, _ = load(name)
    local, plain = LAMLkNN(n_clusters=1).fit(X, Y), MLkNN().fit(X, Y)
    assert np.array_equal(local.predict_proba(X_test), plain.predict_proba(X_test))


def test_regressions_on_votes_order_labels_better_than_ml_knn_on_emotions():
    X, Y, X_test, Y_test = load("emotions")
    found = [
        evaluate(Y_test, scores=model.fit(X, Y).scores(X_test))["average-precision"]
        for model in (IBLR(), MLkNN())
    ]
    assert found[0] > found[1]
