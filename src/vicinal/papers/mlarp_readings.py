"""Other readings of what the ML-ARP paper leaves open, each with results and ranks of its own."""

from dataclasses import replace

from vicinal.papers.cells import Figures
from vicinal.papers.mlarp_methods import FOUR, METHODS, NAMES, STRATIFIED, search
from vicinal.papers.peeking_search import HeldOutMLARP, PeekingMLARP
from vicinal.papers.ranks import mean_ranks
from vicinal.papers.spec import Check, Experiment, Method
from vicinal.reduction import MLARP
from vicinal.results import Result

RANKED_SOURCES = ("ml-arp/filled", "ml-arp/stratified", "ml-arp/folds")
RANK_DATA = "mean rank over emotions, scene, enron, yeast"

READINGS = {
    "again": "ML-ARP’s search is begun from other random numbers",
    "scaled": "features are scaled to [0, 1] for every method",
    "searched-rows": "ML-ARP’s figures are those of the rows that were searched",
    "held-out": "ML-ARP keeps, of the projections it comes by, the best on rows put aside",
    "peeking": "ML-ARP’s search lowers the loss of the test rows",
}
"""Ways to read what the paper leaves open; each has its own results and its own ranks."""


PEEKING = {"ml-arp": Method(lambda seed: PeekingMLARP(max_iter=300, random_state=seed))}
"""The paper saw its search converge after several hundreds of evaluations."""

EXPERIMENTS = (
    Experiment(
        "ml-arp/again",
        "ML-ARP on those folds, searched from other random numbers",
        FOUR,
        {"ml-arp": Method(lambda seed: MLARP(max_iter=None, max_seconds=60.0, random_state=100))},
        STRATIFIED,
        seeds=(0,),
        cost=8,
        quick_data=("emotions",),
    ),
    Experiment(
        "ml-arp/scaled",
        "every method on those folds, features scaled to [0, 1] first",
        FOUR,
        {**METHODS, **search(50.0)},
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
        search(60.0),
        replace(STRATIFIED, on_training_rows=True),
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
        "ml-arp/peeking",
        "ML-ARP on those folds, its search lowering the loss of the test rows, 300 evaluations",
        FOUR,
        PEEKING,
        STRATIFIED,
        seeds=(0,),
        cost=8,
        quick_data=("emotions",),
    ),
)

CHECKS = tuple(
    Check(
        f"ml-arp/{name}",
        ("2", "3"),
        what,
        listed=name in ("again", "searched-rows", "peeking"),
        counted=True,
        also=(f"ml-arp/ranks-{name}",),
    )
    for name, what in READINGS.items()
)


def all_ranks(figures: Figures) -> list[Result]:
    """Return the mean ranks, of the paper's way and of each reading that was run on all four."""
    made = mean_ranks(figures, RANKED_SOURCES, FOUR, NAMES, "ml-arp/ranks", RANK_DATA)
    for name in READINGS:
        own, ranks = f"ml-arp/{name}", f"ml-arp/ranks-{name}"
        if mean_ranks(figures, (own,), FOUR, NAMES[:1], ranks, RANK_DATA):
            made += mean_ranks(figures, (own, *RANKED_SOURCES), FOUR, NAMES, ranks, RANK_DATA)
    return made
