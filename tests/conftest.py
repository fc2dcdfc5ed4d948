"""What tests of several areas share."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from every_method import EVERY_METHOD
from rich.progress import Progress
from scipy import sparse

from vicinal._core import progress
from vicinal.methods import NeighborEstimator


@dataclass(frozen=True)
class Sample:
    """Training and test rows without ties: features in [0, 1], many of them 0."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray


@pytest.fixture(scope="session")
def sample() -> Sample:
    rng = np.random.default_rng(7)
    X = rng.random((70, 6)) * (rng.random((70, 6)) < 0.6)
    X[:, 0] += 0.05  # no row without features
    hidden = X @ rng.normal(size=(6, 5)) + rng.normal(scale=0.2, size=(70, 5))
    Y = (hidden > np.quantile(hidden, 0.65, axis=0)).astype(np.int64)
    return Sample(X[:50], Y[:50], X[50:])


@pytest.fixture(scope="session")
def make_method() -> Callable[..., NeighborEstimator]:
    """Return a builder of small estimators of any method, by its name in ``EVERY_METHOD``."""

    def make(name: str, k: int = 4, **params: Any) -> NeighborEstimator:
        kind = EVERY_METHOD[name]
        known = inspect.signature(kind).parameters
        usual: dict[str, Any] = {key: k for key in known if key.startswith("n_neighbors")}
        if "centers" in known:  # clusters that do not depend on the order of rows
            usual["centers"] = np.array([[0.1] * 6, [0.6] * 6])
            usual["n_clusters"] = 2
        return kind(**{**usual, **params})

    return make


@pytest.fixture(scope="session")
def as_csr() -> Callable[[Any], Any]:
    return sparse.csr_array


@dataclass
class Bar:
    """A bar as it was shown: by how much it was moved, and whether it is gone again."""

    description: str
    total: float | None
    moves: list[float] = field(default_factory=list)
    gone: bool = False


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    """Let standard error pass for a terminal; the bars shown, in the order of their coming."""
    seen: list[Bar] = []

    class Watched(Progress):
        def add_task(self, description: str, total: float | None = None, **more: Any) -> Any:
            task = super().add_task(description, total=total, **more)
            seen.append(Bar(description, total))
            self.__dict__.setdefault("watched", {})[task] = seen[-1]
            return task

        def advance(self, task_id: Any, advance: float = 1) -> None:
            super().advance(task_id, advance)
            self.__dict__["watched"][task_id].moves.append(advance)

        def remove_task(self, task_id: Any) -> None:
            super().remove_task(task_id)
            self.__dict__["watched"][task_id].gone = True

    monkeypatch.setattr(progress, "Progress", Watched)
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    return seen
