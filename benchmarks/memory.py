"""How much a call makes this process grow, at its largest."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from vicinal._base.free_memory import release_free_memory

Result = TypeVar("Result")


def peak_growth(call: Callable[[], Result]) -> tuple[Result, float]:
    """Return what `call` returns, and by how many MB the process grew at its largest.

    What is left over from earlier calls goes back to the system first, so that no call lives on
    the memory of another; 0 where the system keeps no such account.
    """
    release_free_memory()
    reset_peak()
    before = memory_mb("VmRSS")
    result = call()
    return result, max(0.0, memory_mb("VmHWM") - before)


def reset_peak() -> None:
    """Forget the largest memory so far, where the system can."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5")


def memory_mb(field: str) -> float:
    """Return VmHWM (largest) or VmRSS (now) of this process; 0 where the system does not say."""
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(float(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field))
