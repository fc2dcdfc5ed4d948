"""Peak memory growth of the process during a call."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from vicinal._core.files import release_free_memory

Result = TypeVar("Result")


def peak_growth(call: Callable[[], Result]) -> tuple[Result, float]:
    """Return the result of `call` and the peak memory growth in MB.

    Free memory of earlier calls is returned to the system first, so that no call reuses it; 0 if
    the system does not report memory.
    """
    release_free_memory()
    reset_peak()
    before = memory_mb("VmRSS")
    result = call()
    return result, max(0.0, memory_mb("VmHWM") - before)


def reset_peak() -> None:
    """Reset the recorded peak memory, if the system supports it."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5")


def memory_mb(field: str) -> float:
    """Return VmHWM (largest) or VmRSS (now) of this process; 0 where the system does not say."""
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(float(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field))
