"""Which names in a manifest stand for which types."""

from collections.abc import Mapping

from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import Saveable, State
from vicinal.decision import CardinalityThreshold, LabelSets, NeverEmpty, Threshold, TopS
from vicinal.decision.never_empty import FittedNeverEmpty
from vicinal.scoring import (
    BRkNNScoring,
    DMLkNNScoring,
    IBLRScoring,
    LAMLkNNScoring,
    LPkNNScoring,
    MLkNNScoring,
)

_TYPES: dict[str, type[Saveable]] = {
    "decision.Threshold": Threshold,
    "decision.TopS": TopS,
    "decision.CardinalityThreshold": CardinalityThreshold,
    "decision.LabelSets": LabelSets,
    "decision.NeverEmpty": NeverEmpty,
    "decision.FittedNeverEmpty": FittedNeverEmpty,
    "scoring.BRkNN": BRkNNScoring,
    "scoring.DMLkNN": DMLkNNScoring,
    "scoring.IBLR": IBLRScoring,
    "scoring.LAMLkNN": LAMLkNNScoring,
    "scoring.LPkNN": LPkNNScoring,
    "scoring.MLkNN": MLkNNScoring,
}


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
    if name not in _TYPES:
        raise ModelFormatError(f"unknown part {name!r}: was it saved by a newer version?")
    return _TYPES[name].from_state(state)
