"""One served model with everything around it: batches, the learner, snapshots."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, ParamSpec, TypeVar

from vicinal.service import model_access
from vicinal.service.access import Access
from vicinal.service.batching import Batcher
from vicinal.service.errors import ServiceError
from vicinal.service.events import Change, Event
from vicinal.service.learner import Learner, Outcome, Request
from vicinal.service.limits import Limits
from vicinal.service.model_access import Answer
from vicinal.service.rows import Row
from vicinal.service.served_model import ServedModel
from vicinal.service.telemetry import Metrics

log = logging.getLogger("vicinal.service")
Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")
COMMIT_ROWS = 4096
"""Rows learned by one commit at most, from however many requests."""
SHOWN_CHARACTERS = 300
"""How much of a taught text the list of changes shows."""


class Query(NamedTuple):
    """Rows of one request and how many labels it wants scores of."""

    rows: Sequence[Row]
    top: int


class Predicted(NamedTuple):
    """Answers of one request and the version that gave them."""

    answers: list[Answer]
    version: int


@dataclass(frozen=True)
class About:
    """What was said about a model when the service was started.

    Parameters
    ----------
    examples : sequence of (title, text)
        Texts to try on the page; words of training rows by default.
    metrics : mapping or None
        Metrics of the last evaluation.
    vocabulary : mapping
        For the Annif dialect: label name → (label in words, notation).
    """

    examples: Sequence[tuple[str, str]] = ()
    metrics: Mapping[str, float | None] | None = None
    vocabulary: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)


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
        self._access = access
        self._limits = limits
        self._metrics = metrics
        self._saved = served.version if learner is None else _newest(learner)
        self._saving: asyncio.Task[None] | None = None
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
        self._tell()

    async def predict(self, rows: Sequence[Row], top: int) -> Predicted:
        """Return labels and scores, computed together with those of other requests."""
        self._check(rows)
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
        return await self._in_thread(self._neighbors, rows, k)

    def _neighbors(
        self, rows: Sequence[Row], k: int | None
    ) -> tuple[list[list[dict[str, Any]]], int]:
        reader = self._served.reader
        X = reader.features(rows)
        with self._served.reading() as (estimator, number):
            return model_access.neighbors(estimator, X, k, reader.names), number

    async def explain(
        self, rows: Sequence[Row], labels: list[str] | None, top: int
    ) -> tuple[list[object], int]:
        """Return why each row gets its labels."""
        self._check(rows)
        return await self._in_thread(self._explain, rows, labels, top)

    def _explain(
        self, rows: Sequence[Row], labels: list[str] | None, top: int
    ) -> tuple[list[object], int]:
        reader = self._served.reader
        X = reader.features(rows)
        with self._served.reading() as (estimator, number):
            found = model_access.explanations(estimator, X, labels, top, reader.names)
        return found, number

    async def change(self, *changes: Change) -> list[Outcome]:
        """Learn or forget rows: durable and applied when this returns."""
        for change in changes:
            if change.kind == "learn":
                check_limits(change.rows, self._limits)
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
        self._save_if_due()
        return outcomes

    def _process(self, requests: list[Request]) -> list[list[Outcome] | Exception]:
        answers = self._required_learner().process(requests)
        self._tell()
        return answers

    async def snapshot(self) -> tuple[str, int]:
        """Write the model folder now."""
        learner = self._required_learner()
        path, version = await self._in_thread(learner.snapshot)
        self._saved = version
        return path, version

    def _save_if_due(self) -> None:
        """Write a snapshot in the background after so many changes."""
        is_running = self._saving is not None and not self._saving.done()
        due = self._served.version - self._saved >= self._limits.changes_per_snapshot
        if due and not is_running:
            self._saving = asyncio.get_running_loop().create_task(self._save())

    async def _save(self) -> None:
        try:
            await self.snapshot()
        except ServiceError as error:
            log.error("snapshot failed", extra={"model": self.id, "reason": error.message})

    async def close(self) -> None:
        """Finish what is waiting, then save what was learned."""
        await self._predictions.close()
        await self._changes.close()
        if self._saving is not None:
            await self._saving
        if self._learner is not None and self._served.version > self._saved:
            await self._save()

    async def facts(self) -> dict[str, Any]:
        """Return what is known of the model."""
        return await self._in_thread(self._facts)

    def _facts(self) -> dict[str, Any]:
        with self._served.reading() as (estimator, number):
            return {
                "id": self.id,
                "method": type(estimator).__name__,
                "rows": len(model_access.row_ids(estimator)),
                "labels": len(estimator.label_names_),
                "features": self._served.reader.n_features,
                "version": number,
                "reads_text": self._served.reader.reads_text,
                "can_learn": self._learner is not None and model_access.can_learn(estimator),
                "writes": self._access.writes,
                "metrics": None if self.about.metrics is None else dict(self.about.metrics),
            }

    async def labels(self) -> tuple[dict[str, int], int]:
        """Return each label with the number of its rows, and the version."""
        return await self._in_thread(self._labels)

    def _labels(self) -> tuple[dict[str, int], int]:
        with self._served.reading() as (estimator, number):
            return model_access.label_counts(estimator), number

    async def examples(self) -> list[dict[str, str]]:
        """Return texts to try."""
        return await self._in_thread(self._examples)

    def _examples(self) -> list[dict[str, str]]:
        if not self._served.reader.reads_text:
            return []
        if self.about.examples:
            return [{"title": title, "text": text} for title, text in self.about.examples]
        with self._served.reading() as (estimator, _):
            return model_access.example_words(estimator, self._served.reader.names, 6)

    async def taught(self, count: int) -> tuple[list[dict[str, Any]], int]:
        """Return the newest changes, newest first."""
        return await self._in_thread(self._taught, count)

    def _taught(self, count: int) -> tuple[list[dict[str, Any]], int]:
        if self._learner is None:
            return [], self._served.version
        learner = self._learner
        events = learner.store.latest(self.id, count)
        return [_shown(event, learner) for event in events if event.refused is None], (
            self._served.version
        )

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
            raise ServiceError(409, "no-store", "this service has no store: start it with --store")
        return self._learner

    def _check(self, rows: Sequence[Row]) -> None:
        """Refuse rows beyond the limits of this service, or that the model cannot take."""
        check_limits(rows, self._limits)
        self._served.reader.check(rows)

    def _tell(self) -> None:
        """Update the gauges."""
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
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                return await asyncio.to_thread(function, *arguments, **more)
        except TimeoutError:
            raise ServiceError(504, "too-slow", "no result within the time limit") from None


def check_limits(rows: Sequence[Row], limits: Limits) -> None:
    """Refuse more, or larger, rows than this service was started for.

    Examples
    --------
    >>> check_limits([{"text": "abcd"}], Limits(text_characters=3))
    Traceback (most recent call last):
    ...
    vicinal.service.errors.ServiceError: rows.0.text: longer than 3 characters
    """
    if len(rows) > limits.rows:
        raise ServiceError(422, "too-many-rows", f"rows: more than {limits.rows} in one request")
    for place, row in enumerate(rows):
        if len(row.get("text", "")) > limits.text_characters:
            most = f"longer than {limits.text_characters} characters"
            raise ServiceError(422, "text-too-long", f"rows.{place}.text: {most}")
        if len(row.get("labels", ())) > limits.labels:
            most = f"more than {limits.labels} labels"
            raise ServiceError(422, "too-many-labels", f"rows.{place}.labels: {most}")


def _newest(learner: Learner) -> int:
    """Return the version of the newest snapshot, 0 for none."""
    return max(learner.snapshots.versions(), default=0)


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
