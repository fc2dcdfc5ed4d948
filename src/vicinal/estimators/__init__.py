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
from vicinal.estimators.explained_models import explain
from vicinal.estimators.feature_knn import FeatureKNN
from vicinal.estimators.iblr import IBLR
from vicinal.estimators.instance_knn import InstanceKNN
from vicinal.estimators.label_ridge import LabelRidge
from vicinal.estimators.lamlknn import LAMLkNN
from vicinal.estimators.lcif import LCIF
from vicinal.estimators.lpknn import LPkNN
from vicinal.estimators.method import Method
from vicinal.estimators.mlknn import MLkNN
from vicinal.estimators.model import load, prepared, save
from vicinal.estimators.pipeline import Pipeline, make_pipeline

_LIBRARY: tuple[type[NeighborEstimator], ...] = (
    *(BRkNN, LPkNN, MLkNN, DMLkNN, LAMLkNN, IBLR),
    *(InstanceKNN, FeatureKNN, LCIF),
    *(LabelRidge, Blend),
)
"""In the order of tables; of equally good methods, tuning chooses the first."""

METHODS: Mapping[str, type[NeighborEstimator]] = {kind.method.name: kind for kind in _LIBRARY}
"""The methods of the library by the names that they declare for the command line."""

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
    "Method",
    "NeighborEstimator",
    "Pipeline",
    "explain",
    "load",
    "make_pipeline",
    "prepared",
    "save",
]
