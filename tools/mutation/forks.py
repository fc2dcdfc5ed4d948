"""Work that is done in a fork of this process, so that nothing of it stays here."""

import mmap
import os
import traceback
from collections.abc import Callable
from multiprocessing import Pipe
from typing import TypeVar

BROKEN = 3
"""The exit code of a fork whose action raised an error."""
Answer = TypeVar("Answer")
TERMINAL = os.dup(1)


def print_line(text: str) -> None:
    """Print a line where the program printed when it began: forks that say nothing call it too."""
    os.write(TERMINAL, f"{text}\n".encode())


def forked(action: Callable[[], int]) -> int:
    """Run an action in a fork that says nothing but its own errors; return its process id."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            code = action()
        finally:
            if code == BROKEN:
                print_line(traceback.format_exc())
            os._exit(code)
    return child


def answer_of(action: Callable[[], Answer]) -> Answer:
    """Run an action in a fork, and return what it returns."""
    reader, writer = Pipe(duplex=False)

    def send() -> int:
        writer.send(action())
        return 0

    child = forked(send)
    writer.close()
    with reader:
        answer: Answer = reader.recv()
    os.waitpid(child, 0)
    return answer


class SharedNumber:
    """A whole number that this process and its forks read and write."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    @property
    def value(self) -> int:
        """The number that was written last; 0 at first."""
        return int.from_bytes(self._memory[:], "little")

    @value.setter
    def value(self, number: int) -> None:
        self._memory[:] = number.to_bytes(8, "little")
