"""One served model with everything around it: batches, changes, snapshots, descriptions."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar

from vicinal._core.arrays import Features, Int
from vicinal._core.progress import stopped_by
from vicinal.methods import NeighborEstimator
from vicinal.service import served_model
from vicinal.service.access import Access
from vicinal.service.learner import (
    Learner,
    Outcome,
    Replacement,
    Request,
    Upkeep,
    contains_id,
)
from vicinal.service.limits import (
    Limits,
    ServiceError,
    Stop,
    bad_value,
    check_limits,
    check_most,
    stopping,
)
from vicinal.service.request_rows import Row, cost_of
from vicinal.service.served_model import MOST_ROWS, PORTION_ROWS, Prediction, ServedModel
from vicinal.service.store import Change, Event
from vicinal.service.telemetry import ServiceMetrics


@dataclass(frozen=True)
class About:
    """Example texts, metrics and names of the labels of one model."""

    examples: Sequence[tuple[str, str]] = ()
    metrics: Mapping[str, float | None] | None = None
    vocabulary: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)


Item = TypeVar("Item")
Result = TypeVar("Result")
Waiting = tuple[Item, int, "asyncio.Future[Result]"]
"""An item that waits for its batch, its rows, and its result to come."""


class Batcher(Generic[Item, Result]):
    """Collects items of concurrent requests and hands them to one function, in one thread.

    A batch holds the items that arrived while the previous batch was computed and those that arrive
    during a short wait, up to the largest size. Batches run one at a time, in the order of arrival.
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
        self._waiting: deque[Waiting[Item, Result]] = deque()
        self._rows = 0
        self._closing = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batch")
        self._loop: asyncio.AbstractEventLoop | None = None

    async def submit(self, item: Item, rows: int) -> Result:
        """Return the result of one item, computed with those of other requests."""
        if self._closing:
            raise stopping()
        if self._waiting and self._rows + rows > self._max_queued:
            raise ServiceError(503, "overloaded", "too many requests are waiting; retry later")
        self._start()
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        waiting = (item, rows, future)
        self._waiting.append(waiting)
        self._rows += rows
        self._arrived.set()
        if self._rows >= self._max_rows:
            self._full.set()
        try:
            async with asyncio.timeout(self._max_seconds):
                return await future
        except TimeoutError:
            self._give_up(waiting)
            raise ServiceError(
                504,
                "too-slow",
                f"no result within {self._max_seconds:g} s. A change may still be carried out: "
                "repeat it with the same idempotency key",
            ) from None

    def _give_up(self, waiting: "Waiting[Item, Result]") -> None:
        """Let go of an item that still waits: nobody counts its bytes any longer."""
        for place, other in enumerate(self._waiting):
            if other is waiting:
                del self._waiting[place]
                self._rows -= waiting[1]
                return

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
        while True:
            await self._arrived.wait()
            if not self._waiting:
                if self._closing:
                    return
                self._arrived.clear()
                continue
            await self._wait_for_more()
            batch = self._take()
            if not batch:
                continue
            results = await self._results([item for item, _, _ in batch])
            for (_, _, future), result in zip(batch, results, strict=True):
                if future.done():  # its request gave up
                    continue
                if isinstance(result, BaseException):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    async def _results(self, items: list[Item]) -> Sequence[Result | BaseException]:
        """Compute a batch; if it fails, its items one by one, so that only the bad ones fail."""
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._run, items)
        (outcome,) = await asyncio.gather(running, return_exceptions=True)
        if not isinstance(outcome, BaseException):
            return outcome
        if len(items) == 1:
            return [outcome]
        return [result for item in items for result in await self._results([item])]

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

    def _take(self) -> "list[Waiting[Item, Result]]":
        """Return the items of the next batch; those whose requests gave up are left out."""
        batch: list[Waiting[Item, Result]] = []
        rows = 0
        while self._waiting and (not batch or rows + self._waiting[0][1] <= self._max_rows):
            item = self._waiting.popleft()
            self._rows -= item[1]
            if not item[2].done():
                batch.append(item)
                rows += item[1]
        if batch and self._observe is not None:
            self._observe(rows)
        return batch


SHOWN_CHARACTERS = 300
"""How much of a taught text the list of changes shows."""
TAUGHT_BYTES = 2**22
"""Bytes of changes that one list of them is made from: 4 MiB."""
SHOWN_EXAMPLES = 6
"""Training rows offered as examples where none were given."""


class Description:
    """Describes one served model; every method reads one whole version."""

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
        with self._served.reading() as (estimator, number, _):
            calibration = served_model.state_of(estimator).calibration
            return {
                "id": self._id,
                "method": type(estimator).__name__,
                "rows": len(served_model.row_ids(estimator)),
                "labels": len(served_model.state_of(estimator).label_names),
                "features": self._served.reader.n_features,
                "version": number,
                "rows_since_threshold": calibration.learned + calibration.forgotten,
                "reads_text": self._served.reader.reads_text,
                "columns": self._served.reader.columns,
                "can_learn": self._learner is not None and served_model.can_learn(estimator),
                "writes": self._access.writes,
                "metrics": None if metrics is None else dict(metrics),
            }

    def labels(self, contains: str, offset: int, limit: int) -> dict[str, Any]:
        """Return some labels with the number of their rows, how many there are, and the version."""
        with self._served.reading() as (estimator, number, _):
            counts = served_model.label_counts(estimator)
        part = contains.casefold()
        found = [(label, rows) for label, rows in counts.items() if part in label.casefold()]
        shown = [{"label": label, "rows": rows} for label, rows in found[offset : offset + limit]]
        return {"labels": shown, "total": len(found), "version": number}

    def examples(self) -> list[dict[str, str]]:
        """Return texts to try: those given, or words of training rows."""
        if not self._served.reader.reads_text:
            return []
        if self._about.examples:
            return [{"title": title, "text": text} for title, text in self._about.examples]
        with self._served.reading() as (estimator, _, _):
            names = self._served.reader.names
            return served_model.example_words(estimator, names, SHOWN_EXAMPLES)

    def taught(self, count: int) -> tuple[list[dict[str, Any]], int]:
        """Return the newest changes, newest first, and the version."""
        with self._served.reading() as (estimator, version, _):
            known = served_model.row_ids(estimator)
        if self._learner is None:
            return [], version
        events = self._learner.store.latest(self._id, version, count, TAUGHT_BYTES)
        return [_shown(event, known) for event in events], version


def _text_of(row: Row) -> str:
    """Return the text of a row, or its texts and categories, the longest first."""
    cells = [cell for cell in row.get("features", {}).values() if isinstance(cell, str)]
    together = " · ".join(sorted(cells, key=len, reverse=True))
    text: str = row.get("text", together or "(features)")
    return text


def _shown(event: Event, known: Int) -> dict[str, Any]:
    """Return a change as the page lists it; `known` are the ids of the rows that are there."""
    is_learned = event.change.kind == "learn"
    rows = [
        {"labels": row["labels"], "text": _text_of(row)[:SHOWN_CHARACTERS]}
        for row in (event.change.rows if is_learned else ())
    ]
    return {
        "version": event.version,
        "kind": event.change.kind,
        "row_ids": list(event.row_ids),
        "taught_at": event.taught_at,
        "rows": rows,
        "undone": is_learned and not any(contains_id(known, row) for row in event.row_ids),
    }


Value = TypeVar("Value")
SLOW_THREADS = 2
"""Threads for neighbours, explanations and large predictions of one model."""
QUICK_THREADS = 2
"""Threads for descriptions of one model."""
MOST_WAITING = 64
"""Requests that may wait for one of these threads."""
INLINE_SCORES = 2000
"""Predictions with more scores than this are computed, and written as JSON, in a slow thread."""


class Query(NamedTuple):
    """Rows of one request and how many labels it wants scores of."""

    rows: Sequence[Row]
    top: int
    with_label_scores: bool = False


class Predicted(NamedTuple):
    """Predictions for the rows of one request and the version that gave them."""

    rows: list[Prediction]
    version: int


Work = Callable[[Stop], bytes]
"""Long work that returns a reply."""


class Engine:
    """Answers everything that is asked of one model."""

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
        self._upkeep = None if learner is None else Upkeep(learner, limits.rows_per_snapshot)
        self._slow = ThreadPoolExecutor(SLOW_THREADS, thread_name_prefix="slow")
        self._quick = ThreadPoolExecutor(QUICK_THREADS, thread_name_prefix="quick")
        self._running: set[Stop] = set()
        self._takes_long_work = True
        self._ending = Stop()
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
            max_rows=limits.rows,  # a commit, and so a stop, waits no longer than for one request
            max_wait=0.0,
            max_queued=limits.queued_rows,
            max_seconds=limits.answer_seconds,
        )
        self._update_gauges()

    @property
    def version(self) -> int:
        """The newest version of the model."""
        return self._served.version

    def is_large(self, rows: Sequence[Row], top: int) -> bool:
        """Tell whether a request is predicted alone, so that smaller ones do not wait for it."""
        return cost_of(rows) > self._limits.batch_rows or len(rows) * top > INLINE_SCORES

    async def predict(
        self,
        rows: Sequence[Row],
        top: int,
        show: Callable[[Predicted], object],
        with_label_scores: bool = False,
    ) -> bytes:
        """Return the reply that shows labels and scores, all by one version.

        A small request is computed together with those of other clients.
        """
        self._check(rows)
        self._check_top(rows, top)
        query = Query(rows, top, with_label_scores)
        if not self.is_large(rows, top):
            return self.as_bytes(show(await self._predictions.submit(query, cost_of(rows))))
        return await self._slowly(
            lambda stop: self.as_bytes(show(self._predict_alone(stop, query)))
        )

    def _predict(self, queries: list[Query]) -> list[Predicted]:
        """Answer a batch with one search."""
        rows = [row for query in queries for row in query.rows]
        X = self._served.reader.read(rows)
        top = max(query.top for query in queries)
        own_scores = any(query.with_label_scores for query in queries)
        with self._served.reading() as (estimator, number, _), refusals():
            found = served_model.predictions(estimator, X, top, own_scores)
        results, start = [], 0
        for query in queries:
            own = found[start : start + len(query.rows)]
            start += len(query.rows)
            cut = [each._replace(scores=each.scores[: query.top]) for each in own]
            results.append(Predicted(cut, number))
        return results

    def _predict_alone(self, stop: Stop, query: Query) -> Predicted:
        """Answer one large request, portion by portion."""
        found: list[Prediction] = []
        with self._served.reading() as (estimator, number, _), refusals():
            for start in range(0, len(query.rows), PORTION_ROWS):
                stop()
                X = self._served.reader.read(query.rows[start : start + PORTION_ROWS])
                found += served_model.predictions(estimator, X, query.top, query.with_label_scores)
        return Predicted(found, number)

    async def predict_and_explain(self, rows: Sequence[Row], top: int) -> bytes:
        """Return the reply with labels, scores and explanations, all by one version."""
        self._check(rows)
        self._check_top(rows, top)
        self._check_explained(rows, top)

        def shown(estimator: NeighborEstimator, X: Features) -> Iterator[object]:
            found = served_model.predictions(estimator, X, top)
            why = served_model.explanations(estimator, X, None, top, self._served.reader.names)
            for prediction, explanation in zip(found, why, strict=True):
                yield {**self._shown(prediction), "explanation": explanation}

        return await self._listed(rows, shown)

    async def neighbors(self, rows: Sequence[Row], k: int | None) -> bytes:
        """Return the reply with the nearest training rows of each row."""
        self._check(rows)
        check_most("k", k or 0, self._limits.neighbors)
        with self._served.reading() as held:
            width = k or served_model.shown_neighbors(held.estimator)
        self._check_product(rows, width, self._limits.neighbor_cells, f"k = {width}")

        def shown(estimator: NeighborEstimator, X: Features) -> Iterator[object]:
            for near in served_model.neighbors(estimator, X, k, self._served.reader.names):
                yield {"neighbors": near}

        return await self._listed(rows, shown)

    async def explain(
        self, rows: Sequence[Row], labels: list[str] | None, top: int, without: bool = False
    ) -> bytes:
        """Return the reply that says why each row gets its labels."""
        self._check(rows)
        check_most("top", top, self._limits.top)
        self._check_explained(rows, top if labels is None else len(labels))
        if without and len(rows) > MOST_ROWS:
            raise bad_value("rows", f"at most {MOST_ROWS} rows together with 'without'", len(rows))
        reader = self._served.reader

        def shown(estimator: NeighborEstimator, X: Features) -> Iterator[object]:
            if labels is not None:
                known = frozenset(served_model.state_of(estimator).label_names)
                if unknown := next((label for label in labels if label not in known), None):
                    raise bad_value("labels", "labels of the model", unknown)
            why = served_model.explanations(estimator, X, labels, top, reader.names, without)
            for each, row in zip(why, rows, strict=True):
                yield {**each, "words": reader.words(row)}

        return await self._listed(rows, shown)

    def show(self, predicted: Predicted) -> dict[str, Any]:
        """Return the content of the reply to a request for predictions."""
        results = [self._shown(prediction) for prediction in predicted.rows]
        return {"results": results, "version": predicted.version}

    def _shown(self, prediction: Prediction) -> dict[str, Any]:
        """Return the labels and scores of one row, with the labels in words if they are known."""
        scores = [{"label": label, "score": score} for label, score in prediction.scores]
        shown: dict[str, Any] = {"labels": prediction.labels, "scores": scores}
        if prediction.as_taught is not None:
            shown["as_taught"] = prediction.as_taught
        if words := self.about.vocabulary:
            every = (*prediction.labels, *(label for label, _ in prediction.scores))
            shown["names"] = {label: words[label][0] for label in every if label in words}
        return shown

    async def change(self, *changes: Change | Replacement) -> list[Outcome]:
        """Learn, replace or forget rows: durable and applied when this returns."""
        for change in changes:
            if isinstance(change, Change) and change.kind == "forget":
                check_most("row_ids", len(change.rows), self._limits.rows)
            else:
                check_limits(change.rows, self._limits)
        self._required_learner()
        rows = sum(max(1, len(change.rows)) for change in changes)  # one that forgets has no rows
        try:
            outcomes = await self._changes.submit(changes, rows)
        except ServiceError as error:
            if error.code.startswith(("store", "disk")):
                self._metrics.store_failures.inc()
            raise
        if self._upkeep is not None:
            self._upkeep.after_change()
        return outcomes

    def _process(self, requests: list[Request]) -> list[list[Outcome] | Exception]:
        learner = self._required_learner()
        before = learner.counted.copy()
        with stopped_by(self._ending):
            results = learner.process(requests)
        for kind, count in (learner.counted - before).items():
            self._metrics.taught.labels(self.id, kind).inc(count)
        self._update_gauges()
        return results

    async def snapshot(self) -> tuple[str, int]:
        """Write a snapshot now; return its name and version."""
        if self._upkeep is None:
            raise _no_store()
        async with self._time_limit():
            return await self._upkeep.write()

    def begin(self) -> None:
        """Start what can be done in the background before the first request."""
        if self._upkeep is not None:
            self._upkeep.begin()

    def stop_long_work(self) -> None:
        """Stop neighbours, explanations and large predictions at their next step; take no more."""
        self._takes_long_work = False
        for stop in self._running:
            stop.set()

    async def close(self) -> None:
        """Stop long work, finish the rest, then save what was learned.

        Every request has ended by now: changes that are still computed are not committed.
        """
        self.stop_long_work()
        self._ending.set()
        await self._predictions.close()
        await self._changes.close()
        for pool in (self._slow, self._quick):
            pool.shutdown(wait=False, cancel_futures=True)
        if self._upkeep is not None:
            await self._upkeep.close()

    async def facts(self) -> dict[str, Any]:
        """Return what is known of the model."""
        doing = "nothing" if self._upkeep is None else self._upkeep.doing
        return {**await self._quickly(self._description.facts), "upkeep": doing}

    async def labels(self, contains: str, offset: int, limit: int) -> bytes:
        """Return the reply with some labels and the number of their rows."""
        return await self._quickly(
            lambda: self.as_bytes(self._description.labels(contains, offset, limit))
        )

    async def examples(self) -> list[dict[str, str]]:
        """Return texts to try."""
        return await self._quickly(self._description.examples)

    async def taught(self, count: int) -> bytes:
        """Return the reply with the newest changes, newest first."""

        def reply() -> bytes:
            taught, version = self._description.taught(count)
            return self.as_bytes({"taught": taught, "version": version})

        return await self._quickly(reply)

    def as_bytes(self, content: object) -> bytes:
        """Return the JSON of a reply, unless it is too large."""
        body = to_json(content)
        self._check_reply(len(body))
        return body

    async def _listed(
        self,
        rows: Sequence[Row],
        shown: Callable[[NeighborEstimator, Features], Iterable[object]],
    ) -> bytes:
        """Return a reply by one version, a result per row: JSON before the next is computed."""

        def work(stop: Stop) -> bytes:
            X, parts, size = self._served.reader.read(rows), list[bytes](), 0
            with self._served.reading() as (estimator, number, _), refusals(), stopped_by(stop):
                for result in shown(estimator, X):
                    stop()
                    parts.append(to_json(result))
                    size += len(parts[-1]) + 1
                    self._check_reply(size)
            return b'{"results":[%b],"version":%d}' % (b",".join(parts), number)

        return await self._slowly(work)

    def _check_reply(self, size: int) -> None:
        if size > self._limits.reply_bytes:
            most = f"the reply is larger than {self._limits.reply_bytes:,} bytes: ask for less"
            raise ServiceError(422, "reply-too-large", most)

    def _required_learner(self) -> Learner:
        if self._learner is None:
            raise _no_store()
        return self._learner

    def _check(self, rows: Sequence[Row]) -> None:
        """Refuse rows beyond the limits of this service, or that the model cannot take."""
        check_limits(rows, self._limits)
        self._served.reader.check(rows)

    def _check_top(self, rows: Sequence[Row], top: int) -> None:
        check_most("top", top, self._limits.top)
        self._check_product(rows, top, self._limits.scores, f"top = {top}")

    def _check_explained(self, rows: Sequence[Row], labels: int) -> None:
        self._check_product(rows, labels, self._limits.explained_labels, f"{labels} labels each")

    def _check_product(self, rows: Sequence[Row], width: int, most: int, what: str) -> None:
        """Refuse several rows that ask for more than `most` together."""
        if len(rows) * width > most and len(rows) > 1:
            raise bad_value("rows", f"at most {max(1, most // width)} rows for {what}", len(rows))

    def _update_gauges(self) -> None:
        """Show rows and version in the metrics."""
        with self._served.reading() as (estimator, number, _):
            self._metrics.rows.labels(self.id).set(len(served_model.row_ids(estimator)))
            self._metrics.version.labels(self.id).set(number)

    async def _quickly(self, function: Callable[[], Value]) -> Value:
        """Run a short function beside the event loop, within the time limit."""
        async with self._time_limit():
            return await asyncio.get_running_loop().run_in_executor(self._quick, function)

    async def _slowly(self, work: Work) -> bytes:
        """Run long work in a thread of its own kind.

        It is stopped at its next row or label when its time is over, when its client has gone, and
        when the service ends.
        """
        if not self._takes_long_work:
            raise stopping()
        if len(self._running) >= MOST_WAITING:
            raise ServiceError(503, "overloaded", "too many requests are waiting; retry later")
        stop = Stop()
        waiting = [work]  # emptied when nobody waits: the queue of the threads keeps what it got

        def run() -> bytes:
            stop()
            reply = waiting.pop()(stop)
            stop()
            return reply

        self._running.add(stop)
        try:
            async with self._time_limit():
                return await asyncio.get_running_loop().run_in_executor(self._slow, run)
        finally:
            stop.set()
            waiting.clear()
            self._running.discard(stop)

    @asynccontextmanager
    async def _time_limit(self) -> AsyncIterator[None]:
        """Give up waiting after the time limit."""
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                yield
        except TimeoutError:
            raise ServiceError(504, "too-slow", "no result within the time limit") from None


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what a model refuses into a reply; its message names an argument, not the data."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ServiceError(422, "refused-by-model", f"rows: {error}"[:300]) from error


def to_json(content: object) -> bytes:
    """Return JSON, without validating again what the service itself computed."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _no_store() -> ServiceError:
    return ServiceError(409, "no-store", "this service has no store: start it with --store")
