"""What is written about the results says what the results say."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures, figures_of, table_cells
from vicinal_reproduction.figures.orders import compare_order
from vicinal_reproduction.render.account import (
    CELLS,
    CURVES,
    PAPERS_PAGE,
    VARIANTS,
    account,
    account_files,
    summary,
)
from vicinal_reproduction.render.page import paper_page, write_pages
from vicinal_reproduction.results.stores import Stores, stored
from vicinal_reproduction.specs.registry import PAPERS
from vicinal_reproduction.specs.spyromitros2008 import RECALL_ON_YEAST
from vicinal_reproduction.specs.wang2018 import OF_THE_SPLIT

FOLDER = Path(__file__).parents[2] / "docs" / "evidence"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Return the page and the files next to it, written from the stored results."""
    return account_files(stored())


@pytest.fixture(scope="module")
def told(files: dict[str, str]) -> str:
    """Return what is written about the stored results."""
    return files["reproduction.md"]


def rows_of(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column."""
    return list(csv.DictReader(io.StringIO(text)))


def test_the_page_and_its_files_match_the_stored_results(files: dict[str, str]):
    assert {each.name for each in FOLDER.glob("reproduction*")} == set(files)
    for name, text in files.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, name


def test_the_page_is_a_summary_that_links_its_files(told: str, files: dict[str, str]):
    assert len(told.split()) < 1500
    assert f"]({PAPERS_PAGE})" in told
    for name in (CELLS, VARIANTS, CURVES):
        assert f"]({name})" in told
        assert len(rows_of(files[name])) > 100
    n_cells = sum(
        len(table_cells(paper, table, figures_of(paper, stored().of(paper.name).read())))
        for paper in PAPERS.values()
        for table in paper.tables
    )
    assert len(rows_of(files[CELLS])) == n_cells


def test_stored_results_are_small():
    for file in stored().folder.glob("*.jsonl"):
        assert file.stat().st_size < 600_000, file.name


def test_stored_results_are_of_experiments_that_exist():
    for paper in PAPERS.values():
        known = {each.name: each for each in paper.experiments}
        for result in stored().of(paper.name).read():
            name = result.experiment.removesuffix("-best")
            assert name in known, result.key
            assert result.data in known[name].data
            assert result.method in known[name].methods


def test_every_worse_cell_of_an_own_method_has_a_reason():
    without = [
        (cell.reported.paper, cell.reported.table, cell.reported.data, cell.reported.method)
        for paper in PAPERS.values()
        for table in paper.tables
        for cell in table_cells(paper, table, figures_of(paper, stored().of(paper.name).read()))
        if cell.kind == "own" and cell.verdict == "worse" and not cell.reason
    ]
    assert without == []


def test_an_empty_store_is_accounted_for_as_not_run(tmp_path: Path):
    text = account(Stores(tmp_path))
    assert "Not run yet: table 1 ml-knn k=10 (yeast)" in text
    assert "No data: table 2 baseline (mediamill, bookmarks)" in text


def test_a_worse_cell_is_listed_and_not_left_out(tmp_path: Path):
    stores = Stores(tmp_path)
    stores.of("zhang2007").add(
        Result("zhang2007/folds", "yeast", "ml-knn", {"hamming-loss": (0.5,)}, seed=1)
    )
    text = summary(stores) + account(stores)
    place = {"table": "2", "data": "yeast", "method": "ml-knn", "metric": "hamming-loss"}
    figures = {"reported": "0.194", "ours": "0.5", "difference": "0.306", "verdict": "worse"}
    rows = rows_of(account_files(stores)[CELLS])
    assert any(place.items() | figures.items() <= row.items() for row in rows)
    assert "Unexplained (1 cell: table 2, ml-knn on yeast: hamming-loss)" in text
    assert "| zhang2007 | own |  |  | 1 |" in text


def test_the_summary_counts_variants_marked_as_counted(tmp_path: Path):
    stores = Stores(tmp_path)
    for experiment, data, loss in (
        ("settled", "yeast", 0.198),
        ("small", "yeast", 0.5),
        ("large", "bibtex", 0.014),
        ("first-rows", "corel16k001", 0.5),
    ):
        values = {"hamming-loss": (loss,)}
        stores.of("wang2018").add(Result(f"wang2018/{experiment}", data, "ml-knn", values, seed=1))
    text = summary(stores)
    assert "| wang2018 | own | 2 |" in text  # yeast as settled, bibtex as before
    (line,) = [each for each in text.splitlines() if each.startswith("- wang2018, if")]
    assert line.endswith("1 of 2 (50.0%) matched.")


def test_a_much_better_cell_is_counted_apart_and_listed(tmp_path: Path):
    """A figure far better than the paper's does not confirm it."""
    stores = Stores(tmp_path)
    for data, loss in (("yeast", 0.05), ("genbase", 0.003)):
        values = {"hamming-loss": (loss,)}
        stores.of("ml-arp").add(Result("ml-arp/folds", data, "ml-knn", values, seed=1))
    stores.of("zhang2007").add(
        Result("zhang2007/folds", "yeast", "ml-knn", {"hamming-loss": (0.05,)}, seed=1)
    )
    text = summary(stores) + account(stores)
    title = "Cells that are better by more than 10 %, or by less and explained"
    assert f"{title}: 1, of which 1 are unexplained." in text
    assert "Unexplained (1 cell: table 2, ml-knn on yeast: hamming-loss)" in text
    assert "| zhang2007 | own |  | 1 |  |" in text
    assert "0 of 1 (0.0%)" in text


def test_every_much_better_cell_is_explained_or_listed():
    text = summary(stored()) + account(stored())
    assert "matched or better" not in text
    assert text.count("Unexplained (") >= 1
    assert "the paper prints 0.047 for every method on genbase" in text.replace("The", "the")


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_holds_every_table(name: str, tmp_path: Path):
    paper = PAPERS[name]
    html = paper_page(paper, figures_of(paper, stored().of(name).read())).html()
    for table in paper.tables:
        assert f"Table {table.name}</h2>" in html
    (path,) = write_pages([paper], stored(), tmp_path)
    assert path.read_text(encoding="utf-8") == html


def _fold_results(values: dict[str, tuple[float, ...]]) -> Figures:
    return Figures(
        tuple(
            Result(
                "zhang2007/folds" if method == "ml-knn" else "zhang2007/folds-rivals",
                "yeast",
                method,
                {"hamming-loss": each},
                seed=1,
            )
            for method, each in values.items()
        )
    )


def test_an_order_is_agreed_missing_reversed_or_further():
    paper = PAPERS["zhang2007"]
    order = paper.orders[0]  # hamming loss: ml-knn beats all, adtboost.mh and rank-svm boostexter
    found = compare_order(
        paper,
        order,
        _fold_results(
            {
                "ml-knn": (0.10, 0.11, 0.12),
                "boostexter": (0.20, 0.21, 0.23),
                "adtboost.mh": (0.05, 0.06, 0.08),
            }
        ),
    )
    assert ("hamming-loss", "ml-knn", "boostexter") in found.agreed
    assert ("hamming-loss", "ml-knn", "adtboost.mh") in found.reversed
    assert ("hamming-loss", "ml-knn", "rank-svm") in found.not_run
    assert found.further == ()
    tied = compare_order(
        paper, order, _fold_results({"ml-knn": (0.1, 0.2), "boostexter": (0.2, 0.1)})
    )
    assert ("hamming-loss", "ml-knn", "boostexter") in tied.missing


def test_a_worse_cell_is_listed_with_its_variant(tmp_path: Path):
    stores = Stores(tmp_path)
    for experiment, value in (("zhang2007/yahoo-rivals", 0.9), ("zhang2007/yahoo-otherwise", 0.5)):
        place = experiment, "recreation", "rank-svm"
        stores.of("zhang2007").add(Result(*place, {"one-error": (value,)}, seed=1))
    place = {"table": "11", "data": "recreation", "method": "rank-svm", "metric": "one-error"}
    figures = {"reported": "0.5627", "ours": "0.9", "variant": "0.5"}
    row = place | figures | {"experiment": "zhang2007/yahoo-otherwise"}
    assert any(row.items() <= each.items() for each in rows_of(account_files(stores)[VARIANTS]))


def test_the_time_of_a_full_run_is_added_up(tmp_path: Path):
    stores = Stores(tmp_path)
    values, hour = {"hamming-loss": (0.2,)}, {"processor": 3600.0}
    place = "zhang2007/folds", "yeast", "ml-knn"
    stores.of("zhang2007").add(Result(*place, values, seed=1, seconds=hour))
    place = "zhang2007/folds-rivals", "image", "rank-svm"
    stores.of("zhang2007").add(Result(*place, values, seed=1, seconds=hour))
    text = summary(stores)
    assert "| zhang2007 | 3:00 | 3:00 | 0:00 | 6:00 |" in text  # three seeds, of which one was run
    assert "Without the baselines of zhang2007 the total is 3:00." in text
    assert "2:00 of it are estimates for seeds that were not run" in text
    assert "zhang2007/yahoo (arts, business," in text


def test_a_reason_shared_by_cells_is_listed_once(files: dict[str, str]):
    lines = files[PAPERS_PAGE].splitlines()
    reason = next(each.text for each in PAPERS["ml-arp"].reasons if each.table == "3")
    (line,) = [line for line in lines if reason[1:] in line]
    text, _, cells = line.partition(". (")
    assert text == f"- {reason[0].upper()}{reason[1:]}"
    assert cells == "13 cells)"
    ranks = [
        row
        for row in rows_of(files[CELLS])
        if row["data"].startswith("mean rank") and row["reason"] == reason
    ]
    assert len(ranks) == 13


def test_what_the_split_explains_is_reproduced_or_worse_with_the_other_split():
    paper = PAPERS["wang2018"]
    figures = figures_of(paper, stored().of("wang2018").read())
    (table,) = (each for each in paper.tables if each.name == "4")
    others = {
        (cell.reported.data, cell.reported.method, cell.reported.metric): cell.verdict
        for cell in table_cells(paper, table, figures, ["wang2018/first-rows"])
    }
    explained = [
        (data, method, metric)
        for (data, method), metrics in OF_THE_SPLIT.items()
        for metric in metrics
    ]
    assert {others[place] for place in explained} <= {"matched", "worse"}


@pytest.mark.parametrize(
    ("experiment", "data", "expected"),
    [
        ("k-10", "corel5k", {"example-accuracy": 0.148, "example-f1": 0.239, "micro-f1": 0.246}),
        ("k-15", "bibtex", {"example-accuracy": 0.207, "example-f1": 0.269, "macro-f1": 0.171}),
        ("k-1", "imdb-f", {"example-accuracy": 0.244, "micro-f1": 0.358, "macro-f1": 0.056}),
        ("quarter", "delicious", {"example-accuracy": 0.194, "micro-f1": 0.323}),
        ("iblr-unregularised", "medical", {"example-accuracy": 0.425, "micro-f1": 0.498}),
        ("iblr-unregularised", "corel5k", {"example-accuracy": 0.118, "macro-f1": 0.16}),
        ("iblr-unregularised", "bibtex", {"example-f1": 0.236, "micro-f1": 0.262}),
    ],
)
def test_explanations_state_the_figures_of_their_experiments(experiment, data, expected):
    figures = figures_of(PAPERS["feremans2017"], stored().of("feremans2017").read())
    method = "iblr-ml" if experiment.startswith("iblr") else "ml-knn"
    for metric, value in expected.items():
        ((found,),) = figures.values(f"feremans2017/{experiment}", data, method, metric)
        assert round(found, 3) == value


def test_what_is_printed_as_f_measure_of_yeast_is_the_recall():
    figures = figures_of(PAPERS["spyromitros2008"], stored().of("spyromitros2008").read())
    for method, recall in RECALL_ON_YEAST.items():
        found = figures.values("spyromitros2008/recall", "yeast", method, "example-recall")
        assert len(found) == 3
        assert round(float(np.mean(found)), 3) == recall
