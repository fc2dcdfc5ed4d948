"""A saved label ridge whose columns were damaged is refused."""

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
