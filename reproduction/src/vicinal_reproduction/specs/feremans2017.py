"""Feremans et al. 2017: LCIF and its parts against ML-kNN, IBLR and linear support vectors."""

from vicinal_reproduction.specification import Paper, Reason, Table
from vicinal_reproduction.specs import feremans2017_aside as aside
from vicinal_reproduction.specs import feremans2017_main as main
from vicinal_reproduction.specs.feremans2017_main import (
    DATA,
    EXTREME,
    EXTREME_STEPS,
    GRID_METHODS,
    METRICS,
)

NOTES = (
    "Feature kNN divides by the features of a row that keep the label. The paper’s formula divides "
    "by all of them, while its text looks only at labels among the neighbours of a feature. "
    "Divided so, feature kNN’s and LCIF’s figures come out on all five sets; by the formula they "
    "lie above on some and below on others. That is a choice made by the result; the formula is a "
    "side experiment.",
    "OneThreshold is fitted as Mulan does, on training rows that find themselves as their first "
    "neighbour.",
)

REASONS = (
    Reason(
        "the paper’s figure is impossible beside its own example-accuracy of 0.442, with which "
        "F1 is at most 0.613",
        table="II",
        data="medical",
        method="iblr-ml",
        metric="example-f1",
    ),
    Reason(
        "with similarities as the paper defines them cross-validation finds nothing better; with "
        "squared ones, as if each neighbour were weighed twice, all its figures of the second "
        "order come out (side experiment)",
        table="III",
        method="*2",
    ),
    Reason(
        "the threshold moves in steps of 0.01, and one step moves many cells here; with the exact "
        "one the figure comes out (side experiment)",
        data="medical",
        method="feature-knn",
        metric="hamming-loss",
    ),
    Reason(
        "the folds of 333 rows decide between two settings: the one that the first seed takes "
        "matches, with 0.0149, the one of the other seeds does not",
        data="medical",
        method="lcif",
        metric="hamming-loss",
    ),
    Reason(
        "cross-validation takes 45 labels per feature, beyond the edge of the grid; at 29 the figure "
        "is passed (side experiment)",
        data="corel5k",
        method="feature-knn",
        metric="hamming-loss",
    ),
    Reason(
        "the paper’s five figures go with a threshold of 0.25 (side experiment), where one that is "
        "best for micro-F1 lies lower and gives more labels",
        data="delicious",
        method="ml-knn",
        metric="hamming-loss",
    ),
)

PAPER = Paper(
    name="feremans2017",
    title="Combining instance and feature neighbors for efficient multi-label classification "
    "(DSAA 2017)",
    experiments=(*main.EXPERIMENTS, *aside.EXPERIMENTS),
    tables=(
        Table(
            "II",
            "LCIF against other methods",
            DATA,
            (*GRID_METHODS, "ml-knn", "iblr-ml", "br-smo"),
            METRICS,
            (
                "feremans2017/grid",
                "feremans2017/best-on-test",
                "feremans2017/iblr",
                "feremans2017/br-smo",
            ),
            notes=(
                "ML-kNN and IBLR: the best k on the test rows, as the paper chose it.",
                "Macro-F1 counts a label without any true or predicted row as 1, as Mulan does.",
            ),
        ),
        Table(
            "III",
            "The second order on delicious",
            ("delicious",),
            ("instance-knn", "instance-knn-2", "feature-knn", "lcif", "lcif2"),
            METRICS,
            ("feremans2017/grid", "feremans2017/second-order"),
        ),
        Table(
            "IV",
            "Seconds of each method",
            DATA,
            ("lcif", "lcif2", "ml-knn", "iblr-ml", "br-smo"),
            ("seconds",),
            (
                "feremans2017/seconds",
                "feremans2017/iblr-seconds",
                "feremans2017/br-smo-seconds",
            ),
        ),
        Table(
            "V",
            "Seconds of the parts of LCIF",
            DATA,
            ("feature-knn", "instance-knn", "instance-knn-2"),
            ("seconds",),
            ("feremans2017/seconds",),
        ),
        Table(
            "VI",
            "Extreme data",
            EXTREME,
            GRID_METHODS,
            ("example-accuracy", "example-f1", "micro-f1", "macro-f1"),
            ("feremans2017/grid",),
        ),
        Table(
            "VII",
            "Seconds on extreme data",
            EXTREME,
            EXTREME_STEPS,
            ("seconds",),
            ("feremans2017/extreme-seconds", "feremans2017/generated-seconds"),
            stand_ins={name: f"{name}, generated" for name in EXTREME},
            notes=(
                "“Generated”: rows drawn at random in the shape of the data, which could not be "
                "had. They stand beside the paper’s times and are not counted.",
            ),
        ),
    ),
    rivals=("br-smo",),
    checks=aside.CHECKS,
    reasons=REASONS,
    notes=NOTES,
)
