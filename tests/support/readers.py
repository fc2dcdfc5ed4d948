"""Threads that score rows while a model changes: each answer is that of one version."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

N_READERS = 3


@contextmanager
def readers_of_versions(model: Any, answer: Callable[[], bytes]) -> Iterator[set[bytes]]:
    """Read in threads; afterwards each answer must be one that a published version gives.

    Yields the answers of all versions so far, which the writing thread computes after each of them.
    """
    real, known, stop = model._publish, {answer()}, threading.Event()

    def publish(version: Any) -> None:
        real(version)
        known.add(answer())

    def read() -> set[bytes]:
        seen = {answer()}
        while not stop.is_set():
            seen.add(answer())
        return seen

    model._publish = publish
    with ThreadPoolExecutor(N_READERS) as pool:
        readers = [pool.submit(read) for _ in range(N_READERS)]
        try:
            yield known
        finally:
            stop.set()
            del model._publish
    for reader in readers:
        strange = reader.result() - known
        assert not strange, f"{len(strange)} answers of no version"
