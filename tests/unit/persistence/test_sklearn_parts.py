"""Pipelines with scikit-learn's own transformers: saved as plain arrays, read to the bit."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)

import vicinal
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.preprocess import TextVectorizer

pytestmark = pytest.mark.native

TEXTS = ["red apple", "green pear and apple", "Größe rot", "a red red house", "pear tree"]
Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
NUMBERS = np.array([[1.0, 200], [2, 100], [3, -5], [4, 0], [0.5, 7]])
FRAME = pd.DataFrame(
    {
        "text": TEXTS,
        "size": NUMBERS[:, 0],
        "weight": NUMBERS[:, 1],
        "colour": ["red", "green", "red", "blue", "green"],
    }
)


LENGTHS = ColumnTransformer([("sizes", MaxAbsScaler(), ["size"])])


def round_trip(model, tmp_path, X):
    model.fit(X, Y)
    vicinal.save(model, tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    names = {file.suffix for file in (tmp_path / "model").iterdir()}
    assert names <= {".json", ".npy"}
    prepared, wanted = (each.steps[0][1].transform(X) for each in (again, model))
    assert sparse.issparse(prepared) == sparse.issparse(wanted)
    dense = [each.toarray() if sparse.issparse(each) else each for each in (prepared, wanted)]
    np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert [type(step) for _, step in again.steps] == [type(step) for _, step in model.steps]
    return again


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(),
        CountVectorizer(ngram_range=(1, 2), min_df=1, stop_words=["and"], binary=True),
        CountVectorizer(vocabulary=["red", "pear"], dtype=np.float32),
        CountVectorizer(analyzer="char_wb", strip_accents="unicode"),
        TfidfVectorizer(sublinear_tf=True, norm="l1"),
        TfidfVectorizer(use_idf=False),
        make_pipeline(CountVectorizer(), TfidfTransformer(smooth_idf=False)),
        FeatureUnion(
            [("words", TfidfVectorizer()), ("letters", CountVectorizer(analyzer="char"))],
            transformer_weights={"letters": 0.1},
        ),
        FeatureUnion([("words", TextVectorizer()), ("none", "drop")]),
    ],
)
def test_vectorizers(vectorizer, tmp_path):
    again = round_trip(make_pipeline(vectorizer, vicinal.MLkNN(2)), tmp_path, TEXTS)
    new = ["a green apple", "unheard of"]
    again.predict(new)


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 1), clip=True),
        MaxAbsScaler(),
        Normalizer("l1"),
        TruncatedSVD(1, random_state=0),
    ],
)
@pytest.mark.parametrize("framed", [False, True])
def test_scalers(scaler, framed, tmp_path):
    X = pd.DataFrame(NUMBERS, columns=["size", "weight"]) if framed else NUMBERS
    again = round_trip(make_pipeline(scaler, vicinal.BRkNN(2)), tmp_path, X)
    if framed:
        assert list(again[0].feature_names_in_) == ["size", "weight"]


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first", sparse_output=False),
        OneHotEncoder(handle_unknown="ignore", categories=[["red", "blue", "green"]]),
    ],
)
def test_one_hot_encoder(encoder, tmp_path):
    X = FRAME[["colour"]]
    again = round_trip(make_pipeline(encoder, vicinal.BRkNN(2)), tmp_path, X)
    assert again[0].get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    if encoder.handle_unknown == "ignore":
        again.predict(pd.DataFrame({"colour": ["violet"]}))


def test_one_hot_encoder_of_numbers(tmp_path):
    X = np.array([[1, 0.5], [2, 1], [3, 0.5], [1, 1], [2, 2]])
    round_trip(make_pipeline(OneHotEncoder(), vicinal.BRkNN(2)), tmp_path, X)


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_column_transformer_of_a_frame(remainder, threshold, tmp_path):
    columns = ColumnTransformer(
        [
            ("words", TfidfVectorizer(), "text"),
            ("kinds", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
            ("numbers", make_pipeline(StandardScaler(), MinMaxScaler()), ["weight"]),
        ],
        remainder=remainder,
        sparse_threshold=threshold,
    )
    again = round_trip(Pipeline([("c", columns), ("e", vicinal.MLkNN(2))]), tmp_path, FRAME)
    assert again[0].get_feature_names_out().tolist() == columns.get_feature_names_out().tolist()
    shuffled = FRAME[["colour", "weight", "text", "size"]]
    np.testing.assert_array_equal(again.predict(shuffled), again.predict(FRAME))
    # Parts learn anew, as scikit-learn's own do.
    again.fit(FRAME, Y)


@pytest.mark.parametrize(
    "chosen",
    [
        make_column_selector(dtype_include=float),
        make_column_selector("^no such column$"),
        [False, True, True, False],
        np.array([1, 2]),
        [-3, -2],
        slice(1, 3),
        [],
    ],
    ids=["function", "none", "mask", "array", "from the end", "range", "empty"],
)
def test_columns_chosen_in_other_ways(chosen, tmp_path):
    columns = ColumnTransformer([("numbers", StandardScaler(), chosen), ("text", "drop", "text")])
    union = FeatureUnion([("chosen", columns), ("lengths", LENGTHS)])
    round_trip(make_pipeline(union, vicinal.MLkNN(2)), tmp_path, FRAME)


def test_columns_by_a_range_of_names_are_refused(tmp_path):
    columns = ColumnTransformer([("numbers", StandardScaler(), slice("size", "weight"))])
    model = make_pipeline(columns, vicinal.BRkNN(1)).fit(FRAME, Y)
    with pytest.raises(InvalidArgumentError, match="columns by name, number or list, got slice"):
        vicinal.save(model, tmp_path / "model")


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool, np.dtype("float32")])
def test_types_of_numbers(dtype, tmp_path):
    encoder = OneHotEncoder(dtype=dtype, sparse_output=False)
    again = round_trip(make_pipeline(encoder, vicinal.BRkNN(2)), tmp_path, FRAME[["colour"]])
    assert again[0].transform(FRAME[["colour"]]).dtype == dtype


def test_parameters_of_other_kinds(tmp_path):
    """NumPy's numbers, and a generator that a fitted transformer does not need."""
    words = CountVectorizer(stop_words=["and", "a"], min_df=np.int64(1))
    steps = (words, TruncatedSVD(2, random_state=np.random.RandomState(3)))
    again = round_trip(make_pipeline(make_pipeline(*steps), vicinal.BRkNN(2)), tmp_path, TEXTS)
    assert again[0][0].min_df == 1
    assert again[0][1].random_state is None


def test_column_transformer_of_an_array(tmp_path):
    columns = ColumnTransformer(
        [("first", StandardScaler(), [0]), ("rest", "passthrough", slice(1, None))]
    )
    round_trip(make_pipeline(columns, vicinal.MLkNN(2)), tmp_path, NUMBERS)


MIXED = pd.DataFrame({"a": pd.Series(["x", None, "y", "x", "y"], dtype=object)})


@pytest.mark.parametrize(
    ("encoder", "X", "says"),
    [
        (OneHotEncoder(drop=np.array(["red"], dtype=object)), FRAME[["colour"]], "a word or None"),
        (OneHotEncoder(), MIXED, "all strings or all numbers, got None"),
    ],
)
def test_encoders_that_cannot_be_saved(encoder, X, says, tmp_path):
    model = make_pipeline(encoder, vicinal.BRkNN(1)).fit(X, Y)
    with pytest.raises(InvalidArgumentError, match=says):
        vicinal.save(model, tmp_path / "model")


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (PCA(1), "step 'pca'.*TfidfVectorizer.*PCA"),
        (FunctionTransformer(np.log1p), "step 'functiontransformer'"),
        (OneHotEncoder(min_frequency=2), "min_frequency"),
        (ColumnTransformer([("a", PCA(1), [0])]), "step 'a'"),
        (ColumnTransformer([("a", StandardScaler(), [0])], remainder=MinMaxScaler()), "remainder"),
    ],
)
def test_other_steps_are_named(step, says, tmp_path):
    model = make_pipeline(step, vicinal.BRkNN(1)).fit(np.abs(NUMBERS), Y)
    with pytest.raises(InvalidArgumentError, match=says):
        vicinal.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_functions_are_not_saved(tmp_path):
    model = make_pipeline(
        CountVectorizer(tokenizer=str.split, token_pattern=None), vicinal.MLkNN(2)
    )
    model.fit(TEXTS, Y)
    with pytest.raises(InvalidArgumentError, match=r"CountVectorizer\(tokenizer=…\)"):
        vicinal.save(model, tmp_path / "model")


def test_the_last_step_must_be_ours(tmp_path):
    model = make_pipeline(StandardScaler(), MinMaxScaler()).fit(NUMBERS)
    with pytest.raises(InvalidArgumentError, match="ends in a vicinal estimator"):
        vicinal.save(model, tmp_path / "model")


def tampered(path, change):
    """Change the manifest and its checksum."""
    import hashlib

    text = (path / "manifest.json").read_text().split("\n", 1)[1].rstrip("\n")
    body = json.loads(text)
    change(body["model"]["state"]["steps"][0]["state"])
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (path / "manifest.json").write_text(f"{digest}\n{text}\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part.update(kind="os.system"),
        lambda part: part["fitted"].update(words=["red", "red"]),
        lambda part: part["fitted"].update(words=["red"]),
        lambda part: part["fitted"]["params"].update(nonsense=1),
        lambda part: part["fitted"]["params"].update(token_pattern="("),
        lambda part: part["fitted"]["params"].update(dtype={"dtype": "object"}),
        lambda part: part.update(fitted=3),
    ],
)
def test_damaged_parts_are_refused(change, tmp_path):
    model = make_pipeline(TfidfVectorizer(), vicinal.MLkNN(2)).fit(TEXTS, Y)
    vicinal.save(model, tmp_path / "model")
    tampered(tmp_path / "model", change)
    with pytest.raises(ModelFormatError):
        vicinal.load(tmp_path / "model")


ENCODED = make_pipeline(OneHotEncoder(), vicinal.BRkNN(1))
COLUMNS = make_pipeline(
    ColumnTransformer([("kinds", OneHotEncoder(), ["colour"]), ("scale", MaxAbsScaler(), [1])]),
    vicinal.BRkNN(1),
)
UNION = make_pipeline(
    FeatureUnion([("a", MaxAbsScaler()), ("b", "drop")], transformer_weights={"a": 2.0}),
    vicinal.BRkNN(1),
)
SCALED = make_pipeline(StandardScaler(), vicinal.BRkNN(1))


@pytest.mark.parametrize(
    ("model", "X", "change", "says"),
    [
        (ENCODED, FRAME[["colour"]], {"categories": []}, "at least one column"),
        (ENCODED, FRAME[["colour"]], {"categories": [3]}, "numbers or strings"),
        (ENCODED, FRAME[["colour"]], {"categories": [["red", "red"]]}, "and each once"),
        (ENCODED, FRAME[["colour"]], {"categories": [[]]}, "at least one per column"),
        (ENCODED, FRAME[["colour"]], {"drop": 3}, "a word or nothing"),
        (ENCODED, FRAME[["colour"]], {"params": {"dtype": {"x": 1}}}, "plain values"),
        (ENCODED, FRAME[["colour"]], {"params": {"dtype": {"dtype": "nonsense"}}}, "of numbers"),
        (ENCODED, FRAME[["colour"]], {"params": {"dtype": {"dtype": "str"}}}, "of numbers"),
        (COLUMNS, FRAME, {"names": ["kinds", "kinds"]}, "a name of its own for each"),
        (COLUMNS, FRAME, {"columns": [["colour"]]}, "one choice per transformer"),
        (COLUMNS, FRAME, {"columns": [["colour"], 1.5]}, "names, numbers or a list of either"),
        (COLUMNS, FRAME, {"columns": [["colour"], ["none"]]}, "no column 'none'"),
        (COLUMNS, FRAME, {"columns": [["colour"], [9]]}, "out of range"),
        (COLUMNS, FRAME, {"n_features": None}, "a number of columns"),
        (UNION, NUMBERS, {"weights": {"c": 2.0}}, "by the names of transformers"),
        (UNION, NUMBERS, {"steps": [{"type": "Reading"}, "drop"]}, "unknown|expected"),
        (SCALED, NUMBERS, {"seen": {"array": "no such file"}}, "seen|array"),
    ],
)
def test_damaged_containers_are_refused(model, X, change, says, tmp_path):
    vicinal.save(model.fit(X, Y), tmp_path / "model")
    tampered(tmp_path / "model", lambda part: part["fitted"].update(change))
    with pytest.raises(ModelFormatError, match=says):
        vicinal.load(tmp_path / "model")
