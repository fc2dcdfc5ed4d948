"""Sound files and models, of which the damaged ones are made."""

import bz2
import gzip
import io
import lzma
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import savemat
from sklearn.pipeline import Pipeline

import vicinal
from vicinal.datasets import Dataset, write_file
from vicinal.decision import MCut, MetricThreshold, PCut, PerLabelThreshold, RCut, TopS
from vicinal.estimators import METHODS
from vicinal.preprocess import BM25, Binary, MinMax, TextVectorizer, TfIdf, UnitRows
from vicinal.reduction import MDDM

DATA = Dataset(
    X=sparse.csr_array(
        [[0, 1.5, 0, 0, 0, -2e-7, 0, 0, 0, 3], [0] * 10, [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]]
    ),
    Y=[[1, 0, 1], [0, 0, 0], [0, 1, 1]],
    feature_names=(*"abcdefghi", "it's 5%"),
    label_names=("x", "y z", "ü"),
    row_names=("r", "s", "t"),
    train=[0, 1],
    test=[2],
)
COUNTS = Dataset(np.abs(DATA.X.toarray().round()), DATA.Y, DATA.feature_names, DATA.label_names)
MEKA = b"""@relation 'r: -C 2'
@attribute a {0,1}
@attribute 'b c' {NO,YES}
@attribute "d" real
@attribute e {red,'dark green',blue}
@data
0,YES,1.5e-3,'dark green'
{0 1,2 -7, 3 blue}
% comment
{}
"""


@cache
def files() -> dict[str, dict[str, bytes]]:
    """Return by the name of a file to read that file and those that go with it."""
    found = {name: _written(DATA, name) for name in ("d.xc", "d.arff", "d.npz")}
    found |= {name: _written(COUNTS, name) for name in ("d.jsonl", "d.csv", "d.tsv")}
    found["m.meka.arff"] = {"m.meka.arff": MEKA}
    for packed in (False, True):
        content = io.BytesIO()
        savemat(content, {"X": DATA.X, "Y": DATA.Y.toarray()}, do_compression=packed)
        found[f"{packed}.mat"] = {f"{packed}.mat": content.getvalue()}
    plain = found["d.xc"]["d.xc"]
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        found[f"p.xc{ending}"] = {f"p.xc{ending}": pack(plain)}
    return found


def _written(data: Dataset, name: str) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        write_file(data, Path(folder) / name)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


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
def folders() -> dict[str, dict[str, bytes]]:
    """Return by name the files of saved models."""
    found = {}
    for name, model in _models().items():
        with tempfile.TemporaryDirectory() as parent:
            vicinal.save(model, Path(parent) / "m")
            found[name] = {path.name: path.read_bytes() for path in (Path(parent) / "m").iterdir()}
    return found
