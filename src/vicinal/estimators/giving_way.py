"""Changes that give way to predictions in other threads.

Threads of one interpreter take turns, and one that learns rows without a pause would take more
turns than each of those that predict: its calls of compiled code are many and short, and after each
of them it is the first to ask for the next turn. So a change that replaces a version which other
threads have read is followed by a pause, in proportion to the time that the change took.
"""

import time
from threading import get_ident

from vicinal.estimators.version import Version

PAUSE = 1.0
"""The pause after a change, as a multiple of the time it took."""
LONGEST_PAUSE = 0.01
"""In seconds; a long change is rare, so that readers get their turns afterwards anyway."""


def give_way(replaced: Version, took: float) -> None:
    """Pause after a change of so many seconds if other threads have read what it replaced."""
    if replaced.readers - {get_ident()}:
        time.sleep(min(PAUSE * took, LONGEST_PAUSE))
