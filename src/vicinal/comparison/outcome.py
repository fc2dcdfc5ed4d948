"""Combine the trials of a method into one result, and check whether stored results are current."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vicinal.comparison.folds import SPLIT, Folds, count_folds, is_custom
from vicinal.comparison.trial import Trial
from vicinal.metrics import metric_info
from vicinal.metrics.inputs import ratio
from vicinal.results import Result

EXPERIMENT = "compare"
NO_SCORES = "has no scores: ranking metrics are left out"
MOST_LABELS = 5000
"""With more labels than this, no values per label are stored, as a result is one line of text."""


def experiment_name(folds: Folds) -> str:
    """Return the name of the experiment in results.

    Examples
    --------
    >>> experiment_name(10), experiment_name("split")
    ('compare/10 folds', 'compare/split')
    """
    if is_custom(folds):
        return f"{EXPERIMENT}/{count_folds(folds)} folds of your own"
    return f"{EXPERIMENT}/{folds}" if folds == SPLIT else f"{EXPERIMENT}/{folds} folds"


def as_result(trials: Sequence[Trial], *, label_names: tuple[str, ...], **fields: Any) -> Result:
    """Return the folds of a method as one result."""
    first = trials[0]
    few = len(label_names) <= MOST_LABELS
    return Result(
        values={name: tuple(trial.values[name] for trial in trials) for name in first.values},
        seconds={
            step: sum(trial.seconds.get(step, 0.0) for trial in trials) for step in first.seconds
        },
        per_label=_per_label(trials) if few else {},
        label_names=label_names if few else (),
        note=_chosen(trials) if first.has_scores else NO_SCORES,
        **fields,
    )


def is_current(
    known: Result,
    settings: Mapping[str, object],
    metrics: Iterable[str],
    provenance: Mapping[str, str],
) -> bool:
    """Tell whether running again would give the stored result.

    It must have the same data, settings and version, and contain all requested metrics.
    """
    scored = known.note != NO_SCORES
    wanted = [name for name in metrics if scored or metric_info(name).needs == "labels"]
    return (
        dict(known.settings) == dict(settings)
        and all(known.provenance.get(name) == provenance[name] for name in ("data", "vicinal"))
        and all(name in known.values for name in wanted)
    )


def _chosen(trials: Sequence[Trial]) -> str:
    """Return the settings that a tuned method chose in each fold; empty for other methods."""
    said = [", ".join(f"{name}={value}" for name, value in t.chosen.items()) for t in trials]
    return "chosen, fold by fold: " + "; ".join(said) if any(said) else ""


def _per_label(trials: Sequence[Trial]) -> dict[str, tuple[float, ...]]:
    """Return F1 and number of rows of each label, over the test rows of all folds together.

    A rare label occurs in few folds, so its F1 per fold would not be meaningful. NaN if no row has
    the label and it is never predicted.
    """
    tp, fp, fn = (
        np.sum([getattr(trial.counts, part) for trial in trials], axis=0)
        for part in ("tp", "fp", "fn")
    )
    f1 = ratio(2 * tp, 2 * tp + fp + fn, np.nan)
    return {"f1": tuple(f1.tolist()), "rows": tuple((tp + fn).astype(float).tolist())}
