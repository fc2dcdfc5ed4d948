"""When snapshots are written: so often that a restart replays few rows."""

import asyncio
import logging

from vicinal.service.errors import ServiceError
from vicinal.service.learner import Learner

MODEL_SHARE = 50
"""A snapshot is due after one row per this many rows of the model, if that is more."""

log = logging.getLogger("vicinal.service")


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
