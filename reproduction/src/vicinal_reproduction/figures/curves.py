"""The lines of the papers' figures, from stored results."""

from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.specification import Curve


def curve_points(curve: Curve, figures: Figures, data: str, method: str) -> dict[int, float]:
    """Return the values of one line of a figure, by setting, averaged over seeds and folds."""
    start = f"{curve.metric} at {curve.setting}="
    found: dict[int, list[float]] = {}
    for result in figures.at(curve.experiment, data, method):
        for metric, values in result.values.items():
            if metric.startswith(start):
                found.setdefault(int(metric.removeprefix(start)), []).append(
                    sum(values) / len(values)
                )
    return {at: sum(values) / len(values) for at, values in sorted(found.items())}
