"""The papers' figures are all there, and each belongs to one cell of one specification."""

import csv
from collections import Counter
from importlib.resources import files

import pytest

from vicinal.datasets import describe
from vicinal_reproduction.figures.reported import reported, reported_wins
from vicinal_reproduction.protocols.folds import Folds
from vicinal_reproduction.protocols.lcif_search import LcifSearch
from vicinal_reproduction.protocols.projected_folds import ProjectedFolds
from vicinal_reproduction.sources import GENERATED, catalogue_name
from vicinal_reproduction.specification import Paper
from vicinal_reproduction.specs.mlarp_readings import READINGS
from vicinal_reproduction.specs.registry import PAPERS


def test_every_line_of_the_file_is_a_cell():
    text = (files("vicinal_reproduction.figures") / "reported.csv").read_text(encoding="utf-8")
    assert len(reported()) == len(list(csv.reader(text.splitlines()))) - 1 == 1134


def test_no_cell_is_reported_twice():
    places = Counter((c.paper, c.table, c.data, c.method, c.metric) for c in reported())
    assert max(places.values()) == 1


def test_every_reported_cell_belongs_to_exactly_one_specification():
    declared = Counter(
        (paper.name, table.name, data, method, metric)
        for paper in PAPERS.values()
        for table in paper.tables
        for data in table.data
        for method in table.methods
        for metric in table.metrics
    )
    homeless = [
        cell
        for cell in reported()
        if declared[cell.paper, cell.table, cell.data, cell.method, cell.metric] != 1
    ]
    assert homeless == []


def test_a_specification_asks_for_nothing_that_the_paper_does_not_report():
    known = {(c.paper, c.table, c.data) for c in reported()}
    known_methods = {(c.paper, c.table, c.method) for c in reported()}
    for paper in PAPERS.values():
        for table in paper.tables:
            assert all((paper.name, table.name, data) in known for data in table.data)
            assert all((paper.name, table.name, each) in known_methods for each in table.methods)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_tables_are_filled_from_experiments_that_exist(paper: Paper):
    made = {"wang2018/nearest-clusters", "wang2018/best-clusters", "ml-arp/ranks"}
    made |= {f"ml-arp/ranks-{reading}" for reading in READINGS}
    named = {each.name for each in paper.experiments} | made
    for table in paper.tables:
        assert set(table.experiments) <= named, table.name
    for check in paper.checks:
        assert {each.removesuffix("-best") for each in (check.experiment, *check.also)} <= named
        assert all(paper.table(name) is not None for name in check.tables)
    for curve in paper.curves:
        assert curve.experiment in named
    for order in paper.orders:
        assert set(order.experiments) <= named


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_every_cell_has_an_experiment_that_runs_its_method_on_its_data(paper: Paper):
    run = {
        (each.name, data, method)
        for each in paper.experiments
        for data in each.data
        for method in each.methods
    }
    for cell in (each for each in reported() if each.paper == paper.name):
        table = paper.table(cell.table)
        assert table is not None
        if table.experiments == ("ml-arp/ranks",):
            continue
        for data in table.averages.get(cell.data, (cell.data,)):
            assert any((name, data, cell.method) in run for name in table.experiments), cell


def test_every_order_is_specified():
    specified = {
        (paper.name, order.table, order.data) for paper in PAPERS.values() for order in paper.orders
    }
    assert {(win.paper, win.table, win.data) for win in reported_wins()} == specified


def test_the_catalogue_knows_every_data_set():
    names = {data for p in PAPERS.values() for each in p.experiments for data in each.data}
    for name in names - set(GENERATED):
        assert describe(catalogue_name(name))["name"] == catalogue_name(name)


LCIF_READINGS = ("literal", "max", "label-literal", "label-kept-mean", "label-mean", "label-max")
ONE_DRAW = {
    "ml-arp/stratified",
    "ml-arp/rcv1",
    *(f"ml-arp/{reading}" for reading in READINGS),
    *(f"feremans2017/{reading}" for reading in LCIF_READINGS),
}
"""Long searches, which fill what experiments with three seeds leave open, and side experiments."""


def test_cross_validated_experiments_have_three_seeds():
    for paper in PAPERS.values():
        for each in paper.experiments:
            if each.name in ONE_DRAW:
                continue
            if isinstance(each.protocol, Folds | LcifSearch | ProjectedFolds):
                assert len(each.seeds) >= 3, each.name


def of_rows(value: float, n_rows: int) -> bool:
    """Tell whether a mean of `n_rows` whole numbers can be printed so, with four decimals."""
    return round(round(value * n_rows) / n_rows, 4) == value


def test_the_explanation_for_society_follows_from_the_printed_figures():
    figures = {
        (cell.data, cell.metric): cell.value
        for cell in reported()
        if (cell.paper, cell.method) == ("zhang2007", "adtboost.mh")
        and cell.metric in ("one-error", "coverage")
        and cell.table in ("11", "12")
        and cell.data != "yahoo-average"
    }
    assert len(figures) == 22
    not_of_3000 = {place for place, value in figures.items() if not of_rows(value, 3000)}
    assert not_of_3000 == {("society", "one-error"), ("society", "coverage")}
    assert all(of_rows(figures[place], 2000) for place in not_of_3000)


def test_the_f1_that_is_called_impossible_is():
    figures = {
        cell.metric: cell.value
        for cell in reported()
        if (cell.paper, cell.table, cell.data, cell.method)
        == ("feremans2017", "II", "medical", "iblr-ml")
    }
    accuracy = figures["example-accuracy"] + 0.0005  # before it was rounded
    # F1 is 2J / (1 + J) of a row's accuracy J, concave: its mean is highest where all J are equal.
    assert figures["example-f1"] > 2 * accuracy / (1 + accuracy) + 0.0005
