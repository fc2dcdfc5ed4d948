"""The names users call and the parameters they give: a change here is a change for them."""

import importlib
import inspect
import re
from typing import Any

import pytest

import vicinal
from vicinal.methods import METHODS

EXPORTED = {
    "vicinal": """IBLR LCIF BRkNN Blend DMLkNN FeatureKNN FrameColumns InstanceKNN LAMLkNN LPkNN
        LabelRidge LocalRidge MLkNN NeighborGraph Pipeline Scores baselines compare comparison
        datasets decision distances explain explanation graph index load make_pipeline make_views
        metrics preprocess reduction report results save selection service tune""",
    "vicinal.service": "Limits create_app",
    "vicinal.comparison": """FriedmanNemenyi MeanDifference PairedOrder Ranking SignedRank Table
        Tuned Win critical_difference critical_difference_diagram friedman_nemenyi holm
        mean_differences paired_order rank_methods rank_table read_table results_table
        compare wilcoxon_holm Results
        CorrectedTest Probabilities bayesian_signed_rank corrected_t_test correlated_t_test
        ControlTest EffectSize control_tests effect_sizes""",
    "vicinal.selection": """Best IterativeStratification NestedResult TuningResult TuningTable
        nested tune""",
    "vicinal.decision": """CardinalityThreshold CrossValidated Decision FittedDecision
        FittedNeverEmpty LabelSets LabelThresholds MCut MetricThreshold NeverEmpty PCut
        PerLabelThreshold RCut Threshold TopS""",
    "vicinal.explanation": """Breakdown Explanation Explanations LabelExplanation Neighbor Part
        Removal Terms Word exact_shapley linear_breakdown mixture_breakdown shapley_of_maximum
        vote_breakdowns weighted_breakdowns""",
    "vicinal.graph": "NeighborGraph votes",
    "vicinal.distances": """COSINE DOT EUCLIDEAN Distance distance_names get_distance
        register_distance""",
    "vicinal.index": """ApproximateIndex DenseIndex Index InvertedIndex MutableIndex
        ReferenceIndex SegmentedAlgorithm SegmentedIndex algorithm_names build_index
        register_index""",
    "vicinal.preprocess": """BM25 STEPS Binary LabelWeights MinMax TextVectorizer TfIdf UnitRows
        WordPlace make_steps""",
    "vicinal.report": "comparison_page comparison_report",
    "vicinal.results": "Result ResultStore data_hash machine provenance",
    "vicinal.reduction": "MDDM MLARP OPLS LabelCCA",
    "vicinal.baselines": "ADTBoostMH BinaryRelevanceSVM BoosTexter LabelFrequency RankSVM",
    "vicinal.datasets": """Content Dataset Listing Reading TableOptions Texts available describe
        is_table load read_content read_file read_texts write_file""",
    "vicinal.persistence": "check_replaceable read_header read_model register write_model",
    "vicinal.metrics": """Metric brier_score calibration_error f1_at_k label_table log_loss
        macro_auc_pr micro_auc_pr r_precision recall_at_k reliability LabelTable CONVENTIONS METRICS
        Conventions MetricAccumulator MetricInfo MetricScorer MetricsTable align_labels
        average_precision cardinality scorer
        coverage coverage_normalised empty_share evaluate example_accuracy example_f1
        example_f1_of_means example_precision example_recall hamming_loss jaccard_loss macro_auc
        macro_f1 macro_precision macro_recall metric_info metrics_table micro_auc micro_f1
        micro_precision micro_recall ndcg_at_k one_error precision_at_k propensities psndcg_at_k
        psp_at_k ranking_loss subset_accuracy""",
}

OWN_PARAMETERS: dict[str, dict[str, Any]] = {
    "BRkNN": {"n_neighbors": 10, "variant": "base", "strict_majority": False},
    "LPkNN": {"n_neighbors": 10},
    "MLkNN": {"n_neighbors": 10, "smoothing": 1.0},
    "DMLkNN": {"n_neighbors": 10, "smoothing": 1.0, "tolerance": 2},
    "LAMLkNN": {
        "n_neighbors": 10,
        "smoothing": 1.0,
        "n_clusters": 5,
        "centers": None,
        "random_state": None,
    },
    "IBLR": {"n_neighbors": 10, "C": 1.0, "augment": False},
    "InstanceKNN": {"n_neighbors": 15, "second_order": False, "power": 1.0},
    "FeatureKNN": {"n_neighbors": 15, "neighbors_of": "feature", "aggregate": "kept-mean"},
    "LCIF": {
        "n_neighbors_instance": 15,
        "n_neighbors_feature": 15,
        "mixing": 0.5,
        "second_order": False,
        "neighbors_of": "feature",
        "aggregate": "kept-mean",
    },
    "LocalRidge": {"n_neighbors": 50, "alpha": 1.0, "center": None},
    "LabelRidge": {
        "alpha": 1.0,
        "kernel": None,
        "gamma": None,
        "max_features": None,
        "keep_loo": False,
        "max_memory": None,
        "backend": "numpy",
        "device": None,
    },
    "Blend": {"combine": "boosting", "parts": "auto", "random_state": 0, "max_memory": None},
}
COSINE = {"InstanceKNN", "FeatureKNN", "LCIF", "LocalRidge", "LabelRidge", "Blend"}
INCREMENTAL = (
    *("BRkNN", "LPkNN", "MLkNN", "DMLkNN", "LAMLkNN", "IBLR"),
    *("InstanceKNN", "FeatureKNN", "LCIF", "LocalRidge"),
)
SHARED: dict[str, Any] = {
    "threshold": None,
    "never_empty": None,
    "n_jobs": None,
    "algorithm": "auto",
}


@pytest.mark.parametrize("module", EXPORTED)
def test_exported_names(module: str) -> None:
    loaded = importlib.import_module(module)
    assert sorted(loaded.__all__) == sorted(EXPORTED[module].split())
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def test_every_method_is_exported_and_listed_here() -> None:
    assert {kind.__name__ for kind in METHODS.values()} == set(OWN_PARAMETERS)
    for kind in METHODS.values():
        assert getattr(vicinal, kind.__name__) is kind


@pytest.mark.parametrize("name", OWN_PARAMETERS)
def test_parameters_and_defaults(name: str) -> None:
    given = inspect.signature(getattr(vicinal, name)).parameters
    metric = {"metric": "cosine" if name in COSINE else "euclidean"}
    wanted = OWN_PARAMETERS[name] | metric | SHARED
    if name in (*INCREMENTAL, "LabelRidge", "Blend"):
        wanted |= {"recalibrate_at": 0.1 if name == "Blend" else 0.01}
    assert {key: value.default for key, value in given.items()} == wanted
    own = [key for key, value in given.items() if value.kind is value.POSITIONAL_OR_KEYWORD]
    assert own == list(OWN_PARAMETERS[name])[: len(own)], "these may be given by position"
    assert len(own) >= 1


CALLS = {
    "fit": ["X", "Y", "graph", "label_names", "row_names"],
    "predict": ["X", "graph"],
    "predict_blocks": ["X_blocks"],
    "predict_proba": ["X", "graph"],
    "predict_names": ["X", "graph"],
    "scores": ["X", "graph"],
    "rank": ["X", "top", "graph"],
    "decision_function": ["X", "graph"],
    "kneighbors": ["X", "n_neighbors", "return_distance"],
    "neighbor_graph": ["X", "k"],
    "explain": ["X", "labels", "top", "what_if", "row_names", "feature_names"],
    "save": ["path"],
}


@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_methods_take_these_arguments(kind: Any) -> None:
    for call, arguments in CALLS.items():
        given = inspect.signature(getattr(kind, call)).parameters
        named = [name for name, each in given.items() if each.kind is not each.VAR_KEYWORD]
        if (kind.__name__, call) == ("LabelRidge", "fit"):
            assert named.pop(3) == "sample_weight"
        if kind.__name__ == "Blend" and call in ("kneighbors", "neighbor_graph"):
            assert named.pop() == "view"
        assert named == ["self", *arguments]
        assert "graph" not in given or given["graph"].kind is inspect.Parameter.KEYWORD_ONLY


def test_learning_and_forgetting_where_promised() -> None:
    for name in (*INCREMENTAL, "LabelRidge", "Blend"):
        kind = getattr(vicinal, name)
        for call in ("partial_fit", "forget", "recalibrate", "compact"):
            assert callable(getattr(kind, call))


def test_everything_public_is_documented() -> None:
    for module in EXPORTED:
        loaded = importlib.import_module(module)
        things = [loaded, *(getattr(loaded, name) for name in loaded.__all__)]
        undocumented = [thing for thing in things if callable(thing) and not thing.__doc__]
        assert undocumented == []


@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_each_parameter_of_a_method_is_described_once(kind: Any) -> None:
    described = re.findall(
        r"^ *(\w+(?:, \w+)*) : ", kind.__doc__.partition("\n\n")[2], re.MULTILINE
    )
    parameters = list(inspect.signature(kind).parameters)
    assert sorted(name for name in described if name in parameters) == sorted(parameters)
    assert "RULE" not in kind.__doc__


def test_explain_is_a_function_whatever_was_imported_before():
    importlib.import_module("vicinal.explanation.terminal")
    importlib.import_module("vicinal.cli.explain")
    assert vicinal.explain is vicinal.methods.explain
