"""Pipelines with scikit-learn's own transformers: saved by skops, read to the bit, audited."""

import io
import itertools
import json
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_files import put_together, taken_apart
from scipy import sparse
from sklearn.cluster import Birch, FeatureAgglomeration, KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation, TruncatedSVD
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold, chi2
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import SparseRandomProjection

import vicinal
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence import read_header, sklearn_steps
from vicinal.preprocess import TextVectorizer, TfIdf

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
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
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
        CountVectorizer(analyzer="char", ngram_range=(1, 5), max_features=70),
        TfidfVectorizer(sublinear_tf=True, norm="l1"),
        TfidfVectorizer(use_idf=False),
        TfidfVectorizer(analyzer="char", ngram_range=(1, 5), stop_words=None),
        HashingVectorizer(n_features=16),
        make_pipeline(CountVectorizer(), TfidfTransformer(smooth_idf=False)),
        make_pipeline(CountVectorizer(), SelectKBest(chi2, k=2)),
        make_pipeline(CountVectorizer(), LatentDirichletAllocation(2, random_state=0)),
        make_pipeline(TfidfVectorizer(), NMF(2, random_state=0, init="nndsvda")),
        FeatureUnion(
            [("words", TfidfVectorizer()), ("letters", CountVectorizer(analyzer="char"))],
            transformer_weights={"letters": 0.1},
        ),
        FeatureUnion([("words", TextVectorizer()), ("none", "drop")]),
        make_pipeline(CountVectorizer(), TfIdf()),
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
        PCA(1),
        RobustScaler(),
        SplineTransformer(4, degree=2),
        SplineTransformer(4, extrapolation="periodic", degree=2),
        PowerTransformer(),
        QuantileTransformer(n_quantiles=3),
        KBinsDiscretizer(2, quantile_method="averaged_inverted_cdf"),
        PolynomialFeatures(),
        SimpleImputer(),
        VarianceThreshold(),
        KMeans(2, n_init=1, random_state=0),
        FeatureAgglomeration(1),
        Nystroem(n_components=3, random_state=0),
        SparseRandomProjection(2, random_state=0),
        FunctionTransformer(),
        SelectFromModel(LogisticRegression()),
    ],
    ids=lambda scaler: type(scaler).__name__,
)
@pytest.mark.parametrize("framed", [False, True])
def test_scalers(scaler, framed, tmp_path):
    X = pd.DataFrame(NUMBERS, columns=["size", "weight"]) if framed else NUMBERS
    if isinstance(scaler, SelectFromModel):  # which needs one label per row
        fitted = scaler.fit(X, Y[:, 0])
        model = vicinal.make_pipeline(fitted, vicinal.BRkNN(2).fit(fitted.transform(X), Y))
        vicinal.save(model, tmp_path / "model")
        again = vicinal.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    else:
        again = round_trip(make_pipeline(scaler, vicinal.BRkNN(2)), tmp_path, X)
    if framed and not isinstance(scaler, FunctionTransformer):
        assert list(again[0].feature_names_in_) == ["size", "weight"]


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first", sparse_output=False),
        OneHotEncoder(drop=np.array(["red"], dtype=object)),
        OneHotEncoder(handle_unknown="ignore", categories=[["red", "blue", "green"]]),
        OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"),
    ],
)
def test_one_hot_encoder(encoder, tmp_path):
    X = FRAME[["colour"]]
    again = round_trip(make_pipeline(encoder, vicinal.BRkNN(2)), tmp_path, X)
    assert again[0].get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    if encoder.handle_unknown == "ignore":
        again.predict(pd.DataFrame({"colour": ["violet"]}))


MIXED = pd.DataFrame({"a": pd.Series(["x", None, "y", "x", "y"], dtype=object)})


def test_encoders_of_numbers_and_of_missing_values(tmp_path):
    X = np.array([[1, 0.5], [2, 1], [3, 0.5], [1, 1], [2, 2]])
    round_trip(make_pipeline(OneHotEncoder(), vicinal.BRkNN(2)), tmp_path, X)
    round_trip(make_pipeline(OneHotEncoder(), vicinal.BRkNN(2)), tmp_path, MIXED)
    round_trip(make_pipeline(OrdinalEncoder(), vicinal.BRkNN(2)), tmp_path, FRAME[["colour"]])


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


def test_transformers_of_vicinal_within_those_of_sklearn(tmp_path):
    """Fitted ones are saved as they are at the top, the unfitted originals as their parameters."""
    words = TextVectorizer(weighting="tfidf", ngram_range=(1, 2))
    columns = ColumnTransformer([("words", words, "text"), ("rest", "drop", ["size"])])
    again = round_trip(make_pipeline(columns, vicinal.MLkNN(2)), tmp_path, FRAME)
    given = again[0].transformers[0][1]
    assert given.get_params() == words.get_params()
    assert given is not again[0].transformers_[0][1]
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
        slice("size", "weight"),
        [],
    ],
    ids=["function", "none", "mask", "array", "from the end", "range", "range of names", "empty"],
)
def test_columns_chosen_in_other_ways(chosen, tmp_path):
    columns = ColumnTransformer([("numbers", StandardScaler(), chosen), ("text", "drop", "text")])
    union = FeatureUnion([("chosen", columns), ("lengths", LENGTHS)])
    round_trip(make_pipeline(union, vicinal.MLkNN(2)), tmp_path, FRAME)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool, np.dtype("float32")])
def test_types_of_numbers(dtype, tmp_path):
    encoder = OneHotEncoder(dtype=dtype, sparse_output=False)
    again = round_trip(make_pipeline(encoder, vicinal.BRkNN(2)), tmp_path, FRAME[["colour"]])
    assert again[0].transform(FRAME[["colour"]]).dtype == dtype


def test_parameters_of_other_kinds(tmp_path):
    """NumPy's numbers, and a generator that a fitted transformer does not need."""
    words = CountVectorizer(stop_words=["and", "a"], min_df=np.int64(1))
    steps = (words, TruncatedSVD(2, random_state=np.random.RandomState(3)))
    model = make_pipeline(make_pipeline(*steps), vicinal.BRkNN(2))
    again = round_trip(model, tmp_path, TEXTS)
    assert again[0][0].min_df == 1
    assert again[0][1].random_state is None
    assert isinstance(model[0][1].random_state, np.random.RandomState)  # the saved one keeps it


def test_column_transformer_of_an_array(tmp_path):
    columns = ColumnTransformer(
        [("first", StandardScaler(), [0]), ("rest", "passthrough", slice(1, None))]
    )
    round_trip(make_pipeline(columns, vicinal.MLkNN(2)), tmp_path, NUMBERS)
    nested = ColumnTransformer([("a", PCA(1), [0])], remainder=MinMaxScaler())
    round_trip(make_pipeline(nested, vicinal.MLkNN(2)), tmp_path, NUMBERS)


def test_large_vocabularies_are_arrays_of_the_file(tmp_path):
    """skops would write some 500 bytes per word."""
    texts = [" ".join(f"word{i}" for i in range(at, at + 400)) for at in range(0, 2000, 400)] * 2
    model = make_pipeline(TfidfVectorizer(min_df=2), vicinal.BRkNN(1)).fit(texts, np.eye(10))
    vicinal.save(model, tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    assert again[0].vocabulary_ == model[0].vocabulary_
    np.testing.assert_array_equal(again[0].idf_, model[0].idf_)
    _, arrays = taken_apart((tmp_path / "model").read_bytes())
    assert sum(array.nbytes for name, array in arrays.items() if "skops" in name) < 30_000


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (FunctionTransformer(np.log1p), r"step 'functiontransformer': .*numpy\.log1p is not trust"),
        (FunctionTransformer(lambda X: X), "step 'functiontransformer'.*is not trusted"),
        (Birch(n_clusters=None), r"sklearn\.cluster\._birch\._\w+ is not trusted"),
        (KNeighborsTransformer(n_neighbors=2), r"_graph\.KNeighborsTransformer is not trusted"),
        (RandomTreesEmbedding(2, random_state=0), r"RandomTreesEmbedding is not trusted"),
        (ColumnTransformer([("a", FunctionTransformer(np.abs), [0])]), r"numpy\.absolute is not"),
        (make_pipeline(PCA(1), memory="/tmp/never"), r"Pipeline\(memory=…\): expected None"),
        (FeatureUnion([("a", PCA(1))], n_jobs=10**6), r"n_jobs=…\): expected at most 1024"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_other_steps_are_named(step, says, tmp_path):
    if getattr(step, "memory", None) or getattr(step, "n_jobs", None):
        fitted = vicinal.make_pipeline(step, vicinal.BRkNN(1).fit(NUMBERS, Y))
        step.memory = None
        keep, step.n_jobs = getattr(step, "n_jobs", None), None
        step.fit(NUMBERS)
        step.n_jobs, step.memory = keep, None if keep else "/tmp/never"
        model = fitted
    else:
        model = make_pipeline(step, vicinal.BRkNN(1)).fit(np.abs(NUMBERS), Y)
    with pytest.raises(InvalidArgumentError, match=says) as caught:
        vicinal.save(model, tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


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


def described(path: Path) -> tuple[dict[str, Any], dict[str, bytes], dict[str, Any]]:
    """Return the description of the first step: the schema, the other members, all of the file."""
    manifest, arrays = taken_apart(path.read_bytes())
    (name,) = [name for name in arrays if name.endswith("skops")]
    with zipfile.ZipFile(io.BytesIO(arrays[name].tobytes())) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    return json.loads(members.pop("schema.json")), members, {"manifest": manifest, "arrays": arrays}


def tampered(path: Path, change: Callable[[dict[str, Any]], object], **options: Any) -> None:
    """Change the description of the first step, all checksums right."""
    schema, members, rest = described(path)
    change(schema)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
        archive.writestr("schema.json", json.dumps(schema))
    (name,) = [name for name in rest["arrays"] if name.endswith("skops")]
    rest["arrays"][name] = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
    path.write_bytes(put_together(rest["manifest"], rest["arrays"]))


def attributes(schema: dict[str, Any]) -> dict[str, Any]:
    return schema["content"]["content"]


def add(schema: dict[str, Any], **nodes: dict[str, Any]) -> None:
    """Set attributes of the estimator; skops lists the types of their names besides."""
    for name, value in nodes.items():
        if name not in attributes(schema):
            schema["content"]["key_types"]["content"].append(node("TypeNode", "builtins.str"))
        attributes(schema)[name] = value


NUMBERS_OF_NODES = itertools.count(10**9)


def plain(value: Any) -> dict[str, Any]:
    """Return a plain value as skops describes it."""
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def node(loader: str, name: str, **content: Any) -> dict[str, Any]:
    """Return a node with a number of its own."""
    module, _, kind = name.rpartition(".")
    about = {"__class__": kind, "__module__": module, "__loader__": loader}
    return {**about, "__id__": next(NUMBERS_OF_NODES), **content}


def tuple_of(*values: Any) -> dict[str, Any]:
    return node("TupleNode", "builtins.tuple", content=[plain(value) for value in values])


@contextmanager
def watched() -> Iterator[list[str]]:
    """Note the files that this thread opens and the programs that it starts."""
    noted: list[str] = []
    thread, active = threading.get_ident(), [True]

    def note(event: str, values: tuple[Any, ...]) -> None:
        if active[0] and threading.get_ident() == thread:
            if event == "open" and isinstance(values[0], str | bytes):
                noted.append(str(values[0]))
            elif event in ("os.system", "subprocess.Popen", "os.exec", "socket.connect"):
                noted.append(event)

    sys.addaudithook(note)
    try:
        yield noted
    finally:
        active[0] = False


MARK = "/no/such/place"
FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "input": lambda s: add(s, input=plain("filename")),
    "input of streams": lambda s: add(s, input=plain("file")),
    "no input": lambda s: add(s, input=plain(None)),
    "a type as tokenizer": lambda s: add(s, tokenizer=node("TypeNode", "builtins.str")),
    "a container as tokenizer": lambda s: add(s, tokenizer=node("TypeNode", "builtins.map")),
    "a function": lambda s: add(s, tokenizer=node("FunctionNode", "os.system")),
    "a function of NumPy": lambda s: add(s, preprocessor=node("FunctionNode", "numpy.log1p")),
    "a trusted function elsewhere": lambda s: add(s, transform=node("FunctionNode", "numpy.mean")),
    "open": lambda s: add(s, analyzer=node("FunctionNode", "builtins.open")),
    "a partial": lambda s: add(s, tokenizer=node("PartialNode", "functools.partial", content={})),
    "a method": lambda s: add(
        s, tokenizer=node("MethodNode", "builtins.str", content={"func": "x", "obj": plain("x")})
    ),
    "an operator": lambda s: add(
        s, tokenizer=node("OperatorFuncNode", "operator.methodcaller", attrs=tuple_of("x"))
    ),
    "a constructor": lambda s: add(
        s, tokenizer=node("ConstructorFromReduceNode", "pathlib.Path", content=tuple_of(MARK))
    ),
    "a list of another type": lambda s: add(
        s, stop_words=node("ListNode", "pathlib.Path", content=[plain(MARK)])
    ),
    "a class of another package": lambda s: s.update(__module__="os", __class__="system"),
    "a class that does not transform": lambda s: s.update(
        __module__="sklearn.linear_model._logistic", __class__="LogisticRegression"
    ),
    "a class that is not there": lambda s: s.update(__class__="Unheard"),
    "an old protocol": lambda s: s.update(protocol=0),
    "a later protocol": lambda s: s.update(protocol=99),
    "no number": lambda s: s.pop("__id__"),
    "nonsense": lambda s: add(s, nonsense_=node("Unheard", "builtins.str")),
    "a missing parameter": lambda s: attributes(s).pop("lowercase"),
    "a method overwritten": lambda s: add(s, transform=plain("x")),
    "a dunder": lambda s: add(s, __class__=plain("x")),
    "a pattern": lambda s: add(s, ngram_range=plain("x")),
    "a norm": lambda s: add(s, norm=plain("l7")),
    "words": lambda s: attributes(s)["vocabulary_"]["content"].update(red=plain(10**9)),
    "negative words": lambda s: attributes(s)["vocabulary_"]["content"].update(red=plain(-1)),
    "words as text": lambda s: attributes(s)["vocabulary_"]["content"].update(red=plain("1")),
    "no words": lambda s: add(s, vocabulary_=plain({})),
    "a list of words": lambda s: add(s, vocabulary_=plain(["red"])),
    "weights as a list": lambda s: attributes(s)["_tfidf"]["content"]["content"].update(
        idf_=plain([1.0])
    ),
    "no weights": lambda s: attributes(s)["_tfidf"]["content"]["content"].pop("idf_"),
    "another file": lambda s: attributes(s)["_tfidf"]["content"]["content"]["idf_"].update(
        file="/etc/passwd"
    ),
    "a member used twice": lambda s: add(
        s, again_={**attributes(s)["_tfidf"]["content"]["content"]["idf_"], "__id__": 10**10}
    ),
    "a piece that is not there": lambda s: add(
        s,
        stop_words=node(
            "ObjectNode",
            sklearn_steps.PIECE,
            content=node(
                "DictNode",
                "builtins.dict",
                key_types=node(
                    "ListNode", "builtins.list", content=[node("TypeNode", "builtins.str")]
                ),
                content={"number": plain(99)},
            ),
        ),
    ),
    "nesting": lambda s: add(s, stop_words=nested(20_000)),
}


def nested(depth: int) -> dict[str, Any]:
    value = plain("x")
    for _ in range(min(depth, 300)):
        value = node("ListNode", "builtins.list", content=[value])
    return value


@pytest.fixture
def texts_model(tmp_path: Path) -> Path:
    model = make_pipeline(TfidfVectorizer(), vicinal.MLkNN(2)).fit(TEXTS, Y)
    vicinal.save(model, tmp_path / "model")
    vicinal.load(tmp_path / "model")  # and with it everything that loading imports
    return tmp_path / "model"


def test_helpers_leave_a_step_that_loads(texts_model):
    tampered(texts_model, lambda schema: None)
    assert vicinal.load(texts_model).predict(TEXTS).shape == (5, 3)


@pytest.mark.parametrize("what", FORGED)
def test_forged_steps_are_refused(what, texts_model):
    tampered(texts_model, FORGED[what])
    with watched() as noted, pytest.raises(ModelFormatError) as caught:
        vicinal.load(texts_model)
    assert "\n" not in str(caught.value)
    assert set(noted) <= {str(texts_model)}, "only the model's own file is opened"


def test_loading_and_predicting_open_no_other_file(texts_model):
    vicinal.load(texts_model).predict(TEXTS)  # and with it everything that predicting imports
    with watched() as noted:
        vicinal.load(texts_model).predict(TEXTS)
    assert str(texts_model) in noted
    others = [name for name in noted if not name.startswith(("/proc/", "/sys/"))]
    assert set(others) == {str(texts_model)}


def test_weights_of_the_wrong_length(tmp_path):
    texts = [" ".join(f"word{i}" for i in range(at, at + 200)) for at in (0, 200)]
    model = make_pipeline(TfidfVectorizer(), vicinal.BRkNN(1)).fit(texts, [[1], [0]])
    vicinal.save(model, tmp_path / "model")
    manifest, arrays = taken_apart((tmp_path / "model").read_bytes())
    (name,) = [name for name, array in arrays.items() if "pieces" in name and array.ndim == 1
               and array.dtype == np.float64]  # fmt: skip
    arrays[name] = arrays[name][:-1]
    (tmp_path / "model").write_bytes(put_together(manifest, arrays))
    with pytest.raises(ModelFormatError, match=r"expected one idf per word|expected 400 numbers"):
        vicinal.load(tmp_path / "model")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda piece, arrays: arrays.update({piece["t"]["$array"]: np.zeros(3)}),
        lambda piece, arrays: arrays.update({piece["t"]["$array"]: np.full(8, np.nan)}),
        lambda piece, arrays: arrays.update({piece["c"]["$array"]: np.zeros((2, 2))}),
        lambda piece, arrays: piece.update(spline=[10**6, True, 0]),
        lambda piece, arrays: piece.update(spline=["x"]),
    ],
)
def test_splines_of_the_wrong_shape(spoil, tmp_path):
    model = make_pipeline(SplineTransformer(4, degree=2), vicinal.BRkNN(1)).fit(NUMBERS, Y)
    vicinal.save(model, tmp_path / "model")
    manifest, arrays = taken_apart((tmp_path / "model").read_bytes())
    step = manifest["model"]["state"]["steps"][0]["state"]
    spoil(next(piece for piece in step["pieces"] if "spline" in piece), arrays)
    (tmp_path / "model").write_bytes(put_together(manifest, arrays))
    with pytest.raises(ModelFormatError) as caught:
        vicinal.load(tmp_path / "model").predict(NUMBERS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", ["mean_", "scale_", "var_"])
def test_scalers_of_another_width(what, tmp_path):
    model = make_pipeline(StandardScaler(), vicinal.BRkNN(1)).fit(NUMBERS, Y)
    vicinal.save(model, tmp_path / "model")
    other = make_pipeline(StandardScaler(), vicinal.BRkNN(1)).fit(NUMBERS[:, :1], Y)
    vicinal.save(other, tmp_path / "other")
    schema, members, _ = described(tmp_path / "other")
    narrow = members[attributes(schema)[what]["file"]]
    schema, members, rest = described(tmp_path / "model")
    members[attributes(schema)[what]["file"]] = narrow
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for each, content in {**members, "schema.json": json.dumps(schema)}.items():
            archive.writestr(each, content)
    (name,) = [name for name in rest["arrays"] if name.endswith("skops")]
    rest["arrays"][name] = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
    (tmp_path / "model").write_bytes(put_together(rest["manifest"], rest["arrays"]))
    with pytest.raises(ModelFormatError, match=rf"StandardScaler\.{what}: expected 2 numbers"):
        vicinal.load(tmp_path / "model")


def test_archives_that_unpack_to_more(texts_model):
    tampered(texts_model, lambda schema: None, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFormatError, match="without compression"):
        vicinal.load(texts_model)


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 100, b"PK\x05\x06" + bytes(18)])
def test_descriptions_that_are_no_archive(content, texts_model):
    manifest, arrays = taken_apart(texts_model.read_bytes())
    (name,) = [name for name in arrays if name.endswith("skops")]
    arrays[name] = np.frombuffer(content, dtype=np.uint8)
    texts_model.write_bytes(put_together(manifest, arrays))
    with pytest.raises(ModelFormatError, match="a scikit-learn step"):
        vicinal.load(texts_model)


PIECES: list[Any] = [
    3,
    {},
    {"words": ["red", "red"]},
    {"words": 3},
    {"names": [1]},
    {"array": "x"},
    {"csr": None},
    {"part": 3},
    {"part": {"$part": "decision.TopS", "state": {"s": None}}},
    {"kind": "preprocess.Unheard", "params": {}},
    {"kind": "decision.TopS", "params": {"s": -1}},
    {"kind": "preprocess.TextVectorizer", "params": {"unheard": 1}},
]


@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_damaged_pieces_are_refused(piece, tmp_path):
    texts = [" ".join(f"word{i}" for i in range(at, at + 200)) for at in (0, 200)]
    model = make_pipeline(CountVectorizer(), vicinal.BRkNN(1)).fit(texts, [[1], [0]])
    vicinal.save(model, tmp_path / "model")
    manifest, arrays = taken_apart((tmp_path / "model").read_bytes())
    manifest["model"]["state"]["steps"][0]["state"]["pieces"] = [piece]
    (tmp_path / "model").write_bytes(put_together(manifest, arrays))
    with pytest.raises(ModelFormatError):
        vicinal.load(tmp_path / "model")


def test_a_user_can_trust_a_function(tmp_path):
    X = np.abs(NUMBERS)
    model = make_pipeline(FunctionTransformer(np.log1p), vicinal.BRkNN(1)).fit(X, Y)
    vicinal.save(model, tmp_path / "model", trusted=["numpy.log1p"])
    with pytest.raises(ModelFormatError, match=r"trusted=\['numpy\.log1p'\]"):
        vicinal.load(tmp_path / "model")
    with pytest.raises(InvalidArgumentError, match="trusted: expected a list of names"):
        vicinal.load(tmp_path / "model", trusted="numpy.log1p")
    again = vicinal.load(tmp_path / "model", trusted=["numpy.log1p"])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_user_can_trust_a_type(tmp_path):
    name = "sklearn.neighbors._graph.KNeighborsTransformer"
    model = make_pipeline(
        KNeighborsTransformer(n_neighbors=2, algorithm="brute"), vicinal.BRkNN(1)
    ).fit(NUMBERS, Y)
    vicinal.save(model, tmp_path / "model", trusted=[name])
    again = vicinal.load(tmp_path / "model", trusted=[name])
    np.testing.assert_array_equal(again.predict(NUMBERS), model.predict(NUMBERS))


def test_equal_steps_have_equal_fingerprints(tmp_path):
    model = make_pipeline(TfidfVectorizer(), vicinal.MLkNN(2)).fit(TEXTS, Y)
    other = make_pipeline(TfidfVectorizer(), vicinal.MLkNN(2)).fit(TEXTS, Y)
    for name, each in (("a", model), ("b", model), ("c", other)):
        vicinal.save(each, tmp_path / name)
    assert len({read_header(tmp_path / name).fingerprint for name in "abc"}) == 1


def test_a_step_saved_by_another_version_warns(texts_model):
    tampered(texts_model, lambda schema: add(schema, _sklearn_version=plain("1.0.0")))
    with pytest.warns(UserWarning, match=r"version 1\.0\.0"):
        vicinal.load(texts_model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(ModelFormatError, match=r"version 1\.0\.0"):
            vicinal.load(texts_model)
