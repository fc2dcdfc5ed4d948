"""Cells filled from results: seeds, folds, averages, reasons, absent data."""

import pytest

from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures, figures_of, table_cells
from vicinal_reproduction.render.tables import counts, plain, terminal_table
from vicinal_reproduction.sources import YAHOO
from vicinal_reproduction.specs.registry import PAPERS


def _cell(cells, data, method, metric):
    (found,) = [
        c
        for c in cells
        if (c.reported.data, c.reported.method, c.reported.metric) == (data, method, metric)
    ]
    return found


def test_ours_is_the_mean_of_the_seeds_and_the_deviation_is_over_all_folds():
    paper = PAPERS["zhang2007"]
    results = [
        Result("zhang2007/folds", "yeast", "ml-knn", {"hamming-loss": values}, seed=seed)
        for seed, values in ((1, (0.1, 0.3)), (2, (0.2, 0.2)))
    ]
    cells = table_cells(paper, paper.table("2"), Figures(tuple(results)))
    cell = _cell(cells, "yeast", "ml-knn", "hamming-loss")
    assert cell.ours == pytest.approx(0.2)
    assert cell.std == pytest.approx((0.02 / 3) ** 0.5)
    assert cell.verdict == "matched"
    assert _cell(cells, "yeast", "rank-svm", "hamming-loss").verdict == "not run"
    assert counts(cells, "own") == {"matched": 1, "not run": 4}


def test_a_row_of_averages_waits_for_all_its_members():
    paper = PAPERS["zhang2007"]
    results = [
        Result("zhang2007/yahoo", name, "ml-knn", {"coverage": (float(at),)}, seed=1)
        for at, name in enumerate(YAHOO)
    ]
    table = paper.table("12")
    full = table_cells(paper, table, Figures(tuple(results)))
    assert _cell(full, "yahoo-average", "ml-knn", "coverage").ours == pytest.approx(5.0)
    partial = table_cells(paper, table, Figures(tuple(results[1:])))
    assert _cell(partial, "yahoo-average", "ml-knn", "coverage").verdict == "not run"


def test_the_paper_uses_another_name_for_a_metric():
    paper = PAPERS["spyromitros2008"]
    values = {"example-f1": (0.1,), "example-f1-of-means": (0.6,)}
    results = (Result("spyromitros2008/folds", "scene", "brknn", values, seed=1),)
    cells = table_cells(paper, paper.table("2"), Figures(results))
    assert _cell(cells, "scene", "brknn", "example-f1").ours == 0.6


def test_absent_data_are_named_so():
    paper = PAPERS["feremans2017"]
    cells = table_cells(paper, paper.table("VI"), Figures(()))
    assert counts(cells) == {"no data": 24}


def test_ranks_are_derived_only_where_every_method_was_run():
    paper = PAPERS["ml-arp"]
    methods = paper.table("3").methods
    metrics = dict.fromkeys(paper.experiments[0].protocol.metrics, (0.5,))
    metrics["hamming-loss"] = (0.1,)

    def results(names):
        return [
            Result("ml-arp/folds", data, name, {**metrics, "hamming-loss": (0.1 * at,)}, seed=1)
            for data in ("emotions", "scene", "enron", "yeast")
            for at, name in enumerate(names)
        ]

    cells = table_cells(paper, paper.table("3"), figures_of(paper, results(methods)))
    data = paper.table("3").data[0]
    assert _cell(cells, data, methods[0], "rank of hamming-loss").ours == 1.0
    assert _cell(cells, data, methods[7], "rank of hamming-loss").ours == 8.0
    assert _cell(cells, data, methods[0], "rank of f1").ours == 4.5  # all tie
    missing = table_cells(paper, paper.table("3"), figures_of(paper, results(methods[1:])))
    assert counts(missing) == {"not run": 104}


def test_a_table_and_its_plain_values_hold_every_cell():
    paper = PAPERS["zhang2007"]
    table = paper.table("1")
    results = (Result("zhang2007/folds", "yeast", "ml-knn k=8", {"hamming-loss": (0.5,)}, seed=1),)
    cells = table_cells(paper, table, Figures(results))
    assert len(plain(table, cells)) == terminal_table("t", cells).row_count == 25
    worse = [each for each in plain(table, cells) if each["verdict"] == "worse"]
    assert [(each["method"], each["ours"]) for each in worse] == [("ml-knn k=8", 0.5)]
