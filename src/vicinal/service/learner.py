"""Teaching a model so that nothing acknowledged is ever lost.

The order is: check → commit to the store → apply to the model → reply. A crash after the commit
loses nothing, since a start replays what the newest snapshot does not contain. A client that got no
reply repeats its request with the same idempotency key, and is told what the first one did.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

import numpy as np

from vicinal._base.arrays import Int
from vicinal.service import model_access
from vicinal.service.errors import ConflictError, ServiceError, bad_value
from vicinal.service.events import Change, Event
from vicinal.service.served_model import ServedModel
from vicinal.service.snapshots import Snapshots
from vicinal.service.store import Store

REPLAY_EVENTS = 2000
"""Events read from the store at once."""

ATTEMPTS = 5
"""Tries of a commit while another process teaches the same model."""

log = logging.getLogger("vicinal.service")


class Outcome(NamedTuple):
    """What a change did: ids of the rows, the version it made, whether it was made before."""

    row_ids: tuple[int, ...]
    version: int
    repeated: bool = False


Request = tuple[Change, ...]
"""Changes that one request asks for; carried out together or not at all."""


class Learner:
    """Carries out changes of one model, in order. Called from one thread at a time.

    Parameters
    ----------
    model_id : str
    served : ServedModel
    store : Store
    snapshots : Snapshots
    """

    def __init__(
        self, model_id: str, served: ServedModel, store: Store, snapshots: Snapshots
    ) -> None:
        self.model_id = model_id
        self.served = served
        self.store = store
        self.snapshots = snapshots

    def replay(self) -> int:
        """Apply every event that the model does not contain yet; return how many."""
        before = self.served.version
        while events := self.store.after(self.model_id, self.served.version, REPLAY_EVENTS):
            self._apply(events)
        return self.served.version - before

    def process(self, requests: Sequence[Request]) -> list[list[Outcome] | Exception]:
        """Carry out requests: one commit for all, one update per run of equal kinds.

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
        """Carry out requests, unless another process commits the same version first."""
        self.replay()
        with self.served.reading() as (estimator, number):
            stage = _Stage(
                self.model_id,
                number,
                model_access.next_row_id(estimator),
                model_access.row_ids(estimator),
                model_access.can_learn(estimator),
            )
        answers: list[list[Outcome] | Exception] = []
        for request in requests:
            try:
                answers.append([self._plan(stage, change) for change in request])
                stage.keep()
            except ServiceError as error:
                stage.drop()
                answers.append(error)
        try:
            refused = self._carry_out(stage.kept)
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

    def _plan(self, stage: "_Stage", change: Change) -> Outcome:
        """Return what a change will do, after all that can be checked before the commit is."""
        if change.key is not None:
            earlier = stage.by_key(change.key) or self.store.by_key(self.model_id, change.key)
            if earlier is not None:
                return _repeated(earlier, change)
        if change.kind == "learn":
            self.served.reader.check(change.rows)
        return stage.add(change)

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
        try:
            path, version = self.snapshots.write(self.served)
        except (OSError, ValueError) as error:
            raise ServiceError(
                507, "snapshot-failed", f"the snapshot was not written: {error}"
            ) from error
        return str(path), version

    def alive(self, ids: Iterable[int]) -> list[int]:
        """Return those of the row ids that the model still contains."""
        with self.served.reading() as (estimator, _):
            known = model_access.row_ids(estimator)
            return [row_id for row_id in ids if _contains(known, row_id)]


class _Stage:
    """Events planned for one commit, with the row ids they will give and take."""

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
            is_there = is_new or _contains(self._known, row_id)
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


def _what(event: Event) -> str:
    """Return what to do with an event: learn, forget, or nothing."""
    return "nothing" if event.refused is not None else event.change.kind


def _contains(known: Int, row_id: int) -> bool:
    """Tell whether rising ids contain one."""
    place = int(np.searchsorted(known, row_id))
    return place < len(known) and int(known[place]) == row_id


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
