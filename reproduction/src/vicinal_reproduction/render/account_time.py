"""The part of the account that states how long a full run takes."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from vicinal.results import Result
from vicinal_reproduction.render.markdown import markdown_table
from vicinal_reproduction.render.spent import Seconds, Spent, spent
from vicinal_reproduction.sources import UNAVAILABLE
from vicinal_reproduction.specification import Paper

APART = "zhang2007"
"""The paper whose baselines are not counted in the total."""


def account_time(stored: Iterable[tuple[Paper, Iterable[Result]]]) -> Iterator[str]:
    """Yield how long the experiments of each paper take."""
    found = {paper.name: spent(paper, results, _available(paper)) for paper, results in stored}
    yield (
        "\n## Duration of a full run\n\nProcessor hours on one core (`h:mm`), summed from the times"
        " of the stored results:\n"
    )
    rows = [
        [name, *(hours(part.all) for part in (each.tables, each.rivals, each.aside, each.total))]
        for name, each in found.items()
    ]
    header = ["paper", "tables and figures", "baselines", "variants", "total"]
    yield markdown_table(header, rows)
    yield _whole(found)
    missing = [each for one in found.values() for each in one.without]
    if missing:
        named = [
            f"{experiment} ({', '.join(data for _, data in each)})"
            for experiment, each in groupby(missing, key=itemgetter(0))
        ]
        yield f"\nNot included (not run, or without a recorded time): {'; '.join(named)}."


def _available(paper: Paper) -> list[str]:
    """Return the data sets that are available for a full run."""
    named = {data for experiment in paper.experiments for data in experiment.data}
    return sorted(named.difference(UNAVAILABLE))


def _whole(found: dict[str, Spent]) -> str:
    """Return the total in words, and its components."""
    whole = Seconds()
    for name, each in found.items():
        whole += each.tables + each.aside if name == APART else each.total
    return (
        f"\nWithout the baselines of {APART} the total is {hours(whole.all)}. On two cores "
        f"(`--jobs 2`) it takes half of that in wall-clock time. {hours(whole.by_clock)} of it "
        "are wall-clock times, from runs on a shared machine before processor time was recorded."
        f" {hours(whole.guessed)} of it are estimates for seeds that were not run, based on those"
        " that were."
    )


def hours(seconds: float) -> str:
    """Return hours and minutes.

    Examples
    --------
    >>> hours(59.0), hours(3661.0), hours(36_000.0)
    ('0:01', '1:01', '10:00')
    """
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02d}"
