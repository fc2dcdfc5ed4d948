"""What the notes on Wang et al. 2018 claim, held to the stored results."""

import pytest

from vicinal_reproduction.figures.cells import figures_of, table_cells
from vicinal_reproduction.figures.reported import reported
from vicinal_reproduction.figures.verdict import judge
from vicinal_reproduction.protocols.chosen_clusters import by_clusters
from vicinal_reproduction.results.stores import stored
from vicinal_reproduction.specs.wang2018 import PAPER

DECIMAL = 0.00055
"""Half a unit of the third decimal, and a little for figures that the paper rounds otherwise."""


@pytest.fixture(scope="module")
def figures():
    return figures_of(PAPER, stored().of(PAPER.name).read())


@pytest.mark.parametrize("data", ["enron", "yeast", "slashdot"])
def test_one_k_brings_three_methods_out_to_the_third_decimal(figures, data):
    table = PAPER.table("3")
    cells = [
        cell
        for cell in table_cells(PAPER, table, figures, ("wang2018/settled",))
        if cell.reported.data == data and cell.reported.method != "laml-knn"
    ]
    assert len(cells) == 15
    assert max(abs(cell.difference) for cell in cells) < DECIMAL
    assert len({result.settings["n_neighbors"] for result in settled(figures, data)}) == 1


@pytest.mark.parametrize("data", ["emotions", "birds", "scene", "yeast"])
def test_the_clusters_nearest_to_the_paper_are_the_best_on_the_test_rows(figures, data):
    places = ("wang2018/nearest-clusters", "wang2018/best-clusters")
    nearest, best = (figures.at(place, data, "laml-knn")[0].settings for place in places)
    assert nearest["n_clusters"] == best["n_clusters"]


@pytest.mark.parametrize("data", ["birds", "scene", "yeast", "slashdot"])
def test_laml_knn_reproduces_all_five_figures(figures, data):
    cells = table_cells(PAPER, PAPER.table("3"), figures, ("wang2018/nearest-clusters",))
    apart = [abs(cell.difference) for cell in cells if cell.ours and cell.reported.data == data]
    assert len(apart) == 5
    assert max(apart) < 0.001


@pytest.mark.parametrize("data", ["enron", "corel5k"])
def test_each_figure_of_laml_knn_is_reproduced_by_some_number_of_clusters(figures, data):
    points = by_clusters(figures.at("wang2018/by-clusters", data, "laml-knn")[0])
    for metric, value in theirs(data).items():
        assert any(judge(metric, each[metric], value) != "worse" for each in points.values())


def test_on_emotions_the_hamming_loss_is_that_of_two_clusters_and_the_rest_of_five(figures):
    points = by_clusters(figures.at("wang2018/by-clusters", "emotions", "laml-knn")[0])
    expected = theirs("emotions")
    assert points[2]["hamming-loss"] == pytest.approx(expected.pop("hamming-loss"), abs=0.001)
    for metric, value in expected.items():
        assert points[5][metric] == pytest.approx(value, abs=0.001)


def theirs(data):
    """Return the paper's figures of LAML-kNN on a data set."""
    return {
        each.metric: each.value
        for each in reported()
        if (each.paper, each.data, each.method) == ("wang2018", data, "laml-knn")
    }


def settled(figures, data):
    """Return the settled results of a data set."""
    return [
        result
        for method in ("ml-knn", "dml-knn", "brknn")
        for result in figures.at("wang2018/settled", data, method)
    ]
