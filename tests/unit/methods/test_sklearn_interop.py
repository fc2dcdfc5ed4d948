"""Estimators among scikit-learn's tools, in other processes and in several threads."""

import io
import threading
import time
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import average_precision_score, get_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

import vicinal
from vicinal.index import build_index
from vicinal.methods import METHODS
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native


@pytest.fixture(params=METHODS)
def model(request: pytest.FixtureRequest, make_method: Any) -> Any:
    return make_method(request.param)


def through_pickle(model: Any) -> Any:
    """The copy another process would get, by pickle as joblib does it."""
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    return joblib.load(stream)


def predict(model: Any, X: Any) -> Any:
    return model.predict(X)


def test_clone_is_unfitted_and_equal(model: Any, sample: Any) -> None:
    model.fit(sample.X, sample.Y)
    copy = clone(model)
    assert repr(copy.get_params()) == repr(model.get_params())
    with pytest.raises(ValueError, match="not fitted"):
        copy.predict(sample.X)
    again = copy.fit(sample.X, sample.Y).predict(sample.X_test)
    assert np.array_equal(again, model.predict(sample.X_test))


def test_pipeline(model: Any, sample: Any) -> None:
    pipeline = make_pipeline(MinMax(), clone(model)).fit(sample.X, sample.Y)
    scaler = MinMax().fit(sample.X)
    model.fit(scaler.transform(sample.X), sample.Y)
    wanted = model.predict(scaler.transform(sample.X_test))
    assert np.array_equal(pipeline.predict(sample.X_test), wanted)


def test_grid_search_by_subset_accuracy(model: Any, sample: Any) -> None:
    names = [key for key in model.get_params() if key.startswith("n_neighbors")]
    name, values = (names[0], [1, 3, 5]) if names else ("threshold", [0.3, 0.5])
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(model, {name: values}, scoring="accuracy", cv=folds)
    search.fit(sample.X, sample.Y)
    best = search.best_params_[name]
    by_hand = [
        np.mean(
            (
                clone(model)
                .set_params(**{name: best})
                .fit(sample.X[a], sample.Y[a])
                .predict(sample.X[b])
                == sample.Y[b]
            ).all(axis=1)
        )
        for a, b in folds.split(sample.X)
    ]
    assert search.best_score_ == pytest.approx(np.mean(by_hand))


def test_cross_val_predict_and_score(model: Any, sample: Any) -> None:
    predicted = cross_val_predict(model, sample.X, sample.Y, cv=3)
    assert predicted.shape == sample.Y.shape
    model.fit(sample.X, sample.Y)
    share = (model.predict(sample.X) == sample.Y).all(axis=1).mean()
    assert model.score(sample.X, sample.Y) == pytest.approx(share)


@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_scikit_learn_asks_for_scores(model: Any, sample: Any, n_labels: int) -> None:
    Y = sample.Y[:, :n_labels]
    folds = KFold(3)
    scores = cross_val_predict(model, sample.X, Y, cv=folds, method="predict_proba")
    for train, test in folds.split(sample.X):
        alone = clone(model).fit(sample.X[train], Y[train]).predict_proba(sample.X[test])
        assert np.array_equal(scores[test], alone)
    if n_labels > 1:  # of one label scikit-learn wants its two classes
        fitted = model.fit(sample.X, Y)
        found = get_scorer("average_precision")(fitted, sample.X, Y)
        assert found == average_precision_score(Y, fitted.predict_proba(sample.X))


def test_set_params_after_fit_changes_no_prediction(model: Any, sample: Any) -> None:
    before = model.fit(sample.X, sample.Y).predict(sample.X_test)
    changes = {key: 1 for key in model.get_params() if key.startswith("n_neighbors")}
    model.set_params(threshold=0.9, metric="dot", never_empty=True, **changes)
    assert np.array_equal(model.predict(sample.X_test), before)


def test_pickle(model: Any, sample: Any) -> None:
    model.fit(sample.X, sample.Y).predict(sample.X_test)
    back = through_pickle(model)
    ours, theirs = (each.scores(sample.X_test).toarray() for each in (model, back))
    assert np.array_equal(ours, theirs)


def test_worker_processes_fit_and_predict(sample: Any) -> None:
    models = [kind().fit(sample.X, sample.Y) for kind in METHODS.values()]
    with joblib.Parallel(n_jobs=2, backend="loky") as parallel:
        there = parallel(joblib.delayed(predict)(model, sample.X_test) for model in models)
    for model, answer in zip(models, there, strict=True):
        assert np.array_equal(model.predict(sample.X_test), answer)


def test_several_threads_predict_with_one_model(model: Any, sample: Any) -> None:
    wanted = clone(model).fit(sample.X, sample.Y).predict(sample.X_test)
    model.fit(sample.X, sample.Y)
    fresh = through_pickle(model)
    answers: list[Any] = [None] * 8
    start = threading.Barrier(len(answers))

    def work(place: int) -> None:
        start.wait()  # all meet the index that is not built yet
        answers[place] = fresh.predict(sample.X_test)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(answers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(answer, wanted) for answer in answers)


def test_several_threads_build_one_index(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = through_pickle(vicinal.BRkNN(3).fit(sample.X, sample.Y))
    built = []

    def slowly(*args: Any) -> Any:
        built.append(args)
        time.sleep(0.05)
        return build_index(*args)

    monkeypatch.setattr("vicinal.index.training_rows.build_index", slowly)
    threads = [threading.Thread(target=model.predict, args=(sample.X_test,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


def test_a_fit_that_fails_leaves_the_model_as_it_was(model: Any, sample: Any) -> None:
    model.fit(sample.X, sample.Y)
    before = model.predict(sample.X_test)
    with pytest.raises(ValueError, match="Y: expected 10 rows"):
        model.fit(sample.X[:10, :2], sample.Y)
    assert model.n_features_in_ == 6
    assert np.array_equal(model.predict(sample.X_test), before)


def test_the_callers_arrays_are_never_changed(model: Any, sample: Any) -> None:
    arrays = [array.copy() for array in (sample.X, sample.Y, sample.X_test)]
    for array in arrays:
        array.flags.writeable = False
    model.fit(arrays[0], arrays[1]).predict(arrays[2])
    assert np.array_equal(arrays[0], sample.X)


def test_pipeline_saves_through_the_package(sample: Any, tmp_path: Any) -> None:
    pipeline = make_pipeline(MinMax(), vicinal.MLkNN(3)).fit(sample.X, sample.Y)
    vicinal.save(pipeline, tmp_path / "m")
    assert np.array_equal(
        vicinal.load(tmp_path / "m").predict(sample.X_test), pipeline.predict(sample.X_test)
    )


def test_a_pickle_holds_a_model_in_one_form() -> None:
    """What a change leaves to compute is cached beside the model, and not pickled as well."""
    rng = np.random.default_rng(0)
    X = (rng.random((400, 40)) < 0.2) * rng.random((400, 40))
    model = vicinal.LCIF(5, 5, recalibrate_at="never").fit(X, rng.random((400, 6)) < 0.3)
    model.forget([3, 7])

    def pickled() -> int:
        stream = io.BytesIO()
        joblib.dump(model, stream)
        return stream.tell()

    before = pickled()
    twin = model.as_fitted()
    assert pickled() == before
    assert (through_pickle(model).predict(X) == twin.predict(X)).all()
