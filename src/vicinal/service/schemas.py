"""The JSON of requests and replies."""

from typing import Annotated, Any, Literal, cast

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Tag,
    model_validator,
)
from pydantic_core import CoreSchema

from vicinal.service.limits import Limits

LIMITS = Limits()
"""The limits that the OpenAPI document states; a service may be started with narrower ones."""

MOST_FIELDS = 50
"""Most fields of an object; pydantic reports every unknown one."""


class FirstProblem:
    """Marks a list or an object of which only the first bad value is reported.

    Pydantic reports all of them by default: a body of 4 MB can have a million, which take gigabytes
    and keep the event loop busy for seconds.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of what is marked, stopping at the first problem."""
        schema: Any = handler(source)
        return cast("CoreSchema", {**schema, "fail_fast": True})


FIRST_PROBLEM = FirstProblem()
Text = Annotated[str, Field(max_length=LIMITS.text_characters)]
Label = Annotated[str, Field(min_length=1, max_length=LIMITS.label_characters)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e30, le=1e30)]
Features = Annotated[dict[str, Number | Text], FIRST_PROBLEM, Field(max_length=LIMITS.features)]
Values = Annotated[list[Number], FIRST_PROBLEM, Field(min_length=1, max_length=LIMITS.features)]
Labels = Annotated[list[Label], FIRST_PROBLEM, Field(max_length=LIMITS.labels)]
RowId = Annotated[int, Field(strict=True, ge=0, le=2**53)]
Key = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,200}$")]
Top = Annotated[int, Field(strict=True, ge=1, le=LIMITS.top)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, given: Any) -> Any:
        if isinstance(given, dict) and len(given) > MOST_FIELDS:
            raise ValueError(f"more than {MOST_FIELDS} fields")
        return given


class TextRow(_Body):
    """A row given as a text, for models that read texts."""

    text: Text


class FeatureRow(_Body):
    """A row given by name: the numbers of its features, where those that are absent are 0.

    A model that learned from a table of several kinds of columns takes their cells by name.
    """

    features: Features


class ValueRow(_Body):
    """A row given as one number per feature of the model."""

    values: Values


class TaughtTextRow(TextRow):
    """A text with its labels, which may be new to the model."""

    labels: Labels


class TaughtFeatureRow(FeatureRow):
    """Named features with labels."""

    labels: Labels


class TaughtValueRow(ValueRow):
    """Dense values with labels."""

    labels: Labels


def _form(row: Any) -> str:
    """Return in which form a row comes: by its first field among text, features, values."""
    given = row if isinstance(row, dict) else getattr(row, "__dict__", {})
    return next((form for form in ("text", "features", "values") if form in given), "text")


AnyRow = Annotated[
    Annotated[TextRow, Tag("text")]
    | Annotated[FeatureRow, Tag("features")]
    | Annotated[ValueRow, Tag("values")],
    Discriminator(_form),
]
AnyTaughtRow = Annotated[
    Annotated[TaughtTextRow, Tag("text")]
    | Annotated[TaughtFeatureRow, Tag("features")]
    | Annotated[TaughtValueRow, Tag("values")],
    Discriminator(_form),
]
Rows = Annotated[list[AnyRow], FIRST_PROBLEM, Field(min_length=1, max_length=LIMITS.rows)]


class PredictRequest(_Body):
    """Rows to predict."""

    rows: Rows
    top: Top = 5
    explain: Annotated[bool, Field(strict=True)] = False


class ExplainRequest(_Body):
    """Rows to explain; `labels` are those to explain, by default the best ones.

    With `without`, each label also has the features without which its score falls, largest loss
    first; for at most 16 rows, and not for models of dense rows.
    """

    rows: Rows
    labels: Labels | None = None
    top: Top = 5
    without: Annotated[bool, Field(strict=True)] = False


class NeighborsRequest(_Body):
    """Rows whose neighbours to find; `k` is that of the method by default."""

    rows: Rows
    k: Annotated[int, Field(strict=True, ge=1, le=LIMITS.neighbors)] | None = None


class LearnRequest(_Body):
    """Rows to learn."""

    rows: Annotated[list[AnyTaughtRow], FIRST_PROBLEM, Field(min_length=1, max_length=LIMITS.rows)]
    idempotency_key: Key | None = None


class ForgetRequest(_Body):
    """Rows to forget, by the ids that learning them returned."""

    row_ids: Annotated[
        list[RowId],
        FIRST_PROBLEM,
        Field(
            min_length=1,
            max_length=LIMITS.rows,
            validation_alias=AliasChoices("row_ids", "rows"),
        ),
    ]
    idempotency_key: Key | None = None


class LabelScore(BaseModel):
    """A label with its score."""

    label: str
    score: float


class RowPrediction(BaseModel):
    """The labels of one row, and the best labels with their scores.

    `as_taught` is the id of the row that taught exactly these labels; to forget it undoes that.
    """

    labels: list[str]
    scores: list[LabelScore]
    as_taught: int | None = None
    names: dict[str, str] | None = None
    explanation: dict[str, Any] | None = None


class PredictReply(BaseModel):
    """One prediction per row, all by the same version of the model."""

    results: list[RowPrediction]
    version: int


class SharedFeature(BaseModel):
    """A feature that two rows have in common, and its share of their cosine."""

    feature: str
    share: float


class NearRow(BaseModel):
    """A training row near the row asked about."""

    row_id: int
    name: str | None
    similarity: float | None = None
    distance: float | None = None
    labels: list[str]
    shared: list[SharedFeature]


class NeighborList(BaseModel):
    """The neighbours of one row, nearest first."""

    neighbors: list[NearRow]


class NeighborsReply(BaseModel):
    """One list per row."""

    results: list[NeighborList]
    version: int


class ExplainReply(BaseModel):
    """One explanation per row."""

    results: list[dict[str, Any]]
    version: int


class ChangeReply(BaseModel):
    """What was learned or forgotten; `repeated`: by an earlier request with the same key."""

    row_ids: list[int]
    version: int
    repeated: bool = False


class ModelFacts(BaseModel):
    """What is served under one id.

    `rows_since_threshold` counts the rows that were taught since the threshold was last fitted;
    `upkeep` is what the service does with the model in the background.
    """

    model_config = ConfigDict(protected_namespaces=())

    id: str
    method: str
    rows: int
    labels: int
    features: int
    version: int
    rows_since_threshold: int
    reads_text: bool
    columns: list[str] | None
    can_learn: bool
    writes: Literal["token", "anyone", "nobody"]
    metrics: dict[str, float | None] | None
    upkeep: Literal["nothing", "preparing", "recalibrating", "saving"]


class ModelList(BaseModel):
    """Every model served."""

    models: list[ModelFacts]


class LabelCount(BaseModel):
    """A label and how many rows carry it."""

    label: str
    rows: int


class LabelList(BaseModel):
    """Some labels of a model, and how many there are."""

    labels: list[LabelCount]
    total: int
    version: int


class Example(BaseModel):
    """A text to try."""

    title: str
    text: str


class ExampleList(BaseModel):
    """Texts to try."""

    examples: list[Example]


class TaughtEvent(BaseModel):
    """One change: learned rows are shown shortened; `undone` when none of its rows is left."""

    version: int
    kind: Literal["learn", "forget"]
    row_ids: list[int]
    taught_at: str
    rows: list[dict[str, Any]]
    undone: bool


class TaughtList(BaseModel):
    """The newest changes, newest first."""

    taught: list[TaughtEvent]
    version: int


class SnapshotReply(BaseModel):
    """Where the model was saved, and which version."""

    path: str
    version: int


class ErrorContent(BaseModel):
    """What went wrong."""

    code: str
    message: str
    request_id: str


class ErrorReply(BaseModel):
    """Every error has this form."""

    error: ErrorContent
