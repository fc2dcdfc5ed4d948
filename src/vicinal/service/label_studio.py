"""The dialect of Label Studio's machine-learning backends.

Give Label Studio the address ``http://HOST/label-studio`` (the first model) or
``http://HOST/label-studio/MODEL``. The service learns each annotation as soon as it is made: the
next prediction reflects it, and "start training" has nothing left to do.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vicinal.service.access import needs
from vicinal.service.api import (
    CHANGE_ERRORS,
    ERRORS,
    LargeBodyRoute,
    ModelId,
    as_json,
    engine_of,
    engines,
    known_query,
    prediction_reply,
)
from vicinal.service.engine import Engine, Predicted
from vicinal.service.learner import Replacement
from vicinal.service.limits import bad_value
from vicinal.service.schemas import FIRST_PROBLEM, LIMITS, TaughtTextRow, TextRow
from vicinal.service.served_model import Prediction


@dataclass(frozen=True)
class LabelConfig:
    """The parts of a labeling interface that a text with choices needs."""

    from_name: str = "labels"
    to_name: str = "text"
    field: str = "text"
    values: frozenset[str] = frozenset()

    def allows(self, label: str) -> bool:
        """Tell whether the interface offers this choice."""
        return not self.values or label in self.values

    def region(self, choices: Sequence[str]) -> dict[str, Any]:
        """Return choices as Label Studio stores them."""
        return {
            "from_name": self.from_name,
            "to_name": self.to_name,
            "type": "choices",
            "value": {"choices": list(choices)},
        }

    def choices(self, result: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the choices of an annotator, each once; other kinds of annotation are ignored."""
        found: dict[str, None] = {}
        for region in result:
            value = region.get("value")
            if region.get("type") != "choices" or not isinstance(value, Mapping):
                continue
            given = value.get("choices")
            for choice in given if isinstance(given, list) else ():
                # A choice below another one comes as a path; its last part is the label.
                last = choice[-1] if isinstance(choice, list) and choice else choice
                if isinstance(last, str) and last:
                    found[last] = None
        return list(found)


def read_label_config(xml: str) -> LabelConfig:
    """Read a labeling interface; without one, the names are ``labels`` and ``text``."""
    if not xml.strip():
        return LabelConfig()
    if "<!" in xml.replace("<!--", ""):
        raise bad_value("label_config", "XML without a document type", "a document type")
    try:
        root = ET.fromstring(xml)
    except (ET.ParseError, ValueError):
        raise bad_value("label_config", "the XML of a labeling interface", "other text") from None
    choices = root.find(".//Choices")
    if choices is None:
        raise bad_value("label_config", "a <Choices> element", "none")
    to_name = choices.get("toName", "")
    texts = [element for element in root.iter() if element.get("name") == to_name]
    value = texts[0].get("value", "") if texts else ""
    if not value.startswith("$"):
        raise bad_value("label_config", f"an element named {to_name!r} with value='$FIELD'", value)
    values = (choice.get("alias") or choice.get("value") for choice in choices.iter("Choice"))
    offered = frozenset(value for value in values if value)
    return LabelConfig(choices.get("name", "labels"), to_name, value[1:], offered)


router = APIRouter(
    prefix="/label-studio",
    tags=["label-studio"],
    dependencies=[Depends(known_query)],
    route_class=LargeBodyRoute,
)
Config = Annotated[str, Field(max_length=100_000)]
Data = dict[str, Any]
Id = Annotated[int, Field(strict=True)] | Annotated[str, Field(max_length=200)]
"""An id of Label Studio; not a boolean, which Python takes for a number."""


class _Loose(BaseModel):
    """A body whose other fields are ignored."""

    model_config = ConfigDict(extra="allow")


class SetupRequest(_Loose):
    """What Label Studio sends when a model is connected; `schema` is the labeling interface."""

    project: Id | None = None
    schema_: Annotated[Config, Field(alias="schema")] = ""


class LabelStudioTask(_Loose):
    """A task: its fields, of which the labeling interface names the text."""

    id: Id | None = None
    data: Data = {}


class TasksRequest(_Loose):
    """Tasks to predict."""

    tasks: Annotated[list[LabelStudioTask], FIRST_PROBLEM, Field(max_length=LIMITS.rows)]
    label_config: Config | None = None
    project: Id | None = None


class Annotation(_Loose):
    """An annotation: its id, what the annotator chose, and whether the task was skipped."""

    id: Id
    result: Annotated[list[dict[str, Any]], FIRST_PROBLEM] | None = None
    was_cancelled: Annotated[bool, Field(strict=True)] | None = None


class LabelStudioProject(_Loose):
    """The project an event belongs to."""

    id: Id | None = None
    label_config: Config | None = None


class Webhook(_Loose):
    """An event."""

    action: str
    project: LabelStudioProject | None = None
    task: LabelStudioTask | None = None
    annotation: Annotation | None = None
    annotations: (
        Annotated[list[Annotation], FIRST_PROBLEM, Field(max_length=LIMITS.rows)] | None
    ) = None


class VersionReply(BaseModel):
    """The version of the model."""

    model_config = ConfigDict(protected_namespaces=())

    model_version: str


class HealthReply(BaseModel):
    """The service is up."""

    status: Literal["UP"]


class TasksReply(BaseModel):
    """One prediction per task."""

    results: list[dict[str, Any]]


def _engine(request: Request, model_id: str | None) -> Engine:
    """Return the model of the address, or the first."""
    if model_id is None:
        return next(iter(engines(request).values()))
    return engine_of(request, model_id)


@router.get("/health", response_model=HealthReply, responses=ERRORS)
@needs("open")
async def health() -> Response:
    """Tell that the service is up."""
    return as_json({"status": "UP"})


@router.get("/{model_id}/health", response_model=HealthReply, responses=ERRORS)
@needs("read")
async def model_health(request: Request, model_id: ModelId) -> Response:
    """Tell that a model is served."""
    engine_of(request, model_id)
    return as_json({"status": "UP"})


@router.post("/setup", response_model=VersionReply, responses=ERRORS)
@router.post("/{model_id}/setup", response_model=VersionReply, responses=ERRORS)
@needs("read")
async def setup(request: Request, body: SetupRequest, model_id: ModelId | None = None) -> Response:
    """Check that the labeling interface has a text and choices; return the model's version."""
    engine = _engine(request, model_id)
    if body.schema_:
        read_label_config(body.schema_)
    return as_json({"model_version": f"{engine.id}-{engine.version}"})


@router.post("/predict", response_model=TasksReply, responses=ERRORS)
@router.post("/{model_id}/predict", response_model=TasksReply, responses=ERRORS)
@needs("read")
async def predict(
    request: Request, body: TasksRequest, model_id: ModelId | None = None
) -> Response:
    """Predict the choices of tasks."""
    engine = _engine(request, model_id)
    config = read_label_config(body.label_config or "")
    if not body.tasks:
        return as_json({"results": []})
    rows = [_checked_row(TextRow, {"text": _text(task, config)}) for task in body.tasks]

    def show(predicted: Predicted) -> object:
        version = f"{engine.id}-{predicted.version}"
        return {"results": [_shown(each, config, version) for each in predicted.rows]}

    return await prediction_reply(request, engine, rows, 1, show, with_label_scores=True)


def _shown(prediction: Prediction, config: LabelConfig, version: str) -> dict[str, Any]:
    """Return the choices that the labeling interface offers, with their mean score."""
    scores = dict(zip(prediction.labels, prediction.label_scores, strict=True))
    chosen = {label: score for label, score in scores.items() if config.allows(label)}
    return {
        "result": [config.region(list(chosen))] if chosen else [],
        "score": sum(chosen.values()) / len(chosen) if chosen else 0.0,
        "model_version": version,
    }


@router.post("/webhook", status_code=201, responses=CHANGE_ERRORS)
@router.post("/{model_id}/webhook", status_code=201, responses=CHANGE_ERRORS)
@needs("write")
async def webhook(request: Request, body: Webhook, model_id: ModelId | None = None) -> Response:
    """Learn a new annotation, replace a changed one, forget a deleted one."""
    engine = _engine(request, model_id)
    changes: list[Replacement] = []
    if body.action in ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED"):
        deleted = body.annotations or ([body.annotation] if body.annotation else [])
        origins = dict.fromkeys(_origin(body, annotation) for annotation in deleted)
        changes = [Replacement(origin, None) for origin in origins]
    elif body.action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
        if body.annotation is None or body.task is None:
            raise bad_value("annotation, task", f"both, for {body.action}", "one or none")
        row = _row(body, body.annotation, body.task)
        changes = [Replacement(_origin(body, body.annotation), row)]
    outcomes = await engine.change(*changes) if changes else []
    version = outcomes[-1].version if outcomes else engine.version
    return as_json({"status": "ok", "model_version": f"{engine.id}-{version}"}, 201)


def _row(body: Webhook, annotation: Annotation, task: LabelStudioTask) -> dict[str, Any] | None:
    """Return the row that an annotation teaches; None for a skipped task, which teaches nothing."""
    if annotation.was_cancelled:
        return None
    config = read_label_config((body.project and body.project.label_config) or "")
    row = {"text": _text(task, config), "labels": config.choices(annotation.result or [])}
    return _checked_row(TaughtTextRow, row)


def _checked_row(kind: type[TextRow], row: dict[str, Any]) -> dict[str, Any]:
    """Return a row that Label Studio sent, checked like those of the service's own endpoints."""
    try:
        return kind.model_validate(row).model_dump()
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


def _origin(body: Webhook, annotation: Annotation) -> str:
    project = body.project.id if body.project is not None else ""
    return f"label-studio:{project}:{annotation.id}"


def _text(task: LabelStudioTask, config: LabelConfig) -> str:
    """Return the text of a task."""
    value = task.data.get(config.field)
    if not isinstance(value, str):
        raise bad_value(f"data.{config.field}", "a text", type(value).__name__)
    return value
