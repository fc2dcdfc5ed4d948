"""The table people read."""

import io

from rich.console import Console

from vicinal.metrics import metrics_table


def lines(results, width=80, **options):
    console = Console(file=io.StringIO(), width=width)
    console.print(metrics_table(results, **options))
    return console.file.getvalue().splitlines()


def test_metrics_stand_in_the_order_of_the_catalogue_under_their_groups():
    shown = lines({"A": {"ndcg@10": 0.5, "ndcg@2": 0.25, "one-error": 0.125, "hamming-loss": 0.75}})
    words = [line.strip("│ ").split("│")[0].strip() for line in shown if line.startswith("│")]
    assert words == [
        "example-based",
        "hamming-loss ↓",
        "ranking",
        "one-error ↓",
        "first k labels",
        "ndcg@2 ↑",
        "ndcg@10 ↑",
    ]


def test_columns_may_differ_in_their_metrics():
    shown = lines({"A": {"micro-f1": 0.5}, "B": {"cardinality": 2.0}}, title="both")
    assert "both" in shown[0]
    assert any("micro-f1 ↑" in line and "0.5000" in line and "2.0000" not in line for line in shown)
    assert any("cardinality " in line and "2.0000" in line for line in shown)


def test_a_narrow_table_shortens_headings_and_keeps_names_of_metrics_on_one_line():
    shown = lines({"the first of many methods": {"coverage-normalised": 0.5}}, width=40)
    assert max(map(len, shown)) <= 40
    assert any("coverage-normalised ↓" in line and "0.5000" in line for line in shown)


def test_nothing_to_look_at_is_shown_as_such():
    assert any("nan" in line for line in lines({"A": {"macro-auc": float("nan")}}))


def test_the_table_leaves_as_every_other_table_does():
    table = metrics_table({"A": {"micro-f1": 0.5, "cardinality": 1.5}, "B_2": {"micro-f1": 0.25}})
    assert repr(table) == "MetricsTable(2 metrics × 2 columns)"
    assert table.to_markdown().splitlines()[2:] == [
        "| micro-f1 | high | 0.5000 | 0.2500 |",
        "| cardinality | none | 1.5000 | – |",
    ]
    assert r"micro-f1 & high & 0.5000 & 0.2500 \\" in table.to_latex()
    assert r"metric & better & A & B\_2 \\" in table.to_latex()
    frame = table.to_pandas().set_index("metric")
    assert frame.loc["micro-f1", "B_2"] == 0.25
    assert frame["B_2"].isna()["cardinality"]
    assert "<th>B_2</th>" in table._repr_html_()
