"""Interpretations of what the ML-ARP paper leaves open, each with results and ranks."""

from dataclasses import replace
from itertools import product

from vicinal.reduction import MDDM
from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.protocols.filled_directions import Filled, least
from vicinal_reproduction.protocols.peeking_search import HeldOutMLARP, PeekingMLARP
from vicinal_reproduction.protocols.projected_folds import ProjectedFolds
from vicinal_reproduction.protocols.ranks import mean_ranks
from vicinal_reproduction.specification import Check, Experiment, Method, Methods
from vicinal_reproduction.specs.mlarp_methods import FOUR, METHODS, NAMES, PROTOCOL, search

RANKED_SOURCES = ("ml-arp/folds",)
RANK_DATA = "mean rank over emotions, scene, enron, yeast"

READINGS = {
    "again": "ML-ARP’s search uses different random seeds",
    "scaled": "features are scaled to [0, 1] for every method",
    "from-pca": "ML-ARP starts from the principal components instead of a random projection",
    "searched-rows": "ML-ARP’s figures are those of the training rows",
    "held-out": "ML-ARP keeps the projection that is best on held-out training rows",
    "peeking": "ML-ARP’s search minimises the loss on the test rows",
    "wrong-end": "MDDM uses the directions that depend least on the labels if more than half of "
    "all are requested",
}
"""Interpretations of what the paper leaves open; each has its own results and ranks."""


def _reading(name: str, what: str, methods: Methods, protocol: ProjectedFolds) -> Experiment:
    """Return the experiment of an interpretation: the first folds of the four data sets."""
    return Experiment(
        f"ml-arp/{name}",
        what,
        FOUR,
        methods,
        protocol,
        seeds=(1,),
        cost=8,
        quick_data=("emotions",),
    )


EXPERIMENTS = (
    _reading(
        "again",
        "ML-ARP on the first folds, searched with different random seeds",
        search(random_state=100),
        PROTOCOL,
    ),
    _reading(
        "scaled",
        "every method on those folds, with features scaled to [0, 1]",
        {**METHODS, **search()},
        replace(PROTOCOL, scale=True),
    ),
    _reading(
        "from-pca",
        "ML-ARP on those folds, starting from principal components",
        search(init="pca"),
        PROTOCOL,
    ),
    _reading(
        "searched-rows",
        "ML-ARP on those folds, with leave-one-out figures of the training rows",
        search(),
        replace(PROTOCOL, on_training_rows=True),
    ),
    _reading(
        "held-out",
        "ML-ARP on those folds, with a tenth of the training rows held out for selection",
        search(HeldOutMLARP),
        PROTOCOL,
    ),
    _reading(
        "peeking",
        "ML-ARP on those folds, with a search of 300 evaluations on the test rows (the paper’s "
        "search converged after several hundred)",
        search(PeekingMLARP, max_iter=300, max_seconds=None),
        PROTOCOL,
    ),
    Experiment(
        "ml-arp/wrong-end",
        "MDDM with the directions that depend least on the labels if 64 are more than half of all",
        ("emotions", "yeast"),
        {"mddm": Method(lambda seed: Filled(MDDM(), least))},
        PROTOCOL,
        cost=3,
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
    """Return the mean ranks of the main experiment and of each completed interpretation."""
    made = mean_ranks(figures, RANKED_SOURCES, FOUR, NAMES, "ml-arp/ranks", RANK_DATA)
    for name in READINGS:
        own, ranks = f"ml-arp/{name}", f"ml-arp/ranks-{name}"
        if _is_complete(own, figures):
            made += mean_ranks(figures, (own, *RANKED_SOURCES), FOUR, NAMES, ranks, RANK_DATA)
    return made


def _is_complete(name: str, figures: Figures) -> bool:
    """Tell whether there are results of every method of an experiment on every data set."""
    (experiment,) = (each for each in EXPERIMENTS if each.name == name)
    places = product(experiment.data, experiment.methods)
    return all(figures.at(name, data, method) for data, method in places)
