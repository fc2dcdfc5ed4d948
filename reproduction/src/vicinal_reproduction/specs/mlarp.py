"""ML-ARP: a projection learned for ML-kNN, against other reductions."""

from dataclasses import replace

from vicinal.estimators import MLkNN
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
"""Those that 64 or 128 columns are enough for."""

SOURCES = ("ml-arp/folds", "ml-arp/rcv1")

PAPER = Paper(
    name="ml-arp",
    title="ML-ARP: adaptive random projection for multi-label kNN",
    experiments=(
        Experiment(
            "ml-arp/folds",
            "10-fold cross-validation of ML-kNN (k = 5, s = 0) behind each reduction, ML-ARP "
            "searched for half a minute a fold (the paper: two hours)",
            USUAL,
            {**METHODS, **search()},
            PROTOCOL,
            cost=7,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/rcv1",
            "the same on subset 1 of rcv1, 4000 columns, the methods that the paper ran there",
            ("rcv1",),
            {**{name: METHODS[name] for name in ("baseline", "ml-knn", "rp")}, **search()},
            replace(PROTOCOL, components={"rcv1": 4000}),
            cost=8,
        ),
        *EXPERIMENTS,
        Experiment(
            "ml-arp/few-directions",
            "the same folds, as many columns as the labels give directions",
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
            "Hamming loss behind each reduction",
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
                "Ranks sum to a constant, so that what one method loses another wins: only those "
                "of ML-ARP, the paper’s own, are judged, the others are shown.",
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
            "MDDM, OPLS and CCA have as many columns as there are labels, and no more",
            counted=True,
        ),
    ),
    notes=(
        "Features are as they come: so the ML-kNN, RP and PCA columns come out; scaled, ML-kNN on "
        "emotions is far below the paper’s figure (side experiment).",
        "The paper reduces to the same number of columns r with every method. MDDM, OPLS and CCA "
        "have at most one direction a label; where labels are fewer they are filled up with "
        "arbitrary directions at right angles to them (of MDDM) or uncorrelated with them (of the "
        "others), as an eigensolver would: so the paper’s .162 and .166 of CCA and OPLS on scene "
        "come out, where six directions alone give .10 (side experiment).",
        "On emotions and yeast the paper’s MDDM (.310, .227) is near the baseline. So it comes out "
        "with the directions that depend least on the labels, and on scene and enron with those "
        "that depend most: a solver that sorts the other way where more than half of all "
        "directions are asked for would do that (side experiment).",
        "Of rcv1 the paper’s statistics fit none of the subsets at hand (47,229 features, density "
        "0.026); its baseline, which is the density of the labels, is that of subset 1, which is "
        "taken.",
        "The paper’s objective is the loss of the training rows, tested on others, and so it is "
        "here. What the other methods come to is then the paper’s or better, but for ML-kNN on "
        "delicious; ML-ARP’s is not, but for figures of rows that the search has seen: the rows "
        "searched, or the test rows. These are side experiments, not what is counted: as figures "
        "of unseen rows they would mislead.",
        "The stored searches of ML-ARP were made on a GPU (`--backend torch`), sixteen at a time.",
    ),
    reasons=(
        Reason(
            "no k from 1 to 30 brings ML-kNN on delicious near the paper’s figure (curve), while "
            "its PCA and MDDM figures, behind the same ML-kNN, come out",
            data="delicious",
        ),
        Reason(
            "the search lowers the loss of the rows searched, which comes near the paper’s "
            "figures, not that of the test rows, and rows put aside to choose by do not help; a "
            "search that lowers the loss of the test rows themselves is at the paper’s figures, or "
            "below, after 300 evaluations; the paper speaks of several hundreds (side experiments)",
            method="ml-arp",
            table="2",
        ),
        Reason(
            "the projections that the search finds do not carry over to the test rows (see table "
            "2), so that ML-ARP ranks near the random projections it starts from; with the figures "
            "of the rows searched, or with a search on the test rows, all of its ranks are the "
            "paper’s or better (side experiments)",
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
