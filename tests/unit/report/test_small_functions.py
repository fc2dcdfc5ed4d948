"""Examples of functions that other tests reach only on the way."""

import numpy as np

from vicinal.comparison.method_ranking import Mark
from vicinal.report.comparison_details import _family_name, k_curves, metric_title
from vicinal.report.curves import plot_curves, pooled_curve
from vicinal.report.paper import parse_names, tidy_rows
from vicinal.report.reported import ReportedCell, is_near, reported_section, same_name
from vicinal.report.sortable_table import _signed
from vicinal.results import Result


def test_metric_title():
    assert metric_title("hamming-loss") == "hamming-loss\xa0↓"


def test_k_curves():
    results = [
        Result("compare", "yeast", f"k={k}", {"micro-f1": (v,)}, {"n_neighbors": k})
        for k, v in ((5, 0.6), (1, 0.5))
    ]
    assert dict(k_curves(results, "micro-f1")[0].points) == {1: 0.5, 5: 0.6}


def test_family_name():
    assert (_family_name(["mlknn k=5", "mlknn k=10"]), _family_name(["5", "10"])) == (
        "mlknn",
        "5, 10",
    )


def test_pooled_curve():
    precision, recall, false_rate = pooled_curve([[1, 0], [0, 1]], [[0.9, 0.5], [0.1, 0.2]])
    np.testing.assert_equal(
        (precision.round(2), recall, false_rate),
        (
            np.array([1.0, 0.5, 0.67, 0.5]),
            np.array([0.5, 0.5, 1.0, 1.0]),
            np.array([0.0, 0.5, 0.5, 1.0]),
        ),
    )


def test_tidy_rows():
    result = Result("compare/2 folds", "yeast", "mlknn", {"one-error": (0.2, 0.25)}, seed=0)
    assert list(tidy_rows([result], {"mlknn": "ML-kNN"}))[1] == (
        "yeast",
        "mlknn",
        "ML-kNN",
        0,
        2,
        "one-error",
        0.25,
        "low",
        "compare/2 folds",
    )


def test_parse_names():
    assert parse_names(["mlknn=ML-kNN", "br-svm=SVM (linear)"]) == {
        "mlknn": "ML-kNN",
        "br-svm": "SVM (linear)",
    }


def test_parse_names_takes_several_by_commas():
    given = ["mlknn=ML-kNN,own:Class=Own, with a comma,brknn=BRkNN"]
    names = {"mlknn": "ML-kNN", "own:Class": "Own, with a comma", "brknn": "BRkNN"}
    assert parse_names(given) == names


def test_same_name():
    assert (same_name("ML-kNN") == same_name("mlknn"), same_name("IBLR-ML")) == (True, "iblr")


def test_reported_section():
    cell = ReportedCell("Zhang 2007", "2", "yeast", "ML-kNN", "hamming-loss", 0.194)
    assert (
        reported_section([cell], {("yeast", "mlknn", "hamming-loss"): Mark(0.195)}).title
        == "Against the papers"
    )
    assert reported_section([cell], {}) is None


def test_is_near():
    assert (is_near(0.50, 0.53), is_near(6.20, 6.25)) == (False, True)


def test_signed():
    assert (_signed("-0.25"), _signed("-0.00"), _signed("+0.00")) == ("−0.25", "0.00", "0.00")


def test_a_method_has_one_colour_in_all_curves(monkeypatch):
    Y, probabilities = np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.1], [0.5, 0.6]])
    drawn = []
    save = "matplotlib.figure.Figure.savefig"
    monkeypatch.setattr(save, lambda figure, *_, **__: drawn.append(figure))
    methods = {"no probabilities": (Y, 10 * probabilities), "calibrated": (Y, probabilities)}
    plot_curves(methods, "x")
    curves, roc, reliability = (axes.lines for axes in drawn[0].axes)
    colours = {line.get_label(): line.get_color() for line in curves}
    assert len(set(colours.values())) == 2
    for line in [*roc, *reliability]:
        assert line.get_label() not in colours or line.get_color() == colours[line.get_label()]
    (joined,) = (line for line in reliability if line.get_label() == "calibrated")
    np.testing.assert_allclose(joined.get_xdata(), [0.1, 0.5, 0.6, 0.9])  # bins without cells: none
