"""Completed folds, stored in a file until all folds are done, so that interrupted runs resume."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal.comparison.outcome import MOST_LABELS
from vicinal.comparison.trial import Trial
from vicinal.metrics.label_based import LabelCounts
from vicinal.results import ResumableStore
from vicinal.results.digest import plain

COUNTS = ("tp", "fp", "fn")


KeptTrials: TypeAlias = ResumableStore[str, Trial]


def kept_trials(path: Path | None) -> KeptTrials:
    """Return the trials that an interrupted run stored for the current data set and seed.

    Memory: 24 bytes per label, method and fold; about the same in the file if there are few enough
    labels to store a value for each.
    """
    return ResumableStore(path, "a fold of a comparison", _read, _parts)


def _parts(key: str, trial: Trial) -> dict[str, Any]:
    """Return a trial as JSON values."""
    values = {name: None if math.isnan(x) else x for name, x in trial.values.items()}
    counts = [getattr(trial.counts, name) for name in COUNTS]
    return {
        "trial": key,
        "values": values,
        "counts": [each.tolist() if len(each) <= MOST_LABELS else [] for each in counts],
        "seconds": trial.seconds,
        "has_scores": trial.has_scores,
        "chosen": plain(trial.chosen),
    }


def _read(parts: Mapping[str, Any]) -> tuple[str, Trial]:
    """Return the key and the trial of a line."""
    try:
        counts = [np.array(each, dtype=np.int64) for each in parts["counts"]]
        trial = Trial(
            values={
                name: math.nan if x is None else float(x) for name, x in parts["values"].items()
            },
            counts=LabelCounts(*counts),
            seconds={name: float(x) for name, x in parts["seconds"].items()},
            has_scores=bool(parts["has_scores"]),
            chosen=dict(parts["chosen"]),
        )
        return str(parts["trial"]), trial
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError("line", "a trial", repr(error)) from None
