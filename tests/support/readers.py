"""Threads that score rows while a model changes: each answer is that of one version."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

N_READERS = 3


@contextmanager
def readers_of_versions(model: Any, answer: Callable[[], bytes]) -> Iterator[set[bytes]]:
    """Read in threads; afterwards each answer must be one that a published version gives.

    Yields the answers of all versions so far, which the writing thread computes after each of them.
    """
    real, known, seen = model._publish, {answer()}, set[bytes]()
    stop, errors = threading.Event(), list[BaseException]()

    def publish(version: Any) -> None:
        real(version)
        known.add(answer())

    def read() -> None:
        try:
            while not stop.is_set():
                seen.add(answer())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(N_READERS)]
    model._publish = publish
    for thread in threads:
        thread.start()
    try:
        yield known
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        del model._publish
    assert not errors, errors
    assert seen
    assert seen <= known, f"{len(seen - known)} answers of no version"
