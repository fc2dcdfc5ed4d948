"""A saved label ridge that was damaged is refused; explanations and leverages of kept columns."""

import numpy as np
import pytest

from vicinal import LabelRidge
from vicinal.errors import ModelFormatError
from vicinal.graph import no_neighbors
from vicinal.methods.label_ridge.ridge_scoring import RidgeScoring
from vicinal.methods.label_ridge.solver import leverages

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


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_an_explanation_names_the_columns_that_were_kept(kernel: str | None) -> None:
    X = np.array([[1.0, 0, 3, 0], [2, 0, 0, 1], [0, 0, 2, 0], [3, 1, 0, 0]])
    model = LabelRidge(kernel=kernel, max_features=2).fit(X, [[1, 0], [0, 1], [1, 1], [0, 1]])
    state, nobody = model.scoring_, no_neighbors(1, 4, "cosine")
    (why,) = state.explain(nobody, [1], np.array([[0.0, 5, 7, 0]]))
    assert state.k == 0
    assert why.terms[0].ids.tolist() == ([2] if kernel is None else [0, 1, 2, 3])
    score = state.scores(nobody, np.array([[0.0, 5, 7, 0]])).toarray()[0, 1]
    assert why.total == pytest.approx(score, rel=1e-12)


def test_leverages_of_many_rows_are_computed_in_blocks() -> None:
    rows = np.ones((2**21 + 5, 2))
    found = leverages(rows, np.array([[1.0, 0.5], [0.5, 2.0]]))
    assert found.shape == (2**21 + 5,)
    assert (found == 4.0).all()
