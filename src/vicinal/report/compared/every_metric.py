"""All metrics, one collapsed table per data set."""

from collections.abc import Sequence

from vicinal.comparison.ranking import marks_of
from vicinal.metrics import metric_info
from vicinal.report.blocks import Details, Section
from vicinal.report.cells import Cell, mark_best
from vicinal.report.compared.words import metric_title, sorted_metrics
from vicinal.report.table import Column, DataTable, Row
from vicinal.results import Result


def every_metric_section(results: Sequence[Result], methods: Sequence[str]) -> Section:
    """Return a table of metrics × methods for each data set."""
    names = sorted_metrics(list({name for result in results for name in result.values}))
    marks = {name: marks_of(results, name) for name in names}
    tables = []
    for data in dict.fromkeys(result.data for result in results):
        rows: list[Row] = []
        for name in names:
            found = [marks[name].get((data, method)) for method in methods]
            cells = [Cell(None) if mark is None else Cell(mark.mean) for mark in found]
            side = metric_info(name).better
            marked = cells if side == "none" else mark_best(cells, side, ".4f")
            rows.append([metric_title(name), *marked])
        columns = [Column("metric"), *(Column(method, ".4f") for method in methods)]
        table = DataTable(f"Every metric on {data}, means over folds", columns, rows)
        tables.append(Details(data, [table]))
    return Section("Every metric", tables)
