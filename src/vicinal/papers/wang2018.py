"""Wang et al. 2018: LAML-kNN against BRkNN, ML-kNN and DML-kNN."""

from dataclasses import replace

from vicinal.estimators import BRkNN, DMLkNN, LAMLkNN, MLkNN
from vicinal.papers.cluster_counts import ClusterCounts, ClusterCurve
from vicinal.papers.spec import Check, Curve, Experiment, Method, Paper, Table
from vicinal.papers.tuned_split import TunedSplit

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
NAMES = ("laml-knn", "ml-knn", "brknn", "dml-knn")
KS, FEW_KS = tuple(range(1, 21)), (2, 5, 8, 10, 12, 15, 20)


def _methods(ks: tuple[int, ...], clusters: tuple[int, ...]) -> dict[str, Method]:
    """Return the paper's methods with these numbers of neighbours and clusters to choose from."""
    return {
        "ml-knn": Method(lambda seed: MLkNN(), ks),
        "brknn": Method(lambda seed: BRkNN(strict_majority=True), ks),
        "dml-knn": Method(lambda seed: DMLkNN(tolerance=6), ks),
        "laml-knn": Method(
            lambda seed: LAMLkNN(random_state=seed), FEW_KS, {"n_clusters": clusters}
        ),
    }


LABELS = ("beach", "sunset", "fall", "field", "mountain", "urban")
CLUSTERS = tuple(
    f"cluster {at}, rows {side} the label" for side in ("with", "without") for at in range(1, 6)
)
PRINTED_KS = {
    "emotions": 9,
    "birds": 2,
    "bibtex": 10,
    "corel5k": 15,
    "corel16k001": 15,
    "corel16k002": 15,
    "corel16k003": 15,
    "ohsumed": 10,
}
"""The k that each figure prints; for the other data sets the paper prints none."""

_PROTOCOL = TunedSplit(
    METRICS, "average-precision", scale=True, random_split=RANDOM, conventions="mulan"
)
_PRINTED = replace(_PROTOCOL, n_folds=3, printed_ks=PRINTED_KS)

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
            "k of each method and the number of clusters by 5-fold cross-validation on the "
            "training rows",
            SMALL,
            _methods(KS, (2, 3, 5, 10, 20)),
            _PROTOCOL,
            cost=2,
        ),
        Experiment(
            "wang2018/printed-k",
            "k as the paper’s figures print it, the number of clusters by 3-fold cross-validation "
            "on the training rows",
            tuple(PRINTED_KS),
            _methods(FEW_KS, (2, 5, 15, 30)),
            _PRINTED,
            cost=2,
            quick_data=("corel5k",),
        ),
        Experiment(
            "wang2018/by-clusters",
            "average precision against the number of clusters, at the k of the paper’s figures",
            tuple(PRINTED_KS),
            {
                "laml-knn": Method(
                    lambda seed: LAMLkNN(random_state=seed), (10,), {"n_clusters": (2,)}
                ),
                "ml-knn": Method(lambda seed: MLkNN(), (10,)),
            },
            ClusterCurve(_PROTOCOL, "average-precision", PRINTED_KS),
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
            judged=False,
            notes=("Clusters of k-means differ from run to run: what compares is the spread.",),
        ),
        Table(
            "3",
            "Regular-scale data",
            SMALL,
            NAMES,
            METRICS,
            ("wang2018/printed-k", "wang2018/small"),
        ),
        Table("4", "Large-scale data", LARGE, NAMES, METRICS, ("wang2018/printed-k",)),
    ),
    curves=(
        Curve(
            "1 and 2",
            "Average precision against the number of clusters",
            "wang2018/by-clusters",
            tuple(PRINTED_KS),
            ("laml-knn", "ml-knn"),
            "average-precision",
            "clusters",
        ),
    ),
    checks=(
        Check("wang2018/small", ("3",), "every k by cross-validation on the training rows"),
        Check("wang2018/small-best", ("3",), "every setting best on the test rows"),
        Check("wang2018/printed-k-best", ("4",), "the number of clusters best on the test rows"),
    ),
)
