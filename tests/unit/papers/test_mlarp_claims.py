"""What the notes and reasons on ML-ARP claim, held to the stored results."""

import pytest

from vicinal.papers.cells import figures_of, table_cells
from vicinal.papers.mlarp import PAPER
from vicinal.papers.mlarp_methods import FOUR
from vicinal.papers.stores import stored


@pytest.fixture(scope="module")
def figures():
    return figures_of(PAPER, stored().of(PAPER.name).read())


def verdicts(figures, table: str, *experiments: str) -> list[str]:
    """Return how ML-ARP's cells come out on the four data sets, or its ranks over them."""
    cells = table_cells(PAPER, PAPER.table(table), figures, experiments)
    return [
        cell.verdict for cell in cells if cell.reported.method == "ml-arp" and cell.ours is not None
    ]


def test_a_search_on_the_test_rows_is_at_the_papers_figures_or_below(figures):
    found = verdicts(figures, "2", "ml-arp/peeking")
    assert len(found) == len(FOUR)
    assert set(found) <= {"matched", "better"}


def test_most_of_its_ranks_are_the_papers_or_better(figures):
    found = verdicts(figures, "3", "ml-arp/ranks-peeking")
    assert len(found) == 13
    assert found.count("worse") <= 3


def test_rows_put_aside_to_choose_by_do_not_help(figures):
    assert verdicts(figures, "2", "ml-arp/held-out") == ["worse"] * len(FOUR)


def test_no_k_brings_ml_knn_on_delicious_near_the_papers_figure(figures):
    results = figures.at("ml-arp/by-k", "delicious", "ml-knn")
    means = [sum(each) / len(each) for result in results for each in result.values.values()]
    assert means
    assert min(means) > 0.018  # the paper: 0.014
