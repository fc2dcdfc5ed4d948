"""A fit that fails, or is stopped, leaves the estimator as it was."""

import pytest

from vicinal import BRkNN
from vicinal._core.checks import unchanged_on_failure
from vicinal.baselines import LabelFrequency


class Model:
    pass


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_attributes_come_back_and_new_ones_go(failure):
    model = Model()
    model.kept, model.gone = kept, gone = [1], [2]

    def fit():
        with unchanged_on_failure(model):
            model.kept, model.new = 5, 6
            del model.gone
            raise failure

    with pytest.raises(failure):
        fit()
    assert vars(model) == {"kept": [1], "gone": [2]}
    assert model.kept is kept
    assert model.gone is gone


def test_success_changes_what_it_changes():
    model = Model()
    with unchanged_on_failure(model):
        model.new = 1
    assert vars(model) == {"new": 1}


@pytest.mark.native
@pytest.mark.parametrize("model", [BRkNN(2), LabelFrequency()], ids=repr)
def test_a_model_that_could_not_be_fitted_knows_no_columns(model):
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Y: expected"):
        model.fit([[0.0], [1.0]], [[1], [2]])
    assert vars(model) == before
