"""``vicinal compare``: compare methods on cross-validation folds or published splits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from vicinal.cli.options import (
    BASELINE_NAMES,
    METHODS,
    CommonOptions,
    PreprocessOption,
    RerunOption,
    StoreOption,
    TableChoice,
    option,
    with_options,
)
from vicinal.cli.output import check_target, errors, out, print_json, say
from vicinal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from vicinal.comparison import Ranking, Tuned
    from vicinal.results import Result

DataArguments = Annotated[
    list[str] | None,
    typer.Argument(help="Names from `vicinal data list`, or files.", metavar="DATA..."),
]


class CompareOptions(CommonOptions):
    """The options of ``vicinal compare``."""

    methods: str = option(
        f"quick, all, or separated by commas: {METHODS}; baselines: "
        f"{', '.join(BASELINE_NAMES)}; module:Class for any multi-label classifier.",
        default="",
    )
    metric: list[str] | None = option("Metric to rank by; repeatable. By default hamming-loss.")
    folds: str | None = option(
        "Number of cross-validation folds (10 by default), or split: published."
    )
    seeds: int = option(
        "How often to repeat cross-validation, each with its own seed.", default=1, min=1
    )
    neighbors: str | None = option(
        "Numbers of neighbours to try with every method, separated by commas."
    )
    settings: list[str] | None = option(
        "A parameter: method.name=value, or name=value for every method that has it.", "--set"
    )
    tune: bool = option(
        "Tune each method for --metric on each fold's training rows.", "--tune", default=False
    )
    preprocess: PreprocessOption = "auto"
    store: StoreOption = None
    source: Path | None = option("Show the results of this file; run nothing.", "--from")
    report: Path | None = option("Write an HTML report to this file.")
    latex: Path | None = option("Write LaTeX tables: mean ± deviation, best in bold, marks.")
    csv: Path | None = option("Write one line per fold and metric.", "--csv")
    parquet: Path | None = option("Write one row per fold and metric as Parquet.")
    pdf: Path | None = option("Draw the critical difference diagram of --metric.")
    names_shown: list[str] | None = option(
        "Names to display: mlknn=ML-kNN,brknn=BRkNN. Repeatable.", "--names"
    )
    alpha: float = option("Significance level.", default=0.05, min=0, max=1)
    rerun: RerunOption = False
    keep_scores: bool = option(
        "Keep scores and predictions beside --store, for `vicinal measure`.",
        "--keep-scores",
        default=False,
    )


@with_options
def compare(chosen: CompareOptions, table: TableChoice, data: DataArguments = None) -> None:
    """Compare methods on data sets: all metrics, significance tests, and a report."""
    from vicinal.cli.settings import method_words
    from vicinal.comparison import compare as compare_methods
    from vicinal.metrics.catalogue import every_metric, metric_info
    from vicinal.report.paper import parse_names

    for name in ("report", "latex", "csv", "parquet", "pdf"):
        check_target(f"--{name}", getattr(chosen, name))
    display = parse_names(chosen.names_shown or [])
    asked = chosen.metric or ["hamming-loss"]
    words = chosen.methods.split(",") if chosen.methods else []
    chosen.import_modules([*words, *asked])
    metrics = [metric_info(name).name for name in asked]
    names = method_words(words)
    if chosen.source is not None:
        results = stored_results(chosen.source, data or [], names, chosen.folds)
    elif not data:
        raise InvalidArgumentError("DATA", "data sets to compare on, or --from", "neither")
    else:
        results = compare_methods(
            named_sources(data, table),
            chosen_candidates(names or method_words(["quick"]), chosen, metrics[0]),
            metrics=[*every_metric(), *metrics],
            folds=parse_folds(chosen.folds or "10"),
            seeds=range(chosen.seeds),
            preprocess=chosen.preprocess,
            store=chosen.store,
            progress=True,
            rerun=chosen.rerun,
            keep_scores=chosen.keep_scores,
        )
    shown = [replace(each, method=display.get(each.method, each.method)) for each in results]
    show(results if chosen.json else shown, metrics, chosen.alpha, chosen.json)
    if chosen.report is not None:
        write_report(shown, chosen.report, metrics, chosen.alpha, chosen.json)
    write_paper(results, metrics, display, chosen)
    report_failures(results)


def write_paper(
    results: "Sequence[Result]",
    metrics: Sequence[str],
    names: Mapping[str, str],
    chosen: CompareOptions,
) -> None:
    """Write the files for a paper whose options are given."""
    from vicinal.comparison import results_table
    from vicinal.comparison.diagram import draw
    from vicinal.comparison.friedman import rank_tests
    from vicinal.metrics.catalogue import better_side
    from vicinal.report.paper import latex_table, write_csv, write_parquet

    if chosen.latex is not None:
        text = latex_table(results, metrics, alpha=chosen.alpha, names=names)
        chosen.latex.write_text(text, encoding="utf-8")
    if chosen.csv is not None:
        write_csv(results, chosen.csv, names)
    if chosen.parquet is not None:
        write_parquet(results, chosen.parquet, names)
    if chosen.pdf is not None:
        table = results_table(results, metrics[0], missing="drop")
        columns = {names.get(m, m): table.values[:, j] for j, m in enumerate(table.methods)}
        found = rank_tests(columns, chosen.alpha, better=better_side(metrics[0]))
        draw(found, [chosen.pdf], None)


def report_failures(results: "Sequence[Result]") -> None:
    """List the methods that failed and end with exit code 1, if there are any."""
    failed = getattr(results, "failed", {})
    for (data, method, seed), why in failed.items():
        where = f"{data}, seed {seed}" if seed else data
        errors.print(f"{method} failed on {where}: {why}", markup=False, highlight=False)
    if failed:
        raise typer.Exit(1)


def chosen_candidates(
    names: Sequence[str], chosen: CompareOptions, metric: str
) -> Mapping[str, object]:
    """Return the methods to compare: with given settings, at several k, or tuned for a metric."""
    from vicinal.cli.settings import parse_settings

    given = parse_settings(chosen.settings or [])
    if not chosen.tune:
        return candidates(names, given, parse_numbers("--neighbors", chosen.neighbors))
    if chosen.neighbors is not None:
        raise InvalidArgumentError(
            "--neighbors", "no value together with --tune", chosen.neighbors, "use one of the two"
        )
    return tuned_candidates(names, given, metric)


def stored_results(
    path: Path, data: Sequence[str], methods: Sequence[str], folds: str | None
) -> "list[Result]":
    """Return the results in a file, restricted to these data sets, methods and folds."""
    from vicinal.comparison.experiment import EXPERIMENT, experiment_name
    from vicinal.results import ResultStore

    if not path.is_file():
        hint = "vicinal compare --store FILE writes one"
        raise InvalidArgumentError("--from", "an existing results file", repr(str(path)), hint)
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
    """Return a number of folds, or ``split``."""
    if word == "split":
        return word
    try:
        return int(word)
    except ValueError:
        raise InvalidArgumentError("--folds", "a number, or split", repr(word)) from None


def show(results: "Sequence[Result]", metrics: Sequence[str], alpha: float, json: bool) -> None:
    """Print the ranking of the methods by each metric."""
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
    from vicinal.cli.program import reported_figures
    from vicinal.report import comparison_report
    from vicinal.report.comparison import SHOWN

    measured = {name for result in results for name in result.values}
    shown = dict.fromkeys([*metrics, *(name for name in SHOWN if name in measured)])
    written = comparison_report(
        results, path, metrics=list(shown), alpha=alpha, reported=reported_figures()
    )
    if not quiet:
        say(f"Report written to {written}")


def named_sources(data: Sequence[str], table: TableChoice) -> dict[str, Any]:
    """Return the data sets of a comparison by name."""
    named: dict[str, Any] = {}
    for each in data:
        name = Path(each).name
        if name in named:
            raise InvalidArgumentError("DATA", "files with different names", f"{name!r} twice")
        named[name] = _compared(each, table)
    return named


def _compared(data: str, table: TableChoice) -> Any:
    """Return one data set of a comparison."""
    from vicinal.cli.data_source import (
        file_options,
        is_table_file,
        refuse_vectors,
        table_source,
        table_steps,
    )
    from vicinal.comparison.candidates import ComparedData
    from vicinal.datasets import Reading, load
    from vicinal.datasets.catalogue import known
    from vicinal.results import digest_of

    refuse_vectors(table)
    options = {} if known(data) else file_options(table)
    if not is_table_file(data):
        return load(data, **options) if options else data
    source = table_source(data, table)
    steps = table_steps(source.reading or Reading(), table, "none")
    X: Any = source.X
    content = repr(X.tolist()) if str(getattr(X, "dtype", "")) == "object" else X  # mixed columns
    digest = digest_of(content, source.labels(), repr(steps))[:16]
    given = X, source.labels(), tuple(source.label_names), source.name
    return ComparedData(*given, steps=steps or None, digest=digest)


def candidates(
    methods: Sequence[str], settings: Mapping[str, object], neighbors: Sequence[int] = ()
) -> dict[str, Any]:
    """Return the estimators to compare, by their names in tables."""
    from vicinal.cli.settings import make_estimator, method_parameters
    from vicinal.methods.registry import find_method, method_of

    for setting in settings:
        of_method, dot, _ = setting.rpartition(".")
        known = [name for method in methods for name in method_parameters(method)]
        if of_method not in methods if dot else setting not in known:
            kind = "method.parameter=value with a method of" if dot else "a parameter of"
            raise InvalidArgumentError("--set", f"{kind} {', '.join(methods)}", repr(setting))
    found: dict[str, Any] = {}
    for method in methods:
        own = _own_settings(method, settings)
        if not neighbors:
            found[method] = make_estimator(method, own, "--methods")
        for k in neighbors:
            name = method_of(find_method(method)).neighbors
            if name is None:
                expected = "--methods that have a number of neighbours"
                raise InvalidArgumentError("--neighbors", expected, method)
            found[f"{method} k={k}"] = make_estimator(method, {**own, name: k}, "--methods")
    return found


def tuned_candidates(
    methods: Sequence[str], settings: Mapping[str, object], metric: str
) -> "dict[str, Tuned]":
    """Return methods whose settings are tuned inside each fold, except those in `settings`."""
    from vicinal.comparison import Tuned
    from vicinal.comparison.candidates import BASELINES

    for method in methods:
        if method in BASELINES:
            raise InvalidArgumentError("--tune", "methods that are not baselines", repr(method))
    candidates(methods, settings)  # raises for settings that the methods do not have
    return {
        f"{method} tuned": Tuned(method, metric, params=_own_settings(method, settings) or None)
        for method in methods
    }


def parse_numbers(option: str, words: str | None) -> list[int]:
    """Return the integers of a list separated by commas."""
    from vicinal._core.checks import check_integer

    if words is None:
        return []
    try:
        numbers = [int(word) for word in words.split(",")]
    except ValueError:
        raise InvalidArgumentError(option, "integers separated by commas", repr(words)) from None
    return [check_integer(option, number, low=1) for number in dict.fromkeys(numbers)]


def _own_settings(method: str, settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of one method; those for it alone override the shared ones."""
    from vicinal.cli.settings import method_parameters

    known, prefix = method_parameters(method), f"{method}."
    shared = {name: value for name, value in settings.items() if name in known}
    own = {n.removeprefix(prefix): v for n, v in settings.items() if n.startswith(prefix)}
    return {**shared, **own}


STEPS = ("search", "fit", "predict")


def ranking_table(found: "Ranking", seconds: Mapping[str, Mapping[str, float]]) -> Table:
    """Return a table of data sets × methods by mean rank, with the best values in bold.

    On a narrow terminal it is one of methods × data sets.
    """
    from vicinal.report.comparison_details import metric_title

    lines = {data: _values(found, data) for data in found.data}
    ranks = [found.mean_ranks.get(each) for each in found.methods]
    lines["mean rank"] = ["–" if rank is None else f"{rank:.2f}" for rank in ranks]
    if found.differ:
        lines["group"] = [found.groups_of(method) for method in found.methods]
    own = (sum(seconds[method].get(step, 0.0) for step in STEPS[1:]) for method in found.methods)
    lines["seconds"] = [f"{each:.2f}" for each in own]
    is_wide = sum(len(name) + 3 for name in ("mean rank", *found.methods)) > out.width
    table = Table(title=metric_title(found.metric), title_justify="left")
    table.add_column("method" if is_wide else "data set", no_wrap=True)
    for name in lines if is_wide else found.methods:
        table.add_column(escape(name), justify="right")
    if is_wide:
        for method, *cells in zip(found.methods, *lines.values(), strict=True):
            table.add_row(escape(method), *cells)
        return table
    for name, cells in lines.items():
        if name == "mean rank":
            table.add_section()
        table.add_row(escape(name), *cells)
    return table


def conclusion(found: "Ranking") -> str:
    """Return a sentence on what the table shows, with markup escaped."""
    from vicinal.report.comparison import verdict

    notes = [verdict(found)]
    if found.left_out:
        notes.append(f"Left out because values are missing: {', '.join(found.left_out)}.")
    if found.differ:
        notes.append(
            "Methods that share a group letter cannot be told apart at this significance level."
        )
    return escape(" ".join(notes))


def spent_seconds(results: "Sequence[Result]") -> dict[str, dict[str, float]]:
    """Return the total seconds of each method, by step."""
    spent: dict[str, dict[str, float]] = {}
    for result in results:
        of_method = spent.setdefault(result.method, {})
        for step, seconds in result.seconds.items():
            of_method[step] = of_method.get(step, 0.0) + seconds
    return spent


def ranking_json(found: "Ranking", seconds: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
    """Return the ranking as plain values."""
    from vicinal.report.comparison import verdict

    tests = found.tests
    return {
        "metric": found.metric,
        "better": found.better,
        "values": {
            data: {m: found.marks[data, m].mean for m in found.methods if (data, m) in found.marks}
            for data in found.data
        },
        "mean_ranks": dict(found.mean_ranks),
        "samples": found.samples,
        "p": None if tests is None else tests.p_f,
        "critical_difference": None if tests is None else tests.critical_difference,
        "groups": [] if tests is None else [list(group) for group in tests.groups],
        "left_out": list(found.left_out),
        "conclusion": verdict(found),
        "seconds": {method: dict(seconds[method]) for method in found.methods},
    }


def _values(found: "Ranking", data: str) -> list[str]:
    """Return the cells of one data set, with the best values in bold."""
    from vicinal.report.comparison_details import metric_form

    form = metric_form(found.metric)
    marks = [found.marks.get((data, method)) for method in found.methods]
    means = [mark.mean for mark in marks if mark is not None]
    if not means:
        return ["–"] * len(marks)
    best = format(min(means) if found.better == "low" else max(means), form)
    texts = ["–" if mark is None else format(mark.mean, form) for mark in marks]
    return [f"[bold]{text}[/]" if text == best else text for text in texts]
