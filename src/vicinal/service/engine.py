"""One served model with everything around it: batches, changes, snapshots, descriptions."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from scipy import sparse

from vicinal.service import served_model
from vicinal.service.access import Access
from vicinal.service.learner import Learner, Outcome, Request, SnapshotSchedule
from vicinal.service.limits import Limits, ServiceError, bad_value, check_limits, check_most
from vicinal.service.rows import Row
from vicinal.service.served_model import MOST_ROWS, Answer, ServedModel, add_contributions
from vicinal.service.store import Change, Event
from vicinal.service.telemetry import ServiceMetrics


@dataclass(frozen=True)
class About:
    """Example texts, metrics and names of the labels of one model.

    Parameters
    ----------
    examples : sequence of (title, text)
        Texts to try on the page; by default, words of a few training rows.
    metrics : mapping or None
        ServiceMetrics of the last evaluation.
    vocabulary : mapping
        For the Annif dialect: label name → (label in words, notation).
    """

    examples: Sequence[tuple[str, str]] = ()
    metrics: Mapping[str, float | None] | None = None
    vocabulary: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)


Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    """Collects items of concurrent requests and hands them to one function, in one thread.

    A batch holds the items that arrived while the previous batch was computed and those that arrive
    during a short wait, up to the largest size. Batches run one at a time, in the order of arrival.

    Parameters
    ----------
    run : callable
        Takes a list of items, returns for each its result or an exception.
    max_rows : int
        Largest size of a batch; a larger item is a batch of its own.
    max_wait : float
        Seconds that a smaller batch waits for further items.
    max_queued : int
        Rows that may wait; further items are refused.
    max_seconds : float
        How long an item may wait for its result.
    observe : callable, optional
        Called with the number of rows of each batch.
    """

    def __init__(
        self,
        run: Callable[[list[Item]], Sequence[Result | Exception]],
        *,
        max_rows: int,
        max_wait: float,
        max_queued: int,
        max_seconds: float,
        observe: Callable[[int], None] | None = None,
    ) -> None:
        self._run = run
        self._max_rows = max_rows
        self._max_wait = max_wait
        self._max_queued = max_queued
        self._max_seconds = max_seconds
        self._observe = observe
        self._waiting: deque[tuple[Item, int, asyncio.Future[Result]]] = deque()
        self._rows = 0
        self._closing = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batch")
        self._loop: asyncio.AbstractEventLoop | None = None

    async def submit(self, item: Item, rows: int) -> Result:
        """Return the result of one item, computed with those of other requests."""
        if self._closing:
            raise ServiceError(503, "stopping", "the service is shutting down; retry elsewhere")
        if self._waiting and self._rows + rows > self._max_queued:
            raise ServiceError(503, "overloaded", "too many requests are waiting; retry later")
        self._start()
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, rows, future))
        self._rows += rows
        self._arrived.set()
        if self._rows >= self._max_rows:
            self._full.set()
        try:
            async with asyncio.timeout(self._max_seconds):
                return await future
        except TimeoutError:
            raise ServiceError(
                504,
                "too-slow",
                f"no result within {self._max_seconds:g} s. A change may still be carried out: "
                "repeat it with the same idempotency key",
            ) from None

    def _start(self) -> None:
        """Start the worker in the running event loop, where the first item arrives."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        self._waiting.clear()  # of a loop that is closed, if anything
        self._rows = 0
        self._arrived = asyncio.Event()
        self._full = asyncio.Event()
        self._worker = loop.create_task(self._work())

    async def close(self) -> None:
        """Finish what is waiting, then stop."""
        self._closing = True
        if self._loop is asyncio.get_running_loop():
            self._arrived.set()
            self._full.set()
            await self._worker
        self._thread.shutdown()

    async def _work(self) -> None:
        """Run batches until closed."""
        loop = asyncio.get_running_loop()
        while True:
            await self._arrived.wait()
            if not self._waiting:
                if self._closing:
                    return
                self._arrived.clear()
                continue
            await self._wait_for_more()
            batch = self._take()
            items = [item for item, _, _ in batch]
            running = loop.run_in_executor(self._thread, self._run, items)
            outcome = (await asyncio.gather(running, return_exceptions=True))[0]
            results = [outcome] * len(batch) if isinstance(outcome, BaseException) else outcome
            for (_, _, future), result in zip(batch, results, strict=True):
                if future.done():  # its request gave up
                    continue
                if isinstance(result, BaseException):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    async def _wait_for_more(self) -> None:
        """Wait until the batch is full or the wait is over."""
        if self._max_wait <= 0 or self._rows >= self._max_rows or self._closing:
            return
        self._full.clear()
        try:
            async with asyncio.timeout(self._max_wait):
                await self._full.wait()
        except TimeoutError:
            return

    def _take(self) -> list[tuple[Item, int, "asyncio.Future[Result]"]]:
        """Return the items of the next batch."""
        batch = [self._waiting.popleft()]
        rows = batch[0][1]
        while self._waiting and rows + self._waiting[0][1] <= self._max_rows:
            batch.append(self._waiting.popleft())
            rows += batch[-1][1]
        self._rows -= rows
        if self._observe is not None:
            self._observe(rows)
        return batch


SHOWN_CHARACTERS = 300
"""How much of a taught text the list of changes shows."""
SHOWN_EXAMPLES = 6
"""Training rows offered as examples where none were given."""


class Description:
    """Describes one served model; every method reads one whole version.

    Parameters
    ----------
    model_id : str
    served : ServedModel
    learner : Learner or None
        None for a model that cannot be taught.
    access : Access
    about : About
    """

    def __init__(
        self,
        model_id: str,
        served: ServedModel,
        learner: Learner | None,
        access: Access,
        about: About,
    ) -> None:
        self._id = model_id
        self._served = served
        self._learner = learner
        self._access = access
        self._about = about

    def facts(self) -> dict[str, Any]:
        """Return method, numbers of rows and labels, version, and what the model can do."""
        metrics = self._about.metrics
        with self._served.reading() as (estimator, number):
            return {
                "id": self._id,
                "method": type(estimator).__name__,
                "rows": len(served_model.row_ids(estimator)),
                "labels": len(estimator.label_names_),
                "features": self._served.reader.n_features,
                "version": number,
                "reads_text": self._served.reader.reads_text,
                "can_learn": self._learner is not None and served_model.can_learn(estimator),
                "writes": self._access.writes,
                "metrics": None if metrics is None else dict(metrics),
            }

    def labels(self) -> tuple[dict[str, int], int]:
        """Return each label with the number of its rows, and the version."""
        with self._served.reading() as (estimator, number):
            return served_model.label_counts(estimator), number

    def examples(self) -> list[dict[str, str]]:
        """Return texts to try: those given, or words of training rows."""
        if not self._served.reader.reads_text:
            return []
        if self._about.examples:
            return [{"title": title, "text": text} for title, text in self._about.examples]
        with self._served.reading() as (estimator, _):
            names = self._served.reader.names
            return served_model.example_words(estimator, names, SHOWN_EXAMPLES)

    def taught(self, count: int) -> tuple[list[dict[str, Any]], int]:
        """Return the newest changes, newest first, and the version."""
        version = self._served.version
        if self._learner is None:
            return [], version
        events = self._learner.store.latest(self._id, count)
        return [_shown(event, self._learner) for event in events if event.refused is None], version


def _shown(event: Event, learner: Learner) -> dict[str, Any]:
    """Return a change as the page lists it."""
    is_learned = event.change.kind == "learn"
    rows = [
        {"labels": row["labels"], "text": row.get("text", "(features)")[:SHOWN_CHARACTERS]}
        for row in (event.change.rows if is_learned else ())
    ]
    return {
        "version": event.version,
        "kind": event.change.kind,
        "row_ids": list(event.row_ids),
        "taught_at": event.taught_at,
        "rows": rows,
        "undone": is_learned and not learner.alive(event.row_ids),
    }


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
    metrics : ServiceMetrics
    about : About
    """

    def __init__(
        self,
        model_id: str,
        served: ServedModel,
        learner: Learner | None,
        access: Access,
        limits: Limits,
        metrics: ServiceMetrics,
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
            found = served_model.answers(estimator, X, max(query.top for query in queries))
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
            return served_model.neighbors(estimator, X, k, reader.names), number

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
            found = served_model.explanations(estimator, X, labels, top, reader.names)
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
            self._metrics.rows.labels(self.id).set(len(served_model.row_ids(estimator)))
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
