"""``vicinal reproduce`` as a person uses it."""

import json

import pytest

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
