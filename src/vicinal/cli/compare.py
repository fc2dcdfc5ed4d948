"""``vicinal compare``: methods against each other, on folds or published splits."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vicinal._base.errors import InvalidArgumentError
from vicinal.cli.compare_options import (
    AlphaOption,
    DataArguments,
    FoldsOption,
    FromOption,
    MethodsOption,
    MetricOption,
    NeighborsOption,
    ReportOption,
    SeedsOption,
    SetOption,
    StoreOption,
    TuneOption,
)
from vicinal.cli.contestants import contestants, parse_numbers, tuned_contestants
from vicinal.cli.output import JsonFlag, check_target, out, print_json, say
from vicinal.cli.rankings import conclusion, ranking_json, ranking_table, spent_seconds
from vicinal.cli.settings import PreprocessOption, parse_settings
from vicinal.comparison import rank_methods, run_comparison
from vicinal.comparison.outcome import EXPERIMENT, experiment_name
from vicinal.metrics.catalogue import every_metric
from vicinal.papers.reported import reported
from vicinal.report import ReportedCell, comparison_report
from vicinal.report.comparison_report import SHOWN
from vicinal.results import Result, ResultStore

USUAL = ("brknn", "lpknn", "mlknn", "dmlknn", "iblr", "instance-knn")


def compare(
    data: DataArguments = None,
    methods: MethodsOption = None,
    metric: MetricOption = None,
    folds: FoldsOption = None,
    seeds: SeedsOption = 1,
    neighbors: NeighborsOption = None,
    settings: SetOption = None,
    tune: TuneOption = False,
    preprocess: PreprocessOption = "auto",
    store: StoreOption = None,
    source: FromOption = None,
    report: ReportOption = None,
    alpha: AlphaOption = 0.05,
    json: JsonFlag = False,
) -> None:
    """Compare methods on data sets: every metric on every fold, tests, and a report."""
    check_target("--report", report)
    metrics = metric or ["hamming-loss"]
    names = methods.split(",") if methods else []
    if source is not None:
        results = stored_results(source, data or [], names, folds)
    elif not data:
        raise InvalidArgumentError("DATA", "data sets to compare on, or --from", "neither")
    else:
        results = run_comparison(
            data,
            entrants(names or USUAL, settings or [], neighbors, metrics[0] if tune else None),
            metrics=[*every_metric(), *metrics],
            folds=parse_folds(folds or "10"),
            seeds=range(seeds),
            preprocess=preprocess,
            store=store,
            progress=True,
        )
    show(results, metrics, alpha, json)
    if report is not None:
        write_report(results, report, metrics, alpha, json)


def entrants(
    names: Sequence[str], settings: Sequence[str], neighbors: str | None, tune_for: str | None
) -> Mapping[str, object]:
    """Return the methods to compare: as set, at several k, or tuned for a metric."""
    given = parse_settings(settings)
    if tune_for is None:
        return contestants(names, given, parse_numbers("--neighbors", neighbors))
    if neighbors is not None:
        raise InvalidArgumentError("--neighbors", "nothing, where --tune chooses", neighbors)
    return tuned_contestants(names, given, tune_for)


def stored_results(
    path: Path, data: Sequence[str], methods: Sequence[str], folds: str | None
) -> list[Result]:
    """Return the comparison that a file holds, or the part of it that was asked for."""
    if not path.is_file():
        raise InvalidArgumentError("--from", "a file of results", repr(str(path)))
    found = [each for each in ResultStore(path).read() if each.experiment.startswith(EXPERIMENT)]
    if folds is not None:
        wanted = experiment_name(parse_folds(folds))
        found = [each for each in found if each.experiment == wanted]
    experiments = sorted({each.experiment for each in found})
    if len(experiments) > 1:
        said = f"{path} holds {', '.join(experiments)}"
        raise InvalidArgumentError("--folds", "which of the comparisons to show", said)
    found = [
        each
        for each in found
        if (not data or each.data in data)
        and (not methods or each.method.partition(" ")[0] in methods or each.method in methods)
    ]
    if not found:
        raise InvalidArgumentError("--from", "a file with such results", repr(str(path)))
    return found


def parse_folds(word: str) -> int | str:
    """Return a number of folds, or ``split``.

    Examples
    --------
    >>> parse_folds("10"), parse_folds("split")
    (10, 'split')
    """
    if word == "split":
        return word
    try:
        return int(word)
    except ValueError:
        raise InvalidArgumentError("--folds", "a number, or split", repr(word)) from None


def show(results: Sequence[Result], metrics: Sequence[str], alpha: float, json: bool) -> None:
    """Print where the methods stand by each metric."""
    found = [rank_methods(results, name, alpha) for name in metrics]
    seconds = spent_seconds(results)
    if json:
        print_json([ranking_json(each, seconds) for each in found])
        return
    for each in found:
        out.print(ranking_table(each, seconds))
        out.print(conclusion(each), soft_wrap=True, highlight=False)


def reported_cells() -> list[ReportedCell]:
    """Return what the papers report, as the report sets it beside ours."""
    return [
        ReportedCell(
            paper=each.paper,
            table=each.table,
            dataset=each.data,
            method=each.method,
            metric=each.metric,
            value=each.value,
            std=each.std,
        )
        for each in reported()
    ]


def write_report(
    results: Sequence[Result], path: Path, metrics: Sequence[str], alpha: float, quiet: bool
) -> None:
    """Write the report; the metrics asked for come first."""
    measured = {name for result in results for name in result.values}
    shown = dict.fromkeys([*metrics, *(name for name in SHOWN if name in measured)])
    written = comparison_report(
        results, path, metrics=list(shown), alpha=alpha, reported=reported_cells()
    )
    if not quiet:
        say(f"Report written to {written}")
