"""Tables that leave as frames, Markdown, LaTeX and HTML; short texts of everything large."""

import sys

import numpy as np
import pandas as pd
import pytest

import vicinal
from vicinal.comparison import compare as run
from vicinal.comparison import friedman_nemenyi, paired_order, rank_methods, results_table
from vicinal.errors import MissingExtraError
from vicinal.selection import nested, tune

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def tables(sample):
    data = {"d": (sample.X, sample.Y), "e": (sample.X[::-1], sample.Y)}
    results = run(data, ["brknn", "mlknn"], folds=3, metrics=["hamming-loss", "micro-f1"])
    found = tune("brknn", sample.X, sample.Y, "micro-f1", 3, {"metric": ["euclidean", "cosine"]},
                 metrics=["micro-f1"], progress=False)  # fmt: skip
    by_fold = results_table(results, "hamming-loss", samples="folds")
    return {
        "result": results[0],
        "ranking": rank_methods(results, "hamming-loss"),
        "table": by_fold,
        "friedman": friedman_nemenyi(by_fold, better="low"),
        "order": paired_order({"hamming-loss": by_fold}),
        "tuning": found,
        "tuning table": found.table,
        "nested": nested(
            "brknn",
            sample.X,
            sample.Y,
            "micro-f1",
            2,
            2,
            grid={"n_neighbors": [1, 3]},
            metrics=["micro-f1"],
        ),
    }


NAMES = ["result", "ranking", "table", "friedman", "order", "tuning", "tuning table", "nested"]


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_every_form(tables, name):
    table = tables[name]
    header, rows = table.cells()
    assert len(set(header)) == len(header)
    assert all(len(row) == len(header) for row in rows)
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == header
    assert frame.shape == (len(rows), len(header))
    lines = table.to_markdown().splitlines()
    assert len(lines) == len(rows) + 2
    latex = table.to_latex().splitlines()
    assert (latex[0][:15], latex[-1]) == (r"\begin{tabular}", r"\end{tabular}")
    assert len(latex) == len(rows) + 6
    page = table._repr_html_()
    assert page.count("<tr>") == min(len(rows), 20) + 1


def test_figures_are_kept_to_the_last_digit(tables):
    result = tables["result"]
    frame = result.to_pandas().set_index("metric")
    assert frame.loc["hamming-loss", "mean"] == result.mean("hamming-loss")
    table = tables["tuning table"]
    frame = table.to_pandas()
    assert "metric (parameter)" in frame.columns
    assert frame["mean"].tolist() == table.mean("micro-f1").tolist()


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_short(tables, name):
    assert len(repr(tables[name])) < 400


def test_arrays_are_not_printed(sample):
    model = vicinal.MLkNN(3).fit(sample.X, sample.Y)
    assert repr(model.scores(sample.X)) == "Scores(50 rows × 5 labels, sparse)"
    graph = model.neighbor_graph(sample.X, 3)
    assert repr(graph) == "NeighborGraph(50 queries × 3 of 50 rows, euclidean)"
    assert "array" not in repr(vicinal.Scores.dense(np.zeros((2, 2))))


def test_without_pandas_its_extra_is_named(tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"vicinal\[frames\]"):
        next(iter(tables.values())).to_pandas()
