"""The part of the account that says how long a full run takes."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from vicinal.results import Result
from vicinal_reproduction.render.markdown import markdown_table
from vicinal_reproduction.render.spent import Seconds, Spent, spent
from vicinal_reproduction.sources import NOT_TO_BE_HAD
from vicinal_reproduction.specification import Paper

APART = "zhang2007"
"""The paper whose comparison methods are not counted into a full run."""


def account_time(stored: Iterable[tuple[Paper, Iterable[Result]]]) -> Iterator[str]:
    """Yield how long the experiments of each paper take."""
    found = {paper.name: spent(paper, results, _to_be_had(paper)) for paper, results in stored}
    yield (
        "\nHow long a full run takes, in hours of one processor core (`h:mm`), added up from what "
        "the stored results took:\n"
    )
    rows = [
        [name, *(hours(part.all) for part in (each.tables, each.rivals, each.aside, each.total))]
        for name, each in found.items()
    ]
    header = ["paper", "tables and figures", "comparison methods", "side experiments", "together"]
    yield markdown_table(header, rows)
    yield _whole(found)
    missing = [each for one in found.values() for each in one.without]
    if missing:
        named = [
            f"{experiment} ({', '.join(data for _, data in each)})"
            for experiment, each in groupby(missing, key=itemgetter(0))
        ]
        yield f"\nNot counted, as not run or without a time: {'; '.join(named)}."


def _to_be_had(paper: Paper) -> list[str]:
    """Return the data that a full run finds."""
    named = {data for experiment in paper.experiments for data in experiment.data}
    return sorted(named.difference(NOT_TO_BE_HAD))


def _whole(found: dict[str, Spent]) -> str:
    """Return the sum in words, and what it is made of."""
    whole = Seconds()
    for name, each in found.items():
        whole += each.tables + each.aside if name == APART else each.total
    return (
        f"\nWithout the comparison methods of {APART}: {hours(whole.all)}, of which two cores need "
        f"half by the clock (`--jobs 2`). Of it {hours(whole.by_clock)} come from a clock, of runs "
        "made before processor time was kept, beside other work; "
        f"{hours(whole.guessed)} are of seeds not run, taken to last as long as those that were."
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
