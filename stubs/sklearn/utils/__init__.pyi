class InputTags:
    sparse: bool
    two_d_array: bool
    one_d_array: bool
    string: bool
    positive_only: bool
    allow_nan: bool

class TargetTags:
    required: bool
    single_output: bool
    multi_output: bool
    two_d_labels: bool

class ClassifierTags:
    multi_class: bool
    multi_label: bool
    poor_score: bool

class TransformerTags:
    preserves_dtype: list[str]

class Tags:
    estimator_type: str | None
    input_tags: InputTags
    target_tags: TargetTags
    classifier_tags: ClassifierTags | None
    transformer_tags: TransformerTags | None
    requires_fit: bool
    non_deterministic: bool
    no_validation: bool
