"""Changes to a model: checked, committed, applied, and only then acknowledged.

The order is: check → commit to the store → apply to the model → reply. A crash after the commit
loses nothing, because the next start replays every change that the newest snapshot does not
contain. A client that got no reply sends its request again with the same idempotency key and gets
the result of the first one.
"""

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vicinal._core.arrays import Int
from vicinal._core.files import UNFINISHED, remove_stale
from vicinal.errors import ModelFormatError
from vicinal.methods import load
from vicinal.methods.pipeline import Model
from vicinal.service import served_model
from vicinal.service.limits import ConflictError, ServiceError, bad_value
from vicinal.service.served_model import ServedModel, graph_file, read_graph
from vicinal.service.store import Change, Event, EventStore


class Outcome(NamedTuple):
    """What a change did: ids of the rows, the version it made, whether it was made before."""

    row_ids: tuple[int, ...]
    version: int
    repeated: bool = False


class PlannedChanges:
    """Events planned for one commit, with the row ids they will give and take.

    Parameters
    ----------
    model_id : str
    version : int
        FittedState of the model before the commit.
    next_id : int
        Id that the next learned row gets.
    known : array of int
        Ids of the model's rows, rising.
    can_learn : bool
        Whether the method learns incrementally.
    """

    def __init__(
        self, model_id: str, version: int, next_id: int, known: Int, can_learn: bool
    ) -> None:
        self._model_id = model_id
        self._known = known
        self._can_learn = can_learn
        self.kept: list[Event] = []
        self._planned: list[Event] = []
        self._version = version
        self._next_id = next_id
        self._first_id = next_id
        self._gone: set[int] = set()
        self._mark = (version, next_id, frozenset[int]())

    def add(self, change: Change) -> Outcome:
        """Plan one change."""
        if not self._can_learn:
            raise ServiceError(
                409, "cannot-learn", f"the method of {self._model_id!r} cannot learn incrementally"
            )
        if change.kind == "learn":
            ids = tuple(range(self._next_id, self._next_id + len(change.rows)))
            self._next_id += len(ids)
        else:
            ids = tuple(sorted(set(change.rows)))
            self._check_known(ids)
            self._gone.update(ids)
            if len(self._known) + self._next_id - self._first_id <= len(self._gone):
                raise bad_value("row_ids", "at least one row to remain in the model", "all rows")
        self._version += 1
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._planned.append(Event(self._model_id, self._version, change, ids, now))
        return Outcome(ids, self._version)

    def _check_known(self, ids: Iterable[int]) -> None:
        for row_id in ids:
            is_new = self._first_id <= row_id < self._next_id
            is_there = is_new or contains_id(self._known, row_id)
            if not is_there or row_id in self._gone:
                raise ServiceError(
                    404, "unknown-row", f"row_ids: the model does not contain row {row_id}"
                )

    def by_key(self, key: str) -> Event | None:
        """Return the event planned with an idempotency key."""
        planned = [*self.kept, *self._planned]
        return next((event for event in planned if event.change.key == key), None)

    def keep(self) -> None:
        """Keep what the request planned."""
        self.kept += self._planned
        self._planned = []
        self._mark = (self._version, self._next_id, frozenset(self._gone))

    def drop(self) -> None:
        """Undo what the request planned."""
        self._planned = []
        self._version, self._next_id, gone = self._mark
        self._gone = set(gone)


def contains_id(known: Int, row_id: int) -> bool:
    """Tell whether rising ids contain one."""
    place = int(np.searchsorted(known, row_id))
    return place < len(known) and int(known[place]) == row_id


_VERSION = re.compile(r"[0-9]{12}")
log = logging.getLogger("vicinal.service")


class Snapshots:
    """The snapshots of one model.

    Parameters
    ----------
    store : Path
        The store they lie beside.
    model : str
        The id of the model.
    kept : int
        How many of the newest to keep.
    """

    def __init__(self, store: Path, model: str, kept: int) -> None:
        self.folder = store.with_name(store.name + ".snapshots") / model
        self.kept = kept

    def versions(self) -> list[int]:
        """Return the versions that have a snapshot, newest first."""
        if not self.folder.is_dir():
            return []
        names = [path.name for path in self.folder.iterdir() if _VERSION.fullmatch(path.name)]
        return sorted((int(name) for name in names), reverse=True)

    def newest(self) -> tuple[Model, int] | None:
        """Load the newest undamaged snapshot; one of version 0 would be the model as trained."""
        for version in filter(None, self.versions()):
            path = self._path(version)
            try:
                model = load(path, verify=True)
                read_graph(model, path)
                return model, version
            except (ModelFormatError, OSError) as error:
                log.error("snapshot skipped", extra={"path": str(path), "reason": str(error)})
                with suppress(OSError):  # on a read-only disk it stays where it is
                    path.rename(path.with_name(path.name + ".damaged"))
        return None

    def write(self, served: ServedModel) -> tuple[Path, int]:
        """Save the model as it is now, then remove all but the newest snapshots."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            while not served.save(self._path(version := served.version), version):
                pass  # the model has changed meanwhile
        finally:
            self._remove_leftovers()
        for old in self.versions()[self.kept :]:
            self._path(old).unlink(missing_ok=True)
            graph_file(self._path(old)).unlink(missing_ok=True)
        return self._path(version), version

    def _remove_leftovers(self) -> None:
        """Remove what failed saves and killed processes left: unfinished files, graphs alone."""
        for file in self.folder.glob(f".*{UNFINISHED}"):
            remove_stale(self.folder / file.name[1:].removesuffix(UNFINISHED).rpartition(".")[0])
        for graph in self.folder.glob("*.graph.*"):
            if not self._path(int(graph.name.split(".")[0])).exists():
                graph.unlink(missing_ok=True)

    def _path(self, version: int) -> Path:
        return self.folder / f"{version:012d}"


REPLAY_BYTES = 2**25
"""Events read from the store at once, in bytes of their rows: 32 MiB."""

ATTEMPTS = 5
"""Tries of a commit while another process teaches the same model."""


Request = tuple[Change, ...]
"""Changes of one request; made together or not at all."""


class Learner:
    """Makes the changes to one model, in order. Call it from one thread at a time.

    Parameters
    ----------
    model_id : str
    served : ServedModel
    store : EventStore
    snapshots : Snapshots
    """

    def __init__(
        self, model_id: str, served: ServedModel, store: EventStore, snapshots: Snapshots
    ) -> None:
        self.model_id = model_id
        self.served = served
        self.store = store
        self.snapshots = snapshots
        self.saved_version = max(snapshots.versions(), default=0)
        self._applied_rows = 0
        self._saved_rows = 0

    @property
    def unsaved_rows(self) -> int:
        """Rows learned or forgotten that no snapshot contains: what a restart would replay."""
        return self._applied_rows - self._saved_rows

    @property
    def n_rows(self) -> int:
        """Rows of the model."""
        with self.served.reading() as (estimator, _):
            return len(served_model.row_ids(estimator))

    def replay(self) -> int:
        """Apply every event that the model does not contain yet; return how many."""
        before = self.served.version
        while events := self.store.after(self.model_id, self.served.version, REPLAY_BYTES):
            self._apply(events)
        return self.served.version - before

    def process(self, requests: Sequence[Request]) -> list[list[Outcome] | Exception]:
        """Make the changes of several requests: one commit, one update per run of equal kinds.

        Returns
        -------
        list
            For each request the outcome of its changes, or why it was refused.
        """
        for _ in range(ATTEMPTS):
            answers, conflict = self._attempt(requests)
            if conflict is None:
                break
        return answers

    def _attempt(
        self, requests: Sequence[Request]
    ) -> tuple[list[list[Outcome] | Exception], ConflictError | None]:
        """Make the changes, unless another process commits the same version first."""
        self.replay()
        with self.served.reading() as (estimator, number):
            planned = PlannedChanges(
                self.model_id,
                number,
                served_model.next_row_id(estimator),
                served_model.row_ids(estimator),
                served_model.can_learn(estimator),
            )
        answers: list[list[Outcome] | Exception] = []
        for request in requests:
            try:
                answers.append([self._plan(planned, change) for change in request])
                planned.keep()
            except ServiceError as error:
                planned.drop()
                answers.append(error)
        try:
            refused = self._carry_out(planned.kept)
        except ServiceError as error:
            conflict = error if isinstance(error, ConflictError) else None
            return [error if _is_new(answer) else answer for answer in answers], conflict
        return [_with_refusals(answer, refused) for answer in answers], None

    def _carry_out(self, events: Sequence[Event]) -> dict[int, str]:
        """Commit, then apply; return why the model refused some versions, if it did."""
        if not events:
            return {}
        self.store.append(events)
        try:
            return self._apply(events)
        except Exception as error:
            log.exception("change stored but not applied", extra={"model": self.model_id})
            raise ServiceError(
                503,
                "stored-not-applied",
                "the change is stored durably but could not be applied yet; it will be applied "
                "before the next change, or when the service is restarted",
            ) from error

    def _plan(self, planned: PlannedChanges, change: Change) -> Outcome:
        """Return what a change will do, after every check that is possible before the commit."""
        if change.key is not None:
            earlier = planned.by_key(change.key) or self.store.by_key(self.model_id, change.key)
            if earlier is not None:
                return _repeated(earlier, change)
        if change.kind == "learn":
            self.served.reader.check(change.rows)
        return planned.add(change)

    def _apply(self, events: Sequence[Event]) -> dict[int, str]:
        """Apply committed events; several of one kind in one update, which gives the same model.

        Returns the versions that the model refused, with reasons.
        """
        refused: dict[int, str] = {}
        for kind, run in groupby(events, key=_what):
            group = list(run)
            if kind == "nothing":
                self.served.skip(group[-1].version)
                continue
            try:
                self._apply_group(group)
            except (ValueError, TypeError) as error:
                if len(group) > 1:
                    for event in group:
                        refused |= self._apply([event])
                else:
                    self._refuse(group[0], error)
                    refused[group[0].version] = str(error)
        return refused

    def _apply_group(self, events: Sequence[Event]) -> None:
        """Apply events of one kind in one update."""
        last = events[-1].version
        if events[0].change.kind == "learn":
            self.served.learn([row for event in events for row in event.change.rows], last)
        else:
            self.served.forget([row_id for event in events for row_id in event.row_ids], last)
        self._applied_rows += sum(len(event.row_ids) for event in events)

    def _refuse(self, event: Event, error: Exception) -> None:
        """Mark an event that the model cannot take, now or at any replay."""
        log.error(
            "change refused by the model",
            extra={"model": self.model_id, "version": event.version, "reason": str(error)},
        )
        self.store.refuse(self.model_id, event.version, str(error))
        self.served.skip(event.version)

    def snapshot(self) -> tuple[str, int]:
        """Write the model folder of the current version; return its path and version."""
        applied = self._applied_rows  # rows that are applied meanwhile count as not saved
        try:
            path, version = self.snapshots.write(self.served)
        except (OSError, ValueError) as error:
            raise ServiceError(
                507, "snapshot-failed", f"the snapshot was not written: {error}"
            ) from error
        self.saved_version, self._saved_rows = version, applied
        return str(path), version

    def alive(self, ids: Iterable[int]) -> list[int]:
        """Return those of the row ids that the model still contains."""
        with self.served.reading() as (estimator, _):
            known = served_model.row_ids(estimator)
            return [row_id for row_id in ids if contains_id(known, row_id)]


def _what(event: Event) -> str:
    """Return what to do with an event: learn, forget, or nothing."""
    return "nothing" if event.refused is not None else event.change.kind


def _is_new(answer: list[Outcome] | Exception) -> bool:
    """Tell whether a request asks for a change that was not made before."""
    return isinstance(answer, list) and not all(outcome.repeated for outcome in answer)


def _with_refusals(
    answer: list[Outcome] | Exception, refused: Mapping[int, str]
) -> list[Outcome] | Exception:
    """Return the answer, or why the model refused what had been committed."""
    if isinstance(answer, Exception):
        return answer
    reasons = [refused[outcome.version] for outcome in answer if outcome.version in refused]
    return ServiceError(422, "refused-by-model", reasons[0]) if reasons else answer


def _repeated(earlier: Event, change: Change) -> Outcome:
    """Return what the first request with this key did."""
    if earlier.change.digest != change.digest:
        raise ServiceError(
            409, "key-reused", "the idempotency key was used before for a different request"
        )
    if earlier.refused is not None:
        raise ServiceError(422, "refused-by-model", earlier.refused)
    return Outcome(earlier.row_ids, earlier.version, repeated=True)


MODEL_SHARE = 50
"""A snapshot is due after one row per this many rows of the model, if that is more."""


class SnapshotSchedule:
    """Writes snapshots of one model in the background, one at a time.

    A restart loads the newest snapshot and replays the rows taught after it, so the number of rows
    decides how long it takes, not the number of requests. Large models are saved less often,
    because writing them takes longer too.

    Parameters
    ----------
    learner : Learner
    rows : int
        Rows learned or forgotten after which a snapshot is due, for a model of up to
        ``MODEL_SHARE * rows`` rows.
    """

    def __init__(self, learner: Learner, rows: int) -> None:
        self._learner = learner
        self._rows = rows
        self._saving: asyncio.Task[None] | None = None

    async def write(self) -> tuple[str, int]:
        """Write a snapshot now; return its path and version."""
        return await asyncio.to_thread(self._learner.snapshot)

    def write_if_due(self) -> None:
        """Start writing a snapshot in the background if enough rows have changed."""
        is_running = self._saving is not None and not self._saving.done()
        due = max(self._rows, self._learner.n_rows // MODEL_SHARE)
        if not is_running and self._learner.unsaved_rows >= due:
            self._saving = asyncio.get_running_loop().create_task(self._write_quietly())

    async def close(self) -> None:
        """Finish the snapshot being written, then save what it does not contain."""
        if self._saving is not None:
            await self._saving
        if self._learner.served.version > self._learner.saved_version:
            await self._write_quietly()

    async def _write_quietly(self) -> None:
        """Write a snapshot; a failure is logged, since the store holds every event anyway."""
        try:
            await self.write()
        except ServiceError as error:
            extra = {"model": self._learner.model_id, "reason": error.message}
            log.error("snapshot failed", extra=extra)
