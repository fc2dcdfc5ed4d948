"""``vicinal compare``: compare methods on cross-validation folds or published splits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
from vicinal.cli.imports import import_modules
from vicinal.cli.options import ImportOption, PreprocessOption
from vicinal.cli.output import JsonFlag, check_target, out, print_json, say
from vicinal.cli.table_options import TableChoice, reads_tables

if TYPE_CHECKING:
    from vicinal.results import Result


@reads_tables
def compare(
    data: DataArguments = None,
    methods: MethodsOption = "",
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
    imports: ImportOption = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Compare methods on data sets: all metrics, significance tests, and a report."""
    from vicinal.cli.compared import named_sources
    from vicinal.cli.settings import method_words
    from vicinal.comparison import run_comparison
    from vicinal.metrics.catalogue import every_metric

    check_target("--report", report)
    metrics = metric or ["hamming-loss"]
    words = methods.split(",") if methods else []
    import_modules(imports, words)
    names = method_words(words)
    if source is not None:
        results = stored_results(source, data or [], names, folds)
    elif not data:
        raise InvalidArgumentError("DATA", "data sets to compare on, or --from", "neither")
    else:
        chosen = names or method_words(["quick"])
        results = run_comparison(
            named_sources(data, table),
            chosen_candidates(chosen, settings or [], neighbors, metrics[0] if tune else None),
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


def chosen_candidates(
    names: Sequence[str], settings: Sequence[str], neighbors: str | None, tune_for: str | None
) -> Mapping[str, object]:
    """Return the methods to compare: with given settings, at several k, or tuned for a metric."""
    from vicinal.cli.candidates import candidates, parse_numbers, tuned_candidates
    from vicinal.cli.settings import parse_settings

    given = parse_settings(settings)
    if tune_for is None:
        return candidates(names, given, parse_numbers("--neighbors", neighbors))
    if neighbors is not None:
        raise InvalidArgumentError("--neighbors", "no value together with --tune", neighbors)
    return tuned_candidates(names, given, tune_for)


def stored_results(
    path: Path, data: Sequence[str], methods: Sequence[str], folds: str | None
) -> "list[Result]":
    """Return the results in a file, restricted to these data sets, methods and folds."""
    from vicinal.comparison.outcome import EXPERIMENT, experiment_name
    from vicinal.results import ResultStore

    if not path.is_file():
        raise InvalidArgumentError("--from", "an existing results file", repr(str(path)))
    found = [each for each in ResultStore(path).read() if each.experiment.startswith(EXPERIMENT)]
    if folds is not None:
        wanted = experiment_name(parse_folds(folds))
        found = [each for each in found if each.experiment == wanted]
    experiments = sorted({each.experiment for each in found})
    if len(experiments) > 1:
        expected = f"the folds of one comparison in {path} ({', '.join(experiments)})"
        raise InvalidArgumentError("--folds", expected, folds)
    found = [
        each
        for each in found
        if (not data or each.data in data)
        and (not methods or each.method.partition(" ")[0] in methods or each.method in methods)
    ]
    if not found:
        expected = "a file with results of these data sets, methods and folds"
        raise InvalidArgumentError("--from", expected, repr(str(path)))
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


def show(results: "Sequence[Result]", metrics: Sequence[str], alpha: float, json: bool) -> None:
    """Print the ranking of the methods by each metric."""
    from vicinal.cli.rankings import conclusion, ranking_json, ranking_table, spent_seconds
    from vicinal.comparison import rank_methods

    found = [rank_methods(results, name, alpha) for name in metrics]
    seconds = spent_seconds(results)
    if json:
        print_json([ranking_json(each, seconds) for each in found])
        return
    for each in found:
        out.print(ranking_table(each, seconds))
        out.print(conclusion(each), soft_wrap=True, highlight=False)


def write_report(
    results: "Sequence[Result]", path: Path, metrics: Sequence[str], alpha: float, quiet: bool
) -> None:
    """Write the report; the metrics of ``--metric`` come first."""
    from vicinal.cli.extensions import reported_figures
    from vicinal.report import comparison_report
    from vicinal.report.comparison_report import SHOWN

    measured = {name for result in results for name in result.values}
    shown = dict.fromkeys([*metrics, *(name for name in SHOWN if name in measured)])
    written = comparison_report(
        results, path, metrics=list(shown), alpha=alpha, reported=reported_figures()
    )
    if not quiet:
        say(f"Report written to {written}")
