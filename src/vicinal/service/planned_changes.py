"""Changes checked and numbered before they are committed; a request is kept whole or not at all."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from vicinal._base.arrays import Int
from vicinal.service.errors import ServiceError, bad_value
from vicinal.service.events import Change, Event


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
        Version of the model before the commit.
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
