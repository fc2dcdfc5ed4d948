"""``vicinal compare`` says what the library says, runs nothing twice, and shows it again."""

import csv
import io
import json
import sys

import numpy as np
import pytest
from rich.console import Console

from vicinal.cli.compare import conclusion, ranking_table, spent_seconds
from vicinal.comparison import compare, rank_methods
from vicinal.datasets import Dataset, read_file, write_file
from vicinal.methods import BRkNN, MLkNN
from vicinal.metrics import catalogue
from vicinal.report.paper import latex_table
from vicinal.results import Result, ResultStore

pytestmark = pytest.mark.native


@pytest.fixture
def other_file(dataset, tmp_path):
    """Another data set, with a published split."""
    rng = np.random.default_rng(1)
    other = Dataset(
        X=rng.random((40, 4)),
        Y=dataset.Y[:40],
        feature_names=dataset.feature_names,
        label_names=dataset.label_names,
        train=np.arange(30),
        test=np.arange(30, 40),
    )
    path = tmp_path / "other.npz"
    write_file(other, path)
    return path


SMALL = ("--methods", "brknn,mlknn", "--folds", "3", "--set", "mlknn.n_neighbors=4")


def test_the_table_is_that_of_the_library(run, data_file, other_file):
    words = (data_file, other_file, *SMALL, "--set", "never_empty=True", "--seeds", "2")
    code, out, err = run("compare", *words, "--metric", "micro-f1", "--json")
    assert code == 0, err
    (found,) = json.loads(out)
    models = {"brknn": BRkNN(never_empty=True), "mlknn": MLkNN(4, never_empty=True)}
    results = compare([str(data_file), str(other_file)], models, folds=3, seeds=(0, 1))
    for data in ("signs.arff", "other.npz"):
        for method in models:
            values = [
                value
                for result in results
                if (result.data, result.method) == (data, method)
                for value in result.values["micro-f1"]
            ]
            assert len(values) == 6
            assert found["values"][data][method] == pytest.approx(np.mean(values))
    assert set(found["mean_ranks"]) == set(models)
    assert found["samples"] == "data sets"


def test_a_terminal_gets_tables_in_the_order_of_ranks(run, data_file):
    code, out, _ = run("compare", data_file, *SMALL, "--metric", "one-error")
    assert code == 0
    code, asked, _ = run("compare", data_file, *SMALL, "--metric", "one-error", "--json")
    order = list(json.loads(asked)[0]["mean_ranks"])
    head = next(line for line in out.splitlines() if "brknn" in line and "mlknn" in line)
    assert sorted(order, key=head.index) == order
    for word in ("one-error", "mean rank", "seconds", "signs.arff", "ranks best"):
        assert word in out


def test_the_store_is_shown_again_without_running(
    run, data_file, other_file, tmp_path, monkeypatch
):
    store, page = tmp_path / "results.jsonl", tmp_path / "report.html"
    words = (data_file, other_file, *SMALL, "--store", store)
    code, first, err = run("compare", *words, "--report", page, "--json")
    assert code == 0, err
    written, lines = page.read_bytes(), store.read_text()
    assert written.startswith(b"<!doctype html>")

    def refuse(*_, **__):
        raise AssertionError("ran again")

    monkeypatch.setattr("vicinal.selection.runner.measure_fits", refuse)
    code, again, err = run("compare", *words, "--json")
    assert (code, again) == (0, first), err
    assert store.read_text() == lines
    code, shown, err = run("compare", "--from", store, "--report", page, "--json")
    assert (code, shown) == (0, first), err
    assert page.read_bytes() == written
    code, part, _ = run("compare", "--from", store, "other.npz", "--methods", "mlknn", "--json")
    assert code == 0
    assert list(json.loads(part)[0]["values"]) == ["other.npz"]
    assert list(json.loads(part)[0]["values"]["other.npz"]) == ["mlknn"]


def test_the_report_sets_the_papers_beside_ours(run, data_file, tmp_path):
    store, page = tmp_path / "results.jsonl", tmp_path / "report.html"
    code, _, err = run("compare", data_file, *SMALL, "--store", store, "--report", page)
    assert code == 0, err
    assert "Against the papers" not in page.read_text()
    lines = store.read_text().replace('"signs.arff"', '"emotions"')
    store.write_text(lines)
    code, _, err = run("compare", "--from", store, "--report", page)
    assert code == 0, err
    assert "Against the papers" in page.read_text()
    assert "spyromitros2008" in page.read_text()


def test_the_published_split_and_several_neighbours(run, other_file, tmp_path):
    store = tmp_path / "results.jsonl"
    words = ("--methods", "brknn,lcif", "--neighbors", "2,5", "--folds", "split", "--store", store)
    code, _, err = run("compare", other_file, *words)
    assert code == 0, err
    results = ResultStore(store).read()
    assert [r.method for r in results] == ["brknn k=2", "brknn k=5", "lcif k=2", "lcif k=5"]
    assert [r.settings.get("n_neighbors") for r in results] == [2, 5, None, None]
    assert [r.settings.get("n_neighbors_instance") for r in results] == [None, None, 2, 5]
    assert all(len(r.values["hamming-loss"]) == 1 for r in results)


def test_the_split_gives_what_train_and_evaluate_give(run, other_file, tmp_path):
    words = ("--folds", "split", "--methods", "mlknn", "--metric", "average-precision", "--json")
    code, out, err = run("compare", other_file, *words)
    assert code == 0, err
    assert run("train", other_file, "-o", tmp_path / "model", "--method", "mlknn")[0] == 0
    _, evaluated, _ = run("evaluate", tmp_path / "model", other_file, "--json")
    wanted = json.loads(evaluated)["average-precision"]
    assert json.loads(out)[0]["values"]["other.npz"] == {"mlknn": wanted}


def test_what_papers_compare_with_can_be_named(run, other_file, tmp_path):
    store = tmp_path / "results.jsonl"
    words = ("--methods", "mlknn,boostexter,frequency", "--set", "boostexter.n_rounds=3")
    code, out, err = run("compare", other_file, *words, "--folds", "2", "--store", store, "--json")
    assert code == 0, err
    assert set(json.loads(out)[0]["mean_ranks"]) == {"mlknn", "boostexter", "frequency"}
    assert [r.settings.get("n_rounds") for r in ResultStore(store).read()] == [None, 3, None]
    for wrong in (("--tune",), ("--neighbors", "3")):
        assert run("compare", other_file, "--methods", "frequency", *wrong)[0] == 2
    assert run("bench", other_file, "--methods", "frequency")[0] == 0
    assert run("bench", other_file, "--methods", "frequencies")[0] == 2


def test_settings_are_chosen_inside_the_folds(run, other_file, tmp_path):
    store = tmp_path / "results.jsonl"
    words = ("--methods", "mlknn", "--folds", "split", "--set", "smoothing=0.5", "--tune")
    code, _, err = run("compare", other_file, *words, "--metric", "micro-f1", "--store", store)
    assert code == 0, err
    (result,) = ResultStore(store).read()
    assert result.method == "mlknn tuned"
    assert result.settings["params"] == {"smoothing": 0.5}
    assert "n_neighbors=" in result.note
    assert run("compare", other_file, "--tune", "--neighbors", "3")[0] == 2


def test_a_store_of_two_comparisons_asks_which(run, other_file, tmp_path):
    store = tmp_path / "results.jsonl"
    for folds in ("2", "split"):
        assert (
            run("compare", other_file, "--methods", "brknn", "--folds", folds, "--store", store)[0]
            == 0
        )
    code, _, err = run("compare", "--from", store)
    assert code == 2
    assert "compare/2 folds, compare/split" in err
    code, out, _ = run("compare", "--from", store, "--folds", "split", "--json")
    assert code == 0
    assert json.loads(out)[0]["samples"] == "folds"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "DATA"),
        (("debtags", "--methods", "mlnn"), "--methods"),
        (("debtags", "--folds", "some"), "--folds"),
        (("debtags", "--folds", "1"), "folds"),
        (("debtags", "--set", "mlknn.k=3"), "n_neighbors"),
        (("debtags", "--set", "lcif.mixing=1", "--methods", "mlknn"), "--set"),
        (("debtags", "--set", "magic=1"), "--set"),
        (("debtags", "--neighbors", "a"), "--neighbors"),
        (("debtags", "--neighbors", "0"), "--neighbors"),
        (("debtags", "--metric", "f2"), "metric"),
        (("debtags", "--preprocess", "magic"), "preprocess"),
        (("no-such-data",), "no-such-data"),
        (("--from", "nothing.jsonl"), "nothing.jsonl"),
    ],
)
def test_bad_words_are_one_line_and_exit_code_2(run, monkeypatch, tmp_path, words, says):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compare", *words)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1


def test_bench_times_every_part(run, data_file, dataset):
    code, out, err = run("bench", data_file, "--methods", "all", "--neighbors", "3", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["rows searched"], found["queries"]) == (48, 12)
    assert found["metric"] == "euclidean"
    assert [each["method"] for each in found["methods"]][-1] == "blend"
    for name in ("load, s", "batch search, ms per query", "single query, ms, median"):
        assert found[name] > 0
    assert found["single query, ms, 99th percentile"] >= found["single query, ms, median"]
    code, out, _ = run("bench", data_file, "--metric", "cosine", "--methods", "brknn")
    assert code == 0
    for word in ("build the index", "cosine", "brknn", "predict"):
        assert word in out
    assert dataset.n_rows == read_file(data_file).n_rows


def test_bench_refuses_what_it_cannot_time(run, tmp_path, dataset):
    write_file(dataset.subset([0]), tmp_path / "one.arff")
    code, _, err = run("bench", tmp_path / "one.arff")
    assert code == 2
    assert "DATA" in err
    assert run("bench", "--metric", "far")[0] == 2


def test_names_of_methods_are_not_broken(run, data_file):
    names = "brknn,lpknn,mlknn,dmlknn,instance-knn,feature-knn,lcif"
    code, out, err = run("compare", data_file, "--methods", names, "--folds", 2)
    assert code == 0, err
    for name in names.split(","):
        assert name in out


def test_files_of_one_name_are_refused(run, data_file, tmp_path):
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / data_file.name
    twin.write_bytes(data_file.read_bytes())
    code, _, err = run("compare", data_file, twin, *SMALL)
    assert code == 2
    assert "DATA: expected files with different names, got 'signs.arff' twice" in err


def test_a_store_without_what_is_asked_for(run, tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.add(result("signs", "brknn", {"micro-f1": (0.5, 0.6)}))
    code, _, err = run("compare", "--from", tmp_path / "results.jsonl", "--methods", "mlknn")
    assert code == 2
    assert "--from: expected a file with results of these data sets, methods and folds" in err


def result(data, method, values):
    return Result("compare/2 folds", data, method, values=values, seconds={"fit": 0.5})


def test_missing_values_and_groups_are_shown():
    """Eight data sets on which three methods always rank alike, two without some values."""
    results = [
        result(f"data{at}", method, {"micro-f1": (quality,) * 3})
        for at in range(8)
        for method, quality in (("good", 0.9), ("fair", 0.5), ("poor", 0.1))
    ]
    results += [result("late", "good", {"micro-f1": (0.9,) * 3})]
    results += [result("never", "good", {"hamming-loss": (0.1,) * 3})]
    found = rank_methods(results, "micro-f1")
    assert found.differ
    seconds = spent_seconds(results)
    console = Console(width=120, file=io.StringIO())
    console.print(ranking_table(found, seconds))
    rows = [line.split("│")[1:-1] for line in console.file.getvalue().splitlines()]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows if row}
    assert cells["group"] == ["a", "a b", "b"]
    assert cells["late"] == ["0.900", "–", "–"]
    assert cells["never"] == ["–", "–", "–"]
    assert "Left out because values are missing: late" in conclusion(found)


BROKEN = """
from vicinal import BRkNN
from vicinal.methods import Method

class Broken(BRkNN):
    method = Method(name="broken-of-a-test")

    def fit(self, X, Y, **more):
        raise ValueError("no luck")

class NoIndex(BRkNN):
    method = Method(name="no-index-of-a-test")

    def __init__(self, n_neighbors=3, metric="euclidean", algorithm=None):
        super().__init__(n_neighbors, metric=metric, algorithm=refuse)

def refuse(*_, **__):
    raise RuntimeError("no index today")
"""


@pytest.mark.parametrize(("name", "why"), [("Broken", "no luck"), ("NoIndex", "no index today")])
def test_a_failing_method_is_exit_code_1_and_the_rest_goes_on(
    run, data_file, tmp_path, monkeypatch, name, why
):
    (tmp_path / "broken_of_a_test.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    methods = f"brknn,broken_of_a_test:{name}"
    words = (data_file, "--methods", methods, "--folds", "2", "--json")
    code, out, err = run("compare", *words)
    assert code == 1
    (found,) = json.loads(out)
    assert list(found["mean_ranks"]) == ["brknn"]
    told = " ".join(err.split())
    assert f"broken_of_a_test:{name} failed on signs.arff: fold 1:" in told
    assert why in told


def test_further_metrics_need_no_new_run(run, data_file, tmp_path, monkeypatch):
    store = tmp_path / "results.jsonl"
    words = (data_file, *SMALL, "--store", store, "--keep-scores")
    code, _, err = run("compare", *words)
    assert code == 0, err
    (tmp_path / "metrics_of_a_test.py").write_text(
        "from vicinal.metrics import Metric\n"
        "def share(Y, labels):\n    return labels.nnz / Y.shape[0]\n"
        "mine = Metric('labels-per-row', share, better='none', needs='labels')\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vicinal.selection.runner.measure_fits", None)  # a run would fail
    asked = "recall@2,macro-auc-pr,one-error,metrics_of_a_test:mine"
    before = ResultStore(store).read()
    code, out, err = run("measure", store, "--metrics", asked, "--json")
    assert code == 0, err
    for result, old in zip(ResultStore(store).read(), before, strict=True):
        assert result.values["one-error"] == old.values["one-error"]
        assert result.values["macro-auc-pr"] == old.values["macro-auc-pr"]
        assert result.values["labels-per-row"] == pytest.approx(old.values["cardinality"])
        assert len(result.values["recall@2"]) == 3
    assert json.loads(out)[0]["values"]["one-error"] == list(before[0].values["one-error"])
    folders = "--curves", tmp_path / "curves", "--labels", tmp_path / "labels"
    code, out, err = run("measure", store, *folders)
    assert code == 0, err
    assert (tmp_path / "curves" / "signs.arff.png").stat().st_size > 10_000
    lines = (tmp_path / "labels" / "signs.arff-brknn-0.csv").read_text().splitlines()
    assert lines[0] == "label,rows,precision,recall,f1"
    code, _, err = run("compare", data_file, *SMALL, "--keep-scores")
    assert code == 2
    assert "keep_scores" in err


def test_missing_scores_are_named(run, data_file, tmp_path):
    store = tmp_path / "results.jsonl"
    assert run("compare", data_file, *SMALL, "--store", store)[0] == 0
    code, _, err = run("measure", store, "--metrics", "recall@2")
    assert code == 2
    assert "scores of brknn on signs.arff (compare --keep-scores)" in " ".join(err.split())
    assert run("measure", store)[0] == 2
    assert run("compare", data_file, *SMALL, "--store", store, "--keep-scores")[0] == 0
    assert run("measure", store, "--metrics", "recall@2")[0] == 0


def test_evaluate_takes_metrics(run, data_file, tmp_path):
    assert run("train", data_file, "-o", tmp_path / "m", "--method", "brknn")[0] == 0
    words = ("evaluate", tmp_path / "m", data_file, "--rows", "all", "--json")
    code, out, err = run(*words, "--metrics", "f1@2,recall@7")
    assert code == 0, err
    found = json.loads(out)
    assert {"f1@2", "recall@7"} <= set(found)
    assert "micro-f1" not in found
    assert {"f1@5", "recall@5"} <= set(json.loads(run(*words)[1]))


def test_output_for_a_paper(run, data_file, other_file, tmp_path):
    words = (data_file, other_file, *SMALL, "--metric", "micro-f1", "--metric", "one-error")
    files = {name: tmp_path / f"out.{name}" for name in ("tex", "csv", "parquet", "pdf")}
    code, _, err = run(
        "compare",
        *words,
        *("--latex", files["tex"], "--csv", files["csv"]),
        *("--parquet", files["parquet"], "--pdf", files["pdf"]),
        *("--names", "mlknn=ML-$k$NN & co", "--names", "signs.arff=Signs"),
    )
    assert code == 0, err
    tex = files["tex"].read_text()
    assert tex.count(r"\begin{table}") == 2
    assert r"ML-\$k\$NN \& co" in tex
    assert "Signs &" in tex
    assert r"\textbf{" in tex
    assert r"\(\pm\)" in tex
    with files["csv"].open() as stream:
        lines = list(csv.DictReader(stream))
    results = run_results(data_file, other_file)
    wanted = sum(len(v) for each in results for v in each.values.values())
    assert len(lines) == wanted
    first = next(
        line
        for line in lines
        if (line["data"], line["method"], line["metric"], line["fold"])
        == ("signs.arff", "mlknn", "micro-f1", "2")
    )
    of_mlknn = next(each for each in results if (each.data, each.method) == ("signs.arff", "mlknn"))
    assert float(first["value"]) == of_mlknn.values["micro-f1"][1]
    assert first["name"] == "ML-$k$NN & co"
    frame = pytest.importorskip("pandas").read_parquet(files["parquet"])
    assert len(frame) == wanted
    assert files["pdf"].read_bytes().startswith(b"%PDF")
    code, _, err = run("compare", *words, "--names", "mlknn")
    assert code == 2
    assert "--names: expected name=Name" in err


def run_results(data_file, other_file):
    models = {"brknn": BRkNN(), "mlknn": MLkNN(4)}
    return compare([str(data_file), str(other_file)], models, folds=3)


def test_significance_marks_by_hand():
    """A is always better than B by about 0.2, and C equals A in one fold of three."""
    values = {"A": (0.9, 0.8, 0.85), "B": (0.7, 0.61, 0.66), "C": (0.9, 0.7, 0.95)}
    results = [
        Result("compare/3 folds", data, method, {"micro-f1": folds})
        for data in ("one", "two")
        for method, folds in values.items()
    ]
    lines = latex_table(results, ["micro-f1"]).splitlines()
    head = next(line for line in lines if line.startswith("data set"))
    row = next(line for line in lines if line.startswith("one"))
    cells = dict(zip(head.rstrip("\\ ").split(" & "), row.rstrip("\\ ").split(" & "), strict=True))
    assert cells["A"] == r"\textbf{0.850} \(\pm\) 0.050"
    assert cells["B"] == r"0.657 \(\pm\) 0.045 \(\bullet\)"
    assert cells["C"] == r"\textbf{0.850} \(\pm\) 0.132"


def test_significance_marks_count_that_training_rows_overlap():
    """The differences are 0.1, 0.2, 0.3: p = 0.07 without the correction, 0.16 with it.

    With 0.14, 0.2, 0.26, p is 0.03 and 0.07: only the plain test would be significant.
    """
    values = {"A": (0.8, 0.8, 0.8), "B": (0.66, 0.6, 0.54)}
    results = [Result("compare/3 folds", "one", m, {"micro-f1": v}) for m, v in values.items()]
    text = latex_table(results, ["micro-f1"])
    assert "corrected t-test" in text
    assert r"0.600 \(\pm\) 0.060 \\" in text


def test_tables_fit_the_page():
    results = [
        Result("compare/2 folds", "one", f"m{at}", {"micro-f1": (0.1 * at, 0.2)}) for at in range(6)
    ]
    assert r"\scriptsize" in latex_table(results, ["micro-f1"])
    assert r"\footnotesize" in latex_table(results[:3], ["micro-f1"])


def test_own_metrics_rank_methods_and_are_in_tables_and_reports(
    run, data_file, tmp_path, monkeypatch
):
    (tmp_path / "own_metric_of_a_test.py").write_text(
        "from vicinal.metrics import Metric\n"
        "def count(Y, labels):\n    return labels.indptr[1:] - labels.indptr[:-1]\n"
        "fewer = Metric('fewer-labels', count, better='low', needs='labels', per_row=True)\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(catalogue, "_OWN", {})
    monkeypatch.chdir(tmp_path)
    name, store, page = "own_metric_of_a_test:fewer", tmp_path / "r", tmp_path / "report.html"
    words = (data_file, *SMALL, "--metric", name, "--store", store, "--report", page, "--json")
    code, out, err = run("compare", *words)
    assert code == 0, err
    (found,) = json.loads(out)
    assert (found["metric"], found["better"]) == ("fewer-labels", "low")
    assert set(found["mean_ranks"]) == {"brknn", "mlknn"}
    assert "fewer-labels" in page.read_text()
    assert run("train", data_file, "-o", tmp_path / "m", "--method", "brknn")[0] == 0
    metrics = f"{name},micro-f1"
    code, out, err = run(
        "evaluate", tmp_path / "m", data_file, "--rows", "all", "--metrics", metrics
    )
    assert code == 0, err
    assert out.index("micro-f1") < out.index("fewer-labels")
    monkeypatch.setattr(catalogue, "_OWN", {})  # as in a process that does not import the module
    words = ("--from", store, "--report", page, "--csv", tmp_path / "folds.csv")
    code, _, err = run("compare", *words)
    assert code == 0, err
    assert "fewer-labels" not in page.read_text()
    lines = (tmp_path / "folds.csv").read_text().splitlines()
    assert any(",fewer-labels," in line and ",none," in line for line in lines)
