"""One served model with everything around it: batches, changes, snapshots, descriptions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple, ParamSpec, TypeVar

from scipy import sparse

from vicinal.service import model_access
from vicinal.service.about import About
from vicinal.service.access import Access
from vicinal.service.batching import Batcher
from vicinal.service.description import Description
from vicinal.service.errors import ServiceError, bad_value
from vicinal.service.events import Change
from vicinal.service.learner import Learner, Request
from vicinal.service.limits import Limits, check_limits, check_most
from vicinal.service.model_access import Answer
from vicinal.service.planned_changes import Outcome
from vicinal.service.rows import Row
from vicinal.service.served_model import ServedModel
from vicinal.service.snapshot_schedule import SnapshotSchedule
from vicinal.service.telemetry import Metrics
from vicinal.service.without_features import MOST_ROWS, add_contributions

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")
COMMIT_ROWS = 4096
"""Most rows learned by one commit, from however many requests."""


class Query(NamedTuple):
    """Rows of one request and how many labels it wants scores of."""

    rows: Sequence[Row]
    top: int


class Predicted(NamedTuple):
    """Answers of one request and the version that gave them."""

    answers: list[Answer]
    version: int


class Engine:
    """Answers everything that is asked of one model.

    Parameters
    ----------
    model_id : str
    served : ServedModel
    learner : Learner or None
        None for a service without a store, which cannot learn.
    access : Access
    limits : Limits
    metrics : Metrics
    about : About
    """

    def __init__(
        self,
        model_id: str,
        served: ServedModel,
        learner: Learner | None,
        access: Access,
        limits: Limits,
        metrics: Metrics,
        about: About,
    ) -> None:
        self.id = model_id
        self.about = about
        self.loaded_at = datetime.now(UTC)
        self._served = served
        self._learner = learner
        self._limits = limits
        self._metrics = metrics
        self._description = Description(model_id, served, learner, access, about)
        self._schedule = (
            None if learner is None else SnapshotSchedule(learner, limits.rows_per_snapshot)
        )
        self._predictions: Batcher[Query, Predicted] = Batcher(
            self._predict,
            max_rows=limits.batch_rows,
            max_wait=limits.batch_wait_seconds,
            max_queued=limits.queued_rows,
            max_seconds=limits.answer_seconds,
            observe=metrics.batch_rows.labels(model_id).observe,
        )
        self._changes: Batcher[Request, list[Outcome]] = Batcher(
            self._process,
            max_rows=COMMIT_ROWS,
            max_wait=0.0,
            max_queued=limits.queued_rows,
            max_seconds=limits.answer_seconds,
        )
        self._update_gauges()

    @property
    def most_scores(self) -> int:
        """Largest ``top`` of a request."""
        return self._limits.top

    async def predict(self, rows: Sequence[Row], top: int) -> Predicted:
        """Return labels and scores, computed together with those of other requests."""
        self._check(rows)
        check_most("top", top, self._limits.top)
        return await self._predictions.submit(Query(rows, top), len(rows))

    def _predict(self, queries: list[Query]) -> list[Predicted]:
        """Answer a batch with one search."""
        rows = [row for query in queries for row in query.rows]
        X = self._served.reader.features(rows)
        with self._served.reading() as (estimator, number):
            found = model_access.answers(estimator, X, max(query.top for query in queries))
        results, start = [], 0
        for query in queries:
            own = found[start : start + len(query.rows)]
            start += len(query.rows)
            cut = [Answer(answer.labels, answer.scores[: query.top]) for answer in own]
            results.append(Predicted(cut, number))
        return results

    async def neighbors(
        self, rows: Sequence[Row], k: int | None
    ) -> tuple[list[list[dict[str, Any]]], int]:
        """Return the nearest training rows of each row."""
        self._check(rows)
        check_most("k", k or 0, self._limits.neighbors)
        return await self._in_thread(self._neighbors, rows, k)

    def _neighbors(
        self, rows: Sequence[Row], k: int | None
    ) -> tuple[list[list[dict[str, Any]]], int]:
        reader = self._served.reader
        X = reader.features(rows)
        with self._served.reading() as (estimator, number):
            return model_access.neighbors(estimator, X, k, reader.names), number

    async def explain(
        self, rows: Sequence[Row], labels: list[str] | None, top: int, without: bool = False
    ) -> tuple[list[dict[str, Any]], int]:
        """Return why each row gets its labels, and without which features scores would fall."""
        self._check(rows)
        check_most("top", top, self._limits.top)
        if without and len(rows) > MOST_ROWS:
            raise bad_value("rows", f"at most {MOST_ROWS} rows together with 'without'", len(rows))
        return await self._in_thread(self._explain, rows, labels, top, without)

    def _explain(
        self, rows: Sequence[Row], labels: list[str] | None, top: int, without: bool
    ) -> tuple[list[dict[str, Any]], int]:
        reader = self._served.reader
        X = reader.features(rows)
        with self._served.reading() as (estimator, number):
            found = model_access.explanations(estimator, X, labels, top, reader.names)
            if without and sparse.issparse(X):
                add_contributions(estimator, X, found, reader.names)
        return found, number

    async def change(self, *changes: Change) -> list[Outcome]:
        """Learn or forget rows: durable and applied when this returns."""
        for change in changes:
            if change.kind == "learn":
                check_limits(change.rows, self._limits)
            else:
                check_most("row_ids", len(change.rows), self._limits.rows)
        rows = sum(len(change.rows) for change in changes)
        try:
            outcomes = await self._changes.submit(changes, rows)
        except ServiceError as error:
            if error.code.startswith(("store", "disk")):
                self._metrics.store_failures.inc()
            raise
        for change, outcome in zip(changes, outcomes, strict=True):
            if not outcome.repeated:
                taught = self._metrics.taught.labels(self.id, change.kind)
                taught.inc(len(outcome.row_ids))
        self.save_if_due()
        return outcomes

    def _process(self, requests: list[Request]) -> list[list[Outcome] | Exception]:
        answers = self._required_learner().process(requests)
        self._update_gauges()
        return answers

    async def snapshot(self) -> tuple[str, int]:
        """Write the model folder now; return its path and version."""
        if self._schedule is None:
            raise _no_store()
        async with self._time_limit():
            return await self._schedule.write()

    def save_if_due(self) -> None:
        """Start writing a snapshot in the background if enough rows have changed."""
        if self._schedule is not None:
            self._schedule.write_if_due()

    async def close(self) -> None:
        """Finish what is waiting, then save what was learned."""
        await self._predictions.close()
        await self._changes.close()
        if self._schedule is not None:
            await self._schedule.close()

    async def facts(self) -> dict[str, Any]:
        """Return what is known of the model."""
        return await self._in_thread(self._description.facts)

    async def labels(self) -> tuple[dict[str, int], int]:
        """Return each label with the number of its rows, and the version."""
        return await self._in_thread(self._description.labels)

    async def examples(self) -> list[dict[str, str]]:
        """Return texts to try."""
        return await self._in_thread(self._description.examples)

    async def taught(self, count: int) -> tuple[list[dict[str, Any]], int]:
        """Return the newest changes, newest first."""
        return await self._in_thread(self._description.taught, count)

    async def alive_from(self, origin: str) -> list[int]:
        """Return the rows that came from one object of another program and are still there."""
        learner = self._required_learner()

        def find() -> list[int]:
            events = learner.store.by_origin(self.id, origin)
            ids = [i for event in events if event.change.kind == "learn" for i in event.row_ids]
            return learner.alive(ids)

        return await self._in_thread(find)

    def _required_learner(self) -> Learner:
        if self._learner is None:
            raise _no_store()
        return self._learner

    def _check(self, rows: Sequence[Row]) -> None:
        """Refuse rows beyond the limits of this service, or that the model cannot take."""
        check_limits(rows, self._limits)
        self._served.reader.check(rows)

    def _update_gauges(self) -> None:
        """Show rows and version in the metrics."""
        with self._served.reading() as (estimator, number):
            self._metrics.rows.labels(self.id).set(len(model_access.row_ids(estimator)))
            self._metrics.version.labels(self.id).set(number)

    async def _in_thread(
        self,
        function: Callable[Arguments, Value],
        *arguments: Arguments.args,
        **more: Arguments.kwargs,
    ) -> Value:
        """Run a function beside the event loop, within the time limit."""
        async with self._time_limit():
            return await asyncio.to_thread(function, *arguments, **more)

    @asynccontextmanager
    async def _time_limit(self) -> AsyncIterator[None]:
        """Give up waiting after the time limit."""
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                yield
        except TimeoutError:
            raise ServiceError(504, "too-slow", "no result within the time limit") from None


def _no_store() -> ServiceError:
    return ServiceError(409, "no-store", "this service has no store: start it with --store")
