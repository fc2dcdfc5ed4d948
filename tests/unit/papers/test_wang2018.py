"""What the notes on Wang et al. 2018 claim, held to the stored results."""

import pytest

from vicinal.papers.cells import figures_of, table_cells
from vicinal.papers.stores import stored
from vicinal.papers.wang2018 import PAPER

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
def test_laml_knn_comes_out_with_all_five_figures(figures, data):
    cells = table_cells(PAPER, PAPER.table("3"), figures, ("wang2018/nearest-clusters",))
    apart = [abs(cell.difference) for cell in cells if cell.ours and cell.reported.data == data]
    assert len(apart) == 5
    assert max(apart) < 0.001


def settled(figures, data):
    """Return the settled results of a data set."""
    return [
        result
        for method in ("ml-knn", "dml-knn", "brknn")
        for result in figures.at("wang2018/settled", data, method)
    ]
