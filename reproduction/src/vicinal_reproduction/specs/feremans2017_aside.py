"""Variants of Feremans et al. 2017, for what its text leaves open."""

from vicinal.decision import MetricThreshold
from vicinal.methods import IBLR, MLkNN
from vicinal_reproduction.protocols.best_on_test import BestOnTest
from vicinal_reproduction.protocols.lcif_search import AS_WRITTEN, EVERY_SWITCH, KS, LcifSearch
from vicinal_reproduction.specification import Check, Experiment, Method
from vicinal_reproduction.specs.feremans2017_main import DATA, GRID, METRICS, SECOND, SMALLER

FEATURE_METHODS = {name: GRID[name] for name in ("feature-knn", "lcif")}
AT_THE_EDGE = ("corel5k", "delicious", "imdb-f")


def _best_for_micro_f1() -> MetricThreshold:
    """Return one threshold for all labels that maximises leave-one-out micro-F1."""
    return MetricThreshold("micro-f1")


READINGS = {
    "literal": ("feature", "literal"),
    "max": ("feature", "max"),
    "label-literal": ("label", "literal"),
    "label-kept-mean": ("label", "kept-mean"),
    "label-mean": ("label", "mean"),
    "label-max": ("label", "max"),
}
"""Readings of feature kNN that no other experiment covers: neighbors_of and aggregate."""

ONE_K = {"corel5k": 10, "bibtex": 15, "imdb-f": 1}
"""The k whose five figures are nearest to those of the paper's ML-kNN."""

UNREGULARISED = 1e6
"""C of a regression whose penalty is negligible, as in Mulan."""

EXPERIMENTS = (
    *(
        Experiment(
            f"feremans2017/{name}",
            f"the grid up to k = 29, feature kNN with neighbors_of={switch[0]!r} and "
            f"aggregate={switch[1]!r}",
            DATA,
            FEATURE_METHODS,
            LcifSearch(METRICS, switches=(switch,)),
            seeds=(1,),
            cost=8,
        )
        for name, switch in READINGS.items()
    ),
    Experiment(
        "feremans2017/as-written",
        "the grid up to k = 29, feature kNN with the paper’s formula: the mean over all features"
        " of a row",
        DATA,
        FEATURE_METHODS,
        LcifSearch(METRICS, switches=AS_WRITTEN),
        cost=6,
    ),
    Experiment(
        "feremans2017/second-order-as-written",
        "the same for the second order",
        ("delicious",),
        {"lcif2": SECOND["lcif2"]},
        LcifSearch(METRICS, switches=AS_WRITTEN),
        cost=6,
    ),
    Experiment(
        "feremans2017/switches",
        "the grid up to k = 29, including the two switches of feature kNN",
        DATA,
        FEATURE_METHODS,
        LcifSearch(METRICS, switches=EVERY_SWITCH),
        cost=6,
    ),
    Experiment(
        "feremans2017/up-to-29",
        "the grid up to k = 29 on data where the best k is 29",
        AT_THE_EDGE,
        GRID,
        LcifSearch(METRICS),
        cost=6,
    ),
    Experiment(
        "feremans2017/exact-threshold",
        "the grid up to k = 29, with the exact threshold instead of steps of 0.01",
        SMALLER,
        FEATURE_METHODS,
        LcifSearch(METRICS, threshold="cardinality"),
        cost=6,
    ),
    Experiment(
        "feremans2017/second-order-squared",
        "the second order up to k = 29, weighted by squared similarities of rows",
        ("delicious",),
        SECOND,
        LcifSearch(METRICS, power=2.0),
        cost=6,
    ),
    Experiment(
        "feremans2017/leave-one-out",
        "ML-kNN with the threshold that maximises leave-one-out micro-F1 on the training rows",
        DATA,
        {"ml-knn": Method(lambda seed: MLkNN(threshold=_best_for_micro_f1()), KS)},
        BestOnTest(METRICS),
        seeds=(1,),
        cost=7,
    ),
    Experiment(
        "feremans2017/iblr-leave-one-out",
        "the same for IBLR",
        SMALLER,
        {"iblr-ml": Method(lambda seed: IBLR(threshold=_best_for_micro_f1()), KS)},
        BestOnTest(METRICS),
        seeds=(1,),
        cost=7,
    ),
    Experiment(
        "feremans2017/iblr-unregularised",
        "IBLR with OneThreshold, practically without regularisation (C = 1,000,000), and k = 10",
        SMALLER,
        {"iblr-ml": Method(lambda seed: IBLR(C=UNREGULARISED), (10,))},
        BestOnTest(METRICS, one_threshold=True),
        seeds=(1,),
        cost=8,
    ),
    *(
        Experiment(
            f"feremans2017/k-{k}",
            f"ML-kNN with Mulan’s OneThreshold and k = {k} for every metric",
            (data,),
            {"ml-knn": Method(lambda seed: MLkNN(), (k,))},
            BestOnTest(METRICS, one_threshold=True),
            seeds=(1,),
            cost=5,
        )
        for data, k in ONE_K.items()
    ),
    Experiment(
        "feremans2017/quarter",
        "ML-kNN with a threshold of 0.25",
        ("delicious",),
        {"ml-knn": Method(lambda seed: MLkNN(threshold=0.25), KS)},
        BestOnTest(METRICS),
        seeds=(1,),
        cost=7,
    ),
)

CHECKS = (
    *(
        Check(
            f"feremans2017/{name}",
            ("II",),
            f"feature kNN has neighbors_of={switch[0]!r} and aggregate={switch[1]!r}",
            counted=False,
        )
        for name, switch in READINGS.items()
    ),
    Check(
        "feremans2017/switches",
        ("II",),
        "the two switches of feature kNN (neighbours of features or labels, mean or maximum) "
        "are part of the cross-validated grid",
        listed=True,
    ),
    Check(
        "feremans2017/as-written",
        ("II",),
        "feature kNN takes the mean over all features of a row, as the paper’s formula has it",
        listed=True,
    ),
    Check(
        "feremans2017/second-order-as-written",
        ("III",),
        "feature kNN takes the mean over all features of a row, as the paper’s formula has it",
    ),
    Check("feremans2017/up-to-29", ("II",), "k is at most 29 even if 29 is best"),
    Check(
        "feremans2017/exact-threshold",
        ("II",),
        "the threshold is exact instead of the best in steps of 0.01",
    ),
    Check(
        "feremans2017/second-order-squared",
        ("III",),
        "the second order is weighted by squared similarities",
        listed=True,
    ),
    Check(
        "feremans2017/leave-one-out",
        ("II",),
        "ML-kNN’s threshold is fitted on leave-one-out scores instead of rows that are their own"
        " neighbour",
    ),
    Check(
        "feremans2017/iblr-leave-one-out",
        ("II",),
        "IBLR’s threshold is fitted on leave-one-out scores instead of rows that are their own "
        "neighbour",
    ),
    Check(
        "feremans2017/iblr-unregularised",
        ("II",),
        "IBLR is not regularised and has k = 10, as Mulan by default",
        listed=True,
        counted=False,
    ),
    *(
        Check(
            f"feremans2017/k-{k}",
            ("II",),
            f"ML-kNN has k = {k} for every metric instead of the best k of each",
            listed=True,
            counted=False,
        )
        for k in ONE_K.values()
    ),
    Check("feremans2017/quarter", ("II",), "ML-kNN’s threshold is 0.25", listed=True),
)
