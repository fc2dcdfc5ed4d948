"""ML-ARP: a projection learned for ML-kNN, against other reductions."""

from dataclasses import replace

from sklearn.decomposition import PCA
from sklearn.random_projection import GaussianRandomProjection

from vicinal.estimators import MLkNN
from vicinal.papers.cells import Figures
from vicinal.papers.filled_mddm import FilledMDDM
from vicinal.papers.folds import Folds
from vicinal.papers.loss_curve import METRIC, LossCurve
from vicinal.papers.peeking_search import HeldOutMLARP, PeekingMLARP
from vicinal.papers.projected_folds import ProjectedFolds
from vicinal.papers.ranks import RANKED, mean_ranks
from vicinal.papers.spec import Check, Curve, Experiment, Method, Paper, RankTest, Reason, Table
from vicinal.reduction import MDDM, MLARP, OPLS, LabelCCA
from vicinal.results import Result
from vicinal.rivals import LabelFrequency

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

USUAL_RUN = tuple(name for name in USUAL if name not in ("mediamill", "bookmarks"))

FOUR = ("emotions", "scene", "enron", "yeast")
METHODS = {
    "baseline": Method(lambda seed: LabelFrequency()),
    "ml-knn": Method(lambda seed: MLkNN(5, smoothing=0.0)),
    "rp": Method(lambda seed: GaussianRandomProjection(random_state=seed)),
    "mddm": Method(lambda seed: MDDM()),
    "pca": Method(lambda seed: PCA(random_state=seed)),
    "opls": Method(lambda seed: OPLS()),
    "cca": Method(lambda seed: LabelCCA()),
}


def _search(seconds: float) -> dict[str, Method]:
    """Return ML-ARP, searched for so long."""
    return {
        "ml-arp": Method(lambda seed: MLARP(max_iter=None, max_seconds=seconds, random_state=seed))
    }


PEEKING = {"ml-arp": Method(lambda seed: PeekingMLARP(max_iter=300, random_state=seed))}
"""The paper saw its search converge after several hundreds of evaluations."""

PROTOCOL = ProjectedFolds(tuple(RANKED.values()))
STRATIFIED = replace(PROTOCOL, stratified=True)
NAMES = ("ml-arp", *METHODS)
SOURCES = ("ml-arp/filled", "ml-arp/folds", "ml-arp/stratified", "ml-arp/rcv1")
RANKED_SOURCES = ("ml-arp/filled", "ml-arp/stratified", "ml-arp/folds")
RANK_DATA = "mean rank over emotions, scene, enron, yeast"

READINGS = {
    "scaled": "features are scaled to [0, 1] for every method",
    "searched-rows": "ML-ARP’s figures are those of the rows that were searched",
    "held-out": "ML-ARP keeps, of the projections it comes by, the best on rows put aside",
    "peeking": "ML-ARP’s search lowers the loss of the test rows",
}
"""Ways to read what the paper leaves open; each has its own results and its own ranks."""


def _made(figures: Figures) -> list[Result]:
    """Return the mean ranks, of the paper's way and of each reading that was run on all four."""
    made = mean_ranks(figures, RANKED_SOURCES, FOUR, NAMES, "ml-arp/ranks", RANK_DATA)
    for name in READINGS:
        own, ranks = f"ml-arp/{name}", f"ml-arp/ranks-{name}"
        if mean_ranks(figures, (own,), FOUR, NAMES[:1], ranks, RANK_DATA):
            made += mean_ranks(figures, (own, *RANKED_SOURCES), FOUR, NAMES, ranks, RANK_DATA)
    return made


PAPER = Paper(
    name="ml-arp",
    title="ML-ARP: adaptive random projection for multi-label kNN",
    experiments=(
        Experiment(
            "ml-arp/folds",
            "10-fold cross-validation of ML-kNN (k = 5, s = 0) behind each reduction",
            USUAL,
            METHODS,
            PROTOCOL,
            cost=3,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/stratified",
            "one draw of ten stratified folds, ML-ARP searched for a minute a fold (on a GPU for "
            "the stored results; the paper: two hours)",
            USUAL_RUN,
            {**METHODS, **_search(60.0)},
            STRATIFIED,
            seeds=(0,),
            cost=8,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/rcv1",
            "the same on subset 1 of rcv1, 4000 columns, the methods that the paper ran there",
            ("rcv1",),
            {**{name: METHODS[name] for name in ("baseline", "ml-knn", "rp")}, **_search(100.0)},
            replace(STRATIFIED, components={"rcv1": 4000}),
            seeds=(0,),
            cost=8,
        ),
        Experiment(
            "ml-arp/scaled",
            "every method on those folds, features scaled to [0, 1] first",
            FOUR,
            {**METHODS, **_search(50.0)},
            replace(STRATIFIED, scale=True),
            seeds=(0,),
            cost=8,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/searched-rows",
            "ML-ARP on those folds, its figures those of the rows that were searched, each left "
            "out of its own neighbours",
            FOUR,
            _search(60.0),
            replace(STRATIFIED, on_training_rows=True),
            seeds=(0,),
            cost=8,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/peeking",
            "ML-ARP on those folds, its search lowering the loss of the test rows, 300 evaluations",
            FOUR,
            PEEKING,
            STRATIFIED,
            seeds=(0,),
            cost=8,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/held-out",
            "ML-ARP on those folds, a tenth of the training rows put aside to choose by",
            FOUR,
            {
                "ml-arp": Method(
                    lambda seed: HeldOutMLARP(max_iter=None, max_seconds=25.0, random_state=seed)
                )
            },
            STRATIFIED,
            seeds=(0,),
            cost=8,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/filled",
            "MDDM on those folds, the directions that few labels give filled up to r columns",
            ("yeast", "emotions", "scene", "enron", "genbase", "medical"),
            {"mddm": Method(lambda seed: FilledMDDM())},
            STRATIFIED,
            seeds=(0,),
            cost=3,
            quick_data=("emotions",),
        ),
        Experiment(
            "ml-arp/by-k",
            "ML-kNN (s = 0) against k, 10-fold cross-validation",
            ("delicious",),
            {"ml-knn": Method(lambda seed: MLkNN(smoothing=0.0), (1, 2, 5, 10, 20, 30))},
            Folds(("hamming-loss",), kept_by_k=("hamming-loss",)),
            seeds=(1,),
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
        *(
            Check(
                f"ml-arp/{name}",
                ("2", "3"),
                what,
                listed=name in ("searched-rows", "peeking"),
                counted=True,
                also=(f"ml-arp/ranks-{name}",),
            )
            for name, what in READINGS.items()
        ),
        Check("ml-arp/folds", ("2",), "MDDM has as many columns as there are labels, and no more"),
    ),
    notes=(
        "Features are as they come: so the ML-kNN, RP and PCA columns come out; scaled, ML-kNN on "
        "emotions is far below the paper’s figure (side experiment).",
        "The paper reduces to the same number of columns r with every method. MDDM has at most one "
        "direction a label; where labels are fewer it is filled up with arbitrary directions at "
        "right angles to them, as an eigensolver would.",
        "Of rcv1 the paper’s statistics fit none of the subsets at hand (47,229 features, density "
        "0.026); its baseline, which is the density of the labels, is that of subset 1, which is "
        "taken.",
        "The paper’s objective is the loss of the training rows, and so it is here. It does not "
        "say on which rows the projection was chosen in the end: two other readings are side "
        "experiments.",
    ),
    reasons=(
        Reason(
            "no k from 1 to 30 brings ML-kNN on delicious near the paper’s figure (curve), while "
            "its PCA and MDDM figures, behind the same ML-kNN, come out",
            data="delicious",
        ),
        Reason(
            "the search lowers the loss of the rows searched, which comes to the paper’s figures, "
            "not that of the test rows, and rows put aside to choose by do not help; a search that "
            "lowers the loss of the test rows themselves is at the paper’s figures, or below, after "
            "300 evaluations, the several hundreds it speaks of (side experiments)",
            method="ml-arp",
            table="2",
        ),
        Reason(
            "the projections that the search finds do not carry over to the test rows (see table "
            "2), so that ML-ARP ranks beside the random projections it starts from; with a search "
            "that lowers the loss of the test rows most of its ranks are the paper’s or better (side "
            "experiments)",
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
    derive=_made,
)
