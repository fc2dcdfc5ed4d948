"""The conclusion from the tests: one sentence, used in all parts of a report."""

from collections.abc import Sequence

from vicinal.comparison import FriedmanNemenyi
from vicinal.report.compared.words import counted, listed, probability

NAMED = 6
"""Maximum number of methods that a sentence names; more are counted."""


def conclusion(tests: FriedmanNemenyi | None) -> str:
    """State what Friedman's and Nemenyi's tests show, without contradiction between the two.

    Examples
    --------
    >>> from vicinal.comparison.friedman import rank_tests
    >>> conclusion(rank_tests({"A": [9, 8], "B": [5, 6], "C": [1, 2]}, alpha=0.05))
    '2 samples of 3 methods are too few for a test at α = 0.05: even if all samples agreed, p would
    be 0.17.'
    >>> conclusion(rank_tests({"A": [9, 8, 9, 7], "B": [5, 6, 5, 8], "C": [1, 2, 3, 1]}, 0.05))
    "Friedman's test finds differences between the methods (p = 0.007). By Nemenyi's test, A differs
    from C and cannot be told apart from B."
    """
    if tests is None:
        return "A test requires at least two samples and two methods."
    if tests.least_p >= tests.alpha:
        return (
            f"{tests.n_samples} samples of {len(tests.mean_ranks)} methods are too few for a test "
            f"at α = {tests.alpha:g}: even if all samples agreed, p would be {tests.least_p:.2g}."
        )
    p = probability(tests.p_f)
    if not tests.rejected:
        return f"Friedman's test cannot tell the methods apart ({p}, α = {tests.alpha:g})."
    return f"Friedman's test finds differences between the methods ({p}). {_nemenyi(tests)}"


def _nemenyi(tests: FriedmanNemenyi) -> str:
    """State which methods the best ones differ from."""
    ranks = tests.mean_ranks
    best = [name for name in ranks if ranks[name] == min(ranks.values())]
    rest = [name for name in ranks if name not in best]
    apart = [name for name in rest if tests.differ(best[0], name)]
    alike = [name for name in rest if name not in apart]
    differ = "differs" if len(best) == 1 else "differ"
    if not apart:
        return "Nemenyi's test, which is weaker, cannot tell which methods differ."
    if not alike:
        return f"By Nemenyi's test, {named(best)} {differ} from every other method."
    return (
        f"By Nemenyi's test, {named(best)} {differ} from {named(apart)} and cannot be told apart "
        f"from {named(alike)}."
    )


def named(methods: Sequence[str]) -> str:
    """List methods, or state their number if there are many."""
    return listed(methods) if len(methods) <= NAMED else counted(len(methods), "method")
