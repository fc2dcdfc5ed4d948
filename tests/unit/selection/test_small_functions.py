"""Examples of functions that other tests reach only on the way."""

import re

import numpy as np
import pytest

from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.selection.folds import given_fold, is_texts, read_steps
from vicinal.selection.grid import Grid, beyond_edge, coarse_places, make_grids, search_of
from vicinal.selection.lcif_grid import TrueCounts, check_set_metrics, compiled_rule
from vicinal.selection.stratification import Split
from vicinal.selection.tuning import metric_names
from vicinal.selection.tuning_table import settings_text


def test_given_fold():
    ids = np.array([[1, 2], [0, 2], [1, 0]], np.int32)
    near = NeighborGraph(ids, np.ones((3, 2)), "dot", n_rows=3)
    training, held_out = given_fold(near, Split(np.array([0, 2]), np.array([1])), 1)
    assert (training.ids.tolist(), held_out.ids.tolist()) == ([[1], [0]], [[0]])


def test_read_steps():
    from vicinal.preprocess import MinMax

    assert repr(read_steps(MinMax())) == "[('minmax', MinMax())]"
    assert read_steps(None) == []
    assert repr(read_steps("auto", np.zeros((2, 2)))) == "[('minmax', MinMax())]"
    assert [name for name, _ in read_steps("auto", ["a text"])] == ["words"]


def test_is_texts():
    assert (is_texts(["a text"]), is_texts(np.zeros((1, 1)))) == (True, False)


def test_grid():
    grid = Grid("mlknn", {"n_neighbors": (1, 5), "smoothing": (0.0, 1.0)})
    assert [grid.params(position) for position in grid.positions()][1:3] == [
        {"n_neighbors": 1, "smoothing": 1.0},
        {"n_neighbors": 5, "smoothing": 0.0},
    ]


def test_search_of():
    from vicinal import MLkNN

    assert repr(search_of(MLkNN(metric="cosine"))) == "Search(metric='cosine', algorithm='auto')"


def test_make_grids():
    assert make_grids(["mlknn", "lpknn"], {"smoothing": [0.5, 1]})[0].axes == {
        "smoothing": (0.5, 1)
    }
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "grid: expected parameters of mlknn (n_neighbors, smoothing, metric, threshold, "
            "never_empty, algorithm, recalibrate_at), got 'mixing'"
        ),
    ):
        make_grids("mlknn", {"mixing": [0.5]})


def test_coarse_places():
    assert coarse_places(range(1, 30, 2)) == [0, 3, 6, 9, 12, 14]
    assert coarse_places(["feature", "label"]) == [0, 1]


def test_beyond_edge():
    from vicinal.selection.grid import make_grids

    (grid,) = make_grids("instance-knn")
    assert beyond_edge(grid, [(3,)]) is None
    assert beyond_edge(grid, [(14,)]).axes["n_neighbors"][-2:] == (57, 59)


def test_check_set_metrics():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "metrics: expected metrics of predicted label sets, got 'coverage', which needs scores"
        ),
    ):
        check_set_metrics(["micro-f1", "coverage"])


def test_truecounts():
    truth = TrueCounts(np.array([2, 1]), np.array([1, 2]))
    given = [np.array(each) for each in ([1, 2], [1, 1], [2, 1], [1, 1])]
    np.testing.assert_allclose(
        (truth.values(*given, ["example-recall", "micro-precision"])), np.array([0.75, 2 / 3])
    )


def test_compiled_rule():
    from vicinal import LCIF

    assert (compiled_rule(LCIF()), compiled_rule(LCIF(threshold=0.5))) == ("cardinality", None)


def test_metric_names():
    assert (metric_names("micro-f1", None), metric_names("micro-f1", ["one-error"])) == (
        ("micro-f1",),
        ("one-error", "micro-f1"),
    )


def test_settings_text():
    assert settings_text({"n_neighbors": 5, "variant": "a"}) == "n_neighbors=5, variant=a"
