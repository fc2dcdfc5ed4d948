"""Load the models to serve: the newest snapshot of each, then the changes made since."""

import hashlib
import logging
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from vicinal._base.errors import InvalidArgumentError
from vicinal.estimators import NeighborEstimator, load
from vicinal.estimators.model import Model, estimator_of
from vicinal.persistence.folder import MANIFEST
from vicinal.service import model_access
from vicinal.service.learner import Learner
from vicinal.service.limits import Limits
from vicinal.service.served_model import ServedModel
from vicinal.service.snapshots import Snapshots
from vicinal.service.store import Store

log = logging.getLogger("vicinal.service")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
Source = Model | str | os.PathLike[str]
Sources = Mapping[str, Source] | Sequence[str | os.PathLike[str]] | str | os.PathLike[str]


def named_sources(models: Sources) -> dict[str, Source]:
    """Return the models by id: as given, or the names of their folders.

    Examples
    --------
    >>> named_sources(["models/news", "models/mail"])
    {'news': 'models/news', 'mail': 'models/mail'}
    """
    named: dict[str, Source] = {}
    if isinstance(models, Mapping):
        named = dict(models)
    else:
        paths = [models] if isinstance(models, str | os.PathLike) else list(models)
        for path in paths:
            model_id = Path(path).resolve().name
            if model_id in named:
                raise InvalidArgumentError("models", "different folder names", f"{model_id} twice")
            named[model_id] = path
    if not named:
        raise InvalidArgumentError("models", "at least one model", "none")
    for model_id in named:
        if not _ID.fullmatch(model_id):
            raise InvalidArgumentError(
                "models", "ids of letters, digits, '.', '_' and '-'", repr(model_id)
            )
    return named


def serve_model(
    model_id: str, source: Source, store: Store | None, limits: Limits
) -> tuple[ServedModel, Learner | None]:
    """Load a model as it was when the service stopped: newest snapshot, then the later changes.

    Parameters
    ----------
    model_id : str
    source : estimator, Pipeline or path
    store : Store or None
        None: the model as trained, which cannot learn.
    limits : Limits
    """
    began = time.perf_counter()
    if store is None:
        return ServedModel(_model(source)), None
    identity = fingerprint(source)
    if not identity:
        _model(source)  # says what is wrong with the folder, before the store takes it for a model
    store.bind(model_id, identity)
    snapshots = Snapshots(store.path, model_id, limits.snapshots_kept)
    newest = snapshots.newest()
    model, version = newest if newest is not None else (_model(source), 0)
    learner = Learner(model_id, ServedModel(model, version), store, snapshots)
    replayed = learner.replay()
    log.info(
        "model loaded",
        extra={
            "model": model_id,
            "snapshot": version,
            "replayed": replayed,
            "seconds": round(time.perf_counter() - began, 3),
        },
    )
    return learner.served, learner


def _model(source: Source) -> Model:
    """Return a model, verified if it comes from a folder."""
    return load(source, verify=True) if isinstance(source, str | os.PathLike) else source


def fingerprint(source: Source) -> str:
    """Return what identifies a trained model: the checksum of its folder's manifest.

    For a model in memory: a digest of its method, its number of rows and its labels.
    """
    if isinstance(source, str | os.PathLike):
        manifest = Path(source) / MANIFEST
        return manifest.read_text(encoding="utf-8").partition("\n")[0] if manifest.is_file() else ""
    estimator: NeighborEstimator = estimator_of(source)
    facts = (
        repr(estimator),
        model_access.next_row_id(estimator),
        estimator.n_features_in_,
        *estimator.label_names_,
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()
