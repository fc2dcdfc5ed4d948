"""Wang et al. 2018: LAML-kNN against BRkNN, ML-kNN and DML-kNN."""

from dataclasses import replace

from vicinal.methods import BRkNN, DMLkNN, LAMLkNN, MLkNN
from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.protocols.chosen_clusters import (
    at_chosen_clusters,
    best_by,
    nearest_to_paper,
)
from vicinal_reproduction.protocols.cluster_counts import ClusterCounts
from vicinal_reproduction.protocols.cluster_curve import ClusterCurve
from vicinal_reproduction.protocols.settled_split import SettledSplit
from vicinal_reproduction.protocols.tuned_split import TunedSplit
from vicinal_reproduction.specification import (
    Check,
    Curve,
    Experiment,
    Method,
    Paper,
    Reason,
    Table,
)
from vicinal_reproduction.specs.wang2018_settings import FIRST_ROWS, NOTES, PRINTED, SETTLED

METRICS = (
    "hamming-loss",
    "ranking-loss",
    "one-error",
    "coverage-normalised",
    "average-precision",
)
SMALL = ("emotions", "birds", "enron", "scene", "yeast", "slashdot")
LARGE = ("bibtex", "corel5k", "corel16k001", "corel16k002", "corel16k003", "ohsumed")
RANDOM = ("slashdot", "corel16k001", "corel16k002", "corel16k003", "ohsumed")
AS_RUN = (
    "wang2018/settled",
    "wang2018/nearest-clusters",
    "wang2018/by-clusters",  # from which the previous one is derived
    "wang2018/printed-k",
)
NAMES = ("laml-knn", "ml-knn", "brknn", "dml-knn")
KS, FEW_KS = tuple(range(1, 21)), (2, 5, 8, 10, 12, 15, 20)
MORE_KS = (25, 30, 40)
"""For BRkNN, whose best k is larger because it has no smoothing."""


def _methods(
    ks: tuple[int, ...], laml_ks: tuple[int, ...], clusters: tuple[int, ...]
) -> dict[str, Method]:
    """Return the paper's methods with the numbers of neighbours and clusters to choose from."""
    return {
        "ml-knn": Method(lambda seed: MLkNN(), ks),
        "brknn": Method(lambda seed: BRkNN(strict_majority=True), (*ks, *MORE_KS)),
        "dml-knn": Method(lambda seed: DMLkNN(tolerance=6), ks),
        "laml-knn": Method(
            lambda seed: LAMLkNN(random_state=seed), laml_ks, {"n_clusters": clusters}
        ),
    }


LABELS = ("beach", "sunset", "fall", "field", "mountain", "urban")
CLUSTERS = tuple(
    f"cluster {at}, rows {side} the label" for side in ("with", "without") for at in range(1, 6)
)
PRINTED_KS = {
    "emotions": 8,
    "birds": 2,
    "bibtex": 10,
    "corel5k": 15,
    "corel16k001": 15,
    "corel16k002": 15,
    "corel16k003": 15,
    "ohsumed": 10,
}
"""The k that a figure prints for LAML-kNN and ML-kNN; for the other data sets none is printed.

For emotions the available scan reads 9. With 9, none of ML-kNN's figures of table 3 is reproduced;
with 8, all five are, to the third decimal. 8 is used because it reproduces the published figures.
"""

_BY_CV = TunedSplit(
    METRICS, "average-precision", scale=True, random_split=RANDOM, conventions="mulan"
)
_PROTOCOL = replace(_BY_CV, printed_ks=PRINTED_KS, printed_for=("laml-knn", "ml-knn", "dml-knn"))
_SETTLED = SettledSplit(METRICS, {**SETTLED, **PRINTED}, _BY_CV)
_ONE_SETTING = {
    "laml-knn": Method(lambda seed: LAMLkNN(), (10,), {"n_clusters": (2,)}),
    "ml-knn": Method(lambda seed: MLkNN(), (10,)),
    "brknn": Method(lambda seed: BRkNN(strict_majority=True), (10,)),
    "dml-knn": Method(lambda seed: DMLkNN(tolerance=6), (10,)),
}


SPLIT = (
    "the split, which the paper does not state: with the first 67 % of the rows for training the "
    "figure is reproduced or lies beyond the paper’s (variant)"
)
RANKING, ONE, COVERAGE, PRECISION = METRICS[1:]
OF_THE_SPLIT = {
    ("corel16k001", "brknn"): (RANKING, COVERAGE, PRECISION),
    ("corel16k001", "ml-knn"): (COVERAGE,),
    ("corel16k002", "brknn"): (RANKING, COVERAGE, PRECISION),
    ("corel16k002", "ml-knn"): (RANKING, ONE, PRECISION),
    ("corel16k003", "brknn"): (RANKING, COVERAGE),
    ("corel16k001", "laml-knn"): (COVERAGE,),
    ("corel16k002", "laml-knn"): (RANKING, COVERAGE, PRECISION),
    ("corel16k003", "laml-knn"): (RANKING, COVERAGE, PRECISION),
    ("corel16k002", "dml-knn"): (RANKING, ONE, PRECISION),
    ("corel16k003", "dml-knn"): (RANKING, ONE, PRECISION),
    ("corel16k003", "ml-knn"): (RANKING, ONE, PRECISION),
    ("ohsumed", "brknn"): (RANKING, COVERAGE),
}
"""Cells that are better with random rows, and not with the first rows, for training."""


def _few(*names: str) -> dict[str, Method]:
    """Return some of the methods, with settings from the protocol."""
    return {name: _ONE_SETTING[name] for name in names}


def _made(figures: Figures) -> list[Result]:
    """Return LAML-kNN with the number of clusters chosen by each rule."""
    rules = {
        "wang2018/nearest-clusters": nearest_to_paper("wang2018"),
        "wang2018/best-clusters": best_by("average-precision"),
    }
    return [
        result
        for name, rule in rules.items()
        for result in at_chosen_clusters(figures, "wang2018/by-clusters", "laml-knn", rule, name)
        if result.data in SETTLED
    ]


PAPER = Paper(
    name="wang2018",
    title="A locally adaptive multi-label k-nearest neighbor algorithm (PAKDD 2018)",
    experiments=(
        Experiment(
            "wang2018/clusters",
            "5 clusters of all rows, k = 10, clusters numbered as the paper’s nearest",
            ("scene",),
            {name: Method(lambda seed: MLkNN()) for name in CLUSTERS},
            ClusterCounts("wang2018", "1"),
            seeds=(1,),
        ),
        Experiment(
            "wang2018/small",
            "k of LAML-kNN, ML-kNN and DML-kNN as printed in the figures, other settings by "
            "5-fold cross-validation on the training rows (average precision)",
            SMALL,
            _methods(KS, FEW_KS, (2, 3, 5, 10, 20)),
            _PROTOCOL,
            cost=2,
        ),
        Experiment(
            "wang2018/large",
            "the same with 3 folds",
            LARGE,
            _methods((5, 10, 15, 20), (15,), (2, 5, 15, 30)),
            replace(_PROTOCOL, n_folds=3),
            cost=4,
            quick_data=("corel5k",),
        ),
        Experiment(
            "wang2018/all-by-cv",
            "like the first, with every k cross-validated",
            ("emotions", "birds"),
            _methods(KS, FEW_KS, (2, 3, 5, 10, 20)),
            _BY_CV,
            cost=3,
        ),
        Experiment(
            "wang2018/settled",
            "k, split and scaling chosen to reproduce the paper’s figures, with neighbours in "
            "Weka’s order",
            tuple(SETTLED),
            _few("ml-knn", "brknn", "dml-knn"),
            _SETTLED,
            seeds=(1,),
        ),
        Experiment(
            "wang2018/printed-k",
            "BRkNN with Weka’s neighbours and the printed k, random splits",
            ("corel16k001", "corel16k002", "corel16k003"),
            _few("brknn"),
            _SETTLED,
            cost=3,
        ),
        Experiment(
            "wang2018/by-clusters",
            "every metric on the test rows against the number of clusters from Weka’s k-means "
            "(seed 10), with split, scaling and k as in the first two",
            (*SETTLED, *PRINTED),
            _few("laml-knn", "ml-knn"),
            ClusterCurve(_SETTLED),
            seeds=(1,),
            cost=3,
        ),
        Experiment(
            "wang2018/first-rows",
            "the first 67 % of the rows for training, as on slashdot, k as printed; LAML-kNN with "
            "2 clusters",
            tuple(FIRST_ROWS),
            _few("ml-knn", "brknn", "dml-knn", "laml-knn"),
            replace(_SETTLED, settings=FIRST_ROWS),
            seeds=(1,),
            cost=3,
        ),
    ),
    tables=(
        Table(
            "1",
            "Mean number of neighbours with a label, by cluster (scene)",
            ("scene",),
            CLUSTERS,
            tuple(f"mean neighbour count of {label}" for label in LABELS),
            ("wang2018/clusters",),
            judged=(),
            notes=("K-means clusters differ between runs; only their spread can be compared.",),
        ),
        Table("3", "Regular-scale data", SMALL, NAMES, METRICS, (*AS_RUN, "wang2018/small")),
        Table("4", "Large-scale data", LARGE, NAMES, METRICS, (*AS_RUN, "wang2018/large")),
    ),
    curves=(
        Curve(
            "1 and 2",
            "Average precision against the number of clusters",
            "wang2018/by-clusters",
            (*SETTLED, *PRINTED),
            ("laml-knn", "ml-knn"),
            "average-precision",
            "clusters",
        ),
        Curve(
            "1, of other metrics",
            "Hamming loss against the number of clusters",
            "wang2018/by-clusters",
            ("emotions",),
            ("laml-knn",),
            "hamming-loss",
            "clusters",
        ),
        Curve(
            "1 and 2, of other metrics",
            "Coverage against the number of clusters",
            "wang2018/by-clusters",
            ("enron", "corel5k"),
            ("laml-knn",),
            "coverage-normalised",
            "clusters",
        ),
    ),
    notes=NOTES,
    reasons=(
        Reason(
            "counting all rows tied with the k-th, as Mulan does, does not help here: with "
            "cross-validated k (25 to 30) and without such rows, one-error is reproduced and "
            "average precision is 0.209, at best 0.216 (variants)",
            data="corel16k003",
            method="brknn",
        ),
        Reason(
            "the paper’s split is unknown; its test rows have fewer labels than randomly drawn "
            "rows. With the first 67 % of the rows for training, as on slashdot, Hamming loss is"
            " reproduced, but not everything else (variant)",
            data="corel16k*",
        ),
        Reason(
            "with 5 clusters the paper’s four other figures are reproduced within 0.001; its "
            "Hamming loss corresponds to 2 clusters (curve)",
            data="emotions",
            method="laml-knn",
            metric="hamming-loss",
        ),
        Reason(
            "no single number of clusters reproduces all five figures; each is reproduced by "
            "some number (curves)",
            method="laml-knn",
        ),
    ),
    better=tuple(
        Reason(SPLIT, table="4", data=data, method=method, metric=metric)
        for (data, method), metrics in OF_THE_SPLIT.items()
        for metric in metrics
    ),
    checks=(
        Check(
            "wang2018/small",
            ("3", "4"),
            "k is printed or cross-validated, the number of clusters is cross-validated, and "
            "ties in distance are broken by the order of the file",
            counted=True,
            also=("wang2018/large",),
        ),
        Check("wang2018/all-by-cv", ("3",), "every k is cross-validated on the training rows"),
        Check(
            "wang2018/small-best",
            ("3", "4"),
            "the settings are the best on the test rows",
            also=("wang2018/large-best",),
        ),
        Check(
            "wang2018/best-clusters",
            ("3", "4"),
            "LAML-kNN uses the number of clusters with the best average precision on the test rows",
        ),
        Check(
            "wang2018/first-rows",
            ("4",),
            "the first 67 % of the rows are used for training",
            listed=True,
            counted=False,
        ),
    ),
    derive=_made,
)
