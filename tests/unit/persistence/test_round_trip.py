"""What is saved and loaded predicts the same, to the bit."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import vicinal
from vicinal import preprocess
from vicinal.decision import (
    CardinalityThreshold,
    LabelThresholds,
    MCut,
    MetricThreshold,
    NeverEmpty,
    PCut,
    PerLabelThreshold,
    RCut,
    Threshold,
    TopS,
)
from vicinal.errors import InvalidArgumentError

pytestmark = pytest.mark.native

THRESHOLDS: list[Any] = [
    None,
    "cardinality",
    "two-pass",
    0.3,
    Threshold(0.25, inclusive=True),
    LabelThresholds(np.linspace(0.2, 0.6, 5)),
    CardinalityThreshold(),
    MetricThreshold("example-f1"),
    PerLabelThreshold(min_positives=2, fbr=0.1),
    PCut(1.5),
    RCut(),
    MCut(),
    TopS(),
    NeverEmpty(MetricThreshold("subset-accuracy"), "first"),
]


def assert_same(model: Any, back: Any, X: Any) -> None:
    ours, theirs = model.predict(X), back.predict(X)
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    if sparse.issparse(ours):
        ours, theirs = ours.toarray(), theirs.toarray()
    assert np.array_equal(ours, theirs)
    assert np.array_equal(model.scores(X).toarray(), back.scores(X).toarray())


@pytest.mark.parametrize("kind", [vicinal.BRkNN, vicinal.MLkNN])
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=repr)
def test_every_threshold(kind: Any, threshold: Any, sample: Any, tmp_path: Path) -> None:
    model = kind(n_neighbors=3, threshold=threshold).fit(sample.X, sample.Y)
    model.save(tmp_path / "m")
    back = vicinal.load(tmp_path / "m")
    assert_same(model, back, sample.X_test)
    assert repr(back.get_params()).replace("memmap", "array") == repr(model.get_params())


CENTERS = [[0.1] * 6, [0.6] * 6]


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("centers", CENTERS, CENTERS),
        ("centers", tuple(map(tuple, CENTERS)), CENTERS),
        ("centers", np.array(CENTERS), CENTERS),
        ("centers", pd.DataFrame(CENTERS), CENTERS),
        ("centers", sparse.csr_matrix(CENTERS), CENTERS),
        ("random_state", np.random.RandomState(0), None),
        ("random_state", np.int64(3), 3),
        ("smoothing", np.float32(0.5), 0.5),
        ("smoothing", 0.0, 0.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_parameters_of_every_kind(
    name: str, given: Any, kept: Any, sample: Any, tmp_path: Path
) -> None:
    params = {"n_neighbors": 3, "n_clusters": 2, name: given}
    model = vicinal.LAMLkNN(**params).fit(sample.X, sample.Y)
    model.save(tmp_path / "m")
    back = vicinal.load(tmp_path / "m")
    assert_same(model, back, sample.X_test)
    value = back.get_params()[name]
    assert (value.tolist() if isinstance(value, np.ndarray) else value) == kept


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_features_and_labels_keep_kind_and_type(
    dtype: Any, container: Any, sample: Any, tmp_path: Path
) -> None:
    X = container(sample.X.astype(dtype))
    for Y in (sample.Y.astype(bool), sparse.csr_array(sample.Y), sample.Y.astype(np.float64)):
        model = vicinal.MLkNN(n_neighbors=3).fit(X, Y)
        vicinal.save(model, tmp_path / "m")
        back = vicinal.load(tmp_path / "m")
        assert back.search_.X.dtype == dtype
        assert type(back.search_.X) is type(model.search_.X)
        assert_same(model, back, container(sample.X_test.astype(dtype)))


def test_names_travel(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"größe": [0.0, 1.0, 2.0], "a/b": [1.0, 0.0, 1.0]})
    model = vicinal.BRkNN(n_neighbors=1).fit(X, [["läuft", "x\n"], [], ["x\n"]])
    model.save(tmp_path / "m")
    back = vicinal.load(tmp_path / "m")
    assert back.label_names_ == ("läuft", "x\n")
    assert back.feature_names_in_.tolist() == ["größe", "a/b"]
    assert back.predict_names(X) == model.predict_names(X)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(X[["a/b", "größe"]])


def test_no_positive_label_and_no_feature(tmp_path: Path) -> None:
    X = sparse.csr_array((4, 3))
    model = vicinal.BRkNN(n_neighbors=2).fit(X, sparse.csr_array((4, 2), dtype=int))
    model.save(tmp_path / "m")
    assert_same(model, vicinal.load(tmp_path / "m"), X)


def test_pipelines_of_preprocessing_steps(sample: Any, tmp_path: Path) -> None:
    steps = [preprocess.MinMax(), preprocess.UnitRows()]
    pipeline = make_pipeline(*steps, vicinal.BRkNN(n_neighbors=3)).fit(sample.X, sample.Y)
    vicinal.save(pipeline, tmp_path / "m")
    back = vicinal.load(tmp_path / "m")
    assert [name for name, _ in back.steps] == [name for name, _ in pipeline.steps]
    assert np.array_equal(back.predict(sample.X_test), pipeline.predict(sample.X_test))


def test_text_pipeline(tmp_path: Path) -> None:
    texts = ["a red fox", "a blue fox", "green tea", "black tea and a fox"]
    labels = [["animal"], ["animal"], ["drink"], ["animal", "drink"]]
    steps = [preprocess.TextVectorizer(), preprocess.TfIdf()]
    pipeline = make_pipeline(*steps, vicinal.BRkNN(n_neighbors=2, metric="cosine"))
    pipeline.fit(texts, labels)
    vicinal.save(pipeline, tmp_path / "m")
    back = vicinal.load(tmp_path / "m")
    assert np.array_equal(back.predict(texts).toarray(), pipeline.predict(texts).toarray())


def test_only_what_can_be_loaded_again_is_saved(sample: Any, tmp_path: Path) -> None:
    from sklearn.neighbors import KNeighborsTransformer

    class Mine:
        def fit(self, scores: Any, Y: Any) -> Any:
            return Threshold(0.5)

    foreign = make_pipeline(KNeighborsTransformer(), vicinal.BRkNN()).fit(sample.X, sample.Y)
    with pytest.raises(
        InvalidArgumentError,
        match=r"step 'kneighborstransformer'.*KNeighborsTransformer is not trusted",
    ):
        vicinal.save(foreign, tmp_path / "m")
    with pytest.raises(InvalidArgumentError, match="model: expected"):
        vicinal.save("a string", tmp_path / "m")
    own = vicinal.BRkNN(threshold=Mine()).fit(sample.X, sample.Y)
    with pytest.raises(InvalidArgumentError, match="Mine"):
        own.save(tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        vicinal.BRkNN().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verify", [True, False])
def test_fractions_are_mapped_and_cannot_be_written(
    verify: bool, sample: Any, tmp_path: Path
) -> None:
    for X in (sample.X, sparse.csr_array(sample.X)):
        vicinal.BRkNN().fit(X, sample.Y).save(tmp_path / "m")
        back = vicinal.load(tmp_path / "m", verify=verify, mmap=True).search_.X
        values = back.data if sparse.issparse(back) else back
        while not isinstance(values, np.memmap):
            assert isinstance(values, np.ndarray), "the values are a copy in memory"
            values = values.base
        assert not values.flags.writeable


def test_readers_see_a_whole_model_while_writers_replace_it(sample: Any, tmp_path: Path) -> None:
    models = [vicinal.BRkNN(n_neighbors=k).fit(sample.X, sample.Y) for k in (1, 5)]
    answers = [model.predict(sample.X_test).tolist() for model in models]
    path = tmp_path / "m"
    models[0].save(path)
    done, troubles = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            try:
                got = vicinal.load(path).predict(sample.X_test).tolist()
                if got not in answers:
                    troubles.append("a mixture")
            except (ValueError, OSError) as error:
                troubles.append(repr(error))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(25):
        models[turn % 2].save(path)
    done.set()
    for reader in readers:
        reader.join()
    assert troubles == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]
