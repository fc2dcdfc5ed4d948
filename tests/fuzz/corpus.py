"""Valid files and models, which the fuzzer damages."""

import bz2
import gzip
import io
import lzma
import tempfile
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.random_projection import SparseRandomProjection
from tests.support.sample_files import COUNTS, DATA, MEKA, matlab, written

import vicinal
from vicinal.decision import MCut, MetricThreshold, PCut, PerLabelThreshold, RCut, TopS
from vicinal.methods import METHODS
from vicinal.preprocess import BM25, Binary, MinMax, TextVectorizer, TfIdf, UnitRows
from vicinal.reduction import MDDM


@cache
def files() -> dict[str, dict[str, bytes]]:
    """Return the files of each data set, by the name of the file to read."""
    unnamed = replace(COUNTS, row_names=None)
    found = {name: written(DATA, name) for name in ("d.xc", "d.arff", "d.npz")}
    found |= {name: written(unnamed, name) for name in ("d.jsonl", "d.csv", "d.tsv")}
    found["m.meka.arff"] = {"m.meka.arff": MEKA}
    found["t.parquet"] = {"t.parquet": _parquet()}
    found["t.ods"] = {"t.ods": _spreadsheet()}
    for packed in (False, True):
        found[f"{packed}.mat"] = matlab(f"{packed}.mat", packed)
    plain = found["d.xc"]["d.xc"]
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        found[f"p.xc{ending}"] = {f"p.xc{ending}": pack(plain)}
    return found


def _parquet() -> bytes:
    """Return a Parquet file of texts, numbers and lists of labels."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({
        "text": ["red boat", "blue boat", "a sky"] * 5,
        "size": [0.5, 1.0, 2.0] * 5,
        "labels": [["a"], ["a", "b"], []] * 5,
    })  # fmt: skip
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def _spreadsheet() -> bytes:
    """Return an OpenDocument spreadsheet of texts and labels."""
    space = "urn:oasis:names:tc:opendocument:xmlns:"
    rows = [("text", "labels"), ("red boat", "a"), ("blue boat", "a;b")]
    lines = ["".join(map(_sheet_cell, row)) for row in rows]
    body = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
    content = (
        f'<office:document-content xmlns:office="{space}office:1.0" '
        f'xmlns:table="{space}table:1.0" xmlns:text="{space}text:1.0"><office:body>'
        f'<office:spreadsheet><table:table table:name="S">{body}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        manifest = f'<manifest:manifest xmlns:manifest="{space}manifest:1.0"/>'
        archive.writestr("META-INF/manifest.xml", manifest)
    return stream.getvalue()


def _sheet_cell(text: str) -> str:
    paragraph = f"<text:p>{text}</text:p>"
    return f'<table:table-cell office:value-type="string">{paragraph}</table:table-cell>'


ROWS = np.random.default_rng(0).choice([0.0, 0.0, 0.5, 1.0], size=(24, 6))
LABELS = (np.random.default_rng(1).random((24, 4)) < 0.4).astype(np.int32)
TEXTS = ["red boat", "blue boat", "red sky at night", "a sky"] * 6


def _models() -> dict[str, Any]:
    """Return fitted models of every kind that can be saved."""
    models: dict[str, Any] = {}
    for name, kind in METHODS.items():
        models[name] = kind().fit(ROWS, LABELS)
        models[f"{name} sparse"] = kind().fit(sparse.csr_array(ROWS), sparse.csr_array(LABELS))
    rules = (
        TopS(),
        TopS(2),
        RCut(),
        MCut(),
        PCut(),
        MetricThreshold(),
        PerLabelThreshold(),
        "two-pass",
    )
    for rule in rules:
        models[f"rule {rule}"] = vicinal.BRkNN(3, threshold=rule).fit(ROWS, LABELS)
    grown = vicinal.MLkNN(3).fit(ROWS, LABELS)
    models["forgot"] = grown.partial_fit(ROWS, LABELS).forget([0, 5])
    for step in (MinMax(), UnitRows(), TfIdf(), Binary(), BM25(), MDDM(2)):
        pipe = Pipeline([("step", step), ("estimator", vicinal.BRkNN(3))])
        models[f"pipeline {type(step).__name__}"] = pipe.fit(ROWS, LABELS)
    words = Pipeline(
        [("words", TextVectorizer(weighting="tfidf")), ("estimator", vicinal.BRkNN(3))]
    )
    models["texts"] = words.fit(TEXTS, LABELS)
    return models


@cache
def model_files() -> dict[str, bytes]:
    """Return by name the contents of saved models."""
    found = {}
    for name, model in {**_models(), **_sklearn_models()}.items():
        with tempfile.TemporaryDirectory() as parent:
            vicinal.save(model, Path(parent) / "m")
            found[name] = (Path(parent) / "m").read_bytes()
    return found


def _sklearn_models() -> dict[str, Any]:
    """Return fitted pipelines whose steps skops writes."""
    words = [" ".join(f"w{(7 * row + i) % 90}" for i in range(30)) for row in range(24)]
    numbers = (
        StandardScaler(),
        OneHotEncoder(handle_unknown="ignore"),
        TruncatedSVD(2, random_state=0),
        NMF(2, random_state=0, init="nndsvda"),
        SelectKBest(chi2, k=2),
        SparseRandomProjection(3, random_state=0),
        FeatureUnion([("a", MinMax()), ("b", SimpleImputer())]),
        ColumnTransformer([("a", PCA(2), [0, 1, 2]), ("b", MaxAbsScaler(), [3])]),
    )
    found: dict[str, Any] = {f"sklearn {type(step).__name__}": (step, ROWS) for step in numbers}
    for step in (TfidfVectorizer(), HashingVectorizer(n_features=64), CountVectorizer()):
        found[f"sklearn texts {type(step).__name__}"] = (step, TEXTS)
        found[f"sklearn texts many {type(step).__name__}"] = (clone(step), words)
    return {
        name: Pipeline([("step", step), ("estimator", vicinal.BRkNN(3))]).fit(X, LABELS)
        for name, (step, X) in found.items()
    }
