"""Any method × any decision: what is predicted is what the fitted rule says of the scores."""

import numpy as np
import pytest
from every_method import EVERY_METHOD

from vicinal import decision

pytestmark = pytest.mark.native

RULES = {
    "number": 0.3,
    "cardinality": "cardinality",
    "two-pass": "two-pass",
    "metric": decision.MetricThreshold("example-f1"),
    "per label": decision.PerLabelThreshold(),
    "rcut": decision.RCut(2),
    "mcut": decision.MCut(),
    "pcut": decision.PCut(),
    "top-s": decision.TopS(3),
    "never empty": decision.NeverEmpty(decision.Threshold(0.9)),
    "k-fold": decision.CrossValidated(decision.CardinalityThreshold(), n_folds=4),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = (rng.random((40, 12)) < 0.4).astype(float)
    Y = ((X @ rng.random((12, 5))) > 1.2).astype(np.int64)
    return X[:30], Y[:30], X[30:]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", EVERY_METHOD)
def test_any_rule_decides_for_any_method(rows, method, rule):
    X, Y, queries = rows
    model = EVERY_METHOD[method](threshold=RULES[rule]).fit(X, Y)
    decided = model.decide(model.scores(queries)).toarray()
    assert np.array_equal(model.predict(queries), decided)
    assert decided.any()
    if rule in ("rcut", "top-s"):
        assert (decided.sum(axis=1) == (2 if rule == "rcut" else 3)).all()


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_never_empty_gives_every_row_a_label(rows, method):
    X, Y, queries = rows
    model = EVERY_METHOD[method](threshold=1.5, never_empty=True).fit(X, Y)
    assert (model.predict(queries).sum(axis=1) == 1).all()
    assert (
        not EVERY_METHOD[method](threshold=1.5, never_empty=False).fit(X, Y).predict(queries).any()
    )
