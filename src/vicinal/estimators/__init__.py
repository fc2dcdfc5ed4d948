"""The scikit-learn face: thin classes that compose index → graph → scoring → decision.

Comes in: features and labels as users have them. Goes out: predicted labels, scores, ranks. An
estimator holds parameters, validates, and calls the stages; whatever a method *is* stands in
``scoring`` and ``decision``.
"""

from collections.abc import Mapping

from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.blend import Blend
from vicinal.estimators.brknn import BRkNN
from vicinal.estimators.dmlknn import DMLkNN
from vicinal.estimators.feature_knn import FeatureKNN
from vicinal.estimators.iblr import IBLR
from vicinal.estimators.instance_knn import InstanceKNN
from vicinal.estimators.label_ridge import LabelRidge
from vicinal.estimators.lamlknn import LAMLkNN
from vicinal.estimators.lcif import LCIF
from vicinal.estimators.lpknn import LPkNN
from vicinal.estimators.mlknn import MLkNN
from vicinal.estimators.model import load, prepared, save

METHODS: Mapping[str, type[NeighborEstimator]] = {
    "brknn": BRkNN,
    "lpknn": LPkNN,
    "mlknn": MLkNN,
    "dmlknn": DMLkNN,
    "lamlknn": LAMLkNN,
    "iblr": IBLR,
    "instance-knn": InstanceKNN,
    "feature-knn": FeatureKNN,
    "lcif": LCIF,
}
"""The methods by the names the command line uses."""

__all__ = [
    "IBLR",
    "LCIF",
    "METHODS",
    "BRkNN",
    "Blend",
    "DMLkNN",
    "FeatureKNN",
    "InstanceKNN",
    "LAMLkNN",
    "LPkNN",
    "LabelRidge",
    "MLkNN",
    "NeighborEstimator",
    "load",
    "prepared",
    "save",
]
