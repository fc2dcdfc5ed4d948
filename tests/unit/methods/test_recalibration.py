"""When a fitted threshold is fitted again, and what the model says of it."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.decision import PCut
from vicinal.methods import incremental

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def every_change_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "FEWEST_ROWS", 0)
    monkeypatch.setattr(incremental, "LARGEST_SHARE", 1.0)


def data(n_rows: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.choice([0.0, 0.0, 0.5, 1.0], size=(n_rows, 8)))
    return X, sparse.csr_array((rng.random((n_rows, 6)) < 0.3).astype(int))


def instance_knn(**options: Any) -> Any:
    return vicinal.InstanceKNN(3, **options)


def refit(model: Any) -> Any:
    return instance_knn().fit(model.as_fitted().search_.X, model.as_fitted().scoring_.Y)


def test_a_threshold_is_fitted_again_when_enough_rows_have_changed() -> None:
    X, Y = data(60)
    model = instance_knn(recalibrate_at=0.1).fit(X[:40], Y[:40])
    first = model.decision_
    assert model.calibration_.is_current
    for row in (40, 41, 42):
        model.partial_fit(X[row : row + 1], Y[row : row + 1])
    assert model.decision_ is first
    assert (model.calibration_.learned, model.calibration_.forgotten) == (3, 0)
    assert model.calibration_.stale_share == 3 / 40
    assert np.array_equal(model.scores(X).toarray(), refit(model).scores(X).toarray())
    model.forget([0])
    assert model.calibration_.is_current
    assert model.calibration_.n_rows == 42
    assert model.decision_ == refit(model).decision_


def test_always_and_never() -> None:
    X, Y = data(60, seed=1)
    always = instance_knn(recalibrate_at="always").fit(X[:40], Y[:40])
    never = instance_knn(recalibrate_at="never").fit(X[:40], Y[:40])
    first = never.decision_
    for row in range(40, 60):
        always.partial_fit(X[row : row + 1], Y[row : row + 1])
        never.partial_fit(X[row : row + 1], Y[row : row + 1])
        assert always.decision_ == refit(always).decision_
    assert never.decision_ is first
    assert never.calibration_.learned == 20
    assert never.recalibrate().calibration_.is_current
    assert never.decision_ == always.decision_


def test_new_labels_that_a_threshold_has_no_value_for() -> None:
    X, Y = data(40)
    names = [[f"label {label}" for label in row.indices] for row in Y]
    options = {"threshold": PCut(), "recalibrate_at": "never"}
    model = instance_knn(**options).fit(X[:39], names[:39])
    model.partial_fit(X[39:], [["new"]])
    assert model.calibration_.is_current
    assert len(model.decision_.rule.values) == len(model.label_names_)


def test_rules_with_nothing_to_fit_are_always_current() -> None:
    X, Y = data(40)
    model = vicinal.BRkNN(3, variant="a").fit(X[:30], Y[:30])
    model.partial_fit(X[30:31], Y[30:31]).forget([2])
    assert model.calibration_.is_current
    assert model.recalibrate().calibration_.is_current


def test_how_stale_it_is_survives_saving(tmp_path: Any) -> None:
    X, Y = data(41)
    model = instance_knn(recalibrate_at="never").fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    model.save(tmp_path / "model")
    assert vicinal.load(tmp_path / "model").calibration_ == model.calibration_
    assert model.calibration_.learned == 1


@pytest.mark.parametrize("value", ["often", -0.1, None])
def test_other_values_are_refused(value: Any) -> None:
    X, Y = data(20)
    with pytest.raises(ValueError, match="recalibrate_at"):
        instance_knn(recalibrate_at=value).fit(X, Y)
