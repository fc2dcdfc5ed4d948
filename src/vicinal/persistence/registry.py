"""Which names in a manifest stand for which types."""

from collections.abc import Mapping
from importlib import import_module

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import Saveable, State
from vicinal.decision import (
    CardinalityThreshold,
    CrossValidated,
    FittedNeverEmpty,
    LabelSets,
    LabelThresholds,
    MCut,
    MetricThreshold,
    NeverEmpty,
    PCut,
    PerLabelThreshold,
    RCut,
    Threshold,
    TopS,
)
from vicinal.preprocess import (
    BM25,
    Binary,
    LabelWeights,
    MinMax,
    TextVectorizer,
    TfIdf,
    UnitRows,
)
from vicinal.scoring import (
    BRkNNScoring,
    DMLkNNScoring,
    FeatureKNNScoring,
    IBLRScoring,
    InstanceKNNScoring,
    LAMLkNNScoring,
    LCIFScoring,
    LPkNNScoring,
    MLkNNScoring,
    RidgeScoring,
    SecondOrderScoring,
)
from vicinal.scoring.blend import BlendScoring
from vicinal.scoring.blend.co_occurrence import CoOccurrence
from vicinal.scoring.blend.mix import ConvexMix
from vicinal.scoring.blend.network import Network
from vicinal.scoring.blend.parts import Part
from vicinal.scoring.blend.similarity import FeatureSimilarityScoring
from vicinal.scoring.blend.trees import Trees
from vicinal.scoring.blend.views import View

_TYPES: dict[str, type[Saveable]] = {
    "decision.Threshold": Threshold,
    "decision.TopS": TopS,
    "decision.CardinalityThreshold": CardinalityThreshold,
    "decision.LabelSets": LabelSets,
    "decision.CrossValidated": CrossValidated,
    "decision.NeverEmpty": NeverEmpty,
    "decision.FittedNeverEmpty": FittedNeverEmpty,
    "decision.MetricThreshold": MetricThreshold,
    "decision.PerLabelThreshold": PerLabelThreshold,
    "decision.LabelThresholds": LabelThresholds,
    "decision.RCut": RCut,
    "decision.MCut": MCut,
    "decision.PCut": PCut,
    "preprocess.BM25": BM25,
    "preprocess.Binary": Binary,
    "preprocess.LabelWeights": LabelWeights,
    "preprocess.MinMax": MinMax,
    "preprocess.TextVectorizer": TextVectorizer,
    "preprocess.TfIdf": TfIdf,
    "preprocess.UnitRows": UnitRows,
    "scoring.BRkNN": BRkNNScoring,
    "scoring.DMLkNN": DMLkNNScoring,
    "scoring.IBLR": IBLRScoring,
    "scoring.LAMLkNN": LAMLkNNScoring,
    "scoring.LPkNN": LPkNNScoring,
    "scoring.MLkNN": MLkNNScoring,
    "scoring.InstanceKNN": InstanceKNNScoring,
    "scoring.SecondOrder": SecondOrderScoring,
    "scoring.FeatureKNN": FeatureKNNScoring,
    "scoring.LCIF": LCIFScoring,
    "scoring.Ridge": RidgeScoring,
    "scoring.Blend": BlendScoring,
    "scoring.BlendPart": Part,
    "scoring.BlendView": View,
    "scoring.CoOccurrence": CoOccurrence,
    "scoring.ConvexMix": ConvexMix,
    "scoring.MixingNetwork": Network,
    "scoring.FeatureSimilarity": FeatureSimilarityScoring,
    "scoring.Trees": Trees,
}


REGISTERING = ("estimators", "reduction")
"""Packages after this one that register types: loaded when a name asks for them."""


def register(name: str, part: type[Saveable]) -> None:
    """Let parts of this type be saved, under this name for good."""
    _TYPES[name] = part


def name_of(part: Saveable) -> str:
    """Return the name under which the type of `part` is registered."""
    for name, kind in _TYPES.items():
        if type(part) is kind:
            return name
    raise InvalidArgumentError("model", "parts that can be saved", f"a {type(part).__name__}")


def build(name: str, state: Mapping[str, State]) -> Saveable:
    """Build the part called `name`; it checks the state itself."""
    package, _, kind = name.partition(".")
    if name not in _TYPES and package in REGISTERING:
        getattr(import_module(f"vicinal.{package}"), kind, None)  # its module registers it
    if name not in _TYPES:
        raise ModelFormatError(f"unknown part {name!r}: was it saved by a newer version?")
    try:
        return _TYPES[name].from_state(state)
    except (InvalidArgumentError, TypeError) as error:
        raise ModelFormatError(f"{name}: {error}") from None
