"""The scikit-learn estimators: thin classes that combine index → graph → scoring → decision.

Input: features and labels in any format that users have. Output: predicted labels, scores and
rankings. An estimator holds the parameters, validates the input and calls the stages; the formulas
of the methods are in ``scoring`` and ``decision``.
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
"""In the order in which tables list them; tuning chooses the first of equally good methods."""

METHODS: Mapping[str, type[NeighborEstimator]] = {kind.method.name: kind for kind in _LIBRARY}
"""The library's methods by their names on the command line."""

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
