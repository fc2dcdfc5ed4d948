"""Changes to a model: checked, applied to a draft, committed, and only then seen and acknowledged.

The order is: check → apply to a draft of the model → commit to the store with the row ids that the
model gave → let readers see the draft → reply. What the model refuses is never stored, and an id
that is acknowledged is the id in the model. A crash after the commit loses nothing, because the
next start replays every change that the newest snapshot does not contain. A client that got no
reply sends its request again with the same idempotency key and gets the result of the first one.
"""

import asyncio
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Int
from vicinal._core.files import STALE_SECONDS, UNFINISHED, remove_stale, replacing
from vicinal._core.progress import may_stop
from vicinal._core.threads import thread_count, using_threads
from vicinal.errors import ModelFormatError
from vicinal.methods import load, save
from vicinal.methods.pipeline import Model
from vicinal.service import served_model
from vicinal.service.limits import ConflictError, ServiceError, StoreError, bad_value
from vicinal.service.request_rows import DENSE_CELLS, Row
from vicinal.service.served_model import ServedModel, graph_file, read_graph, write_graph
from vicinal.service.store import Change, Event, EventStore

REPLAY_BYTES = 2**23
"""Events read from the store at once, in bytes of their rows: 8 MiB."""
ATTEMPTS = 5
"""Tries of a commit while another process teaches the same model."""
_VERSION = re.compile(r"[0-9]{12}")
log = logging.getLogger("vicinal.service")


class Outcome(NamedTuple):
    """What a change did: ids of the rows, the version it made, whether it was made before."""

    row_ids: tuple[int, ...]
    version: int
    repeated: bool = False


class Replacement(NamedTuple):
    """A row that takes the place of all rows that came from one object of another program.

    `row` is None if they are only to be forgotten. Which rows these are is decided when the change
    is applied, so that of several replacements at the same time the last one remains.
    """

    origin: str
    row: Row | None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows to learn: one or none."""
        return () if self.row is None else (self.row,)


Request = tuple[Change | Replacement, ...]
"""Changes of one request; made together or not at all."""
Result = list[Outcome] | Exception
"""The outcomes of one request, or why it was refused."""


class Draft:
    """Requests applied to a model in order, before they are committed and readers see them.

    Requests that only learn rows are learned together, which gives the same model.
    """

    def __init__(self, model_id: str, served: ServedModel, store: EventStore) -> None:
        self._model_id = model_id
        self._served = served
        self._store = store
        self._waiting: list[tuple[int, Change, Features]] = []
        self._cells = 0
        self._labels_at_most = len(served.draft_label_names())
        self.events: list[Event] = []
        self.results: dict[int, Result] = {}
        with served.reading() as held:
            self._can_learn = served_model.can_learn(held.estimator)

    def add(self, place: int, request: Request) -> None:
        """Apply the request at a place of the batch, now or together with the next ones."""
        try:
            may_stop()
            features = [self._check(change) for change in request]
            self._check_labels(request)
            first = request[0]
            if len(request) == 1 and isinstance(first, Change) and self._may_wait(first):
                self._waiting.append((place, first, features[0]))
                self._cells += features[0].size  # rows of few bytes of JSON may have many
                if self._cells > DENSE_CELLS:
                    self.flush()
                return
            self.flush()
            self.results[place] = self._apply(request, features)
        except ServiceError as error:
            self.results[place] = error

    def flush(self) -> None:
        """Learn the rows that wait, in one update; one by one if the model refuses one of them."""
        waiting, self._waiting, self._cells = self._waiting, [], 0
        if len(waiting) > 1 and self._learn_together(waiting):
            return
        for place, change, X in waiting:
            try:
                self.results[place] = self._apply((change,), [X])
            except ServiceError as error:
                self.results[place] = error

    def _check(self, change: Change | Replacement) -> Features:
        """Return the features of the rows to learn, after every check of the model's steps."""
        if not self._can_learn:
            raise ServiceError(
                409, "cannot-learn", f"the method of {self._model_id!r} cannot learn incrementally"
            )
        if _is_forgetting(change) or not change.rows:
            return np.empty((0, 0))
        return self._served.reader.read(change.rows)

    def _check_labels(self, request: Request) -> None:
        """Refuse labels beyond those that the model may have; they are counted only near that."""
        taught = [change for change in request if not _is_forgetting(change)]
        given = {label for change in taught for label in chain(*_labels(change.rows))}
        most = self._served.most_labels
        if self._labels_at_most + len(given) > most:
            self.flush()
            known = self._served.draft_label_names()
            given.difference_update(known)
            self._labels_at_most = len(known)
            if given and len(known) + len(given) > most:
                raise ServiceError(
                    422,
                    "too-many-labels",
                    f"rows: expected at most {most} labels in the model, got {len(given)} more. "
                    "Train a model with these labels",
                )
        self._labels_at_most += len(given)

    def _may_wait(self, change: Change) -> bool:
        """Tell whether a change only learns rows, and repeats no other."""
        if change.kind != "learn":
            return False
        if change.key is None:
            return True
        keys = {other.key for _, other, _ in self._waiting}
        return change.key not in keys and self._earlier(change.key) is None

    def _learn_together(self, waiting: Sequence[tuple[int, Change, Features]]) -> bool:
        """Learn the rows of several requests in one update; tell whether the model took them."""
        rows = [row for _, change, _ in waiting for row in change.rows]
        try:
            ids = self._served.learn(_stacked([X for _, _, X in waiting]), _labels(rows))
        except (ValueError, TypeError, ServiceError):  # refused, or the service ends
            return False
        for place, change, _ in waiting:
            own, ids = ids[: len(change.rows)], ids[len(change.rows) :]
            self.results[place] = [self._add_event(change, own)]
        return True

    def _apply(self, request: Request, features: Sequence[Features]) -> list[Outcome]:
        """Make the changes of one request, all or none."""
        kept = len(self.events)
        try:
            with self._served.savepoint():
                return [
                    outcome
                    for change, X in zip(request, features, strict=True)
                    for outcome in self._apply_one(change, X)
                ]
        except (ValueError, TypeError) as error:
            del self.events[kept:]
            raise ServiceError(422, "refused-by-model", str(error)[:300]) from error
        except ServiceError:
            del self.events[kept:]
            raise

    def _apply_one(self, change: Change | Replacement, X: Features) -> list[Outcome]:
        if isinstance(change, Replacement):
            return self._replace(change, X)
        earlier = None if change.key is None else self._earlier(change.key)
        if earlier is not None:
            return [_repeated(earlier, change)]
        return [self._learn(change, X) if change.kind == "learn" else self._forget(change)]

    def _replace(self, change: Replacement, X: Features) -> list[Outcome]:
        """Learn the new row, then forget those that came from the same object before."""
        older = self.alive_from(change.origin)
        made = []
        if change.row is not None:
            made.append(self._learn(Change("learn", (change.row,), origin=change.origin), X))
        if older:
            made.append(self._forget(Change("forget", tuple(older), origin=change.origin)))
        return made

    def _learn(self, change: Change, X: Features) -> Outcome:
        return self._add_event(change, self._served.learn(X, _labels(change.rows)))

    def _forget(self, change: Change) -> Outcome:
        ids, known = tuple(sorted(set(change.rows))), self._served.draft_row_ids()
        for row_id in ids:
            if not contains_id(known, row_id):
                raise ServiceError(
                    404, "unknown-row", f"row_ids: the model does not contain row {row_id}"
                )
        if len(ids) == len(known):
            raise bad_value("row_ids", "at least one row to remain in the model", "all rows")
        self._served.forget(ids)
        return self._add_event(change, ids)

    def _add_event(self, change: Change, ids: tuple[int, ...]) -> Outcome:
        """Add an event to commit."""
        last = self.events[-1] if self.events else None
        version = (self._served.version if last is None else last.version) + 1
        previous = self._served.history if last is None else last.digest
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.events.append(Event(self._model_id, version, change, ids, now, previous))
        return Outcome(ids, version)

    def _earlier(self, key: str) -> Event | None:
        """Return the event that was made with an idempotency key, committed or not yet."""
        made = next((event for event in self.events if event.change.key == key), None)
        return made or self._store.by_key(self._model_id, key)

    def alive_from(self, origin: str) -> list[int]:
        """Return the rows that came from one object of another program and are still there."""
        ids = self._store.learned_from(self._model_id, origin)
        for event in self.events:
            if event.change.origin == origin and event.change.kind == "learn":
                ids += event.row_ids
        known = self._served.draft_row_ids()
        return [row_id for row_id in ids if contains_id(known, row_id)]


def _is_forgetting(change: Change | Replacement) -> bool:
    return isinstance(change, Change) and change.kind == "forget"


def _stacked(parts: Sequence[Features]) -> Features:
    """Return rows of features one below the other."""
    dense = [part for part in parts if isinstance(part, np.ndarray)]
    if len(dense) == len(parts):
        return np.vstack(dense)
    every: list[Any] = list(parts)
    return cast("Csr", sparse.csr_array(sparse.vstack(every, format="csr")))


def _labels(rows: Iterable[Row]) -> list[list[str]]:
    return [list(row["labels"]) for row in rows]


def contains_id(known: Int, row_id: int) -> bool:
    """Tell whether rising ids contain one."""
    place = int(np.searchsorted(known, row_id))
    return place < len(known) and int(known[place]) == row_id


def _repeated(earlier: Event, change: Change) -> Outcome:
    """Return what the first request with this key did."""
    if not change.repeats(earlier.change):
        raise ServiceError(
            409, "key-reused", "the idempotency key was used before for a different request"
        )
    return Outcome(earlier.row_ids, earlier.version, repeated=True)


class Learner:
    """Makes the changes to one model, in order. Call it from one thread at a time."""

    def __init__(
        self, model_id: str, served: ServedModel, store: EventStore, snapshots: "Snapshots"
    ) -> None:
        self.model_id = model_id
        self.served = served
        self.store = store
        self.snapshots = snapshots
        self.saved_version = max(snapshots.versions(), default=0)
        self._applied_rows = 0
        self._saved_rows = 0
        self.counted: Counter[str] = Counter()
        """Rows learned and forgotten by requests, by kind of change."""

    @property
    def unsaved_rows(self) -> int:
        """Rows learned or forgotten that no snapshot contains: what a restart would replay."""
        return self._applied_rows - self._saved_rows

    @property
    def n_rows(self) -> int:
        """Rows of the model."""
        with self.served.reading() as held:
            return len(served_model.row_ids(held.estimator))

    def replay(self) -> int:
        """Apply every event that the model does not contain yet; return how many."""
        before = self.served.version
        while events := self.store.after(self.model_id, self.served.version, REPLAY_BYTES):
            with self.served.changing():
                self._replay_some(events)
                self.served.publish(events[-1].version, events[-1].digest)
            self._applied_rows += sum(len(event.row_ids) for event in events)
        return self.served.version - before

    def _replay_some(self, events: Sequence[Event]) -> None:
        """Apply events that follow the model's; several of one kind in one update."""
        version, digest = self.served.version, self.served.history
        for event in events:
            if event.version != version + 1 or event.previous != digest:
                raise self.store.gap(self.model_id, version + 1)
            version, digest = event.version, event.digest
        for kind, run in groupby(events, key=lambda event: event.change.kind):
            group = list(run)
            ids = [row_id for event in group for row_id in event.row_ids]
            try:
                if kind == "forget":
                    self.served.forget(ids)
                else:
                    self._learn_again([row for event in group for row in event.change.rows], ids)
            except (ValueError, TypeError) as error:
                which = f"events {group[0].version} to {group[-1].version} of {self.model_id!r}"
                raise StoreError(
                    f"{self.store.path.name}: {which} do not fit the model: {error}"
                ) from error

    def _learn_again(self, rows: Sequence[Row], ids: Sequence[int]) -> None:
        """Learn rows of the store; they must get the ids that were acknowledged."""
        given = self.served.learn(self.served.reader.features(rows), _labels(rows))
        if list(given) != list(ids):
            raise ValueError("the rows got other ids than they had before")

    def process(self, requests: Sequence[Request]) -> list[Result]:
        """Make the changes of several requests in one commit."""
        for attempt in range(ATTEMPTS):
            try:
                return self._attempt(requests, is_alone=attempt > 0)
            except ConflictError as error:
                conflict = error
            except (ServiceError, StoreError) as error:
                return [error] * len(requests)
        return [conflict] * len(requests)

    def _attempt(self, requests: Sequence[Request], is_alone: bool) -> list[Result]:
        """Make the changes, unless another process commits the same version first.

        With `is_alone`, other processes wait with their commits.
        """
        with self.store.exclusive() if is_alone else nullcontext():
            self.replay()
            with self.served.changing():
                draft = Draft(self.model_id, self.served, self.store)
                for place, request in enumerate(requests):
                    draft.add(place, request)
                draft.flush()
                if draft.events:
                    self._commit(draft.events)
        return [draft.results[place] for place in range(len(requests))]

    def _commit(self, events: Sequence[Event]) -> None:
        """Commit what was applied, then let readers see it."""
        self.store.append(events)
        self.served.publish(events[-1].version, events[-1].digest)
        for event in events:
            self.counted[event.change.kind] += len(event.row_ids)
            self._applied_rows += len(event.row_ids)

    def snapshot(self) -> tuple[str, int]:
        """Write a snapshot of the current version; return its name and version."""
        applied = self._applied_rows  # rows that are applied meanwhile count as not saved
        try:
            name, version = self.snapshots.write(self.served)
        except (OSError, ValueError) as error:
            log.exception("snapshot failed", extra={"model": self.model_id})
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise ServiceError(
                507, "snapshot-failed", f"the snapshot was not written: {reason}"
            ) from error
        self.saved_version, self._saved_rows = version, applied
        return name, version


class Snapshots:
    """The snapshots of one model: a start need not replay the whole history.

    They lie beside the store, in ``STORE.snapshots/MODEL``: the model ``VERSION``, its neighbour
    graph ``VERSION.graph.npz`` and ``VERSION.history.json``, which names the last event that it
    contains. A snapshot is used only if the store has this event: one that belongs to another
    history, for example because an older backup of the store was restored, is renamed to
    ``VERSION.foreign``. A damaged one is renamed to ``VERSION.damaged``. Since the store holds
    every event, an older snapshot or the trained model gives the same model after more events are
    replayed.
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

    def newest(
        self, versions: Sequence[int], digests: Mapping[int, str]
    ) -> tuple[Model, int, str] | None:
        """Load the newest undamaged snapshot of a history, given by the digests of its versions.

        One of version 0 would be the model as trained. Returns the model, its version and digest.
        `versions` were listed before the history was read: another process may have added some.
        """
        known = []
        for version in filter(None, versions):
            if version in digests and self._history(version) == digests[version]:
                known.append(version)
            else:
                self._set_aside(version, "foreign", "it belongs to another history of the model")
        for version in known:
            try:
                model = load(self._path(version), verify=True)
                read_graph(model, self._path(version))
                return model, version, digests[version]
            except (ModelFormatError, OSError) as error:
                self._set_aside(version, "damaged", str(error))
        return None

    def _history(self, version: int) -> str | None:
        """Return the digest of the last event that a snapshot contains; None if it is unknown."""
        try:
            content = json.loads(self._history_file(version).read_text(encoding="utf-8"))
            return str(content["digest"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _set_aside(self, version: int, ending: str, reason: str) -> None:
        """Rename a snapshot that is not to be used; an older one with this name is removed."""
        path = self._path(version)
        log.error("snapshot skipped", extra={"path": str(path), "reason": reason})
        with suppress(OSError):  # on a read-only disk it stays where it is
            aside = path.with_name(f"{path.name}.{ending}")
            aside.unlink(missing_ok=True)
            path.rename(aside)

    def write(self, served: ServedModel) -> tuple[str, int]:
        """Save the model as it is now, then remove all but the newest snapshots.

        Returns the name of the snapshot, relative to the folder of the store, and its version.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        model, graph, held = served.to_save()
        path = self._path(held.number)
        try:
            self._write_history(held.number, held.history)
            if graph is not None:
                write_graph(graph, path)
            save(model, path)
        finally:
            self._remove_leftovers()
        for old in self.versions()[self.kept :]:
            self._path(old).unlink(missing_ok=True)
            graph_file(self._path(old)).unlink(missing_ok=True)
            self._history_file(old).unlink(missing_ok=True)
        return str(path.relative_to(self.folder.parent.parent)), held.number

    def _write_history(self, version: int, digest: str) -> None:
        """Write which history a snapshot will contain, durable before the snapshot itself."""
        with replacing(self._history_file(version)) as beside:
            beside.write_text(json.dumps({"version": version, "digest": digest}), encoding="utf-8")

    def _remove_leftovers(self) -> None:
        """Remove what killed processes left an hour ago: unfinished files, parts alone.

        Younger ones may belong to a snapshot that another process is writing.
        """
        for file in self.folder.glob(f".*{UNFINISHED}"):
            remove_stale(self.folder / file.name[1:].removesuffix(UNFINISHED).rpartition(".")[0])
        oldest = time.time() - STALE_SECONDS
        for part in self.folder.glob("[0-9]*.*.*"):  # the graph and the history of a version
            with suppress(FileNotFoundError):  # another process may have removed it
                is_alone = not self._path(int(part.name.split(".")[0])).exists()
                if is_alone and part.stat().st_mtime < oldest:
                    part.unlink()

    def _history_file(self, version: int) -> Path:
        return self.folder / f"{version:012d}.history.json"

    def _path(self, version: int) -> Path:
        return self.folder / f"{version:012d}"


MODEL_SHARE = 50
"""A snapshot is due after one row per this many rows of the model, if that is more."""


Duty = Literal["preparing", "recalibrating", "saving"]


class Upkeep:
    """Work on one model beside its lessons: preparation, thresholds, snapshots.

    One after the other, so that lessons keep a core. A restart loads the newest snapshot and
    replays the rows taught after it, so the number of rows decides how long it takes, not the
    number of requests. Large models are saved less often, because writing them takes longer too.
    """

    def __init__(self, learner: Learner, rows: int) -> None:
        self._learner = learner
        self._rows = rows
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="upkeep")
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="snapshot")
        self._task: asyncio.Task[None] | None = None
        self.doing: Duty | Literal["nothing"] = "nothing"

    def begin(self) -> None:
        """Prepare the model for lessons, then do what is due after a long replay."""
        self._start("preparing")

    def after_change(self) -> None:
        """Start what is due, in the background."""
        duty = self._due()
        if duty is not None and (self._task is None or self._task.done()):
            self._start(duty)

    async def write(self) -> tuple[str, int]:
        """Write a snapshot now, after those that wait; return its name and version."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._saver, self._learner.snapshot)

    async def close(self) -> None:
        """Finish the snapshot being written, then save what it does not contain."""
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        await asyncio.get_running_loop().run_in_executor(self._saver, self._save_rest)
        self._saver.shutdown()

    def _save_rest(self) -> None:
        if self._learner.served.version > self._learner.saved_version:
            with suppress(ServiceError):  # logged; the store holds every event anyway
                self._learner.snapshot()

    def _due(self) -> Duty | None:
        """Return what is to be done next."""
        if self._learner.unsaved_rows >= max(self._rows, self._learner.n_rows // MODEL_SHARE):
            return "saving"
        return "recalibrating" if self._learner.served.is_stale else None

    def _start(self, duty: Duty) -> None:
        self.doing = duty
        self._task = asyncio.get_running_loop().create_task(self._run(duty))

    async def _run(self, first: Duty) -> None:
        """Do one thing after the other, as long as something is due and succeeds."""
        duty: Duty | None = first
        while duty is not None:
            self.doing = duty
            (error,) = await asyncio.gather(self._do(duty), return_exceptions=True)
            if error is not None:
                extra = {"model": self._learner.model_id, "work": duty, "reason": repr(error)}
                log.error("upkeep failed", extra=extra)
                break
            duty = self._due()
        self.doing = "nothing"

    async def _do(self, duty: Duty) -> None:
        """Do one thing: a snapshot, or work on the model with half of the cores."""
        if duty == "saving":
            await self.write()
            return
        served = self._learner.served
        work = served.prepare if duty == "preparing" else served.recalibrate

        def with_some_cores() -> None:
            with using_threads(max(1, thread_count() // 2)):
                work()

        await asyncio.get_running_loop().run_in_executor(self._thread, with_some_cores)
