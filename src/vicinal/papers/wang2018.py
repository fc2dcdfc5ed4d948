"""Wang et al. 2018: LAML-kNN against BRkNN, ML-kNN and DML-kNN."""

from vicinal.estimators import BRkNN, DMLkNN, LAMLkNN, MLkNN
from vicinal.papers.spec import Check, Experiment, Method, Paper, Table
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
        "brknn": Method(lambda seed: BRkNN(), ks),
        "dml-knn": Method(lambda seed: DMLkNN(), ks),
        "laml-knn": Method(lambda seed: LAMLkNN(random_state=seed), ks, {"n_clusters": clusters}),
    }


_PROTOCOL = TunedSplit(METRICS, "average-precision", scale=True, random_split=RANDOM)

PAPER = Paper(
    name="wang2018",
    title="A locally adaptive multi-label k-nearest neighbor algorithm (PAKDD 2018)",
    experiments=(
        Experiment(
            "wang2018/small",
            "settings of each method by 5-fold cross-validation on the training rows",
            SMALL,
            _methods(KS, (2, 3, 4, 5, 6, 8, 10, 15, 20)),
            _PROTOCOL,
            cost=2,
        ),
        Experiment(
            "wang2018/large",
            "settings of each method by 5-fold cross-validation on the training rows",
            LARGE,
            _methods(FEW_KS, (3, 5, 10, 20, 30)),
            _PROTOCOL,
            cost=4,
            quick_data=("corel5k",),
        ),
    ),
    tables=(
        Table("3", "Regular-scale data", SMALL, NAMES, METRICS, ("wang2018/small",)),
        Table("4", "Large-scale data", LARGE, NAMES, METRICS, ("wang2018/large",)),
    ),
    checks=(
        Check("wang2018/small-best", ("3",), "settings best on the test rows"),
        Check("wang2018/large-best", ("4",), "settings best on the test rows"),
    ),
)
