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
    "Feature kNN divides by the number of features of a row that keep the label. The paper’s "
    "formula divides by all features, while its text considers only labels among the neighbours "
    "of a feature. With our interpretation the figures of feature kNN and LCIF are reproduced on"
    " all five data sets; with the formula they are too high on some and too low on others. This"
    " interpretation was chosen because it reproduces the published figures; the formula is "
    "reported as a variant.",
    "OneThreshold is fitted as in Mulan, on training rows whose first neighbour is the row itself.",
    "ML-kNN on medical is better than in the paper, and we do not know why. Accuracy, "
    "F1, Hamming loss, micro-F1 and macro-F1 of ML-kNN on medical are 0.421, 0.493, 0.024, 0.505 "
    "and 0.245 in the paper and, each with its best k, 0.537, 0.591, 0.0184, 0.627 and 0.318 with "
    "neighbours in Weka’s order, 0.538, 0.580, 0.0193, 0.607 and 0.318 without neighbours at "
    "distance 0, 0.452, 0.478, 0.0187, 0.572 and 0.280 with a threshold of 0.5, and 0.536, 0.588, "
    "0.0218, 0.586 and 0.343 with a threshold of 0.1.",
)

UNREGULARISED = (
    "Mulan’s logistic regression is practically not regularised. With C = 1,000,000, chosen among "
    "10,000, 1,000,000 and 100,000,000 on the test rows of medical, and k = 10, Mulan’s default, "
    "most of the difference is gone: {names} are {ours} (variant; paper {paper})"
)
"""Why IBLR is better than in the paper."""

REASONS = (
    Reason(
        "the paper’s figure contradicts its own example-accuracy of 0.442, which limits F1 to at"
        " most 0.613",
        table="II",
        data="medical",
        method="iblr-ml",
        metric="example-f1",
    ),
    Reason(
        "with the paper’s definition of similarity, cross-validation finds nothing better; with "
        "squared similarities, as if each neighbour were weighted twice, all its second-order "
        "figures are reproduced (variant)",
        table="III",
        method="*2",
    ),
    Reason(
        "the threshold changes in steps of 0.01, and one step affects many cells here; with the "
        "exact threshold the figure is reproduced (variant)",
        data="medical",
        method="feature-knn",
        metric="hamming-loss",
    ),
    Reason(
        "on 333 rows, the folds determine which of two settings is chosen: the setting chosen "
        "with the first seed matches (0.0149), that of the other seeds does not",
        data="medical",
        method="lcif",
        metric="hamming-loss",
    ),
    Reason(
        "cross-validation chooses 45 labels per feature, beyond the edge of the grid; with 29 "
        "our figure is better (variant)",
        data="corel5k",
        method="feature-knn",
        metric="hamming-loss",
    ),
    Reason(
        "the paper’s five figures correspond to a threshold of 0.25 (variant); the threshold "
        "that maximises micro-F1 is lower and predicts more labels",
        data="delicious",
        method="ml-knn",
        metric="hamming-loss",
    ),
)

BETTER = (
    Reason(
        "one k fits four of the paper’s five figures, which may not be the best k of each metric: "
        "with k = 10, Mulan’s default, chosen among 12 values on the test rows, accuracy, F1, "
        "Hamming loss and micro-F1 are 0.148, 0.239, 0.0212 and 0.246 (variant); macro-F1 is not "
        "reproduced",
        data="corel5k",
        method="ml-knn",
    ),
    Reason(
        "one k fits the paper’s five figures, which may not be the best k of each metric: with k "
        "= 15, as in its table of run times, chosen among 12 values on the test rows, they are "
        "0.207, 0.269, 0.0192, 0.312 and 0.171 (variant)",
        data="bibtex",
        method="ml-knn",
    ),
    Reason(
        "one k fits four of the paper’s five figures, which may not be the best k of each metric: "
        "with k = 1, the best of accuracy, F1 and micro-F1, macro-F1 is 0.056 (variant)",
        data="imdb-f",
        method="ml-knn",
        metric="macro-f1",
    ),
    *(
        Reason(
            "with a threshold of 0.25 accuracy, F1 and micro-F1 are 0.194, 0.302 and 0.323 "
            "(variant); macro-F1 stays unexplained, with 0.096",
            data="delicious",
            method="ml-knn",
            metric=metric,
        )
        for metric in ("example-accuracy", "example-f1", "micro-f1")
    ),
    *(
        Reason(
            UNREGULARISED.format(names=names, ours=ours, paper=paper),
            table="II",
            data=data,
            method="iblr-ml",
        )
        for data, names, ours, paper in (
            (
                "medical",
                "accuracy, Hamming loss and micro-F1",
                "0.425, 0.0288 and 0.498",
                "0.442, 0.029 and 0.506",
            ),
            (
                "corel5k",
                "accuracy, F1, Hamming loss, micro-F1 and macro-F1",
                "0.118, 0.187, 0.0241, 0.179 and 0.160",
                "0.105, 0.178, 0.027, 0.163 and 0.161",
            ),
            (
                "bibtex",
                "accuracy, F1, Hamming loss and micro-F1",
                "0.186, 0.236, 0.0196 and 0.262",
                "0.174, 0.224, 0.021 and 0.250",
            ),
        )
    ),
    Reason(
        "on 333 rows, the folds determine which of two settings is chosen: the one of the second "
        "seed matches (0.4376), that of the others gives 0.4589",
        data="medical",
        method="lcif",
        metric="macro-f1",
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
                "ML-kNN and IBLR use the best k on the test rows, as in the paper.",
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
                "“Generated”: random rows with the shape of the data, which is not available. "
                "They are shown next to the paper’s times and are not counted.",
            ),
        ),
    ),
    rivals=("br-smo",),
    checks=aside.CHECKS,
    reasons=REASONS,
    better=BETTER,
    notes=NOTES,
)
