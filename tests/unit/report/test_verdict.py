"""The first sentence of a report."""

from vicinal.comparison import rank_methods
from vicinal.report.compared.summary import verdict
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
    assert "cannot" not in said(of_ranks(A=[0.1] * 90, B=[0.2] * 90))
    assert "differs from every other method" in said(of_ranks(A=[0.1] * 90, B=[0.2] * 90))
    both = of_ranks(A=[0.1] * 90, B=[0.1] * 90, C=[0.2] * 90)
    assert "they differ from every other method" in said(both)
    three = of_ranks(A=[0.1] * 3 + [0.2], B=[0.2] * 3 + [0.1], C=[0.3] * 4)
    assert "it cannot be told apart from B" in said(three)


def said(results):
    return verdict(rank_methods(results, "hamming-loss"))
