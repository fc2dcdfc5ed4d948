"""Micro-batching: concurrent requests are answered together, for little more than one costs."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from vicinal.service.errors import ServiceError

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
