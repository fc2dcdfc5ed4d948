"""The report: what it says is what the results say, whoever named the methods and labels."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from vicinal._core.html import element
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import metric_info
from vicinal.report import comparison_page, comparison_report
from vicinal.report.comparison_details import Curve
from vicinal.report.reported import ReportedCell
from vicinal.results import Result, ResultStore

METRICS = ("hamming-loss", "micro-f1", "coverage")
DATA = ("yeast", "scene", "birds")
ORIGIN = {"vicinal": "1.2.3", "cpu": "a processor", "data": "abcd", "date": "2001-02-03"}


def made(methods, data=DATA, labels=("red", "green", "blue"), seeds=(0, 1), scale=1.0):
    """Results with random values, other ones for every cell."""
    rng = np.random.default_rng(5)
    return [
        Result(
            "compare/4 folds",
            name,
            method,
            {m: tuple(scale * rng.random(4)) for m in METRICS} | {"cardinality": (1.0, 2.0)},
            settings={"n_neighbors": 3 + at, "estimator": "MLkNN"},
            seed=seed,
            seconds={"search": rng.random(), "fit": rng.random(), "predict": rng.random()},
            per_label={"f1": tuple(rng.random(len(labels))), "rows": (3.0,) * len(labels)},
            label_names=labels,
            provenance=ORIGIN,
        )
        for name in data
        for at, method in enumerate(methods)
        for seed in seeds
    ]


@pytest.fixture(scope="module")
def results():
    return tuple(made(["A", "B", "C"]))


@pytest.fixture(scope="module")
def markup(results):
    """The page of these results: its pictures take most of the time of a test."""
    return comparison_page(results).html()


@pytest.fixture
def page(markup, read):
    return read(markup)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the pictures out of the pages of tests that look at tables and texts only."""
    monkeypatch.setattr("vicinal.report.page.inline_svg", lambda *_: element("svg"))


def tables(root):
    return {table.all("caption")[0].text: table for table in root.all("table")}


def cells(table):
    """Rows of a table's body: the name, then the values."""
    return {
        tr.all("th")[0].text: [
            None if "data-value" not in td.attributes else float(td.attributes["data-value"])
            for td in tr.all("td")
        ]
        for tr in table.all("tbody")[0].all("tr")
    }


def heads(table):
    return [th.text for th in table.all("th") if th.attributes.get("scope") == "col"]


def of(results, data, method, metric):
    return [v for r in results if (r.data, r.method) == (data, method) for v in r.values[metric]]


def test_every_number_of_the_metric_tables_comes_from_the_results(results, page):
    for metric in METRICS[:2]:
        side = metric_info(metric).better
        (table,) = [t for name, t in tables(page).items() if name.startswith(f"{metric}\xa0")]
        order = heads(table)[1:]
        means = np.array([[np.mean(of(results, d, m, metric)) for m in order] for d in DATA])
        assert np.array(list(cells(table).values())) == pytest.approx(means)
        assert list(cells(table)) == list(DATA)
        ranks = stats.rankdata(means if side == "low" else -means, axis=1).mean(axis=0)
        assert list(ranks) == sorted(ranks)
        foot = [float(t.attributes["data-value"]) for t in table.all("tfoot")[0].all("td")[:3]]
        assert foot == pytest.approx(list(ranks))
        for tr, row in zip(table.all("tbody")[0].all("tr"), means, strict=True):
            best = np.min(row) if side == "low" else np.max(row)
            assert [s.text for s in tr.all("strong")] == [f"{best:.3f}"]
            spreads = [s.text for s in tr.all("span")]
            name = tr.all("th")[0].text
            wanted = [np.std(of(results, name, m, metric), ddof=1) for m in order]
            assert spreads == [f" ±{each:.3f}" for each in wanted]


@pytest.mark.usefixtures("undrawn")
def test_summary_times_and_labels_come_from_the_results(results, read):
    page = read(comparison_page(results, metrics=["micro-f1", "coverage"]).html())
    known = tables(page)
    summary = cells(known["Mean rank by metric"])
    means = {
        metric: np.array([[np.mean(of(results, d, m, metric)) for m in "ABC"] for d in DATA])
        for metric in ("micro-f1", "coverage")
    }
    wanted = [
        stats.rankdata(-means["micro-f1"], axis=1).mean(axis=0),
        stats.rankdata(means["coverage"], axis=1).mean(axis=0),
    ]
    for at, method in enumerate("ABC"):
        assert summary[method][1:] == pytest.approx([ranks[at] for ranks in wanted])
    times = cells(known["Seconds by method, fastest first"])
    for method in "ABC":
        own = [r for r in results if r.method == method]
        assert times[method][0] == pytest.approx(sum(r.seconds["search"] for r in own))
        spent = [r.seconds["fit"] + r.seconds["predict"] for r in own]
        assert times[method][1] == pytest.approx(sum(spent))
        assert times[method][2:] == pytest.approx([sum(spent[at : at + 2]) for at in (0, 2, 4)])
    labels = known["F1 of labels of scene"]
    f1 = {r.method: r.per_label["f1"] for r in results if r.data == "scene" and r.seed == 0}
    found = cells(labels)
    for at, label in enumerate(("red", "green", "blue")):
        assert found[label] == pytest.approx([3.0, *(f1[m][at] for m in heads(labels)[2:])])
    every = cells(known["Every metric on birds, means over folds"])
    for metric in METRICS:
        row = every[metric + ("\xa0↑" if metric == "micro-f1" else "\xa0↓")]
        order = heads(known["Every metric on birds, means over folds"])[1:]
        assert row == pytest.approx([np.mean(of(results, "birds", m, metric)) for m in order])


@pytest.mark.usefixtures("undrawn")
def test_every_pair_is_tested_as_scipy_does(results, read):
    page = read(comparison_page(results, metrics=["micro-f1"]).html())
    (table,) = [t for name, t in tables(page).items() if name.startswith("Pairs by micro-f1")]
    rows = table.all("tbody")[0].all("tr")
    assert len(rows) == 3
    for tr in rows:
        first, second = tr.all("th")[0].text, tr.all("td")[0].text
        apart = [
            np.mean(of(results, d, first, "micro-f1")) - np.mean(of(results, d, second, "micro-f1"))
            for d in DATA
        ]
        mean, low, high, p, p_holm = (
            float(td.attributes["data-value"]) for td in tr.all("td")[1:6]
        )
        assert mean == pytest.approx(np.mean(apart))
        assert min(apart) - 1e-12 <= low <= mean <= high <= max(apart) + 1e-12
        assert p == pytest.approx(stats.wilcoxon(apart).pvalue)
        assert p <= p_holm <= 1
    wins = {m: row[0] for m, row in cells(tables(page)["Mean rank by metric"]).items()}
    wanted = dict.fromkeys("ABC", 0)
    for a, b in ("AB", "AC", "BC"):
        scores = [[np.mean(of(results, d, m, "micro-f1")) for d in DATA] for m in (a, b)]
        tested = stats.ttest_rel(*scores)
        if tested.pvalue < 0.05:
            wanted[a] += int(np.sign(tested.statistic))
            wanted[b] -= int(np.sign(tested.statistic))
    assert wins == wanted


def test_no_table_of_the_page_is_left_unchecked(page):
    known = {
        "Mean rank by metric",
        "Seconds by method, fastest first",
        "Settings of the methods",
        "Data sets",
        *(f"F1 of labels of {name}" for name in DATA),
        *(f"Every metric on {name}, means over folds" for name in DATA),
    }
    others = set(tables(page)) - known
    assert all(name.startswith(("Pairs by ", *METRICS)) for name in others)


def test_different_settings_are_listed_separately(results, page, read):
    settings = tables(page)["Settings of the methods"]
    assert [tr.all("th")[0].text for tr in settings.all("tr")[1:]] == ["A", "C", "B"]
    noted = [replace(r, note=f"chosen: {r.data} {r.seed}") for r in results if r.method == "A"]
    page = read(comparison_page(noted, metrics=["micro-f1"]).html())
    rows = tables(page)["Settings of the methods"].all("tr")[1:]
    assert len(rows) == 6
    assert rows[3].all("th")[0].text == "A, scene, seed 1"
    assert rows[3].all("td")[0].text.endswith("chosen: scene 1")


def test_the_same_results_give_the_same_bytes_and_so_does_their_store(results, markup, tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    for result in results:
        store.add(result)
    written = comparison_report(store.read(), tmp_path / "report.html")
    assert written.read_text(encoding="utf-8") == markup


HOSTILE = (
    "</script><script>alert(1)</script>",
    '" onmouseover="x',
    "$\\frac{1}{0}$ & <b>",
    "\x00\x1b字",
)


def test_hostile_names_stay_names(read):
    results = made(HOSTILE, data=[f"d{h}" for h in HOSTILE], labels=HOSTILE)
    page = read(comparison_page(results, title=HOSTILE[0]).html())
    assert len(page.all("script")) == 1
    assert not page.all("b")
    shown = {re.sub("[\x00\x1b]", "\ufffd", name) for name in HOSTILE}
    table = tables(page)["Mean rank by metric"]
    assert set(cells(table)) == shown
    drawn = " ".join(node.text for node in page.all("text"))
    assert "$\\frac{1}{0}$ & <b>" in drawn


def test_a_page_of_real_words_is_sound(markup, page):
    assert "http" not in markup.split("</style>")[1].replace("http-equiv", "")
    assert all(len(node.all("caption")) == 1 for node in page.all("table"))
    assert all(node.attributes["aria-label"] for node in page.all("svg"))
    origin = page.all("dl")[-1].text
    assert "1.2.3" in origin
    assert "a processor" in origin
    assert cells(tables(page)["Data sets"]).keys() == set(DATA)


@pytest.mark.usefixtures("undrawn")
def test_reported_cells_stand_beside_ours(results, read):
    cell = ReportedCell("zhang2007", "2", "scene", "a", "hamming-loss", 0.25, 0.01)
    others = [
        ReportedCell("zhang2007", "2", "scene", "Z", "hamming-loss", 0.25),
        ReportedCell("zhang2007", "2", "moon", "A", "hamming-loss", 0.25),
        ReportedCell("zhang2007", "2", "scene", "A", "seconds", 0.25),
    ]
    page = read(comparison_page(results, metrics=METRICS[:1], reported=[cell, *others]).html())
    table = tables(page)["Ours against the papers'"]
    (row,) = cells(table).values()
    own = np.mean(of(results, "scene", "A", "hamming-loss"))
    assert row[4:] == pytest.approx([0.25, own, own - 0.25])
    nothing = read(comparison_page(results, metrics=METRICS[:1], reported=others).html())
    assert "Ours against the papers'" not in tables(nothing)
    many = [cell] * 30
    folded = read(comparison_page(results, metrics=METRICS[:1], reported=many).html())
    near = abs(own - 0.25) <= 0.02
    summary = cells(tables(folded)["Cells available in both, by paper"])
    assert summary == {"zhang2007": [30, 30 * near, pytest.approx(abs(own - 0.25))]}


def test_curves_contain_the_means(results, page, read):
    labels = [svg.attributes["aria-label"] for svg in page.all("svg")]
    means = [np.mean(of(results, "yeast", m, "hamming-loss")) for m in "ABC"]
    wanted = ", ".join(f"k {3 + at} {mean:.3f}" for at, mean in enumerate(means))
    assert f"A, B, C: {wanted}." in labels
    given = Curve("moon", "micro-f1", "D", {1: 0.5, 2: 0.75})
    page = read(comparison_page(results, metrics=METRICS[:1], curves=[given]).html())
    assert "D: k 1 0.500, k 2 0.750." in [s.attributes["aria-label"] for s in page.all("svg")]


@pytest.mark.usefixtures("undrawn")
def test_missing_cells_are_named(results, read):
    kept = [r for r in results if (r.data, r.method) != ("scene", "B")]
    page = read(comparison_page(kept, metrics=["hamming-loss"]).html())
    text = page.text
    assert "Ranks exclude scene" in text
    (table,) = [t for name, t in tables(page).items() if name.startswith("hamming-loss")]
    assert cells(table)["scene"][heads(table).index("B") - 1] is None
    one = [r for r in results if r.data == "scene" and r.method == "A" and r.seed == 0]
    assert "The hamming-loss of A, mean over 4 folds." in read(comparison_page(one).html()).text


@pytest.mark.usefixtures("undrawn")
def test_values_that_are_nan_are_dashes(read):
    results = made(["A", "B"], data=("yeast",))
    broken = {**results[0].values, "micro-f1": (math.nan,) * 4}
    results[0] = Result("compare/4 folds", "yeast", "A", broken, seed=0)
    page = read(comparison_page(results, metrics=["micro-f1"]).html())
    assert "Methods are not ranked" in page.text or "Ranks exclude yeast" in page.text
    assert not any(td.text == "nan" for td in page.all("td"))


def test_metrics_without_results_are_rejected(results):
    with pytest.raises(InvalidArgumentError, match="micro-f1"):
        comparison_page(results, metrics=["macro-f1"])
    with pytest.raises(InvalidArgumentError, match="name of a metric"):
        comparison_page(results, metrics=["f2"])
    with pytest.raises(InvalidArgumentError, match="one experiment"):
        comparison_page([])
