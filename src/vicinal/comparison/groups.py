"""Groups of methods with similar mean ranks."""

from collections.abc import Mapping


def groups_within(mean_ranks: Mapping[str, float], apart: float) -> tuple[tuple[str, ...], ...]:
    """Return the largest groups whose mean ranks all lie less than `apart` from each other.

    A method that differs from all others is in no group.

    Examples
    --------
    >>> groups_within({"A": 1.0, "B": 1.5, "C": 2.2, "D": 4.0}, apart=1.0)
    (('A', 'B'), ('B', 'C'))
    """
    names = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    ranks = [mean_ranks[name] for name in names]
    groups = []
    reached = 0
    for start, rank in enumerate(ranks):
        end = sum(other - rank < apart for other in ranks)
        if end > reached and end - start > 1:
            groups.append(tuple(names[start:end]))
        reached = max(reached, end)
    return tuple(groups)
