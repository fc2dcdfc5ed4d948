"""The methods of the ML-ARP paper, and how they are cross-validated."""

from dataclasses import replace

from sklearn.decomposition import PCA
from sklearn.random_projection import GaussianRandomProjection

from vicinal.estimators import MLkNN
from vicinal.papers.projected_folds import ProjectedFolds
from vicinal.papers.ranks import RANKED
from vicinal.papers.spec import Method
from vicinal.reduction import MDDM, MLARP, OPLS, LabelCCA
from vicinal.rivals import LabelFrequency

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


def search(seconds: float) -> dict[str, Method]:
    """Return ML-ARP, searched for so long."""
    return {
        "ml-arp": Method(lambda seed: MLARP(max_iter=None, max_seconds=seconds, random_state=seed))
    }


PROTOCOL = ProjectedFolds(tuple(RANKED.values()))
STRATIFIED = replace(PROTOCOL, stratified=True)
NAMES = ("ml-arp", *METHODS)
