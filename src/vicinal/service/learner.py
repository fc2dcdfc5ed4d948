"""Changes to a model: checked, committed, applied, and only then acknowledged.

The order is: check → commit to the store → apply to the model → reply. A crash after the commit
loses nothing, because the next start replays every change that the newest snapshot does not
contain. A client that got no reply sends its request again with the same idempotency key and gets
the result of the first one.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from vicinal.service import model_access
from vicinal.service.errors import ConflictError, ServiceError
from vicinal.service.events import Change, Event
from vicinal.service.planned_changes import Outcome, PlannedChanges, contains_id
from vicinal.service.served_model import ServedModel
from vicinal.service.snapshots import Snapshots
from vicinal.service.store import Store

REPLAY_BYTES = 2**25
"""Events read from the store at once, in bytes of their rows: 32 MiB."""

ATTEMPTS = 5
"""Tries of a commit while another process teaches the same model."""

log = logging.getLogger("vicinal.service")


Request = tuple[Change, ...]
"""Changes of one request; made together or not at all."""


class Learner:
    """Makes the changes to one model, in order. Call it from one thread at a time.

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
            return len(model_access.row_ids(estimator))

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
                model_access.next_row_id(estimator),
                model_access.row_ids(estimator),
                model_access.can_learn(estimator),
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
            known = model_access.row_ids(estimator)
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
