"""Spyromitros, Tsoumakas, Vlahavas 2008: BRkNN, its extensions, LPkNN and ML-kNN."""

from vicinal.methods import BRkNN, LPkNN, MLkNN
from vicinal_reproduction.protocols.folds import Folds
from vicinal_reproduction.specification import (
    Check,
    Curve,
    Experiment,
    Method,
    Paper,
    Reason,
    Table,
)

DATA = ("scene", "emotions", "yeast")
KS = tuple(range(1, 31))
METRICS = (
    "hamming-loss",
    "example-accuracy",
    "example-f1-of-means",
    "subset-accuracy",
    "micro-f1",
    "macro-f1",
)
SHOWN = tuple("example-f1" if name == "example-f1-of-means" else name for name in METRICS)
METRIC_OF = {"example-f1": "example-f1-of-means"}

METHODS = {
    "brknn": Method(lambda seed: BRkNN(strict_majority=True), KS),
    "brknn-a": Method(lambda seed: BRkNN(variant="a", strict_majority=True), KS),
    "brknn-b": Method(lambda seed: BRkNN(variant="b"), KS),
    "lpknn": Method(lambda seed: LPkNN(), KS),
    "ml-knn": Method(lambda seed: MLkNN(), KS),
}
AT_LEAST_HALF = {
    "brknn": Method(lambda seed: BRkNN(), KS),
    "brknn-a": Method(lambda seed: BRkNN(variant="a"), KS),
}

RECALL_ON_YEAST = {"brknn": 0.577, "brknn-a": 0.579, "ml-knn": 0.587}
"""The mean recall of methods whose F-measure on yeast the paper prints too low."""

_FOLDS = Folds((*METRICS, "example-f1", "empty-share"), scale=True, kept_by_k=("empty-share",))
_PLAIN = Folds((*METRICS, "example-f1"))

PAPER = Paper(
    name="spyromitros2008",
    title="An empirical study of lazy multilabel classification algorithms (SETN 2008)",
    experiments=(
        Experiment(
            "spyromitros2008/folds",
            "10-fold cross-validation, every metric averaged over k = 1..30, min-max scaled "
            "features",
            DATA,
            METHODS,
            _FOLDS,
            quick_data=("emotions",),
        ),
        Experiment(
            "spyromitros2008/at-least-half",
            "the same, with BRkNN predicting labels of at least half of the neighbours",
            DATA,
            AT_LEAST_HALF,
            Folds((*METRICS, "example-f1"), scale=True),
            cost=2,
            quick_data=("emotions",),
        ),
        Experiment(
            "spyromitros2008/unscaled",
            "the same with unscaled features",
            DATA,
            METHODS,
            _PLAIN,
            cost=2,
            quick_data=("emotions",),
        ),
        Experiment(
            "spyromitros2008/recall",
            "the mean recall on yeast, averaged over k = 1..30",
            ("yeast",),
            METHODS,
            Folds(("example-recall",), scale=True),
            cost=2,
        ),
    ),
    tables=(
        Table(
            "2",
            "BRkNN and its extensions, averaged over k",
            DATA,
            ("brknn", "brknn-a", "brknn-b"),
            SHOWN,
            ("spyromitros2008/folds",),
            METRIC_OF,
        ),
        Table(
            "3",
            "The best BRkNN, LPkNN and ML-kNN, averaged over k",
            DATA,
            ("brknn-a", "brknn-b", "lpknn", "ml-knn"),
            SHOWN,
            ("spyromitros2008/folds",),
            METRIC_OF,
        ),
    ),
    curves=(
        Curve(
            "1",
            "Share of empty BRkNN predictions against k",
            "spyromitros2008/folds",
            DATA,
            ("brknn",),
            "empty-share",
            "k",
        ),
    ),
    checks=(
        Check(
            "spyromitros2008/at-least-half",
            ("2", "3"),
            "a label is predicted if at least half of the neighbours have it, as the text "
            "states; the tables correspond to more than half",
        ),
        Check("spyromitros2008/unscaled", ("2", "3"), "features are not scaled"),
    ),
    better=tuple(
        Reason(
            f"the paper prints the mean recall as F-measure: ours is {recall} (recall)",
            data="yeast",
            method=method,
            metric="example-f1",
        )
        for method, recall in RECALL_ON_YEAST.items()
    ),
    notes=(
        "“F-measure” is interpreted as the harmonic mean of mean precision and mean recall.",
        "Folds are drawn at random; the paper’s are not published.",
    ),
)
