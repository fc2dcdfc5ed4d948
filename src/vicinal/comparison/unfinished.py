"""Folds of a round in progress, kept in a file until the round is done: a stopped run goes on."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.json_lines import append_json_line, read_json_lines
from vicinal.comparison.entrants import plain
from vicinal.comparison.outcome import MOST_LABELS
from vicinal.comparison.trial import Trial
from vicinal.metrics.label_based import LabelCounts

COUNTS = ("tp", "fp", "fn")


class Unfinished:
    """Trials by what they are of, in memory and, with a path, in a file too.

    Parameters
    ----------
    path : Path or None
        Need not be there yet, and is removed when the round is done.

    Notes
    -----
    Memory: 24 bytes a label, method and fold of one round; about as much in the file, where labels
    are few enough for a result to tell of each.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Trial] = {}
        if path is not None:
            self._known.update(read_json_lines(path, "a fold of a comparison", _read))

    def __contains__(self, key: str) -> bool:
        """Tell whether a trial was made."""
        return key in self._known

    def __getitem__(self, key: str) -> Trial:
        """Return a trial that was made."""
        return self._known[key]

    def __setitem__(self, key: str, trial: Trial) -> None:
        """Keep a trial; it is on disk when this returns."""
        self._known[key] = trial
        if self._path is not None:
            append_json_line(self._path, {"trial": key, **_parts(trial)})

    def clear(self) -> None:
        """Forget all trials: what they are of is done."""
        self._known.clear()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _parts(trial: Trial) -> dict[str, Any]:
    """Return a trial as JSON has it."""
    values = {name: None if math.isnan(x) else x for name, x in trial.values.items()}
    counts = [getattr(trial.counts, name) for name in COUNTS]
    return {
        "values": values,
        "counts": [each.tolist() if len(each) <= MOST_LABELS else [] for each in counts],
        "seconds": trial.seconds,
        "has_scores": trial.has_scores,
        "chosen": plain(trial.chosen),
    }


def _read(parts: Mapping[str, Any]) -> tuple[str, Trial]:
    """Return what a line holds."""
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
