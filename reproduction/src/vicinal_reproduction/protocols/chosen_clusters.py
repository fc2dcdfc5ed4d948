"""A point of the curve over the number of clusters, chosen by a rule from stored results."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from vicinal.metrics import metric_info
from vicinal.results import Result
from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.figures.reported import reported
from vicinal_reproduction.protocols.cluster_curve import SETTING

Values: TypeAlias = Mapping[str, float]
Rule: TypeAlias = Callable[[Result, Mapping[int, Values]], int]


def at_chosen_clusters(
    figures: Figures, source: str, method: str, rule: Rule, experiment: str
) -> list[Result]:
    """Return the result of the chosen number of clusters for each data set and seed of a curve.

    Parameters
    ----------
    figures : Figures
    source : str
        The experiment of the curve.
    method : str
    rule : callable
        Chooses the number, given a result and its values by number of clusters.
    experiment : str
        Name of the derived results.
    """
    made = []
    for result in figures.results:
        if (result.experiment, result.method) == (source, method):
            points = by_clusters(result)
            clusters = rule(result, points)
            made.append(
                Result(
                    experiment,
                    result.data,
                    method,
                    {metric: (value,) for metric, value in points[clusters].items()},
                    settings={**result.settings, "n_clusters": clusters},
                    seed=result.seed,
                )
            )
    return made


def by_clusters(result: Result) -> dict[int, dict[str, float]]:
    """Return the values of a curve's result by number of clusters."""
    points: dict[int, dict[str, float]] = {}
    for key, values in result.values.items():
        metric, _, clusters = key.partition(f" at {SETTING}=")
        points.setdefault(int(clusters), {})[metric] = values[0]
    return points


def nearest_to_paper(paper: str) -> Rule:
    """Return the rule that chooses the values closest to the paper, by sum of differences."""

    def choose(result: Result, points: Mapping[int, Values]) -> int:
        theirs = {
            each.metric: each.value
            for each in reported()
            if (each.paper, each.data, each.method) == (paper, result.data, result.method)
        }

        def apart(clusters: int) -> float:
            found = points[clusters]
            return sum(abs(found[metric] - value) for metric, value in theirs.items())

        return min(points, key=apart)

    return choose


def best_by(metric: str) -> Rule:
    """Return the rule that chooses the best value of a metric on the test rows."""
    sign = 1 if metric_info(metric).better == "high" else -1

    def choose(result: Result, points: Mapping[int, Values]) -> int:
        return max(points, key=lambda clusters: sign * points[clusters][metric])

    return choose
