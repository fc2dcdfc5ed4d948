"""Each cell of the table of edge cases, by an example small enough to check by hand."""

import math

import pytest

from vicinal.errors import InvalidArgumentError
from vicinal.metrics import CONVENTIONS, Conventions, evaluate
from vicinal.metrics.catalogue import check_conventions

pytestmark = pytest.mark.native

SYSTEMS = ("vicinal", "sklearn", "mulan", "meka")
NAN = float("nan")

# case, metric, truth, prediction, what each system says
BIPARTITION = [
    ("Jaccard, Y = Z = ∅", "example-accuracy", [[0, 0]], [[0, 0]], (1, 0, 1, 1)),
    ("Jaccard loss, Y = Z = ∅", "jaccard-loss", [[0, 0]], [[0, 0]], (0, 1, 0, 0)),
    ("F1, Y = Z = ∅", "example-f1", [[0, 0]], [[0, 0]], (1, 0, 1, 0)),
    ("precision, Y = Z = ∅", "example-precision", [[0, 0]], [[0, 0]], (1, 0, 1, 0)),
    ("recall, Y = Z = ∅", "example-recall", [[0, 0]], [[0, 0]], (1, 0, 1, 0)),
    ("F1 of means, Y = Z = ∅", "example-f1-of-means", [[0, 0]], [[0, 0]], (1, 0, 1, 0)),
    ("precision, only Z = ∅", "example-precision", [[1, 0]], [[0, 0]], (0, 0, 0, 0)),
    ("recall, only Y = ∅", "example-recall", [[0, 0]], [[1, 0]], (0, 0, 0, 0)),
    ("F1, only Z = ∅", "example-f1", [[1, 0]], [[0, 0]], (0, 0, 0, 0)),
    ("Jaccard, only Y = ∅", "example-accuracy", [[0, 0]], [[1, 0]], (0, 0, 0, 0)),
    # Label 0 is right, label 1 occurs nowhere.
    ("macro F1, unused label", "macro-f1", [[1, 0]], [[1, 0]], (0.5, 0.5, 1, 0.5)),
    ("macro precision, unused", "macro-precision", [[1, 0]], [[1, 0]], (0.5, 0.5, 1, 0.5)),
    ("macro recall, unused", "macro-recall", [[1, 0]], [[1, 0]], (0.5, 0.5, 1, 0.5)),
    # Label 1 is true and never given: tp = fp = 0, fn = 1. Precision is 0/0, and 0 everywhere.
    ("macro precision, never given", "macro-precision", [[1, 1]], [[1, 0]], (0.5,) * 4),
    ("macro recall, never true", "macro-recall", [[1, 0]], [[1, 1]], (0.5,) * 4),
    ("micro precision 0/0", "micro-precision", [[1, 0]], [[0, 0]], (0, 0, 0, 0)),
    ("micro recall 0/0", "micro-recall", [[0, 0]], [[1, 0]], (0, 0, 0, 0)),
    ("micro F1 0/0", "micro-f1", [[0, 0]], [[0, 0]], (0, 0, 0, 0)),
]

RANKING = [
    # True labels at ranks 1 and 3.
    ("coverage", "coverage", [[1, 0, 1]], [[0.9, 0.5, 0.1]], (2, 3, 2, 2)),
    ("coverage by L", "coverage-normalised", [[1, 0, 1]], [[3, 2, 1]], (2 / 3, 1, 2 / 3, 2 / 3)),
    # Row 0 counts 0; row 1 has its label at rank 2.
    ("coverage, Y = ∅", "coverage", [[0, 0], [0, 1]], [[2, 1], [2, 1]], (0.5, 1, 0.5, 0.5)),
    # Label 1 of three is true and all tie: ranks 2, worst 3, 2, 2.
    ("coverage tie", "coverage", [[0, 1, 0]], [[1, 1, 1]], (1, 3, 1, 1)),
    ("coverage tie, first", "coverage", [[1, 0, 0]], [[1, 1, 1]], (0, 3, 2, 0)),
    ("ranking-loss tie, true first", "ranking-loss", [[1, 0, 0]], [[1, 1, 1]], (1, 1, 1, 1)),
    ("ranking-loss tie, true middle", "ranking-loss", [[0, 1, 0]], [[1, 1, 1]], (1, 1, 0.5, 0.5)),
    ("ranking-loss tie, true last", "ranking-loss", [[0, 0, 1]], [[1, 1, 1]], (1, 1, 0, 0)),
    # The second row has one wrong pair of one.
    ("ranking-loss, Y = ∅", "ranking-loss", [[0, 0], [0, 1]], [[2, 1], [2, 1]], (0.5,) * 4),
    ("ranking-loss, Y full", "ranking-loss", [[1, 1], [0, 1]], [[2, 1], [2, 1]], (0.5,) * 4),
    # The second row is 1/2.
    (
        "average-precision, Y = ∅",
        "average-precision",
        [[0, 0], [0, 1]],
        [[2, 1], [2, 1]],
        (0.5, 0.75, 0.5, 0.75),
    ),
    ("average-precision, all ∅", "average-precision", [[0, 0]], [[2, 1]], (NAN, 1, NAN, 1)),
    ("average-precision tie", "average-precision", [[1, 0, 0]], [[1, 1, 1]], (1, 1 / 3, 1 / 3, 1)),
    ("one-error, Y = ∅", "one-error", [[0, 0], [1, 0]], [[2, 1], [2, 1]], (0.5,) * 4),
    ("one-error tie, lower true", "one-error", [[1, 0]], [[1, 1]], (0, 0, 1, 0)),
    ("one-error tie, higher true", "one-error", [[0, 1]], [[1, 1]], (1, 1, 0, 1)),
    ("near tie is a tie", "one-error", [[1, 0]], [[1 + 9e-7, 1]], (0, 0, 1, 0)),
    ("no near tie", "one-error", [[1, 0]], [[1 + 1.1e-6, 1]], (0, 0, 0, 0)),
    ("near tie, ranking-loss", "ranking-loss", [[1, 0]], [[9e-7, 0]], (0, 0, 1, 0)),
    ("precision@k, Y = ∅", "precision@1", [[0, 0], [1, 0]], [[2, 1], [2, 1]], (0.5,) * 4),
    ("precision@k tie", "precision@1", [[1, 0]], [[1, 1]], (1, 1, 0, 1)),
    ("ndcg, Y = ∅", "ndcg@1", [[0, 0], [1, 0]], [[2, 1], [2, 1]], (0.5,) * 4),
    # Label 0 is ordered rightly; every row has label 1.
    ("auc, one class", "macro-auc", [[1, 1], [0, 1]], [[2, 1], [1, 1]], (1, 1, NAN, 1)),
    ("auc, two classes", "macro-auc", [[1, 0], [0, 1]], [[2, 1], [1, 1]], (0.75,) * 4),
]


def cells(table):
    return [
        pytest.param(metric, truth, prediction, system, value, id=f"{case} | {system}")
        for case, metric, truth, prediction, expected in table
        for system, value in zip(SYSTEMS, expected, strict=True)
    ]


def same(value, expected):
    return math.isnan(value) if math.isnan(expected) else value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "truth", "labels", "system", "expected"), list(cells(BIPARTITION))
)
def test_predicted_sets(metric, truth, labels, system, expected):
    answer = evaluate(truth, labels=labels, conventions=system, metrics=metric)
    assert same(answer[metric], expected)


@pytest.mark.parametrize(("metric", "truth", "scores", "system", "expected"), cells(RANKING))
def test_rankings(metric, truth, scores, system, expected):
    answer = evaluate(truth, scores=scores, conventions=system, metrics=metric)
    assert same(answer[metric], expected)


def test_mulan_groups_scores_from_the_lowest_up():
    # 0, 6 and 12 (in 1e-7) make {0, 6} and {12}: label 0 stands first although 6 is near 12 too.
    scores = [[12e-7, 6e-7, 0.0]]
    ranks = [
        evaluate([truth], scores=scores, conventions="mulan", metrics="coverage")["coverage"] + 1
        for truth in ([1, 0, 0], [0, 1, 0], [0, 0, 1])
    ]
    assert ranks == [1, 3, 2]


def test_conventions_may_be_mixed():
    mixed = Conventions("mixed", unused_label=1.0)
    assert evaluate([[1, 0]], [[1, 0]], conventions=mixed, metrics="macro-f1") == {"macro-f1": 1.0}


def test_the_four_systems_are_known_by_name():
    assert tuple(CONVENTIONS) == SYSTEMS
    with pytest.raises(InvalidArgumentError, match="conventions: expected one of 'vicinal'"):
        check_conventions("weka")


@pytest.mark.parametrize(
    "rules", [Conventions("bad", ties="random"), Conventions("bad", tie_tolerance=NAN)]
)
def test_bad_rules_are_refused(rules):
    with pytest.raises(InvalidArgumentError, match="conventions"):
        evaluate([[1]], scores=[[1.0]], conventions=rules)
