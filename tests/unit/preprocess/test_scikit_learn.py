"""The transformers keep scikit-learn's contract, or say where they leave it."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from vicinal.preprocess import BM25, Binary, MinMax, TextVectorizer, TfIdf, UnitRows

NOT_ONE_MAP = (
    "documents at fit_transform, queries at transform: the score is not symmetric, and this side "
    "of BM25 exists to give a Pipeline both halves"
)


def leaves_the_contract(estimator: BaseEstimator) -> dict[str, str]:
    if isinstance(estimator, BM25) and estimator.side == "pipeline":
        return {
            "check_transformer_general": NOT_ONE_MAP,
            "check_transformer_data_not_an_array": NOT_ONE_MAP,
        }
    return {}


@parametrize_with_checks(
    [
        MinMax(),
        MinMax(clip=True),
        Binary(),
        Binary(threshold=None),
        UnitRows(),
        TfIdf(),
        TfIdf(smooth=False, sublinear=True, norm=None),
        BM25(),
        BM25(side="both"),
        BM25(side="pipeline"),
    ],
    expected_failed_checks=leaves_the_contract,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The checks of output fit frames and transform arrays, to see what comes out.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.parametrize("transformer", [MinMax(), Binary(), UnitRows(), TfIdf(), BM25()], ids=repr)
@pytest.mark.parametrize(
    "check",
    [
        # Not in the list for other packages, and asked of scikit-learn's own transformers.
        estimator_checks.check_set_output_transform,
        estimator_checks.check_set_output_transform_pandas,
        estimator_checks.check_set_output_transform_polars,
        estimator_checks.check_global_output_transform_pandas,
        estimator_checks.check_global_set_output_transform_polars,
        estimator_checks.check_dataframe_column_names_consistency,
        estimator_checks.check_transformer_get_feature_names_out,
        estimator_checks.check_transformer_get_feature_names_out_pandas,
    ],
)
def test_names_and_frames_as_scikit_learn_has_them(transformer, check):
    check(type(transformer).__name__, transformer)


@pytest.mark.parametrize(
    "check",
    [
        # scikit-learn's list of checks needs numeric rows; these are the ones that need no rows.
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_mixin_order,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    ],
)
def test_scikit_learn_checks_for_text(check):
    check("TextVectorizer", TextVectorizer())


def test_a_pipeline_from_text_to_weights():
    titles = ["red fish", "blue fish fish", "one"]
    pipeline = make_pipeline(TextVectorizer(weighting="counts"), TfIdf())
    rows = pipeline.fit_transform(titles)
    np.testing.assert_array_equal(rows.toarray(), pipeline.transform(titles).toarray())
    assert [*pipeline.get_feature_names_out()] == ["blue", "fish", "one", "red"]
    assert not hasattr(clone(pipeline)[0], "vocabulary_")
