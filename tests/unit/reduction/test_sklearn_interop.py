"""The projections among their like: frames, names, pipelines, saved models."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

import vicinal
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.reduction import MDDM, MLARP, OPLS, LabelCCA

pytestmark = pytest.mark.native

RNG = np.random.default_rng(7)
X = np.where(RNG.random((60, 6)) < 0.6, RNG.normal(1.0, 1.0, (60, 6)), 0.0)
Y = (X[:, :3] + X[:, 3:] > 1).astype(int)
NAMES = [f"f{column}" for column in range(6)]
PROJECTIONS = [
    MDDM(2),
    MDDM(2, "uncorrelated", regularization=np.float64(0.1)),
    OPLS(2, center=False),
    LabelCCA(np.int64(2)),
    MLARP(2, max_iter=5, random_state=0),
]


@pytest.fixture(params=PROJECTIONS, ids=repr)
def projection(request):
    return clone(request.param)


def test_sparse_and_dense_agree(projection):
    dense = projection.fit_transform(X, Y)
    thin = clone(projection).fit_transform(sparse.csr_array(X), sparse.csr_array(Y))
    np.testing.assert_allclose(thin, dense, atol=1e-9)
    assert isinstance(thin, np.ndarray)


def test_a_fit_that_fails_changes_nothing(projection):
    before = dict(vars(projection))
    with pytest.raises(InvalidArgumentError, match="Y: expected"):
        projection.fit(X[:, :4], Y[:30])
    assert vars(projection) == before
    known = dict(vars(projection.fit(X, Y)))
    with pytest.raises(InvalidArgumentError, match="Y: expected"):
        projection.fit(X[:, :4], Y[:30])
    assert all(vars(projection)[name] is value for name, value in known.items())
    assert projection.transform(X).shape == (60, 2)


def test_single_precision_comes_out_double(projection):
    single = X.astype(np.float32)
    out = projection.fit_transform(single, Y)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, clone(projection).fit_transform(single.astype(float), Y))


@pytest.mark.parametrize("frame", [pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, NAMES)])
def test_a_frame_is_its_numbers_and_its_names(projection, frame):
    np.testing.assert_array_equal(
        projection.fit(frame, Y).transform(frame), clone(projection).fit_transform(X, Y)
    )
    assert [*projection.feature_names_in_] == NAMES
    with pytest.raises(ValueError, match="feature names"):
        projection.transform(frame[NAMES[::-1]])


def test_names_of_columns_out(projection):
    short = type(projection).__name__.lower()
    assert [*projection.fit(X, Y).get_feature_names_out()] == [f"{short}0", f"{short}1"]
    framed = projection.set_output(transform="pandas").transform(X)
    assert [*framed.columns] == [f"{short}0", f"{short}1"]


def test_label_names_are_labels_too(projection):
    names = [[f"label{i}" for i in np.flatnonzero(row)] for row in Y]
    np.testing.assert_array_equal(
        projection.fit_transform(X, names), clone(projection).fit_transform(X, Y)
    )


def test_a_pipeline_is_its_steps(projection):
    model = make_pipeline(projection, vicinal.MLkNN(3)).fit(X, Y)
    rows = clone(projection).fit_transform(X, Y)
    np.testing.assert_array_equal(model.predict(X), vicinal.MLkNN(3).fit(rows, Y).predict(rows))


def test_parameters_can_be_searched():
    model = Pipeline([("reduce", MDDM()), ("method", vicinal.BRkNN(3))])
    search = GridSearchCV(model, {"reduce__n_components": [1, 2]}, cv=2).fit(X, Y)
    assert search.best_params_["reduce__n_components"] in (1, 2)


def test_a_saved_pipeline_predicts_the_same(projection, tmp_path):
    frame = pd.DataFrame(X, columns=NAMES)
    model = make_pipeline(projection, vicinal.MLkNN(3)).fit(frame, Y)
    vicinal.save(model, tmp_path / "model")
    back = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(frame), model.predict_proba(frame))
    restored = back[0]
    for name in ("projection_", "offset_", *projection._learned):
        np.testing.assert_array_equal(getattr(restored, name), getattr(projection, name))
    assert [*restored.feature_names_in_] == NAMES
    assert restored.get_params() == projection.get_params()


DAMAGE = {
    "params missing": lambda state: state.pop("params"),
    "unknown parameter": lambda state: state["params"].update(other=1),
    "parameter out of range": lambda state: state["params"].update(n_components=0),
    "projection of other features": lambda state: state.update(n_features=5),
    "projection of text": lambda state: state.update(projection="P"),
    "projection not finite": lambda state: state.update(projection=np.full((6, 2), np.nan)),
    "offset too short": lambda state: state.update(offset=np.zeros(1)),
    "names too few": lambda state: state.update(feature_names=["a"]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_state_is_refused(projection, damage):
    state = projection.fit(X, Y).get_state()
    DAMAGE[damage](state)
    with pytest.raises(ModelFormatError):
        type(projection).from_state(state)


def test_nothing_before_the_fit(projection):
    with pytest.raises(NotFittedError):
        projection.transform(X)
    with pytest.raises(NotFittedError):
        projection.get_state()


@pytest.mark.parametrize("kind", [MDDM, OPLS, LabelCCA])
@pytest.mark.parametrize("parameters", [{"n_components": 0}, {"regularization": 0.0}])
def test_parameters_out_of_range(kind, parameters):
    with pytest.raises(InvalidArgumentError, match=next(iter(parameters))):
        kind(**parameters).fit(X, Y)


def test_options_that_are_none():
    with pytest.raises(InvalidArgumentError, match="constraint"):
        MDDM(constraint="none").fit(X, Y)
    with pytest.raises(InvalidArgumentError, match="center"):
        OPLS(center="yes").fit(X, Y)


@pytest.mark.parametrize("kind", [MDDM, OPLS, LabelCCA])
def test_constant_data_gives_no_direction(kind):
    with pytest.raises(InvalidArgumentError, match="do not vary"):
        kind().fit(np.zeros_like(X), Y)
    with pytest.raises(InvalidArgumentError, match="do not vary"):
        kind().fit(sparse.csr_array(X.shape), np.zeros_like(Y))


def test_wrong_targets(projection):
    for wrong in (Y[:, 0], Y + 1, Y[:-1], None):
        with pytest.raises(InvalidArgumentError, match="Y"):
            projection.fit(X, wrong)
