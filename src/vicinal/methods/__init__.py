"""The methods: one file each, with formula, fit, scores, explanation, update and estimator.

Input: features and labels in any format that users have. Output: predicted labels, scores and
rankings. An estimator (``MLkNN``) holds the parameters, validates the input and calls the stages
index → graph → scoring → decision. Its scoring (``MLkNNScoring``) is what it has learned: plain
arrays, fitted on the leave-one-out graph and the labels of the training rows (a
:class:`Training`), which turn the graph of new rows into :class:`vicinal.scores.Scores`.
"""

from collections.abc import Mapping

from vicinal.methods.base import NeighborEstimator
from vicinal.methods.blend import Blend
from vicinal.methods.brknn import BRkNN
from vicinal.methods.dmlknn import DMLkNN
from vicinal.methods.feature_knn import FeatureKNN
from vicinal.methods.feature_views import Views, make_views
from vicinal.methods.frame_columns import FrameColumns
from vicinal.methods.iblr import IBLR
from vicinal.methods.instance_knn import InstanceKNN
from vicinal.methods.label_ridge import LabelRidge
from vicinal.methods.lamlknn import LAMLkNN
from vicinal.methods.lcif import LCIF
from vicinal.methods.local_ridge import LocalRidge
from vicinal.methods.lpknn import LPkNN
from vicinal.methods.mlknn import MLkNN
from vicinal.methods.pipeline import Pipeline, explain, load, make_pipeline, prepared, save
from vicinal.methods.registry import Method
from vicinal.methods.training import Scoring, Training

_LIBRARY: tuple[type[NeighborEstimator], ...] = (
    *(BRkNN, LPkNN, MLkNN, DMLkNN, LAMLkNN, IBLR),
    *(InstanceKNN, FeatureKNN, LCIF, LocalRidge),
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
    "FrameColumns",
    "InstanceKNN",
    "LAMLkNN",
    "LPkNN",
    "LabelRidge",
    "LocalRidge",
    "MLkNN",
    "Method",
    "NeighborEstimator",
    "Pipeline",
    "Scoring",
    "Training",
    "Views",
    "explain",
    "load",
    "make_pipeline",
    "make_views",
    "prepared",
    "save",
]
