"""``vicinal reproduce`` as a person uses it."""

import json

import pytest

from vicinal.results import Result
from vicinal_reproduction.results.stores import Stores
from vicinal_reproduction.runner import units
from vicinal_reproduction.specs.registry import PAPERS

pytestmark = pytest.mark.native


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Leave the program without any data set."""
    monkeypatch.setenv("VICINAL_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path / "nothing"))


def test_shipped_results_are_shown_without_data(run, no_data, tmp_path):
    code, out, _ = run("reproduce", "zhang2007", "1", "--shipped", "--json")
    cells = json.loads(out)
    assert code == 0
    assert len(cells) == 25
    assert {cell["paper"] for cell in cells} == {"zhang2007"}
    assert all(cell["verdict"] == "matched" for cell in cells)


def test_the_table_counts_cells_per_verdict(run, no_data):
    code, out, _ = run("reproduce", "spyromitros2008", "--shipped")
    assert code == 0
    assert "spyromitros2008, table 3" in out
    assert "105 matched, 3 better" in " ".join(out.split())


def test_absent_data_are_named_and_nothing_is_run(run, no_data, tmp_path):
    store = tmp_path / "store"
    code, out, err = run("reproduce", "zhang2007", "10", "--store", store)
    assert code == 0
    assert "arts: data not available locally, skipped" in err
    assert "not run" in out
    assert not store.exists()


def test_pages_are_written(run, no_data, tmp_path):
    code, _, _ = run("reproduce", "zhang2007", "2", "--shipped", "--html", tmp_path / "pages")
    assert code == 0
    assert "<h1>zhang2007" in (tmp_path / "pages" / "zhang2007.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("nobody1999",), ("zhang2007", "99")])
def test_an_unknown_paper_or_table_is_refused(run, words):
    code, _, err = run("reproduce", *words, "--shipped")
    assert code == 2
    assert "expected one of" in err


def test_a_backend_that_is_none_is_refused(run, no_data, tmp_path):
    code, _, err = run("reproduce", "zhang2007", "--store", tmp_path, "--backend", "jax")
    assert code == 2
    assert "backend: expected one of" in " ".join(err.split())


def test_one_data_set_and_method_can_be_shown(run, no_data):
    words = ("zhang2007", "2", "--data", "yeast", "--method", "ml-knn")
    code, out, _ = run("reproduce", *words, "--shipped", "--json")
    assert code == 0
    cells = json.loads(out)
    assert cells
    assert {(cell["data"], cell["method"]) for cell in cells} == {("yeast", "ml-knn")}
    for option in ("--data", "--method"):
        code, _, err = run("reproduce", "zhang2007", option, "nothing", "--shipped")
        assert code == 2
        assert f"{option}: expected one of" in " ".join(err.split())


def test_a_reduced_run_is_marked_and_not_judged(run, no_data, tmp_path):
    result = Result("zhang2007/folds", "yeast", "ml-knn", {"hamming-loss": (0.9,)}, seed=1)
    (tmp_path / "quick").mkdir()
    Stores(tmp_path / "quick").of("zhang2007").add(result)
    words = ("zhang2007", "2", "--store", tmp_path, "--quick", "--data", "yeast")
    code, out, _ = run("reproduce", *words, "--method", "ml-knn")
    told = " ".join(out.split())
    assert code == 0
    assert "reduced run, not judged" in told
    assert "worse" not in told


def test_only_what_was_asked_for_is_run():
    paper = PAPERS["zhang2007"]
    every = units([paper], Stores("nowhere"))
    few = units([paper], Stores("nowhere"), only_data="yeast", only_method="ml-knn")
    assert {(each.data, each.methods) for each in few} == {("yeast", ("ml-knn",))}
    assert len(few) < len(every)
