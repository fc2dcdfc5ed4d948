"""ML-ARP: a projection learned for ML-kNN, against other reductions."""

from dataclasses import replace

from vicinal.methods import MLkNN
from vicinal.reduction import MDDM, MLARP, OPLS, LabelCCA
from vicinal_reproduction.protocols.folds import Folds
from vicinal_reproduction.protocols.loss_curve import METRIC, LossCurve
from vicinal_reproduction.protocols.ranks import RANKED
from vicinal_reproduction.specification import (
    Check,
    Curve,
    Experiment,
    Method,
    Paper,
    RankTest,
    Reason,
    Table,
)
from vicinal_reproduction.specs.mlarp_methods import FOUR, METHODS, NAMES, PROTOCOL, search
from vicinal_reproduction.specs.mlarp_readings import CHECKS, EXPERIMENTS, RANK_DATA, all_ranks

DATA = (
    "yeast",
    "emotions",
    "scene",
    "enron",
    "genbase",
    "corel5k",
    "delicious",
    "medical",
    "bibtex",
    "mediamill",
    "bookmarks",
    "rcv1",
)
USUAL = DATA[:-1]
"""Data sets reduced to 64 or 128 columns."""

SOURCES = ("ml-arp/folds", "ml-arp/rcv1")

PAPER = Paper(
    name="ml-arp",
    title="ML-ARP: adaptive random projection for multi-label kNN",
    experiments=(
        Experiment(
            "ml-arp/folds",
            "10-fold cross-validation of ML-kNN (k = 5, s = 0) after each reduction; ML-ARP is "
            "searched for half a minute per fold (two hours in the paper)",
            USUAL,
            {**METHODS, **search()},
            PROTOCOL,
            cost=7,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/rcv1",
            "the same on subset 1 of rcv1 with 4000 columns, for the methods that the paper ran "
            "on it",
            ("rcv1",),
            {**{name: METHODS[name] for name in ("baseline", "ml-knn", "rp")}, **search()},
            replace(PROTOCOL, components={"rcv1": 4000}),
            cost=8,
        ),
        *EXPERIMENTS,
        Experiment(
            "ml-arp/few-directions",
            "the same folds, with only as many columns as there are directions",
            (*FOUR, "genbase", "medical"),
            {
                "mddm": Method(lambda seed: MDDM()),
                "opls": Method(lambda seed: OPLS()),
                "cca": Method(lambda seed: LabelCCA()),
            },
            PROTOCOL,
            cost=3,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/by-k",
            "ML-kNN (s = 0) against k, 10-fold cross-validation",
            ("delicious",),
            {"ml-knn": Method(lambda seed: MLkNN(smoothing=0.0), (1, 2, 5, 10, 20, 30))},
            Folds(("hamming-loss",), kept_by_k=("hamming-loss",)),
            cost=3,
        ),
        Experiment(
            "ml-arp/curve",
            "the lowest training loss against the number of evaluations, 10 runs",
            ("emotions",),
            {"ml-arp": Method(lambda seed: MLARP())},
            LossCurve(),
            seeds=(1,),
            cost=2,
        ),
    ),
    tables=(
        Table(
            "2",
            "Hamming loss after each reduction",
            DATA,
            NAMES,
            ("hamming-loss",),
            SOURCES,
        ),
        Table(
            "3",
            "Mean ranks over four data sets",
            (RANK_DATA,),
            NAMES,
            (*(f"rank of {name}" for name in RANKED), "mean of the eleven ranks", "global rank"),
            ("ml-arp/ranks",),
            judged=("ml-arp",),
            notes=(
                "The ranks have a constant sum, so one method’s loss is another’s gain. "
                "Therefore only the ranks of ML-ARP, the paper’s own method, are judged.",
            ),
        ),
    ),
    rivals=("baseline",),
    curves=(
        Curve(
            "3",
            "Training Hamming loss of ML-ARP on emotions, mean of 10 runs",
            "ml-arp/curve",
            ("emotions",),
            ("ml-arp",),
            METRIC,
            "evaluation",
        ),
        Curve(
            "for table 2",
            "Hamming loss of ML-kNN on delicious against k",
            "ml-arp/by-k",
            ("delicious",),
            ("ml-knn",),
            "hamming-loss",
            "k",
        ),
    ),
    checks=(
        *CHECKS,
        Check(
            "ml-arp/few-directions",
            ("2",),
            "MDDM, OPLS and CCA have only as many columns as there are labels",
            counted=True,
        ),
    ),
    notes=(
        "Features are not scaled: this reproduces the ML-kNN, RP and PCA columns. With scaled "
        "features, ML-kNN on emotions is far below the paper’s figure (variant).",
        "The paper reduces to the same number of columns r with every method, but MDDM, OPLS and"
        " CCA have at most one direction per label. If there are fewer labels than columns, we "
        "add arbitrary directions that are orthogonal to them (MDDM) or uncorrelated with them "
        "(OPLS, CCA), as an eigensolver would. This reproduces the paper’s .162 and .166 for CCA"
        " and OPLS on scene; the six directions alone give .10 (variant).",
        "On emotions and yeast the paper’s MDDM (.310, .227) is close to the baseline. The "
        "directions that depend least on the labels reproduce these figures; on scene and enron,"
        " those that depend most on them do. A solver that sorts in the opposite order if more "
        "than half of all directions are requested would explain this (variant).",
        "The paper’s statistics for rcv1 (47,229 features, density 0.026) match none of the "
        "available subsets. Its baseline, which equals the label density, matches subset 1, "
        "which is therefore used.",
        "As in the paper, the objective is the loss on the training rows, and the result is "
        "tested on other rows. The other methods then match the paper or are better, except "
        "ML-kNN on delicious. ML-ARP does so only if its figures come from rows that the search "
        "has seen: the training rows or the test rows. These are variants and are not counted, "
        "because as figures for unseen rows they would be misleading.",
        "The stored searches of ML-ARP were run on a GPU (`--backend torch`), sixteen at a time.",
    ),
    better=(
        Reason(
            "the paper prints 0.047 for every method on genbase, also for the baseline. That is "
            "the Hamming loss of predicting no label at all (1.25 of 27 labels per row)",
            data="genbase",
            metric="hamming-loss",
        ),
    ),
    reasons=(
        Reason(
            "no k from 1 to 30 brings ML-kNN on delicious close to the paper’s figure (curve), "
            "although the paper’s figures for PCA and MDDM followed by the same ML-kNN are "
            "reproduced",
            data="delicious",
        ),
        Reason(
            "the search lowers the loss on the rows it uses, which comes close to the paper’s "
            "figures, but not the loss on the test rows, and holding out rows for selection does"
            " not help; a search on the test rows themselves reaches the paper’s figures or "
            "better after 300 evaluations, and the paper mentions several hundred (variants)",
            method="ml-arp",
            table="2",
        ),
        Reason(
            "the projections that the search finds do not generalise to the test rows (see table"
            " 2), so ML-ARP ranks close to the random projections it starts from; with the "
            "figures of the training rows, or with a search on the test rows, all its ranks "
            "match the paper or are better (variants)",
            table="3",
            method="ml-arp",
        ),
    ),
    rank_tests=(
        RankTest(
            "1",
            "Mean ranks by Hamming loss, four methods",
            SOURCES,
            DATA,
            ("ml-arp", "ml-knn", "rp", "baseline"),
            "hamming-loss",
            0.1,
        ),
        RankTest("2", "Mean ranks by Hamming loss, all", SOURCES, FOUR, NAMES, "hamming-loss", 0.1),
    ),
    derive=all_ranks,
)
