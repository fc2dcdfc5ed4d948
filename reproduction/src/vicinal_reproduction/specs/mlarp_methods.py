"""The methods of the ML-ARP paper, and how they are cross-validated."""

from typing import Any

from sklearn.decomposition import PCA
from sklearn.random_projection import GaussianRandomProjection

from vicinal.baselines import LabelFrequency
from vicinal.methods import MLkNN
from vicinal.reduction import MDDM, MLARP, OPLS, LabelCCA
from vicinal_reproduction.protocols.filled_directions import Filled, orthonormal, uncorrelated
from vicinal_reproduction.protocols.projected_folds import ProjectedFolds
from vicinal_reproduction.protocols.ranks import RANKED
from vicinal_reproduction.specification import Method

FOUR = ("emotions", "scene", "enron", "yeast")
METHODS = {
    "baseline": Method(lambda seed: LabelFrequency()),
    "ml-knn": Method(lambda seed: MLkNN(5, smoothing=0.0)),
    "rp": Method(lambda seed: GaussianRandomProjection(random_state=seed)),
    "mddm": Method(lambda seed: Filled(MDDM(), orthonormal)),
    "pca": Method(lambda seed: PCA(random_state=seed)),
    "opls": Method(lambda seed: Filled(OPLS(), uncorrelated)),
    "cca": Method(lambda seed: Filled(LabelCCA(), uncorrelated)),
}
NAMES = ("ml-arp", *METHODS)

SECONDS = 30.0
"""Search time per fold in seconds; the paper used two hours."""


def search(kind: type[MLARP] = MLARP, **settings: Any) -> dict[str, Method]:
    """Return ML-ARP with the given settings, searched for :data:`SECONDS`."""

    def make(seed: int) -> MLARP:
        return kind(**{"max_iter": None, "max_seconds": SECONDS, "random_state": seed} | settings)

    return {"ml-arp": Method(make)}


PROTOCOL = ProjectedFolds(tuple(RANKED.values()))
