"""A saved label ridge whose columns, kernel or weights were damaged is refused."""

import numpy as np
import pytest

from vicinal import LabelRidge
from vicinal._base.errors import ModelFormatError
from vicinal.scoring import RidgeScoring

pytestmark = pytest.mark.native


@pytest.mark.parametrize("columns", [[-1, 2], [0, 4], [2, 0], [1, 1]])
def test_columns_that_do_not_rise_within_the_features(columns: list[int]) -> None:
    X = np.array([[1.0, 0, 3, 0], [2, 0, 0, 1], [0, 0, 2, 0], [3, 1, 0, 0]])
    model = LabelRidge(max_features=2).fit(X, [[1, 0], [0, 1], [1, 1], [0, 1]])
    state = model.scoring_.get_state()
    assert state["columns"].tolist() == [0, 2]
    RidgeScoring.from_state(state)
    with pytest.raises(ModelFormatError, match="columns: expected rising ids below 4"):
        RidgeScoring.from_state(state | {"columns": np.array(columns, dtype=np.int64)})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gamma": 0.0}, "a gamma above 0"),
        ({"gamma": -1.0}, "a gamma above 0"),
        ({"rows": np.ones((3, 4))}, "expected shape"),
        ({"rows": np.ones((4, 3))}, "expected shape"),
        ({"weights": np.array([1.0, 0.0, 1.0, 1.0])}, "weights: expected finite numbers above 0"),
        ({"weights": np.array([1.0, -1.0, 1.0, 1.0])}, "weights: expected finite numbers above 0"),
        ({"weights": np.ones(3)}, "weights"),
    ],
)
def test_a_damaged_kernel(change: dict[str, object], says: str) -> None:
    X = np.array([[1.0, 0, 3, 0], [2, 0, 0, 1], [0, 0, 2, 0], [3, 1, 0, 0]])
    model = LabelRidge(kernel="rbf", gamma=0.5)
    state = model.fit(X, [[1, 0], [0, 1], [1, 1], [0, 1]]).scoring_.get_state()
    RidgeScoring.from_state(state | {"weights": np.full(4, 0.5)})
    with pytest.raises(ModelFormatError, match=says):
        RidgeScoring.from_state(state | change)
