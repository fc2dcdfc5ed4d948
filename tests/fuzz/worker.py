"""Inputs tried in child processes, so that one that crashes is found and the others go on."""

import mmap
import os
import random
import resource
import shutil
import signal
import struct
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz.targets import TARGETS

BATCH = 200
MOST_SECONDS = 60
MOST_KILOBYTES = 3 * 2**20


@dataclass
class Counts:
    """How many inputs of a target were taken, refused, and at fault."""

    taken: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)


def try_one(name: str, number: int) -> bool:
    """Make the input of that number and hand it over; tell whether it was taken."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_fast_folder()))
    try:
        return TARGETS[name](random.Random(f"{name}:{number}"), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fast_folder() -> str | None:
    """Return a folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def try_batch(name: str, first: int, counts: Counts, count: int = BATCH) -> int:
    """Try inputs from `first` on in a child; return the number to go on with.

    After a fault that ended the child, the next one goes on behind it.
    """
    shared = mmap.mmap(-1, 32)  # the number under way, those taken, those refused, a caught fault
    child = os.fork()
    if child == 0:
        _work(name, first, count, shared)
    _, status = os.waitpid(child, 0)
    number, taken, refused, is_caught = struct.unpack("4q", shared[:32])
    counts.taken += taken
    counts.refused += refused
    if status == 0:
        return first + count
    if is_caught:
        counts.faults.append(f"{name}:{number} raised (see above)")
    elif os.WIFSIGNALED(status):
        counts.faults.append(f"{name}:{number} ended by signal {os.WTERMSIG(status)}")
    else:
        counts.faults.append(f"{name}:{number} ended with {os.WEXITSTATUS(status)}")
    return int(number) + 1


def _work(name: str, first: int, count: int, shared: mmap.mmap) -> None:
    """Try inputs until one is at fault; never returns."""
    signal.signal(signal.SIGALRM, _too_slow)
    warnings.simplefilter("ignore")
    taken = refused = 0
    number, is_done = first, False
    try:
        for number in range(first, first + count):
            shared[:32] = struct.pack("4q", number, taken, refused, 0)
            signal.alarm(MOST_SECONDS)
            is_taken = try_one(name, number)
            signal.alarm(0)
            taken, refused = taken + is_taken, refused + (not is_taken)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MOST_KILOBYTES:
                raise MemoryError(f"more than {MOST_KILOBYTES} kilobytes")
        is_done = True
    finally:  # whatever was raised: the child must not go on as its parent
        signal.alarm(0)
        shared[:32] = struct.pack("4q", number, taken, refused, not is_done)
        if not is_done:
            traceback.print_exc()
        os._exit(0 if is_done else 1)


def _too_slow(signal_number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {MOST_SECONDS} seconds at {time.ctime()}")
