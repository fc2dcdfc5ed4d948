"""The first sentence of a report."""

import numpy as np
import pytest

from vicinal.comparison import rank_methods
from vicinal.comparison.friedman import rank_tests
from vicinal.report.comparison import _friedman, conclusion, verdict
from vicinal.results import Result


def test_the_first_sentence_says_who_shares_the_first_place():
    def of_ranks(**values):
        return [
            Result("compare/split", f"d{at}", method, {"hamming-loss": (value,)})
            for method, each in values.items()
            for at, value in enumerate(each)
        ]

    tied = of_ranks(A=(0.1, 0.2), B=(0.2, 0.1))
    assert "A and B rank best (mean rank 1.50 over 2 data sets)" in said(tied)
    apart = of_ranks(A=[0.1] * 9, B=[0.2] * 9, C=[0.3] * 9)
    assert "A ranks best (mean rank 1.00 over 9 data sets)" in said(apart)
    assert "too few" in said(tied)
    assert "cannot" not in said(of_ranks(A=[0.1] * 90, B=[0.2] * 90))
    assert "differs from every other method" in said(of_ranks(A=[0.1] * 90, B=[0.2] * 90))
    both = of_ranks(A=[0.1] * 90, B=[0.1] * 90, C=[0.2] * 90)
    assert "A and B differ from every other method" in said(both)
    three = of_ranks(A=[0.1] * 3 + [0.2], B=[0.2] * 3 + [0.1], C=[0.3] * 4)
    assert "A differs from C and cannot be told apart from B" in said(three)


def said(results):
    return verdict(rank_methods(results, "hamming-loss"))


@pytest.mark.parametrize("n_samples", [2, 3, 5, 12, 40])
@pytest.mark.parametrize("n_methods", [2, 3, 6])
@pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
def test_the_report_never_contradicts_itself(n_samples, n_methods, noise):
    rng = np.random.default_rng(n_samples * n_methods)
    values = np.arange(n_methods) + noise * rng.normal(size=(n_samples, n_methods))
    tests = rank_tests({f"m{j}": values[:, j] for j in range(n_methods)}, 0.05)
    for text in (conclusion(tests), _friedman(tests)):
        finds = "finds differences" in text
        denies = "cannot tell the methods apart" in text or "too few" in text
        assert finds != denies
        assert finds == tests.rejected
        if tests.least_p >= 0.05:
            assert "too few" in text
        if "differs from" in text:
            ranks = tests.mean_ranks
            assert any(tests.differ(a, b) for a in ranks for b in ranks)
